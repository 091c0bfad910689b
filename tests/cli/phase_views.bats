#!/usr/bin/env bats
# Phases where other things of a job are shown: as operations, in curves, in comparisons and in exported tables. What is
# marked, and `plimsoll phases` itself, is tested in phases.bats. PL_ENGINE chooses the engine, as for store.bats.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash"

# value JQ ARGUMENT...: of ops --json
value() {
  local what=$1
  shift
  plimsoll ops --json "$@" | jq -c "$what"
}

# The script of a job with phases in a row, one inside, regions of a program with the name of one of them, and tags.
make_script() {
  export PROGRAMS
  cat >script <<'SCRIPT'
plimsoll mark prepare
sleep 0.05
plimsoll mark solve
$PROGRAMS/marker spin 40
plimsoll mark inside -- sh -c '$PROGRAMS/marker spin 20; :'
plimsoll mark --end
PLIMSOLL_MARK_CPU=1 $PROGRAMS/marker begin solve begin inner spin 10 end end
$PROGRAMS/marker threads 4 work 200
plimsoll mark archive
PLIMSOLL_TAGS='op:cp' $PROGRAMS/marker spin 20
SCRIPT
}

# bats test_tags=engine
@test "ops: phases are operations, with the processes that scripts started in them and the threads of regions" {
  use_store
  make_script
  plimsoll run -q -- sh script
  value . last >ops
  equal operations "$(jq -c 'map([.operation, .origin]) | sort' ops)" \
    '[["op:cp","tags"],["phase:archive","script"],["phase:inner","program"],["phase:inside","command"],["phase:prepare","script"],["phase:solve","program"],["phase:solve","script"],["phase:work","program"]]'
  # a process is in its innermost phase: inside has a shell and marker; solve has marker and two commands that mark, which
  # start another process with a sanitizer
  equal processes "$(jq -c 'map(select(.operation == "phase:archive" or .operation == "phase:inside") | [.operation, .processes]) | sort' ops)" \
    '[["phase:archive",1],["phase:inside",2]]'
  equal processes "$(jq -c 'map(select(.origin == "script" and (.operation == "phase:prepare" and .processes >= 2 or .operation == "phase:solve" and .processes >= 3 and .processes <= 5))) | length' ops)" 2
  equal threads "$(jq -c 'map(select(.origin == "program") | [.operation, .processes, .numtids]) | sort' ops)" \
    '[["phase:inner",2,5],["phase:solve",1,1],["phase:work",1,4]]'
  solve='.[] | select(.operation == "phase:solve" and .origin == "script")'
  at_least cpu "$(jq "$solve | .cpu_time" ops)" 40000
  at_least inside "$(jq '.[] | select(.operation == "phase:inside") | .cpu_time' ops)" 20000
  at_least region "$(jq '.[] | select(.operation == "phase:solve" and .origin == "program") | .cpu_time' ops)" 10000
  equal unknown "$(jq '.[] | select(.operation == "phase:work") | .cpu_time' ops)" null
  # times are those of the phases
  for name in prepare solve archive; do
    equal "$name" "$(jq ".[] | select(.operation == \"phase:$name\" and .origin == \"script\") | .duration" ops)" \
      "$(ask "SELECT duration FROM phases WHERE name = '$name' AND origin = 'script'")"
  done
  equal runs "$(jq -c "$solve | [.runs, .contiguous, (.intervals | length), .tags]" ops)" '[1,true,1,{"phase":"solve"}]'
  # sums are exact: regions below a microsecond count
  equal short "$(jq '.[] | select(.operation == "phase:work") | .duration' ops)" \
    "$(($(ask "SELECT sum(duration_ns) FROM phases WHERE name = 'work'") / 1000))"
  # metrics of what a script started
  equal rchar "$(jq "$solve | .rchar" ops)" \
    "$(ask "SELECT sum(p.rchar) FROM processes p JOIN phases f ON f.job = p.job AND p.start >= f.start AND p.start < f.\"end\" JOIN processes u ON u.id = f.process AND u.pid = p.ppid WHERE f.name = 'solve' AND f.origin = 'script'")"
}

