# shellcheck shell=bash
# Languages and tools that compute.
#: mpi|mpirun.openmpi mpicc.openmpi|--sample=200ms|
#: r|Rscript|--sample=200ms|
#: octave|octave-cli|--sample=200ms|
#: numpy|python3|--sample=200ms|
#: ruby|ruby||
#: node|node||
#: php|php||
#: lua|lua5.4||
#: awk|gawk mawk||
#: gnuplot|gnuplot||
#: ffmpeg|ffmpeg|--sample=200ms|
#: imagemagick|convert||
#: gdal|gdal_translate gdalwarp||
#: gromacs|gmx|--sample=200ms|
#: git|git||
#: compress|tar xz zstd bzip2||
#: parallel|parallel||
#: fakeroot|fakeroot||

case_mpi() {
  cat >a.c <<'E'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int rank, n, sum;
	MPI_File f;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	double x = 0;
	for (long i = 0; i < 20000000; i++)
		x += i * 1e-9;
	for (int i = 0; i < 1000; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	MPI_File_write_at_all(f, rank * (MPI_Offset)sizeof(int), &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	if (rank == 0)
		printf("%d ranks, sum %d\n", n, sum + (x < 0));
	MPI_Finalize();
	return 0;
}
E
  mpicc.openmpi -O2 -o a a.c || return 1
  local options=(--oversubscribe --mca btl 'self,vader' --mca btl_vader_single_copy_mechanism none)
  mpirun.openmpi "${options[@]}" -n 4 ./a
  mpirun.openmpi "${options[@]}" -n 4 sh -c 'exit $OMPI_COMM_WORLD_RANK' 2>/dev/null
  echo "status $?"
}

case_r() {
  Rscript --vanilla -e 'set.seed(1); x <- parallel::mclapply(1:4, function(i) sum(sqrt(seq_len(1e6 * i))), mc.cores = 2); print(unlist(x));
    m <- matrix(runif(90000), 300); print(dim(solve(m))); write.csv(data.frame(a = 1:3), "out.csv"); cat(system("echo child", intern = TRUE), "\n"); warning("a warning")'
  Rscript --vanilla -e 'stop("a problem")'
  echo "status $?"
}

case_octave() {
  octave-cli --norc --eval 'x = reshape(1:90000, 300, 300); disp(trace(x * x)); f = fopen("out.txt", "w"); fprintf(f, "%d\n", x); fclose(f); [s, o] = system("echo child; exit 3"); printf("%d %s", s, o); disp(sum(primes(100000)))'
  octave-cli --norc --eval 'error("a problem")'
  echo "status $?"
}

able_numpy() { python3 -c 'import numpy' 2>/dev/null || echo 'numpy is not installed'; }
case_numpy() {
  cat >a.py <<'E'
import multiprocessing, numpy, concurrent.futures as c

def work(i):
    a = numpy.arange(40000, dtype=float).reshape(200, 200)
    return float((a @ a).trace() * i)

if __name__ == "__main__":
    for method in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(3) as p:
            print(method, p.map(work, range(6)))
            p.close()
            p.join()
    with c.ThreadPoolExecutor(4) as t:
        print(sum(t.map(work, range(8))))
    numpy.save("saved.npy", numpy.arange(1000))
    raise SystemExit(9)
E
  python3 a.py
  echo "status $?"
}

case_ruby() {
  ruby -e 'pids = 3.times.map { |i| fork { exit i } }; p pids.map { |x| Process.wait2(x)[1].exitstatus }
    p 4.times.map { |i| Thread.new { (1..50000).sum { |x| x * i } } }.sum(&:value)
    puts `echo child`; $stdout.flush; system("exit 4"); p $?.exitstatus
    p Process.wait2(spawn("sh", "-c", "kill -USR1 $$"))[1].termsig; File.write("written", "x" * 100000); at_exit { puts "last" }; raise "a problem"'
  echo "status $?"
}

case_node() {
  cat >a.js <<'E'
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) {
  let s = 0;
  for (let i = 0; i < 1e6; i++) s += i % 7;
  parentPort.postMessage(s);
} else {
  const cp = require('child_process');
  console.log(cp.execSync('echo child').toString().trim(), cp.spawnSync('sh', ['-c', 'exit 6']).status);
  require('fs').writeFileSync('written', 'x'.repeat(100000));
  let n = 0, sum = 0;
  for (let i = 0; i < 3; i++) new Worker(__filename).on('message', m => { sum += m; }).on('exit', () => {
    if (++n === 3) { console.log(sum, require('zlib').gzipSync(Buffer.alloc(100000)).length); process.exitCode = 8; }
  });
}
E
  node a.js
  echo "status $?"
}

case_php() {
  php -n -r '$s = 0; for ($i = 0; $i < 1000000; $i++) $s += $i % 7; echo "$s\n"; echo shell_exec("echo child"); file_put_contents("w", str_repeat("x", 1000));
    if (function_exists("pcntl_fork")) { $p = pcntl_fork(); if (!$p) exit(3); pcntl_waitpid($p, $st); echo pcntl_wexitstatus($st), "\n"; } exit(5);'
  echo "status $?"
}

