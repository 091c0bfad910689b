#!/usr/bin/env bats
# Phases: what programs and scripts mark is in the store, with the right nesting, times, ranks and threads, and marking
# never harms the program.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash"

# marked COMMAND...: recorded and stored
marked() {
  plimsoll run -q -- "$@"
}

# The regions of the last job, by begin: name, depth, state, ...
regions() {
  plimsoll phases --each --json last | jq -c "[.[] | $1]"
}

@test "regions of a program nest, and their times are right" {
  use_store
  marked "$PROGRAMS/marker" begin outer sleep 30 begin inner sleep 20 point here end end pairs many 100
  equal names "$(regions '[.name, .depth, .state] | join(" ")' | jq -c '.[:4]')" \
    '["outer 0 ended","inner 1 ended","here 2 point","many 0 ended"]'
  plimsoll phases --json last >stats
  equal counts "$(jq -c 'map([.name, .count, .ranks, .open, .origin])' stats)" \
    '[["outer",1,1,0,"program"],["inner",1,1,0,"program"],["here",1,1,0,"program"],["many",100,1,0,"program"]]'
  at_least outer "$(jq '.[0].total' stats)" 50000
  at_most outer "$(jq '.[0].total' stats)" 1000000
  at_least inner "$(jq '.[1].total' stats)" 20000
  # no time is counted twice
  jq -e '(.[0].total - .[0].self - .[1].total) | fabs < 0.01' stats
  equal "the view" "$(ask "SELECT count(*), count(DISTINCT process), min(pid - tid) FROM phases WHERE name = 'many'")" 100,1,0
  # the region began in its image
  equal join "$(ask "SELECT count(*) FROM phases f JOIN processes p ON p.id = f.process WHERE f.start BETWEEN p.start AND p.\"end\"")" 103
}

@test "a script and a program that mark the same name: rows and bars of their own" {
  use_store
  cat >script <<'SCRIPT'
plimsoll mark solve
sleep 0.2
$PROGRAMS/marker begin solve sleep 20 end begin other sleep 10 end
SCRIPT
  export PROGRAMS
  marked sh -e script
  plimsoll phases last >table
  grep -q '^solve (script) ' table
  grep -q '^solve (program) ' table
  grep -q '^other  ' table
  equal csv "$(plimsoll phases --csv last | sed 1d | awk -F, '{ print $1, $NF }' | xargs)" 'solve script solve program other program'
  plimsoll ops last | grep -q '^phase:solve (program) '
  plimsoll ops last | grep -q '^phase:other  '
  plimsoll report last | grep -q '^  solve (program) '
  # EPMT's operations are those of process tags, unless phases are asked for
  job=$(plimsoll list --ids -n 1)
  equal "of EPMT" "$(epmt list op_metrics fmt=json "$job" | jq -c .)" '[]'
  equal "asked for" "$(epmt list op_metrics fmt=json tags=phase:other "$job" | jq -c 'map([.tags, .num_procs])')" '[[{"phase":"other"},1]]'
  # the program was in its phase for a tenth of the time at the end of the job
  plimsoll timeline last >bars
  grep -q '^[·.]*[█#]\{10\}.* x  solve (script)$' bars || fail "$(cat bars)"
  grep -q '^[·.]\{10\}.* x  solve (program)$' bars || fail "$(cat bars)"
}