# bats test_tags=engine
@test "ops: phases by key, by tag, over several jobs, their roots and their costs" {
  use_store
  make_script
  plimsoll run -q -N a -- sh script
  plimsoll run -q -N a -- sh script
  plimsoll list --ids >ids
  equal by "$(value '[.[].operation] | unique' last --by phase)" \
    '["phase:archive","phase:inner","phase:inside","phase:prepare","phase:solve","phase:work"]'
  equal tag "$(value '[.[] | [.operation, .origin]] | sort' last --tag phase:solve)" '[["phase:solve","program"],["phase:solve","script"]]'
  equal two "$(value '[.[].operation] | unique' last --tag phase:solve --tag op:cp)" '["op:cp","phase:solve"]'
  equal any "$(value '[.[] | [.operation, .origin]] | sort' last --tag phase)" '[["phase","command"],["phase","program"],["phase","script"]]'
  # one inside another is not counted twice
  equal once "$(value '.[] | select(.origin == "program") | .duration' last --tag phase)" \
    "$(($(ask "SELECT sum(duration_ns) FROM phases WHERE origin = 'program' AND depth = 0 AND job = (SELECT max(job) FROM jobs)") / 1000))"
  equal other "$(value '[.[].operation]' last --by op)" '["op:cp"]'
  equal none "$(value '[.[].operation]' last --tag 'phase:nothing')" '[]'
  equal total "$(value '[.[] | select(.operation == "phase:solve") | [.jobs, .origin, .processes >= 6]] | sort' --where 'jobname = a' --total)" \
    '[[2,"program",false],[2,"script",true]]'
  equal roots "$(value '[.[] | select(.operation == "phase:inside") | .exename]' last --by phase --roots)" '["sh"]'
  plimsoll ops last --cost --csv >cost
  equal kinds "$(cut -d, -f2 cost | sort | uniq -c | awk '{print $2 $1}' | tr '\n' ' ')" 'data1 job1 kind1 phase7 total1 '
  equal movement "$(awk -F, '$2 == "job" {print $3}' cost)" 'data movement'
  equal share "$(plimsoll ops last --cost --json | jq -c '[.operations[] | select(.in_set) | .operation]')" '["op:cp"]'
  equal selected "$(plimsoll ops last --cost --tag phase:inside --json | jq -c '[.operations[] | [.operation, .in_set, .percent > 0]]')" '[["phase:inside",true,true]]'
  # a real tag that is named phase is an operation of its own
  PLIMSOLL_TAGS=phase:solve plimsoll run -q -- "$PROGRAMS/marker" begin solve end
  equal tagged "$(value '[.[] | [.operation, .origin]] | sort' last --by phase)" '[["phase:solve","program"],["phase:solve","tags"]]'
}

# bats test_tags=engine
@test "ten thousand phases, a kill, phases without an end and hostile names, everywhere" {
  use_store
  plimsoll run -q -N many -- "$PROGRAMS/marker" begin outer pairs step 10000 begin "'; DROP TABLE phase; --" bytes long 65536 kill || true
  plimsoll ops --json last >ops
  equal count "$(ask 'SELECT count(*) FROM phases')" 10004
  equal names "$(jq length ops)" 5
  equal step "$(jq '.[] | select(.operation == "phase:step") | [.duration > 0, .runs > 0]' ops -c)" '[true,true]'
  # what a kill left open ends with the process
  equal open "$(jq -c '[.[] | select(.operation == "phase:outer" or (.operation | startswith("phase:'\''"))) | .runs]' ops)" '[1,1]'
  jq -e '.[] | select(.operation == "phase:\\x1b[31mred\\xff\\x0a")' ops >/dev/null
  local f
  for f in csv json jsonl parquet feather orc hdf5 pickle sqlite; do
    equal "$f" "$(plimsoll export --what phases last -f $f -o "table.$f" --json | jq -c '[.what, .rows, .columns]')" '["phases",10004,17]'
  done
  equal csv "$(python3 -c 'import csv; r = list(csv.DictReader(open("table.csv"))); print(len(r), r[0]["name"], r[0]["state"], r[1]["name"], r[1]["state"], r[1]["parent"] == r[0]["id"])')" \
    '10004 outer open step ended True'
  equal ns "$(python3 -c 'import csv; r = list(csv.DictReader(open("table.csv"))); print(round(sum(float(x["duration"]) for x in r if x["name"] == "step") * 1000))')" \
    "$(ask "SELECT sum(duration_ns) FROM phases WHERE name = 'step'")"
  equal database "$(python3 -c 'import sqlite3; print(sqlite3.connect("table.sqlite").execute("SELECT count(*), count(DISTINCT name), max(depth) FROM phases").fetchone())')" \
    "$(ask 'SELECT count(*), count(DISTINCT name), max(depth) FROM phases' | sed 's/,/, /g; s/.*/(&)/')"
  plimsoll compare --with-failed --by phase last -- last 2>err && fail "the same run twice"
  grep -q 'is in both sets' err
  plimsoll timeline last >/dev/null
  plimsoll report last -o page.html
  equal tables "$(ask 'SELECT count(*) > 0 FROM phases')" 1
  # a job without phases has an empty table with all columns
  plimsoll run -q -- true
  plimsoll export --what phases last -f csv >empty 2>err
  equal empty "$(cat empty)" 'id,job,jobid,name,hostname,process,pid,tid,mpirank,parent,depth,state,origin,start,end,duration,cpu_time'
  grep -q 'there are no phases: the table is empty' err
}