case_lua() {
  lua5.4 -e 'local s = 0 for i = 1, 2000000 do s = s + i % 7 end print(s) print(os.execute("exit 3")) local p = io.popen("echo child") print(p:read("a")) error("a problem")'
  echo "status $?"
}

case_awk() {
  seq 100000 | gawk '{ s += $1 } END { print s; print "b\na" | "sort"; close("sort"); exit system("exit 3") }'
  echo "status $?"
  seq 100000 | mawk '{ s += $1 } END { print s; "echo child" | getline x; print x; exit 4 }'
  echo "status $?"
}

case_gnuplot() {
  gnuplot -e 'set terminal svg; set output "a.svg"; plot sin(x), cos(x)'
  gnuplot -e 'print 6 * 7; print system("echo child")'
  gnuplot -e 'nonsense'
  echo "status $?"
}

case_ffmpeg() {
  ffmpeg -v error -f lavfi -i testsrc=duration=2:size=160x120:rate=10 -threads 2 -c:v mpeg4 -bitexact a.avi
  ffmpeg -v error -i a.avi -f framemd5 - | tail -3
  ffmpeg -v error -i none.avi b.avi
  echo "status $?"
}

case_imagemagick() {
  convert -size 300x200 gradient:red-blue -blur 0x3 -strip -define png:exclude-chunks=date,time a.png
  identify -format '%wx%h %k\n' a.png
  convert none.png b.png
  echo "status $?"
}

case_gdal() {
  printf 'ncols 50\nnrows 50\nxllcorner 5\nyllcorner 45\ncellsize 0.1\n' >a.asc
  awk 'BEGIN { for (y = 0; y < 50; y++) { for (x = 0; x < 50; x++) printf "%d ", x * y; print "" } }' >>a.asc
  gdal_translate -q -a_srs EPSG:4326 a.asc a.tif
  gdalwarp -q -multi -wo NUM_THREADS=2 -t_srs EPSG:3857 a.tif b.tif
  gdalinfo -checksum b.tif | grep -E 'Checksum|Size is'
  gdalinfo none.tif
  echo "status $?"
}

case_gromacs() {
  printf 'water\n 0\n 2.0 2.0 2.0\n' >empty.gro
  gmx -quiet solvate -cs spc216.gro -box 2 2 2 -o w.gro >/dev/null 2>&1 || return 1
  local n
  n=$(($(sed -n 2p w.gro) / 3))
  printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spc.itp"\n[ system ]\nwater\n[ molecules ]\nSOL %d\n' $n >w.top
  printf 'integrator = md\nnsteps = 50\ncutoff-scheme = Verlet\nrcoulomb = 0.8\nrvdw = 0.8\ngen-vel = yes\ngen-seed = 1\n' >w.mdp
  gmx -quiet grompp -f w.mdp -c w.gro -p w.top -o w.tpr -maxwarn 5 >/dev/null 2>&1 || return 1
  gmx -quiet mdrun -s w.tpr -nt 2 -ntmpi 1 -reprod -deffnm out >/dev/null 2>&1
  local status=$?
  echo "$n molecules, status $status"
  rm -f out.* w.tpr mdout.mdp
}

case_git() {
  export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1 \
    GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
  git init -q -b main a
  for i in $(seq 30); do
    seq "$i" 2000 >a/f
    git -C a add f
    git -C a commit -q -m "$i"
  done
  printf '#!/bin/sh\necho from a hook\n' >a/.git/hooks/post-commit
  chmod +x a/.git/hooks/post-commit
  git -C a commit -q --allow-empty -m last
  git clone -q "file://$PWD/a" b
  git -C b gc -q --prune=now
  git -C b fsck
  git -C b log --format=%H | md5sum
  git -C b checkout none
  echo "status $?"
  rm -rf a/.git b/.git
}

case_compress() {
  mkdir d
  for i in $(seq 20); do seq 20000 | sed "s/$/ $i/" >"d/$i"; done
  local t=(tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner)
  "${t[@]}" -I 'xz -1 -T2' -cf d.tar.xz d
  "${t[@]}" -I 'zstd -q -T2' -cf d.tar.zst d
  "${t[@]}" -cjf d.tar.bz2 d
  "${t[@]}" -czf d.tar.gz d
  for i in d.tar.*; do tar -tf "$i" | wc -l; done
  head -c 1000 d.tar.gz | tar -tz
  echo "status $?"
}

case_parallel() {
  parallel --will-cite -k -j 3 'echo {}; exit {}' ::: 0 1 2 3
  echo "status $?"
}

case_fakeroot() {
  touch a
  fakeroot sh -c 'chown 12:34 a; stat -c "%u %g" a; id -u; tar -cf - a | tar -tvf - | cut -d " " -f 1,2'
  echo "status $?"
}