# bats test_tags=engine
@test "phases of a script follow each other, with the CPU time of what it started in each" {
  use_store
  cat >script <<'SCRIPT'
plimsoll mark prepare
sleep 0.05
plimsoll mark 'solve: "x"'
$PROGRAMS/marker spin 60
plimsoll mark --point half
plimsoll mark nested -- sh -c '$PROGRAMS/marker spin 30; exit 3'
echo $?
plimsoll mark --end
sleep 0.01
plimsoll mark last
SCRIPT
  export PROGRAMS
  equal status "$(marked sh -e script || true)" ''
  sed -i 's/exit 3/exit 0/' script
  equal status "$(marked sh -e script)" 0
  plimsoll phases --each --json last >each
  equal phases "$(jq -c 'map([.name, .depth, .state, .origin])' each)" \
    '[["prepare",0,"ended","script"],["solve: \"x\"",0,"ended","script"],["half",1,"point","script"],["nested",0,"ended","command"],["last",0,"ended","script"]]'
  at_least cpu "$(jq '.[1].cpu_time' each)" 90000
  at_least cpu "$(jq '.[3].cpu_time' each)" 30000
  at_most cpu "$(jq '.[0].cpu_time' each)" 50000
  at_least duration "$(jq '.[0].duration' each)" 50000
  # one ends where the next begins
  equal gap "$(ask "SELECT abs(b.start - a.\"end\") <= 1 FROM phases a JOIN phases b ON b.jobid = a.jobid WHERE a.name = 'prepare' AND b.name LIKE 'solve%' AND a.job = (SELECT max(job) FROM jobs)")" 1
  # the same in every form
  equal csv "$(plimsoll phases --csv last | sed 1d | cut -d, -f1 | head -1)" prepare
  plimsoll phases last | grep -q '^nested'
  plimsoll timeline last | grep -q 'x  prepare'
  plimsoll report last | grep -q '^  prepare'
  equal report "$(plimsoll report -f json last | jq -c '.phases | [(.list | length), (.bands | length >= 2), .left_out]')" '[5,true,0]'
  # as operations: what the script started in each, with all descendants, in the innermost phase
  plimsoll report -f json last | jq -c '.operations.list | map({(.name): .}) | add' >operations
  at_least solve "$(jq '.["phase:solve: \"x\""].cpu' operations)" 60000
  at_least nested "$(jq '.["phase:nested"].cpu' operations)" 30000
  equal prepare "$(jq '.["phase:prepare"].images >= 1 and .["phase:prepare"].cpu < 50000' operations)" true
  equal tag "$(plimsoll report -f json --tag phase last | jq -c '.operations.list | map(.name) | sort | .[0:2]')" '["nested","prepare"]'
  equal other "$(plimsoll report -f json --tag other last | jq -c '.operations.list')" '[]'
  plimsoll report -o page.html last
  grep -q 'id="phases-table"' page.html
  grep -q 'class="phase odd"' page.html
  # what the processes of each phase did, as docs/phases.md has it
  ask "SELECT f.name, count(*), sum(p.cpu_time) FROM phases f JOIN processes p ON p.job = f.job AND p.start >= f.start
    AND p.start < f.\"end\" WHERE f.origin = 'script' AND f.job = (SELECT max(job) FROM jobs) GROUP BY f.name" >each
  at_least processes "$(sed -n 's/^prepare,\([0-9]*\),.*/\1/p' each)" 1
}

@test "a command in a phase has its signals and status; without a job nothing is marked and everything works" {
  use_store
  status=0
  plimsoll mark x -- sh -c 'exit 7' || status=$?
  equal status $status 7
  status=0
  plimsoll mark x -- sh -c 'kill -TERM $$' || status=$?
  equal status $status 143
  status=0
  plimsoll mark x -- ./missing 2>err || status=$?
  equal status $status 127
  plimsoll mark x
  plimsoll mark --end
  plimsoll mark -v x 2>&1 | grep -q 'belongs to no job'
  run ! plimsoll mark
  run ! plimsoll mark ''
  run ! plimsoll mark a b
  run ! plimsoll mark --end a
  [ -z "$(find . -name '*.mark')" ]
  # SIGTERM to the command that marks ends the one that runs
  plimsoll mark x -- sleep 60 &
  sleep 0.2
  kill -TERM $!
  status=0
  wait $! || status=$?
  equal status $status 143
}

