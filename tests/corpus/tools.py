"""Independent tools that measure the programs of the corpus: GNU time, strace, perf, iostat, PSI and control groups.

A tool is `beside` if it changes nothing of the run that is recorded, `inside` if it becomes a process of the job, which
then is recorded once more, and `instead` if the program runs once more without being recorded. Each has figures, most in seconds.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import around
import perf


class Tool:
    """prepare() before the run, done() after it, then read()"""

    how = "beside"
    program = None

    def __init__(self, entry=None):
        self.entry, self.work, self.around = entry, "", None
        self.figures = {}
        if self.program and not shutil.which(self.program):
            raise around.Missing(f"{self.program} is not installed")

    def prepare(self, a, work):
        self.work, self.around = work, a

    def done(self):
        pass

    def read(self, run):
        """fills the figures; run.seconds and run.where are known"""


def start(command, directory, environment, enter):
    """a program of the corpus, in a session of its own"""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=directory,
                            preexec_fn=enter, env=environment, start_new_session=True)


def root_of(work):
    with open(f"{work}/tmp/root", encoding="ascii") as file:
        return int(file.read())


class Entry(Tool):
    """no tool: notes the first process of the job, and puts it into control groups of its own. It comes last"""

    def __init__(self):
        super().__init__()
        self.groups = {}

    def prepare(self, a, work):
        super().prepare(a, work)
        text = 'echo $$ >"$1"; shift; while [ "$1" != -- ]; do echo 0 >"$1/cgroup.procs"; shift; done; shift; exec "$@"'
        mine = [g.path for g in self.groups.values() if g not in a.groups]
        a.inner = ["/bin/sh", "-c", text, "sh", f"{work}/tmp/root", *mine, "--", *a.inner]

    def group(self, a, old, new):
        """the group of the job with this controller of version 1, or of version 2. There a job is in one group only: if the
        case needs one, that"""
        if os.path.exists(f"{around.CGROUP}/{old}/cgroup.procs"):
            if old not in self.groups:
                self.groups[old] = around.Group(old, ({}, {}))
            return self.groups[old]
        if "2" not in self.groups:
            self.groups["2"] = a.groups[0] if a.groups else around.Group(new, ({}, {}))
        return self.groups["2"]

    def close(self):
        for group in self.groups.values():
            group.close()


class Time(Tool):
    """GNU time: user, kernel"""

    how = "inside"
    program = "/usr/bin/time"

    def prepare(self, a, work):
        super().prepare(a, work)
        a.inner = [*a.inner, self.program, "-o", f"{work}/tmp/time", "-f", "%U %S"]

    def read(self, run):
        with open(f"{self.work}/tmp/time", encoding="ascii") as file:
            user, kernel = file.read().split()[-2:]
        self.figures = {"user": float(user), "kernel": float(kernel)}


class Strace(Tool):
    """strace: time in calls, by name; futex-lock: that of mutexes"""

    how = "instead"
    program = "strace"

    def command(self):
        return ["strace", "-f", "-q", "-T", "-s", "0", "-e", "signal=none", "-o", f"{self.work}/tmp/calls"]

    def read(self, run):
        begun = {}
        with open(f"{self.work}/tmp/calls", encoding="utf-8", errors="replace") as file:
            for line in file:
                found = re.match(r"([0-9]+)\s+(.*)", line)
                if not found:
                    continue
                thread, text = found[1], found[2]
                if text.endswith("<unfinished ...>"):
                    begun[thread] = text
                    continue
                call = begun.pop(thread, "") if text.startswith("<...") else text
                took, name = re.search(r"<([0-9.]+)>$", text), re.match(r"[a-z_0-9]+", call)
                if took and name:
                    self.add(name[0], float(took[1]))
                    if name[0] == "futex" and "FUTEX_WAIT_PRIVATE, 2" in call:
                        self.add("futex-lock", float(took[1]))

    def add(self, name, seconds):
        self.figures[name] = self.figures.get(name, 0.0) + seconds


class Perf(Tool):
    """a `perf record` of all cores"""

    program = "perf"
    events = ()

    def prepare(self, a, work):
        super().prepare(a, work)
        a.prefix = ["perf", "record", "-q", "-a", "-N", "-B", "-m", "4M", "-o", f"{work}/{self.name}", *self.events, "--", *a.prefix]

    @property
    def name(self):
        return type(self).__name__.lower()


class Sched(Perf):
    """perf sched: states of threads"""

    events = ("-e", "sched:sched_switch", "-e", "sched:sched_waking", "-e", "sched:sched_wakeup_new")

    def read(self, run):
        self.figures = perf.states(f"{self.work}/sched", root_of(self.work), run.granted)


class Clock(Perf):
    """perf: samples of the program counter"""

    events = ("-e", "cpu-clock", "-F", str(perf.HERTZ), "--call-graph", "fp")

    def read(self, run):
        self.figures = perf.kinds(f"{self.work}/clock", root_of(self.work))


class Iostat(Tool):
    """iostat: busy: time in which the device of the scratch directory had requests in flight; read: MiB"""

    program = "iostat"

    def prepare(self, a, work):
        super().prepare(a, work)
        number = os.stat(work).st_dev
        self.device = os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"))
        if not os.path.exists(f"/sys/class/block/{self.device}"):
            raise around.Missing("the scratch directory is on no block device")
        self.process = a.start(["iostat", "-d", "-x", "-y", "-o", "JSON", self.device, "1"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)

    def done(self):
        self.process.send_signal(signal.SIGINT)
        self.text = self.process.communicate()[0]

    def read(self, run):
        rows = [s["disk"][0] for s in json.loads(self.text)["sysstat"]["hosts"][0]["statistics"]][1:]
        if not rows:
            raise around.Missing("iostat saw less than two seconds")
        wall = run.where["wall_seconds"] / len(rows)
        self.figures = {"busy": sum(r["util"] for r in rows) / 100 * wall, "read": sum(r["rkB/s"] for r in rows) / 1024 * wall}


def read_one(group, *files):
    """the first of these files that a group has"""
    for file in files:
        try:
            with open(f"{group.path}/{file}", encoding="ascii") as f:
                return f.read()
        except OSError:
            continue
    raise around.Missing(f"the control group of the job has no {files[0]}")


def value_of(text, key):
    found = re.search(rf"\b{key}[= ]([0-9]+)", text)
    return int(found[1]) if found else None


class Cgroup(Tool):
    """counters of control groups: cpu, throttled, memory (MiB)"""

    def prepare(self, a, work):
        super().prepare(a, work)
        self.cpu, self.memory = self.entry.group(a, "cpuacct", "cpu"), self.entry.group(a, "memory", "memory")

    def done(self):
        text = read_one(self.cpu, "cpuacct.usage", "cpu.stat")
        self.figures["cpu"] = int(text) / 1e9 if text.strip().isdigit() else value_of(text, "usage_usec") / 1e6
        self.figures["memory"] = int(read_one(self.memory, "memory.max_usage_in_bytes", "memory.peak")) / 2**20
        for group in self.around.groups:  # those of the case
            text = read_one(group, "cpu.stat")
            us, ns = value_of(text, "throttled_usec"), value_of(text, "throttled_time")
            self.figures["throttled"] = (us or 0) / 1e6 + (ns or 0) / 1e9


class Psi(Tool):
    """pressure of a control group of version 2: cpu, io"""

    def prepare(self, a, work):
        super().prepare(a, work)
        self.group = self.entry.group(a, "unified", "cpu")

    def done(self):
        for name in ("cpu", "io"):
            self.figures[name] = value_of(read_one(self.group, f"{name}.pressure"), "total") / 1e6


TOOLS = {"time": Time, "strace": Strace, "sched": Sched, "clock": Clock, "iostat": Iostat, "cgroup": Cgroup, "psi": Psi}
