#!/usr/bin/env bats
# bats file_tags=epmt
# libpapiex.so, preloaded by hand with papiex's variables: the files are papiex's, the values those of libplimsoll.so,
# and the program looks the same with it.

# shellcheck disable=SC2016 # scripts for other shells
load lib

PAPIEX=$PL_BUILD/lib/libpapiex.so

# by_hand COMMAND...: as sites do; exit status in $status, the rows of its files in csv.jsonl, one a process with its
# threads.
by_hand() {
  rm -rf out
  mkdir out
  status=0
  LD_PRELOAD=$PAPIEX PAPIEX_OUTPUT=$WORK/out/ PAPIEX_OPTIONS=${OPTIONS-PERF_COUNT_SW_TASK_CLOCK} "$@" || status=$?
  read_csv out >csv.jsonl
  equal 'left behind' "$(find out -name '.*' -type f)" ''
}

read_csv() {
  /usr/bin/python3 - "$1" <<'P'
import glob, json, re, sys
def unescape(s):
    return re.sub(r"\\(.)", lambda m: dict(zip("abfnrtv", "\a\b\f\n\r\t\v")).get(m[1], m[1]), s)
for name in sorted(glob.glob(sys.argv[1] + "/*")):
    lines = open(name, newline="").read().split("\n")
    assert lines.pop() == ""
    header, process = lines[0].split(","), None
    for line in lines[1:]:
        cells = [unescape(c) for c in re.findall(r"((?:\\.|[^,\\])*)(?:,|$)", line)][:len(header)]
        row = {k: int(v) if re.fullmatch(r"-?\d+", v) and k not in ("args", "exename", "tags") else v for k, v in zip(header, cells)}
        assert len(row) == len(header), line
        if process is None:
            process = row
            process["threads"], process["file"] = [], name.rsplit("/", 1)[1]
        else:
            assert all(row[k] == "" for k in header[:14]), line
            process["threads"].append({k: row[k] for k in header[14:]})
    print(json.dumps(process))
P
}

# csv FILTER KEY: the value of the one process that matches
csv() {
  equal "rows of '$1'" "$(jq -c "select($1)" csv.jsonl | wc -l)" 1 || { cut -c 1-300 csv.jsonl >&2; return 1; }
  jq -r "select($1) | .$2" csv.jsonl
}

@test "papiex: name of the file, columns, tags, arguments, status, events" {
  local columns=tags,hostname,exename,path,args,exitcode,exitsignal,pid,generation,ppid,pgid,sid,numtids,mpinumranks,tid,mpirank,start,end,usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,invol_ctxsw,cminflt,cmajflt,cutime,cstime,num_threads,starttime,processor,delayacct_blkio_time,guest_time,rchar,wchar,syscr,syscw,read_bytes,write_bytes,cancelled_write_bytes,time_oncpu,time_waiting,timeslices
  export PAPIEX_TAGS='op:a,b;x:1' PMI_RANK=3 PMI_SIZE=8
  OPTIONS=PERF_COUNT_SW_TASK_CLOCK,QUIET by_hand "$PROGRAMS/actor" burn 40 7 $'a,b\\c\td'
  equal status "$status" 7
  equal file "$(ls out)" "$(hostname)-papiex-$(csv true pid)-0.csv"
  equal header "$(head -1 out/*)" "$columns,rdtsc_duration,PERF_COUNT_SW_TASK_CLOCK"
  equal mode "$(stat -c %a out/*)" 600
  equal tags "$(csv true tags)" "$PAPIEX_TAGS"
  equal name "$(csv true exename)" actor
  equal path "$(csv true path)" "$(realpath "$PROGRAMS/actor")"
  equal args "$(csv true args)" "$(printf 'burn 40 7 a,b\\c\td')"
  equal code "$(csv true '| [.exitcode, .exitsignal, .generation, .numtids, .num_threads, .mpirank, .mpinumranks] | tojson')" '[7,0,0,1,1,3,8]'
  equal thread "$(csv true '| .tid == .pid')" true
  equal 'CPU time' "$(csv true '| .usertime + .systemtime > 35000 and .time_oncpu > 35000000 and .PERF_COUNT_SW_TASK_CLOCK > 35000000')" true
  equal 'wall time' "$(csv true '| .end - .start >= .usertime + .systemtime and .rdtsc_duration > 0 and .rssmax > 500')" true
  OPTIONS='' by_hand "$PROGRAMS/actor" return 0
  equal 'without events' "$(head -1 out/*)" "$columns"
}

