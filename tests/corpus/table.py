"""The tables of the corpus: cases.table and harmful.table."""
import itertools
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
IDS = """compute memory-bandwidth serial serial-phase imbalance oversubscribed neighbour cpu-quota affinity lock timer
wait-network wait-process wait-child storage-read storage-write small-io metadata page-faults major-faults memory-growth
memory-limit oom short-processes gpu-idle gpu-bound network-bandwidth failed crashed killed time-limit unmeasured""".split()
# ends of which the exit status says nothing about the program itself
ENDS = {"failed", "crashed", "killed", "oom", "time-limit"}
# what leaves the cores to others: may run beside a case that computes
WAITS = {"timer", "wait-network", "wait-process", "storage-read", "storage-write", "major-faults", "memory-limit",
         "gpu-bound", "unmeasured"}
AROUND = {"quota", "memory", "cpus", "slurm", "limit", "gpu", "server", "neighbours", "pidns", "pmu", "no-pmu"}


def rows(name, columns):
    """the cells of a table, and the number of the line"""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            cells = [cell.strip() for cell in line.split(" | ", columns - 1)]
            if len(cells) != columns:
                raise SystemExit(f"{name}:{number}: {len(cells)} columns, expected {columns}")
            yield number, cells


def cores():
    return len(os.sched_getaffinity(0))


def fill(text, more=None):
    """{cpus}, {many} and {half} of this machine, and what else is known"""
    n = cores()
    known = {"cpus": n, "many": 4 * n, "half": max(n / 2, 0.5), **(more or {})}
    return re.sub(r"\{(\w+)\}", lambda m: str(known.get(m[1], m[0])), text)


class Case:
    """one row of cases.table"""

    def __init__(self, number, cells):
        self.name, self.label, second, harmful, around, letters, self.command = cells
        self.second = second.split()
        self.harmful = fill(harmful).split()
        self.around = dict(part.partition("=")[::2] for part in fill(around).split() if part != "-")
        self.letters = set(letters.split())
        for bad in [i for i in [self.label, *self.second] if i not in IDS]:
            raise SystemExit(f"cases.table:{number}: {bad} is no id of a finding")
        for bad in set(self.around) - AROUND:
            raise SystemExit(f"cases.table:{number}: {bad} can not stand around a job")
        for bad in [h for h in self.harmful if h not in HARMFUL and not re.match(r"(cores|memory|time)[<>][0-9.]+$", h)]:
            raise SystemExit(f"cases.table:{number}: {bad} is not in harmful.table")

    @property
    def in_check(self):
        return "c" in self.letters

    def seconds(self):
        """how long it is expected to take"""
        if "limit" in self.around:
            return float(self.around["limit"])
        found = re.search(r"(?<!-n) ([0-9]+)\b", self.command)
        return float(found[1]) if found else 9.0

    def settings(self, root):
        """the settings that are allowed, as (sampled, root, neighbour)"""
        pick = lambda yes, no: [b for b, letter in ((True, yes), (False, no)) if letter in self.letters]
        found = itertools.product(pick("s", "u"), pick("r", "p"), pick("n", "a"))
        return [s for s in found if root or not s[1]]


def words(setting):
    sampled, root, neighbour = setting
    return " ".join(("sampled" if sampled else "unsampled", "root" if root else "user",
                     "neighbour" if neighbour else "alone"))


def harmful(which, advice):
    """the sentence of an advice that would do harm, or None. which: a name of harmful.table, or cores<N and the like"""
    limit = re.match(r"(cores|memory|time)([<>])([0-9.]+)$", which)
    for sentence in re.split(r"(?<=[.;:!])\s+", advice):
        if limit:
            for value in asked_for(limit[1], sentence):
                if value < float(limit[3]) if limit[2] == "<" else value > float(limit[3]):
                    return sentence
        elif HARMFUL[which].search(sentence) and not re.search(r"\b(not|no|nor|neither|never|instead of|without)\b", sentence):
            return sentence
    return None


def asked_for(what, sentence):
    """the numbers of cores, MiB or seconds that a sentence tells to ask for"""
    if what == "cores":
        found = re.findall(r"(?:-c |--cpus-per-task[= ]|--ntasks[= ]|[Aa]sk for |OMP_NUM_THREADS=)([0-9]+)(?![0-9.]*[MGT:]| (?:M|G|GPU))",
                           sentence)
        return [float(v) for v in found]
    if what == "memory":
        scale = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1048576}
        return [float(v) * scale[unit] for v, unit in re.findall(r"--mem=([0-9.]+)([KMGT]?)", sentence)]
    values = []
    for text in re.findall(r"--time=([0-9:-]+)", sentence):
        days, _, clock = text.rpartition("-")
        parts = [int(p) for p in clock.split(":") if p]
        parts = [0, parts[0], 0] if len(parts) == 1 else [0, *parts] if len(parts) == 2 else parts
        values.append(int(days or 0) * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2])
    return values


def load():
    cases = [Case(number, cells) for number, cells in rows("cases.table", 7)]
    for case in cases:
        if sum(other.name == case.name for other in cases) > 1:
            raise SystemExit(f"cases.table: {case.name} is there twice")
    return cases


def choose(cases, root):
    """Two settings for each case, as different as they may be, one of them without samples where that is allowed; all
    eight are used over the cases, and about equally often."""
    used = {}
    chosen = []
    for case in cases:
        allowed = case.settings(root)
        mine = []
        for sampled in (True, False):
            for _ in range(2 if sampled and "u" not in case.letters or not sampled and "s" not in case.letters else 1):
                left = [s for s in allowed if s[0] == sampled and s not in mine]
                if left:
                    like = lambda s: sum(a == b for a, b in zip(s[1:], mine[0][1:])) if mine else 0
                    mine.append(min(left, key=lambda s: (like(s), used.get(s, 0))))
                    used[mine[-1]] = used.get(mine[-1], 0) + 1
        chosen += [(case, s) for s in mine]
    return chosen


HARMFUL = {name: re.compile(pattern, re.I) for _, (name, pattern) in rows("harmful.table", 2)}
