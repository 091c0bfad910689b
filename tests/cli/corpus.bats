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