@test "papiex: images, threads, CPU time and I/O are those of libplimsoll.so" {
  local command native total want
  local columns='[.exename, .generation, .exitcode // 0, .numtids, .rchar // 0, .wchar // 0, .syscr // 0, .syscw // 0]'
  # shellcheck disable=SC2086 # a mode and its arguments
  for command in "$PROGRAMS/actor burn 60" "$PROGRAMS/actor threads 5 20" "$PROGRAMS/actor live_threads 3" "$PROGRAMS/actor io" \
    "$PROGRAMS/actor fork 4" "$PROGRAMS/actor vfork" "$PROGRAMS/actor chain 3" "$PROGRAMS/actor exec execvp" "$PROGRAMS/actor exec fails" \
    "$PROGRAMS/actor threads 100 1" "bash $HOSTS/script.bash"; do
    # one program of the script cannot be entered, which papiex's files leave out; others print what differs by itself
    [[ $command != *script.bash ]] || columns='select(.exitcode != 9) | [.exename, .generation, .exitcode // 0, .numtids]'
    record $command </dev/null >native.out 2>&1
    native=$status
    by_hand $command </dev/null >own.out 2>&1
    equal "status of $command" "$status" "$native"
    jq -c 'select(.thread | not)' rows.jsonl >images.jsonl
    equal "images of $command" "$(jq -c "$columns" csv.jsonl | sort)" "$(jq -c "$columns" images.jsonl | sort)"
    total=$(jq -s 'map([.usertime, .systemtime] + [.threads[] | .usertime, .systemtime] | add) | add' csv.jsonl)
    want=$(jq -s 'map(.usertime + .systemtime) | add' images.jsonl)
    at_most "CPU time of $command" "$total" "$((want * 13 / 10 + 30000))"
    at_least "CPU time of $command" "$total" "$((want * 6 / 10 - 30000))"
  done
}

@test "papiex: the rows of threads add up, and each has its own values" {
  by_hand "$PROGRAMS/actor" threads 5 30
  equal rows "$(csv true '| [.numtids, (.threads | length)] | tojson')" '[6,5]'
  equal each "$(csv true 'threads | map(.time_oncpu > 25000000 and .end > .start and .tid > 0 and .PERF_COUNT_SW_TASK_CLOCK > 25000000 and .rdtsc_duration > 0) | all')" true
  equal 'first thread' "$(csv true '| .time_oncpu < 25000000 and .PERF_COUNT_SW_TASK_CLOCK < 25000000')" true
}

@test "papiex: killed, by a raw exit, and programs that cannot be entered" {
  by_hand sh -c '"$1" kill 9; "$1" segv; "$1" raw_exit 5; sh -c "true; exec \"\$0\" burn 60 6" "$2"; exit 3' sh "$PROGRAMS/actor" "$PROGRAMS/actor-static"
  equal status "$status" 3
  equal killed "$(csv '.exename == "actor" and .args == "kill 9"' '| [.exitcode, .exitsignal] | tojson')" '[0,9]'
  equal crashed "$(csv '.args == "segv"' '| [.exitcode, .exitsignal] | tojson')" '[0,11]'
  equal raw "$(csv '.args == "raw_exit 5"' '| [.exitcode, .exitsignal] | tojson')" '[5,0]'
  equal 'not entered' "$(csv '.exename == "actor-static"' '| [.args, .exitcode, .generation] | tojson')" '["burn 60 6",6,1]'
  at_least 'its CPU time' "$(csv '.exename == "actor-static"' '| .usertime + .systemtime')" 50000
  at_most 'that of the shell before it' "$(csv '.exename == "sh" and .generation == 0 and (.args | startswith("-c true"))' '| .usertime + .systemtime')" 40000
  # the process that is killed waited for children: they are no part of it
  by_hand sh -c 'sh -c '\''"$0" burn 150; kill -9 $$'\'' "$1"; :' sh "$PROGRAMS/actor"
  at_most 'the parent' "$(csv '.exitsignal == 9' '| .usertime + .systemtime')" 60000
}