# bats test_tags=engine
@test "ranks and threads: who took how long, and their imbalance" {
  use_store
  export PROGRAMS
  cat >ranks <<'SCRIPT'
for r in 0 1 2; do PMI_RANK=$r PMI_SIZE=3 $PROGRAMS/marker begin step end & done
wait
$PROGRAMS/marker threads 4 work 20
SCRIPT
  plimsoll run -q -- sh ranks
  change "UPDATE phase SET duration_ns = 1000000 * (1 + rank) WHERE rank IS NOT NULL"
  plimsoll phases --json last >stats
  equal ranks "$(jq -c '.[] | select(.name == "step") | [.ranks, .rank_min, .rank_mean, .rank_max, .imbalance, .threads]' stats)" '[3,1000,2000,3000,0.5,3]'
  equal threads "$(jq -c '.[] | select(.name == "work") | [.ranks, .threads, .imbalance, (.thread_min * .threads <= .total), (.thread_max >= .thread_mean)]' stats)" '[1,4,null,true,true]'
  equal mean "$(jq '.[] | select(.name == "work") | (.thread_mean * 4 - .total) | fabs < 0.01' stats)" true
  plimsoll phases --csv last | python3 -c '
import csv, sys
r = [x for x in csv.DictReader(sys.stdin) if x["name"] == "step"][0]
assert [float(r[k]) for k in ("rank_min", "rank_mean", "rank_max", "imbalance")] == [1000, 2000, 3000, 50], r'
  plimsoll phases last | grep -Eq '^step +3 .* 3 +3 +50.000$' || fail "$(plimsoll phases last)"
  equal by "$(plimsoll phases --by rank --json last | jq -c 'map(select(.name == "step") | [.mpirank, .total]) | sort')" '[[0,1000],[1,2000],[2,3000]]'
}

# compared OPTION...: the comparisons of phases, as rows
compared() {
  plimsoll compare --json "$@" | jq -c '[.comparisons[] | select(.group == "phase") | [.name, .metric, .verdict, ((.change // 0) * 100 | round)]] | sort'
}

# bats test_tags=engine
@test "compare and gate by phase: which phase became worse" {
  use_store
  local i
  for i in 1 2 3 4 5 6 7 8; do
    plimsoll run -q -N old -- "$PROGRAMS/marker" begin read end begin solve end begin solve end
    plimsoll run -q -N new -- "$PROGRAMS/marker" begin read end begin solve end begin solve end
  done
  # 1 s of reading; solving takes 2 s, and 3 s now
  change "UPDATE phase SET begin_ns = begin_ns - begin_ns % 1000, duration_ns = 1000000000"
  change "UPDATE phase SET begin_ns = begin_ns + 1000000000 * (id & 3), duration_ns = 1000000000 + 1000000 * ((id >> 32) % 7) WHERE id & 3 > 1"
  change "UPDATE phase SET duration_ns = duration_ns + 500000000 WHERE id & 3 > 1 AND id >> 32 IN (SELECT no FROM job WHERE jobname = 'new')"
  change "UPDATE phase SET begin_ns = begin_ns + 600000000 WHERE id & 3 = 3"
  change "UPDATE job SET duration_us = CASE jobname WHEN 'new' THEN 4000000 ELSE 3000000 END + 1000 * (no % 5)"
  equal phases "$(compared --by phase --metric duration new -- old)" '[["read","duration","not worse",0],["solve","duration","worse",50]]'
  plimsoll compare --by phase --metric duration new -- old >table && fail status
  grep -q '^phase solve$' table
  grep -Eq '^verdict +worse: duration \+33.* %, phase solve: duration \+49.9 %$' table || fail "$(cat table)"
  plimsoll gate --by phase --metric duration new -- old >gate && fail status
  grep -q '^worse: phase solve: duration 2 s -> 3 s, +49.9 %' gate || fail "$(cat gate)"
  # without --by the phases still say where
  plimsoll compare --metric duration new -- old >table && fail status
  grep -Eq '^ +more duration in phase solve \(\+1 s\)' table || fail "$(cat table)"
  equal csv "$(plimsoll compare --by phase --metric duration --csv new -- old | grep -c '^phase,')" 2
  run -2 plimsoll compare --by phases new -- old
  [[ $output == *"--by takes executable, operation or phase"* ]] || fail "$output"
  # a phase that is new took no time before; runs without any mark say nothing
  change "DELETE FROM phase WHERE id & 3 = 1 AND id >> 32 IN (SELECT no FROM job WHERE jobname = 'old')"
  equal new "$(compared --by phase --metric duration new -- old | jq -c '.[0][0:3]')" '["read","duration","worse"]'
  change "DELETE FROM phase WHERE id >> 32 IN (SELECT no FROM job WHERE jobname = 'old')"
  equal unmarked "$(compared --by phase --metric duration new -- old | jq -c 'map(.[2])')" '[null,null]'
}

