#!/usr/bin/env bats
# The corpus of programs with a known bottleneck: its tables, how it counts, and one run. What the diagnosis finds in it is
# another test (corpus.check).

load lib

# ask: Python on standard input, with the corpus' modules
ask() {
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PL_SOURCE/tests/corpus" /usr/bin/python3 -
}

@test "every id has two different programs, but for the one that has no hardware here" {
  ask <<'END'
import table
cases = table.load()
assert len(cases) >= 60, len(cases)
for id in table.IDS:
    commands = {c.command for c in cases if c.label == id}
    assert len(commands) >= 2 or id == "network-bandwidth", (id, commands)
    assert any(c.in_check for c in cases if c.label == id) or id in ("network-bandwidth", "memory-bandwidth"), id
    assert sum(c.in_check for c in cases if c.label == id) <= 1, id
END
}

@test "each case runs in two settings, all eight are used, in less than 30 minutes" {
  ask <<'END'
import table
cases = table.load()
runs = table.choose(cases, True)
assert len({s for _, s in runs}) == 8, {s for _, s in runs}
for case in cases:
    mine = [s for c, s in runs if c is case]
    assert len(mine) == len(set(mine)) == 2, (case.name, mine)
assert not any(s[1] for _, s in table.choose(cases, False)), "an ordinary user can not be root"
assert 2 <= min(c.seconds() for c in cases) and max(c.seconds() for c in cases) == 20
minutes = sum(c.seconds() + 0.7 for c, _ in runs) / 60
assert minutes < 30, minutes
END
}

@test "harmful advice is recognised, and advice against it is not" {
  ask <<'END'
from table import harmful
assert harmful("more-threads", "It is idle. Use more threads, such as 8.") == "Use more threads, such as 8."
assert not harmful("more-threads", "More threads do not help.")
assert not harmful("more-threads", "Hold the lock for less time.")
assert harmful("memory<280", "Ask for --mem=64M.") and not harmful("memory<280", "Ask for --mem=1G.")
assert harmful("cores>2", "Ask for -c 10.") and not harmful("cores>2", "Ask for -c 2.")
assert harmful("cores<2", "Ask for 1 core (-c 1) instead of 2.")
assert harmful("time<60", "Ask for --time=00:00:50.") and not harmful("time<60", "Ask for --time=2.")
assert harmful("less-request", "#SBATCH --mem=512M")
assert harmful("no-change", "Nothing needs a change.")
assert not harmful("cores>2", "Ask for 512M of memory.")
END
}

@test "the score: right, acceptable, unmeasured, wrong, and the bars" {
  ask <<'END'
import score, table
case = next(c for c in table.load() if c.name == "process-turns")
def run(found, sampled=True, harm=(), covered=0.97):
    r = score.Run(case, (sampled, True, False))
    r.found, r.harm, r.covered = found, list(harm), covered if sampled else None
    return r
assert [run(f).verdict for f in ("wait-process", "serial", "compute", "", "unmeasured")] == \
    ["right", "acceptable", "wrong", "wrong", "wrong"]
assert run("unmeasured", False).verdict == "unmeasured"
late = run("neighbour")
late.disturbed = True
assert late.verdict == "acceptable"
good = [run("wait-process")] * 10 + [run("unmeasured", False)] + [run("wait-process", False)] * 3 + [run("serial", False)] * 2
figures, bars = score.score(good)
assert all(bars.values()), bars
assert figures["sampled_right"] == 1 and figures["unsampled_right_or_acceptable"] == 5 / 6
missed = lambda runs: [name for name, reached in score.score(runs)[1].items() if not reached]
assert len(missed(good + [run("compute")] * 2)) == 2
assert missed(good + [run("compute", False)]) == ["the rest of unsampled is unmeasured, not wrong"]
assert missed(good + [run("wait-process", harm=["x"])]) == ["harmful advice: none"]
assert len(missed(good + [run("wait-process", covered=0.9)])) == 1
assert missed(good + [run("wait-process", covered=1.01)]) == ["core time never exceeded"]
assert len(missed(good + [run("wait-process", covered=None)])) == 1, "unknown coverage is not coverage"
END
}