@test "SIGKILL loses no mark, and what was open ends with the program" {
  use_store
  marked "$PROGRAMS/marker" begin outer pairs complete 50 begin inner sleep 20 kill || true
  equal states "$(plimsoll phases --json last | jq -c 'map([.name, .count, .open])')" '[["outer",1,1],["complete",50,0],["inner",1,1]]'
  equal end "$(ask "SELECT count(*) FROM phases f JOIN processes p ON p.id = f.process WHERE f.state = 'open' AND abs(f.\"end\" - p.\"end\") <= 1")" 2
  at_least inner "$(plimsoll phases --json last | jq '.[2].total')" 20000
}

@test "threads, forks, exec and static programs mark as themselves" {
  use_store
  marked "$PROGRAMS/marker" threads 8 work 200
  plimsoll phases --by thread --json last >stats
  equal threads "$(jq -c '[map(select(.name == "work")) | length, (map(.count) | unique)[]]' stats)" '[8,200]'
  equal inner "$(jq -c 'map(select(.name == "inner") | [.count, .depth]) | unique' stats)" '[[200,1]]'
  # the child has a file of its own; its parent's region is not the child's
  marked "$PROGRAMS/marker" begin before both pairs each 3 end
  equal processes "$(ask "SELECT count(DISTINCT pid), count(*) FROM phases WHERE name = 'each' AND job = (SELECT max(job) FROM jobs)")" 2,6
  equal warning "$(ask "SELECT text FROM job_warnings WHERE job = (SELECT max(job) FROM jobs)")" '1 end of a region has no begin'
  # the program that is executed continues the file
  marked "$PROGRAMS/marker" begin first exec begin second end
  equal exec "$(regions '[.name, .depth, .state] | join(" ")')" '["first 0 open","second 1 ended"]'
  equal images "$(ask "SELECT count(DISTINCT process), count(DISTINCT pid) FROM phases WHERE job = (SELECT max(job) FROM jobs)")" 2,1
  marked "$PROGRAMS/marker-static" begin static fork pairs child 2
  equal static "$(regions .name | jq -c 'sort')" '["child","child","static"]'
}

@test "ranks are those of the launcher, and their imbalance is computed" {
  use_store
  cat >ranks <<'SCRIPT'
PMI_RANK=0 PMI_SIZE=2 $PROGRAMS/marker begin step sleep 60 end &
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 SLURM_PROCID=7 $PROGRAMS/marker begin step sleep 180 end
wait
SCRIPT
  export PROGRAMS
  marked sh ranks
  equal ranks "$(plimsoll phases --by rank --json last | jq -c 'map([.name, .mpirank]) | sort')" '[["step",0],["step",1]]'
  plimsoll phases --json last >stats
  equal count "$(jq '.[0].ranks' stats)" 2
  at_least imbalance "$(jq '.[0].imbalance' stats)" 0.25
  at_most imbalance "$(jq '.[0].imbalance' stats)" 0.75
  equal csv "$(plimsoll phases --by rank --csv last | head -1)" name,hostname,mpirank,pid,count,total,self,min,median,max,cpu_time,open,origin
}

@test "CPU times of regions, if they are asked for" {
  use_store
  PLIMSOLL_MARK_CPU=1 marked "$PROGRAMS/marker" begin busy spin 40 end begin idle sleep 40 end
  plimsoll phases --json last >stats
  at_least busy "$(jq '.[0].cpu_time' stats)" 39000
  at_most idle "$(jq '.[1].cpu_time' stats)" 20000
  marked "$PROGRAMS/marker" begin busy end
  equal none "$(plimsoll phases --json last | jq '.[0].cpu_time')" null
}

# bats test_tags=engine
@test "hostile names are shown as text, and secrets are masked" {
  use_store
  marked "$PROGRAMS/marker" bytes long 65536 point "--token=abcdefgh12345678" point "'; DROP TABLE phase; --" point '<script>alert(1)</script>'
  plimsoll phases --each --json last >each
  equal bytes "$(jq -r '.[0].name' each)" '\x1b[31mred\xff\x0a'
  equal length "$(jq '.[1].name | length' each)" 232
  equal secret "$(jq -r '.[2].name' each)" '--token=***'
  equal sql "$(ask "SELECT count(*) FROM phases")" 5
  plimsoll report -o page.html last
  run ! grep -q '<script>alert' page.html
  run ! grep -q abcdefgh12345678 page.html
  [ "$PL_ENGINE" = postgres ] || run ! grep -q abcdefgh12345678 store.db
}

