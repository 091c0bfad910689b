# shellcheck shell=bash
# Compilers, with what they make.
#: gcc|gcc make||
#: gfortran|gfortran||
#: clang|clang||
#: cargo|cargo rustc||
#: ghc|ghc||
#: ocaml|ocamlopt||
#: java|javac java|--sample=200ms|
#: go|go||
#: cmake|cmake ninja gcc||

case_gcc() {
  local i
  for i in $(seq 8); do printf '#include <stdio.h>\n#include <math.h>\nint f%d(int x) { double s = 0; for (int i = 0; i < x; i++) s += sin(i); return (int)s + %d; }\n' "$i" "$i" >"f$i.c"; done
  { for i in $(seq 8); do echo "int f$i(int);"; done; echo '#include <stdio.h>'; echo 'int main(void) { printf("%d\n", f1(1000) + f8(1000)); return 0; }'; } >main.c
  printf 'CFLAGS = -O2 -flto -pipe -frandom-seed=$@\nOBJS = %s main.o\nprog: $(OBJS)\n\t$(CC) $(CFLAGS) -flto=2 -o $@ $(OBJS) -lm\n' "$(seq -s ' ' -f 'f%g.o' 8)" >Makefile
  make -s -j2 && ./prog
  echo 'int main( {' >bad.c
  gcc -c bad.c
  echo "status $?"
}

case_gfortran() {
  cat >a.f90 <<'E'
program a
  integer :: i
  real(8) :: s
  s = 0
  !$omp parallel do reduction(+:s)
  do i = 1, 1000000
    s = s + sqrt(real(i, 8))
  end do
  print '(F0.0)', s
end program
E
  gfortran -O2 -fopenmp a.f90 -o a && OMP_NUM_THREADS=4 ./a
}

case_clang() {
  printf '#include <stdio.h>\nint main(void) { long s = 0; for (long i = 0; i < 1000000; i++) s += i %% 7; printf("%%ld\\n", s); return 5; }\n' >a.c
  clang -O2 -g -o a a.c && ./a
  echo "status $?"
  clang -fsyntax-only -Weverything a.c
}

case_cargo() {
  mkdir -p src
  printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
  cat >src/main.rs <<'E'
use std::thread;
fn main() {
    let t: Vec<_> = (0..4u64).map(|i| thread::spawn(move || (0..100000).map(|x| x * i).sum::<u64>())).collect();
    println!("{}", t.into_iter().map(|h| h.join().unwrap()).sum::<u64>());
    let o = std::process::Command::new("echo").arg("child").output().unwrap();
    print!("{}", String::from_utf8_lossy(&o.stdout));
    std::process::exit(3);
}
E
  cargo build --offline --release 2>build.log
  ./target/release/p
  echo "status $?"
  rm -rf target build.log .cargo
}

case_ghc() {
  printf 'import Control.Concurrent\nmain :: IO ()\nmain = do\n  m <- newEmptyMVar\n  _ <- forkIO (putMVar m (sum [1 .. 100000 :: Integer]))\n  takeMVar m >>= print\n' >A.hs
  ghc -v0 -O -threaded A.hs && ./A +RTS -N2
  echo 'main = nonsense' >B.hs
  ghc -v0 B.hs
  echo "status $?"
}

case_ocaml() {
  echo 'let rec f n = if n < 2 then n else f (n - 1) + f (n - 2) let () = print_int (f 25); print_newline (); exit (Sys.command "exit 4")' >a.ml
  ocamlopt -o a a.ml && ./a
  echo "status $?"
}

case_java() {
  cat >A.java <<'E'
import java.util.stream.*;
import java.nio.file.*;
public class A {
	public static void main(String[] a) throws Exception {
		System.out.println(LongStream.range(0, 5000000).parallel().map(x -> x % 7 * x).sum());
		Process p = new ProcessBuilder("sh", "-c", "echo child; exit 3").inheritIO().start();
		System.out.println("child " + p.waitFor());
		Files.writeString(Path.of("written"), "text");
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
		throw new IllegalStateException("a problem");
	}
}
E
  javac A.java && java -XX:+UseParallelGC A
  echo "status $?"
}

case_go() {
  export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOPATH=$PWD/gopath
  cat >main.go <<'E'
package main

import ("fmt"; "os"; "os/exec"; "sync")

func main() {
	var w sync.WaitGroup
	sums := make([]int, 8)
	for i := range sums {
		w.Add(1)
		go func(i int) { defer w.Done(); for x := 0; x < 100000; x++ { sums[i] += x % (i + 1) } }(i)
	}
	w.Wait()
	out, _ := exec.Command("sh", "-c", "echo child; exit 2").CombinedOutput()
	fmt.Println(sums, string(out))
	os.Exit(7)
}
E
  go mod init example 2>/dev/null
  go build -o prog . && ./prog
  echo "status $?"
  chmod -R u+w cache gopath 2>/dev/null
  rm -rf cache gopath .config prog
}

case_cmake() {
  printf 'cmake_minimum_required(VERSION 3.13)\nproject(p C)\nenable_testing()\nadd_executable(a a.c)\nadd_test(NAME t COMMAND a)\n' >CMakeLists.txt
  echo 'int main(void) { return 0; }' >a.c
  cmake -G Ninja -S . -B build >configure.log && cmake --build build >build.log && (cd build && ctest -Q) && build/a
  local status=$?
  rm -rf build
  return $status
}