@test "a case runs, is diagnosed and leaves nothing behind" {
  mkdir tmp
  "$PL_SOURCE/tests/corpus/run" --build "$PL_BUILD" --directory tmp --case failed-python --setting 'sampled user alone' \
    --quick 2 --json >out.json 2>lines || true # whether it is named rightly is the other test's
  jq -e '.runs[0] | .status == 1 and .error == "" and (.findings | length) > 0' out.json || fail "$(cat lines out.json)"
  grep -q ' failed-python  *sampled user alone  *failed ' lines || fail "$(cat lines)"
  equal left "$(ls tmp)" ""
}

@test "what is not there is said" {
  run "$PL_SOURCE/tests/corpus/run" --build "$PL_BUILD" --case nothing
  [ "$status" = 1 ] && [[ $output == "no case 'nothing'; --list shows them" ]] || fail "$output"
}

@test "beside other tests: nothing wrong where nobody disturbs, most right where they do, core time always" {
  ask <<'END'
import score, table
case = next(c for c in table.load() if c.name == "timer-poll")
def run(found, disturbed=False, harm=(), covered=0.97):
    r = score.Run(case, (True, True, False))
    r.found, r.disturbed, r.harm, r.covered = found, disturbed, list(harm), covered
    return r
missed = lambda runs: [name for name, reached in score.score(runs, True)[1].items() if not reached]
good = [run("timer")] * 9
assert missed(good) == []
assert missed(good + [run("serial", True), run("neighbour", True)]) == []
assert missed(good + [run("serial")]) == ["nothing wrong where others did not disturb"]
assert missed(good + [run("serial", True)] * 3) == ["right or acceptable, also where they did: 80%"]
assert missed(good + [run("timer", True, harm=["x"])]) == ["harmful advice: none"]
assert missed(good + [run("timer", True, covered=0.9)]) == ["core time covered in every sampled case: 95%"]
assert missed(good + [run("timer", True, covered=1.1)]) == ["core time never exceeded"]
figures = score.score(good + [run("neighbour", True)], True)[0]
assert (figures["undisturbed"], figures["undisturbed_right"], figures["right_or_acceptable"]) == (9, 1, 1), figures
END
}

@test "perf: states of threads from events of the scheduler" {
  cat >events <<'END'
 make 10/10 [000] 1.000000000: PERF_RECORD_FORK(11:11):(10:10)
 prog 11/11 [000] 1.000000000: sched:sched_waking: comm=x pid=99 prio=120 target_cpu=000
 make 10/10 [001] 1.000000000: sched:sched_switch: prev_comm=make prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=a b next_pid=0 next_prio=120
 prog 11/11 [000] 2.000000000: sched:sched_switch: prev_comm=prog prev_pid=11 prev_prio=120 prev_state=R+ ==> next_comm=hog next_pid=50 next_prio=120
 hog 50/50 [000] 4.000000000: sched:sched_switch: prev_comm=hog prev_pid=50 prev_prio=120 prev_state=S ==> next_comm=prog next_pid=11 next_prio=120
 prog 11/11 [000] 5.000000000: sched:sched_switch: prev_comm=prog prev_pid=11 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
 swapper 0/0 [000] 8.000000000: sched:sched_waking: comm=prog pid=11 prio=120 target_cpu=000
 swapper 0/0 [000] 8.500000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=prog next_pid=11 next_prio=120
 prog 11/11 [000] 9.000000000: sched:sched_switch: prev_comm=prog prev_pid=11 prev_prio=120 prev_state=Z ==> next_comm=swapper/0 next_pid=0 next_prio=120
END
  ask <<END
import perf
perf.script = lambda *_: open("$PWD/events")
sums = perf.states("", 10, 2)
want = {"run": 2.5, "ready": 2.5, "ready-others": 2.0, "ready-idle": 0.5, "uninterruptible": 3.0, "nothing": 8.0}
assert all(abs(sums[k] - v) < 1e-6 for k, v in want.items()), sums
END
}

# bats test_tags=root
@test "parts of core time are what GNU time, control groups and strace say" {
  [ "$(id -u)" = 0 ] || skip 'needs root'
  "$PL_SOURCE/tests/corpus/crosscheck" --quick --build "$PL_BUILD" --directory "$WORK" >table || fail "$(cat table)"
  at_least compared "$(sed -n 's/^\([0-9]*\) compared.*/\1/p' table)" 4
}