@test "marks never harm: no room, no rights, limits, full files; what is lost is counted" {
  use_store
  marked "$PROGRAMS/marker" guest
  # a file that is full
  PLIMSOLL_MARK_MAX=10 marked "$PROGRAMS/marker" pairs x 20
  equal full "$(plimsoll phases --json last | jq -c '.[0] | [.count, .open]')" '[5,0]'
  equal dropped "$(ask "SELECT text FROM job_warnings WHERE job = (SELECT max(job) FROM jobs)")" \
    '30 marks had no room in their file; PLIMSOLL_MARK_MAX allows more per process'
  # more than one segment, and more than the limit
  marked "$PROGRAMS/marker" pairs x 33000
  equal many "$(plimsoll phases --json last | jq -c '.[0].count')" 32768
  # a limit on the size of files: SIGXFSZ would end the program
  marked "$PROGRAMS/marker" limit 30000 pairs x 10
  marked "$PROGRAMS/marker" pairs x 10 limit 100000 pairs x 2000
  equal limited "$(plimsoll phases --json last | jq -c '.[0].count')" 480
  # a directory that is missing, a file, a FIFO
  PLIMSOLL_OUTPUT=$WORK/nowhere "$PROGRAMS/marker" guest pairs x 10
  PLIMSOLL_OUTPUT=/dev/null "$PROGRAMS/marker" guest pairs x 10
  mkdir closed
  chmod 500 closed
  PLIMSOLL_OUTPUT=$WORK/closed "$PROGRAMS/marker" guest pairs x 10
  # another job's environment
  mkdir other
  PLIMSOLL_OUTPUT=$WORK/other PLIMSOLL_CONTEXT="1 slurm:1@c" SLURM_JOB_ID=2 "$PROGRAMS/marker" pairs x 10
  PLIMSOLL_OUTPUT=$WORK/other PLIMSOLL_CONTEXT="1 slurm:1@c" SLURM_JOB_ID=2 PYTHONPATH=$PL_SOURCE/contrib/python /usr/bin/python3 -c 'import plimsoll_mark; plimsoll_mark.mark("x")'
  [ -z "$(ls other)" ]
  PLIMSOLL_OUTPUT=$WORK/other PLIMSOLL_CONTEXT="1 slurm:1@c" SLURM_JOB_ID=1 "$PROGRAMS/marker" pairs x 10
  equal files "$(find other -name '*.mark' | wc -l)" 1
}

