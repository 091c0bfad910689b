"""What independent tools say of the programs of the corpus, without recording: GNU time (CPU time, faults, switches,
blocks), the kernel's schedstat (CPU time, and time ready without a core), and strace (wall time in calls)."""
import glob
import os
import re
import shutil
import threading
import around
import tools

HEAD = ["case", "wall s", "user s", "kernel s", "cores used", "cores wanted", "peak MiB", "faults minor / major",
        "waits", "blocks in / out", "longest calls (share of time in calls, number)"]
TOOLS = (["/usr/bin/time", "-o", "{}/time", "-f", "%e %U %S %M %R %F %w %I %O"],
         ["strace", "-f", "-q", "-c", "-w", "-U", "time,calls,name", "-S", "time", "-o", "{}/calls"])


class Schedstat(threading.Thread):
    """seconds on a core and ready without one, of all tasks of a session, looked at ten times a second"""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.session, self.tasks, self.ended = str(session), {}, threading.Event()

    def run(self):
        while not self.ended.wait(0.1):
            for path in glob.glob("/proc/[0-9]*/stat"):
                try:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        if file.read().rpartition(")")[2].split()[3] != self.session:
                            continue
                    for task in glob.glob(os.path.dirname(path) + "/task/*/schedstat"):
                        with open(task, encoding="ascii") as file:
                            self.tasks[task] = [int(v) / 1e9 for v in file.read().split()[:2]]
                except (OSError, IndexError):
                    continue

    def sums(self):
        return [sum(t[i] for t in self.tasks.values()) for i in (0, 1)]


def measure(corpus, case, setting, tool):
    """runs the case under a tool; returns the lines that the tool wrote, and the sums of schedstat"""
    work = corpus.scratch(setting)
    try:
        with around.Around(case, setting, work, corpus.build, 30) as a:
            a.names.update(dir=f"{work}/dir", path=f"{work}/dir/data")
            if "{file}" in case.command:
                a.names["file"] = corpus.file()
            job = tools.start([*a.prefix, *(w.format(work) for w in tool), *a.words(4)], f"{work}/dir",
                              corpus.environment(work, a.environment), a.enter_groups)
            watch = Schedstat(job.pid)
            watch.start()
            around.end_group(job, a.limit or 60)
            watch.ended.set()
            watch.join()
        written = next(f for f in (f"{work}/time", f"{work}/calls") if os.path.exists(f))
        with open(written, encoding="ascii") as file:
            return file.read().splitlines(), watch.sums()
    finally:
        shutil.rmtree(work, ignore_errors=True)


def table(corpus, cases):
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    setting = (True, os.getuid() == 0, False)
    for case in cases:
        try:
            used, (running, ready) = measure(corpus, case, setting, TOOLS[0])
            called, _ = measure(corpus, case, setting, TOOLS[1])
            t = used[-1].split() if used else []
            if len(t) != 9:
                raise ValueError("the limit ends the tool, too")
            calls = [m for m in (re.match(r"\s*([0-9.]+)\s+([0-9]+)\s+([a-z_0-9]+)\s*$", line) for line in called)
                     if m and m[3] != "total"]
            wall, user, kernel = (float(v) for v in t[:3])
            cells = [case.name, f"{wall:.1f}", f"{user:.1f}", f"{kernel:.1f}", f"{(user + kernel) / max(wall, 0.01):.2f}",
                     f"{(max(running, user + kernel) + ready) / max(wall, 0.01):.2f}", str(int(t[3]) // 1024), f"{t[4]} / {t[5]}",
                     t[6], f"{t[7]} / {t[8]}", ", ".join(f"{m[3]} {float(m[1]):.0f} % ({m[2]})" for m in calls[:2])]
        except (around.Missing, OSError, ValueError, IndexError, StopIteration) as why:
            cells = [case.name, f"not measured: {why}"] + [""] * (len(HEAD) - 2)
        print("| " + " | ".join(cells) + " |", flush=True)