@test "papiex: children that libc waits for from within" {
  by_hand "$PROGRAMS/host-reaps" system >/dev/null
  equal ends "$(jq -s -c 'map(select(.exename == "sh" or .exename == "dash") | [.exitcode, .exitsignal]) | sort' csv.jsonl)" \
    '[[0,0],[0,0],[0,9],[0,15],[3,0],[127,0]]'
  by_hand "$PROGRAMS/host-reaps" pclose >/dev/null
  equal ends "$(jq -s -c 'map(select(.exename == "sh" or .exename == "dash") | [.exitcode, .exitsignal]) | sort' csv.jsonl)" \
    '[[0,0],[0,9],[4,0],[5,0],[6,0],[7,0]]'
  by_hand "$PROGRAMS/host-reaps" kill "exec $PROGRAMS/actor-static burn 60 6" >/dev/null
  equal 'not entered' "$(csv '.exename == "actor-static"' '| [.args, .exitcode, .generation] | tojson')" '["burn 60 6",6,1]'
}

@test "papiex: an exec in place is a row of its own, one that fails is none" {
  by_hand bash -c '"$1" burn 100; exec "$1" burn 20' bash "$PROGRAMS/actor"
  equal images "$(jq -s -c 'map([.exename, .generation]) | sort' csv.jsonl)" '[["actor",0],["actor",1],["bash",0]]'
  at_most 'the second image' "$(csv '.args == "burn 20"' '| .usertime + .systemtime')" 60000
  equal files "$(ls out | sed 's/.*-papiex-[0-9]*//' | sort | tr '\n' ' ')" '-0.csv -0.csv -1.csv '
  printf '#!/nonexistent/interpreter\n' >script
  chmod +x script
  by_hand bash -c 'shopt -s execfail; exec ./script; exec ./script; "$1" return 2; exit 9' bash "$PROGRAMS/actor" 2>/dev/null
  equal status "$status" 9
  equal images "$(jq -s -c 'map([.exename, .exitcode]) | sort' csv.jsonl)" '[["actor",2],["bash",9]]'
}

@test "papiex: EPMT's commands around a program that is preloaded by hand" {
  local script='"$1" threads 4 40; "$1" burn 60; (:; "$1" kill 9; :); exec "$1" return 0'
  export SLURM_JOB_ID=4711 EPMT_SETTINGS=$WORK/settings.py
  printf "epmt_output_prefix = '%s/epmt/'\ndb_params = {'url': 'sqlite:///%s/store.db'}\n" "$WORK" "$WORK" >settings.py
  epmt start
  dir=$(dirname "$(find epmt -name job_metadata.tmp)")
  local TIMEFORMAT='%U %S'
  {
    time LD_PRELOAD=$PAPIEX PAPIEX_OUTPUT="$WORK/$dir/" PAPIEX_OPTIONS=PERF_COUNT_SW_TASK_CLOCK PAPIEX_TAGS=op:hand \
      sh -c "$script" sh "$PROGRAMS/actor" >/dev/null 2>&1 || true
  } 2>used
  epmt stop
  epmt submit "$dir"
  record sh -c "$script" sh "$PROGRAMS/actor"
  plimsoll submit --db "$WORK/native.db" job >/dev/null
  plimsoll list --db "$WORK/store.db" --json >list.json
  plimsoll list --db "$WORK/native.db" --json >native.json
  equal images "$(jq '.[0].num_procs' list.json)" "$(jq '.[0].num_procs' native.json)"
  equal images "$(jq '.[0].num_procs' list.json)" "$(jq -c 'select(.thread | not)' rows.jsonl | wc -l)"
  # papiex has the first thread of a process once for each program that it executes
  equal threads "$(jq '.[0].num_threads' list.json)" "$(jq '.[0].num_threads + 1' native.json)"
  # what the kernel counted for the same run, and what the program burns by its own clocks: 4 x 40 ms and 60 ms
  at_most 'CPU time' "$(jq '.[0].cpu_time | round' list.json)" "$(awk '{ printf "%.0f", ($1 + $2) * 1000000 + 30000 }' used)"
  at_least 'CPU time' "$(jq '.[0].cpu_time | round' list.json)" 215000
  equal errors "$(jq -c '.[0].annotations | has("papiex-error")' list.json)" false
  equal tags "$(epmt list procs jobs=4711 fmt=dict | grep -o "'op': 'hand'" | sort -u)" "'op': 'hand'"
}