@test "a job inside another: mark.h, its Python module and the library agree on which job it is" {
  export PLIMSOLL_OUTPUT=$WORK/dir PYTHONPATH=$PL_SOURCE/contrib/python PYTHONDONTWRITEBYTECODE=1
  local count=0 line expected
  while read -r expected line; do
    rm -rf dir
    mkdir dir
    # shellcheck disable=SC2086
    env PLIMSOLL_CONTEXT="1 ${line%% *}" ${line#* } LD_PRELOAD="$PL_BUILD/lib/libplimsoll.so" "$PROGRAMS/marker" point x
    equal "library, $line" "$(find dir -name '*.rec' | wc -l)" "$expected"
    equal "header, $line" "$(find dir -name '*.mark' | wc -l)" "$expected"
    rm -rf dir/*
    # shellcheck disable=SC2086
    env PLIMSOLL_CONTEXT="1 ${line%% *}" ${line#* } /usr/bin/python3 -c 'import plimsoll_mark; plimsoll_mark.mark("x")'
    equal "python, $line" "$(find dir -name '*.mark' | wc -l)" "$expected"
    count=$((count + 1))
  done <<'CASES'
1 - A=1
0 - ENVIRONMENT=BATCH SLURM_JOB_ID=5
1 - SLURM_JOB_ID=5
0 - PBS_ENVIRONMENT=PBS_BATCH PBS_JOBID=5.server
0 - LSB_JOBID=5
1 - LSB_JOBID=5 LSB_INTERACTIVE=Y
1 slurm:100@here SLURM_JOB_ID=100 SLURM_CLUSTER_NAME=here
0 slurm:100@here SLURM_JOB_ID=100 SLURM_CLUSTER_NAME=there
0 slurm:100@here SLURM_JOB_ID=101
1 slurm:100@here A=1
0 slurm:100@here SLURM_JOBID=7
1 slurm:100@here SLURM_JOB_ID=101 SLURM_HET_JOB_ID=100 SLURM_JOB_ID_HET_GROUP_0=100 SLURM_JOB_ID_HET_GROUP_1=101
0 slurm:100@here SLURM_JOB_ID=102 SLURM_HET_JOB_ID=100 SLURM_JOB_ID_HET_GROUP_0=100 SLURM_JOB_ID_HET_GROUP_1=101
1 pbs:20[3] PBS_JOBID=20
0 pbs:20[3] PBS_JOBID=21[3]
1 sge:18.4 JOB_ID=18
0 sge:18.4 JOB_ID=1
0 oar:3 OAR_JOB_ID=4
CASES
  equal cases $count 18
}

@test "a full disk: the program goes on, and the script is told" {
  use_store
  mkdir small
  unshare -rm true 2>/dev/null || skip "no user and mount namespaces here"
  unshare -rm sh -c "mount -t tmpfs -o size=100k none small && mkdir small/a &&
    PLIMSOLL_OUTPUT=$WORK/small/a $PROGRAMS/marker guest pairs x 5000 && ls -s small/a &&
    dd if=/dev/zero of=small/rest bs=1k 2>/dev/null; PLIMSOLL_OUTPUT=$WORK/small/a $PROGRAMS/marker guest pairs x 10 && echo fine
    PLIMSOLL_OUTPUT=$WORK/small/a plimsoll mark x; echo status \$?
    PLIMSOLL_OUTPUT=$WORK/small/a plimsoll mark x -- echo runs" >out 2>err
  grep -q fine out
  grep -q 'status 1' out
  grep -q runs out
  grep -q 'the mark is lost: cannot write to' err
}

# bats test_tags=engine
@test "a job between start and stop: archives carry the marks, and marks that come again replace themselves" {
  use_store
  local secret='login --password=*** and a long name that takes several slots of the file,1'
  plimsoll start -q -j 777 -o one
  export PLIMSOLL_JOB=777 PLIMSOLL_JOBDIR=$WORK/one
  plimsoll mark before
  plimsoll run -q --no-submit -- "$PROGRAMS/marker" pairs x 3 point "login --password=hunter2 and a long name that takes several slots of the file"
  plimsoll stop -q -o one
  plimsoll submit -q one
  equal names "$(ask "SELECT name, count(*) FROM phases GROUP BY name" | LC_ALL=C sort)" "$(printf 'before,1\n%s\nx,3' "$secret")"
  equal again "$(plimsoll submit one 2>&1 | grep -c 'already')" 1
  plimsoll mark after
  plimsoll submit -q one
  equal grown "$(ask "SELECT name, count(*) FROM phases GROUP BY name" | LC_ALL=C sort)" "$(printf 'after,1\nbefore,1\n%s\nx,3' "$secret")"
  grep -rq hunter2 one
  plimsoll stage -q -d "$WORK/" one
  unset PLIMSOLL_JOB PLIMSOLL_JOBDIR
  tar tzf one.tgz | grep -q '\.mark$'
  equal again "$(plimsoll submit one.tgz 2>&1 | grep -c 'already')" 1
  plimsoll phases one.tgz | grep -q '^before'
  plimsoll delete 777
  equal deleted "$(ask "SELECT count(*) FROM phases")" 0
  plimsoll submit -q one.tgz
  tar xzOf one.tgz >content
  run ! grep -q hunter2 content
  equal archive "$(ask "SELECT count(*) FROM phases WHERE name IN ('after', 'before', 'x') OR name LIKE 'login --password=*** and a long name%'")" 6
}

# bats test_tags=engine
@test "the parts of a job keep their phases, in either order" {
  use_store
  unshare -ru true 2>/dev/null || skip "no user and UTS namespaces here"
  for host in alpha beta; do
    unshare -ru sh -c 'hostname "$0"; exec "$@"' $host plimsoll run -q --no-submit -j 640 -o $host -- \
      "$PROGRAMS/marker" begin outer begin "in $host" end end
  done
  everything() {
    ask "SELECT f.hostname, f.name, f.depth, f.state, f.start, f.duration_ns, u.name, p.hostname, p.exename FROM phases f
      LEFT JOIN phases u ON u.id = f.parent JOIN processes p ON p.id = f.process ORDER BY f.start"
  }
  plimsoll submit -q alpha
  plimsoll submit -q beta
  equal jobs "$(ask "SELECT count(*) FROM jobs")" 1
  everything >first
  equal rows "$(wc -l <first)" 4
  equal beta "$(grep -c '^beta,.*beta,marker$' first)" 2
  equal parent "$(grep -c ',outer,beta,' first)" 1
  plimsoll delete 640
  plimsoll submit -q beta
  plimsoll submit -q alpha
  everything | diff first -
}

@test "C++, C in strict modes, and a program with several files and a library" {
  use_store
  command -v g++ >/dev/null || skip "no C++ compiler here"
  cat >p.cc <<'CODE'
#include <plimsoll/mark.h>
void other();
int main() { plimsoll::region all("main"); try { plimsoll::region r("throws"); other(); throw 1; } catch (int) {} }
CODE
  cat >q.cc <<'CODE'
#include <plimsoll/mark.h>
void other() { plimsoll::region r("other file"); }
CODE
  g++ -std=c++11 -Wall -Wextra -Werror -pedantic -I"$PL_SOURCE/include" p.cc q.cc -o p
  marked ./p
  equal names "$(regions '[.name, .depth, .state] | join(" ")')" '["main 0 ended","throws 1 ended","other file 2 ended"]'
  echo '#include <plimsoll/mark.h>
  int main(void) { plimsoll_begin("a"); plimsoll_mark("b"); plimsoll_end(); return 0; }' >c.c
  for std in c99 c11 gnu17; do
    gcc -std=$std -Wall -Wextra -Werror -pedantic -I"$PL_SOURCE/include" c.c -o "c-$std"
    gcc -std=$std -DPLIMSOLL_NO_MARKS -Wall -Wextra -Werror -pedantic -I"$PL_SOURCE/include" c.c -o "n-$std"
  done
  marked ./c-c99
  equal c99 "$(regions .name)" '["a","b"]'
  marked ./n-c99
  equal none "$(regions .name)" '[]'
  # a library that is loaded has its own copy, and marks into the same file
  echo '#include <plimsoll/mark.h>
  void work(void); void work(void) { plimsoll_begin("library"); plimsoll_end(); }' >l.c
  echo '#include <plimsoll/mark.h>
  #include <dlfcn.h>
  int main(void) { void (*work)(void); plimsoll_begin("program"); *(void **)&work = dlsym(dlopen("./l.so", RTLD_NOW), "work"); work(); plimsoll_end(); return 0; }' >d.c
  gcc -I"$PL_SOURCE/include" -fPIC -shared l.c -o l.so
  gcc -I"$PL_SOURCE/include" d.c -ldl -o d
  marked ./d
  equal loaded "$(regions '[.name, .depth] | join(" ")')" '["program 0","library 1"]'
}

@test "Fortran" {
  use_store
  command -v gfortran >/dev/null || skip "no gfortran here"
  cat >f.f90 <<'CODE'
program f
  use plimsoll_mark
  character(len=300) :: long
  long = repeat("f", 300)
  call plimsoll_begin("outer   ")
  call plimsoll_begin("inner")
  call plimsoll_end()
  call plimsoll_point("here")
  call plimsoll_point(long)
  call plimsoll_end()
end program
CODE
  gcc -Wall -Wextra -Werror -I"$PL_SOURCE/include" -c "$PL_SOURCE/contrib/fortran/plimsoll_mark.c"
  gfortran -Wall -Werror -std=f2008 "$PL_SOURCE/contrib/fortran/plimsoll_mark.f90" f.f90 plimsoll_mark.o -o f
  marked ./f
  equal names "$(regions '[.name[:6], .depth, (.name | length)] | join(" ")')" '["outer 0 5","inner 1 5","here 1 4","ffffff 1 232"]'
  ./f
}

@test "Python: regions, decorators, threads, forks, and code of C inside" {
  use_store
  cat >p.py <<'CODE'
import ctypes, os, sys, threading
import plimsoll_mark as marks

@marks.region("decorated")
def work():
    pass

def thread():
    with marks.region("thread"):
        pass

with marks.region("load é"):
    work()
    ctypes.CDLL("./l.so").work()
    t = threading.Thread(target=thread)
    t.start()
    t.join()
    if os.fork() == 0:
        marks.begin("child")
        os._exit(0)
    os.wait()
marks.mark("n" * 1000)
try:
    with marks.region("fails"):
        raise ValueError
except ValueError:
    pass
for i in range(1000):
    marks.begin("loop")
    marks.end()
CODE
  echo '#include <plimsoll/mark.h>
  void work(void); void work(void) { plimsoll_begin("library"); plimsoll_end(); }' >l.c
  gcc -I"$PL_SOURCE/include" -fPIC -shared l.c -o l.so
  export PYTHONPATH=$PL_SOURCE/contrib/python PYTHONDONTWRITEBYTECODE=1
  marked /usr/bin/python3 p.py
  plimsoll phases --json last >stats
  equal names "$(jq -c 'map([(.name | .[:6]), .count, .depth, .open]) | sort' stats)" \
    '[["child",1,0,1],["decora",1,1,0],["fails",1,0,0],["librar",1,1,0],["load é",1,0,0],["loop",1000,0,0],["nnnnnn",1,0,0],["thread",1,0,0]]'
  # unrecorded it is silent and leaves nothing
  /usr/bin/python3 p.py
  # a missing directory and a full file are no errors
  PLIMSOLL_OUTPUT=$WORK/nowhere /usr/bin/python3 p.py
  PLIMSOLL_MARK_MAX=4 marked /usr/bin/python3 p.py
  equal dropped "$(ask "SELECT text LIKE '%marks had no room%' FROM job_warnings WHERE job = (SELECT max(job) FROM jobs)")" 1
}

@test "mark files that are damaged cost only themselves" {
  use_store
  plimsoll run -q --no-submit -o job -- sh -c "$PROGRAMS/marker pairs good 3; $PROGRAMS/marker pairs bad 3"
  file=$(find job -name '*.mark' | sort | tail -1)
  head -c 100 /dev/urandom >"${file%.mark}x.mark"
  printf 'junk' | dd of="$file" bs=1 conv=notrunc 2>/dev/null
  : >"${file%.mark}y.mark"
  plimsoll submit -q job
  equal good "$(ask "SELECT count(*) FROM phases")" 3
  equal warning "$(ask "SELECT text FROM job_warnings")" '3 mark files are damaged'
}

@test "phases of a job without any, and of one that does not exist" {
  use_store
  marked true
  plimsoll phases last 2>&1 | grep -q 'has no phases'
  equal json "$(plimsoll phases --json last)" '[]'
  equal csv "$(plimsoll phases --csv last | wc -l)" 1
  run ! plimsoll phases nothing
  plimsoll report last >/dev/null
  equal report "$(plimsoll report -f json last | jq 'has("phases")')" false
}