@test "compare by phase: a script and a program that use the same name are told apart" {
  use_store
  make_script
  local i
  for i in 1 2; do
    plimsoll run -q -N a -- sh script
    plimsoll run -q -N b -- sh script
  done
  change "UPDATE job SET duration_us = 1000"
  equal names "$(plimsoll compare --json --by phase --metric duration,rchar a -- b | jq -c '[.comparisons[] | select(.group == "phase" and .metric == "duration") | .name | select(startswith("solve") or . == "prepare")] | unique')" \
    '["prepare","solve (program)","solve (script)"]'
}

@test "plot and series: phases behind the lines, and one phase as the time" {
  use_store
  cat >script <<'SCRIPT'
plimsoll mark 'first <&> "phase"'
sleep 0.4
plimsoll mark second
sleep 0.3
plimsoll mark third
sleep 0.2
plimsoll mark second
sleep 0.2
SCRIPT
  plimsoll run -q --sample 20ms -- sh script
  plimsoll plot -m process.rss --total -o a.svg last
  equal bands "$(grep -o '<g class="phase\( odd\)\?"><title>[^<]*' a.svg | sed 's/.*>//' | tr '\n' ,)" 'first &lt;&amp;&gt; &quot;phase&quot;,second,third,second,'
  python3 -c 'import xml.dom.minidom as x; x.parse("a.svg")'
  plimsoll plot -m process.rss --total --no-phases -o b.svg last
  equal none "$(grep -c 'class="phase' b.svg || true)" 0
  # the samples of a phase: between its begin and its end
  inside() {
    plimsoll series --json -m process.rss --total --phase "$1" last | jq -c '.[0].samples | [length > 2, (map(.[0]) | min), (map(.[0]) | max)]' | sed 's/[^0-9a-z:.,-]//g'
  }
  plimsoll series --csv -m process.rss --total --phase second last | sed 1d | wc -l >all
  plimsoll series --csv -m process.rss --total --phase second#1 last | sed 1d | wc -l >one
  plimsoll series --csv -m process.rss --total --phase 'second#2' last | sed 1d | wc -l >two
  plimsoll series --csv -m process.rss --total --phase third last | sed 1d | wc -l >three
  at_least first "$(cat one)" 5
  at_least third "$(cat three)" 4
  # from the first begin to the last end, what is between included; a sample is in one part
  equal parts "$(cat all)" "$(($(cat one) + $(cat two) + $(cat three)))"
  plimsoll series --json -m process.rss --total --phase third last >third.json
  python3 - "$(ask "SELECT start, \"end\" FROM phases WHERE name = 'third'")" <<'P'
import datetime, json, sys
start, end = (int(x) for x in sys.argv[1].split(","))
for time, _ in json.load(open("third.json"))[0]["samples"]:
    us = datetime.datetime.fromisoformat(time).timestamp() * 1e6 if isinstance(time, str) else time
    assert start <= us <= end, (start, us, end)
P
  plimsoll plot -m process.rss --phase third -o c.svg last
  equal range "$(grep -o '<title>[a-z]*</title>' c.svg | grep -c third)" 1
  run -1 plimsoll plot -m process.rss --phase thrid -o d.svg last
  [[ $output == *"the job has no phase 'thrid'; did you mean third?"* ]] || fail "$output"
  [ ! -e d.svg ]
  run -1 plimsoll series -m process.rss --phase second#3 last
  [[ $output == *"the job has no phase 'second#3'"* ]] || fail "$output"
  run -2 plimsoll series --phase third last
  plimsoll report last -o r.pdf
  # PNG and PDF are made by the same functions
  plimsoll plot -m process.rss -o e.png last
  plimsoll plot -m process.rss -o e.pdf last
}