@test "papiex: nothing without PAPIEX_OPTIONS, and /tmp without PAPIEX_OUTPUT" {
  mkdir out
  LD_PRELOAD=$PAPIEX PAPIEX_OUTPUT=$WORK/out/ "$PROGRAMS/actor" return 0
  LD_PRELOAD=$PAPIEX PLIMSOLL_OUTPUT=$WORK/out "$PROGRAMS/actor" return 0
  equal files "$(ls -A out)" ''
  LD_PRELOAD=$PAPIEX PAPIEX_OPTIONS='' sh -c 'echo $$; exec "$1" return 6' sh "$PROGRAMS/actor" >pid || true
  files=("/tmp/$(hostname)-papiex-$(cat pid)-"*.csv)
  mkdir here
  mv "${files[@]}" here/
  read_csv here >csv.jsonl
  equal code "$(csv '.exename == "actor"' exitcode)" 6
  # a relative one means the directory in which the program starts
  LD_PRELOAD=$PAPIEX PAPIEX_OPTIONS='' PAPIEX_OUTPUT=out sh -c 'cd / && :'
  equal files "$(ls out | wc -l)" 1
}

# guest COMMAND...: the same with and without the library, as in compare(), with papiex's variables in both.
guest() {
  HOST=("$@")
  once plain '' || return 1
  rm -rf "$WORK"/out/* "$WORK"/out/.[!.]*
  once with "$PAPIEX" || return 1
  diff -r -a --no-dereference plain with >differences || fail "'$*' differs with libpapiex.so" "$(head -c 2000 differences)"
}

@test "papiex: programs do not notice the library" {
  local mode wrong=''
  mkdir -p out
  export PAPIEX_OUTPUT=$WORK/out/ PAPIEX_OPTIONS=''
  for mode in return exit exit_in_handler _exit_in_handler; do
    guest "$PROGRAMS/host-exits" $mode || wrong+=" $mode"
  done
  guest "$PROGRAMS/host-threads" ends || wrong+=" threads"
  guest "$PROGRAMS/host-threads" fork || wrong+=" fork"
  guest "$PROGRAMS/host-vforks" memory || wrong+=" vfork"
  guest "$PROGRAMS/host-descriptors" loop || wrong+=" descriptors"
  guest "$PROGRAMS/host-descriptors" jumps || wrong+=" jumps"
  guest "$PROGRAMS/host-errnos" calls || wrong+=" errno"
  guest sh -c '"$1" everything; echo "status $?"' sh "$PROGRAMS/host-filters" || wrong+=" filters"
  guest bash "$HOSTS/script.bash" || wrong+=" bash"
  [ -z "$wrong" ] || fail "not as without the library:$wrong"
}

@test "papiex: a directory that cannot be written to disturbs nobody" {
  local where
  export PAPIEX_OPTIONS=''
  mkdir out
  touch file
  for where in "$WORK/none/" "$WORK/file" "/$(printf '%01100d' 0)" /dev/full /proc/self/; do
    export PAPIEX_OUTPUT=$where
    guest "$PROGRAMS/host-threads" fork
    equal status "$status" 71
  done
}

@test "papiex: a directory without permission to write" {
  [ "$(id -u)" != 0 ] || skip "root may write everywhere"
  export PAPIEX_OPTIONS=''
  mkdir out
  mkdir -m 555 closed
  export PAPIEX_OUTPUT=$WORK/closed
  guest "$PROGRAMS/host-threads" fork
  equal status "$status" 71
}

@test "papiex: somebody else's files in the directory are left alone" {
  local pid
  mkdir out
  mkfifo queue
  # the names that the next processes would use
  for pid in $(seq $(($$ + 1)) $(($$ + 40))); do
    ln -s "$WORK/queue" "out/$(hostname)-papiex-$pid-0.csv"
  done
  LD_PRELOAD=$PAPIEX PAPIEX_OUTPUT=$WORK/out PAPIEX_OPTIONS='' timeout 10 sh -c 'echo "$$"; :' >pid
  equal links "$(find out -type l | wc -l)" 40
  equal own "$(find out -type f -name "*-papiex-$(cat pid)-*.csv" | wc -l)" 1
}
