# shellcheck shell=bash
# Tools that look into other programs.
#: valgrind|valgrind gcc||
#: gdb|gdb gcc||
#: strace|strace||

case_valgrind() {
  printf '#include <stdlib.h>\n#include <stdio.h>\nint main(void) { char *p = malloc(10); p[10] = 1; puts("here"); return 0; }\n' >a.c
  gcc -g -o a a.c
  valgrind -q --error-exitcode=9 ./a
  echo "status $?"
}

case_gdb() {
  printf '#include <stdio.h>\nint f(int x) { return x * 2; }\nint main(void) { int s = 0; for (int i = 0; i < 3; i++) s += f(i); printf("%%d\\n", s); return 4; }\n' >a.c
  gcc -g -O0 -o a a.c
  gdb -nx -batch -ex 'break f' -ex run -ex bt -ex 'delete' -ex continue ./a
  echo "status $?"
}

case_strace() {
  strace -f -qq -e trace=process -e signal=none -o log sh -c 'echo traced; /bin/true; exit 3'
  echo "status $?"
  grep -c -E 'execve\(' log
  rm -f log
}
