"""What stands around a job of the corpus: control groups, namespaces, servers, neighbours, a batch system.

Everything is made for one run and removed after it; processes are ended by their numbers.
"""
import ctypes
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from table import PROGRAMS, cores, fill

USER = 65534  # nobody, as in tests/run-bats
CGROUP = "/sys/fs/cgroup"


class Missing(Exception):
    """a case that can not be run here, and why"""


def bytes_of(text):
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]]


def has_pmu():
    """whether the processor's counters can be read: perf_event_open of the cycles of this thread"""
    attr = (ctypes.c_char * 128)()
    ctypes.memmove(attr, (0).to_bytes(4, "little") + (128).to_bytes(4, "little") + bytes(8), 16)
    fd = ctypes.CDLL(None, use_errno=True).syscall(298, attr, 0, -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


class Group:
    """a control group with a limit, of version 1 or 2"""

    numbers = itertools.count()

    def __init__(self, controller, values):
        old = os.path.join(CGROUP, controller)
        if os.path.isdir(old) and os.path.exists(os.path.join(old, "cgroup.procs")):
            parent, version = old, 0
        elif os.path.exists(f"{CGROUP}/cgroup.subtree_control"):
            with open(f"{CGROUP}/cgroup.subtree_control", encoding="ascii") as file:
                if controller not in file.read():
                    raise Missing(f"the control groups of this machine have no {controller} controller")
            parent, version = CGROUP, 1
        else:
            raise Missing(f"no control groups for {controller}")
        self.path = f"{parent}/plimsoll-corpus.{os.getpid()}.{next(Group.numbers)}"
        try:
            os.mkdir(self.path)
            for name, value in values[version].items():
                with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
                    file.write(str(value))
        except OSError as e:
            self.close()
            raise Missing(f"cannot make a control group for {controller}: {e.strerror}") from e

    def enter(self):
        with open(f"{self.path}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    def close(self):
        for _ in range(50):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)


class Around:
    """Use as a context. prefix: words before `plimsoll`; environment; names for the placeholders of the command."""

    def __init__(self, case, setting, work, build, seconds):
        self.case, self.work, self.build, self.seconds = case, work, build, seconds
        self.sampled, self.root, self.neighbour = setting
        self.prefix, self.inner, self.names, self.groups, self.children = [], [], {}, [], []
        self.environment = {}
        self.namespace = None
        self.limit = None
        self.granted = float(cores())

    def __enter__(self):
        try:
            for name, value in self.case.around.items():
                getattr(self, "make_" + name.replace("-", "_"))(value)
            if self.neighbour:
                self.make_neighbours("1")
            if not self.root and os.getuid() == 0:
                self.prefix += ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]
            if self.namespace:
                self.prefix = ["nsenter", "-t", str(self.namespace), "-n", *self.prefix]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        for group in self.groups:
            group.close()

    def enter_groups(self):
        for group in self.groups:
            group.enter()

    def start(self, command, **more):
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, **more)
        self.children.append(child)
        return child

    def needs_root(self, what):
        if os.getuid() != 0:
            raise Missing(f"{what} needs root")

    # ---- one function for each word of the column `around` ------------------------------------------------

    def make_quota(self, value):
        self.needs_root("a CPU quota")
        us = int(float(value) * 100000)
        self.granted = min(self.granted, float(value))
        self.groups.append(Group("cpu", ({"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": us}, {"cpu.max": f"{us} 100000"})))

    def make_memory(self, value):
        self.needs_root("a memory limit")
        limit = bytes_of(value)
        self.groups.append(Group("memory", ({"memory.limit_in_bytes": limit, "memory.swappiness": 0},
                                            {"memory.max": limit, "memory.swap.max": 0})))

    def make_cpus(self, value):
        allowed = sorted(os.sched_getaffinity(0))[: int(value)]
        self.granted = min(self.granted, len(allowed))
        self.prefix += ["taskset", "-c", ",".join(map(str, allowed))]

    def make_slurm(self, value):
        """the environment of a Slurm job, and a scontrol that knows it"""
        count, mib = value.split(",")
        end = int(time.time() + float(self.case.around.get("limit", 3600)))
        minutes = 1 if "limit" in self.case.around else 60
        self.environment.update(
            SLURM_JOB_ID="4711", SLURM_JOBID="4711", SLURM_JOB_CPUS_PER_NODE=count, SLURM_CPUS_ON_NODE=count, SLURM_NTASKS="1",
            SLURM_JOB_NUM_NODES="1", SLURM_MEM_PER_NODE=mib, SLURM_JOB_START_TIME=str(end - 60 * minutes),
            SLURM_JOB_END_TIME=str(end))
        tools = os.path.join(self.work, "tools")
        os.makedirs(tools, exist_ok=True)
        with open(f"{tools}/scontrol", "w", encoding="ascii") as file:
            file.write("#!/bin/sh\ncat <<'END'\nJobId=4711 JobName=corpus\n   UserId=nobody(65534) GroupId=nogroup(65534)\n"
                       f"   JobState=RUNNING Reason=None\n   RunTime=00:00:00 TimeLimit=00:{minutes:02}:00\n"
                       f"   NumNodes=1 NumCPUs={count} NumTasks=1 CPUs/Task={count}\n"
                       f"   TRES=cpu={count},mem={mib}M,node=1,billing={count}\n   MinMemoryNode={mib}M\nEND\n")
        os.chmod(f"{tools}/scontrol", 0o755)
        self.environment["PATH"] = f"{tools}:{os.environ['PATH']}"

    def make_limit(self, value):
        self.limit = float(value)  # then the batch system ends the job: see run

    def make_gpu(self, value):
        library = os.path.join(self.build, "tests", "libnvidia-ml-fake.so")
        if not os.path.exists(library):
            raise Missing("the stand-in for the driver's library is not built (scripts/build release)")
        answers = os.path.join(os.path.dirname(PROGRAMS), "..", "fixtures", "nvml", f"{value}.answers")
        self.environment.update(PLIMSOLL_NVML=library, FAKE_NVML_ANSWERS=os.path.abspath(answers), CUDA_VISIBLE_DEVICES="0")

    def make_pidns(self, _):
        self.inner = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if not self.root:
            self.inner += ["--user", "--map-root-user"]

    def make_pmu(self, _):
        if not has_pmu():
            raise Missing("the counters of this processor cannot be read")

    def make_no_pmu(self, _):
        if has_pmu():
            raise Missing("the counters of this processor can be read: see the case with them")

    def make_neighbours(self, value):
        self.start([os.path.join(self.build, "corpus", "threads"), str(int(self.seconds) + 30), value])

    def make_server(self, kind):
        if kind == "fifo":
            self.names["fifo"] = path = os.path.join(self.work, "lines")
            os.mkfifo(path, 0o644)
            os.chmod(path, 0o644)
            self.start([sys.executable, "-c", "import sys, time\nwith open(sys.argv[1], 'w', 1) as f:\n while 1: f.write('line\\n'); time.sleep(0.2)",
                        path], stderr=subprocess.DEVNULL)
            return
        inside = []
        if kind == "network":
            self.needs_root("a network namespace")
            inside = self.make_network()
        place = os.path.join(self.work, "socket") if kind == "unix" else "0"
        server = self.start([*inside, sys.executable, os.path.join(PROGRAMS, "server.py"), "0.05", str(self.seconds + 60), place],
                            stdout=subprocess.PIPE, text=True)
        answer = server.stdout.readline().strip()
        if not answer:
            raise Missing("the server did not start")
        self.names.update(socket=answer, port=answer, host="10.77.0.1" if kind == "network" else "127.0.0.1")

    def make_network(self):
        """two network namespaces with a wire between them: this one's words, and the job's namespace"""
        here, there = (self.start(["unshare", "-n", "sleep", str(int(self.seconds) + 60)]).pid for _ in "12")
        for _ in range(100):  # until both are in namespaces of their own
            mine = os.readlink("/proc/self/ns/net")
            if all(os.readlink(f"/proc/{p}/ns/net") != mine for p in (here, there)):
                break
            time.sleep(0.02)
        enter = ["nsenter", "-t", str(here), "-n"]
        steps = [["ip", "link", "add", "wire0", "netns", str(here), "type", "veth", "peer", "name", "wire1", "netns", str(there)]]
        for pid, wire, address in ((here, "wire0", "10.77.0.1/24"), (there, "wire1", "10.77.0.2/24")):
            inside = ["nsenter", "-t", str(pid), "-n", "ip"]
            steps += [[*inside, "addr", "add", address, "dev", wire], [*inside, "link", "set", wire, "up"],
                      [*inside, "link", "set", "lo", "up"]]
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Missing(f"no network namespaces: {done.stderr.strip()}")
        self.namespace = there
        return enter

    # ---- the command ------------------------------------------------------------------------------------

    def words(self, most=None):
        """the words of the command, with the programs' places and all placeholders filled in; its first number is its
        seconds, at most so many"""
        text = fill(self.case.command, self.names)
        found = []
        for i, word in enumerate(text.split()):
            script = os.path.join(PROGRAMS, word)
            program = os.path.join(self.build, "corpus", word)
            if word.endswith(".py") and os.path.exists(script):
                found += ["/usr/bin/python3", script]
            elif word.endswith((".sh", ".mk")) and os.path.exists(script):
                found.append(script)
            elif re.fullmatch(r"[a-z_]+", word) and os.path.isfile(program) and (i == 0 or found[-1] != word):
                found.append(program)
            else:
                found.append(word)
        if most and not self.limit:
            i = next((i for i, w in enumerate(found) if re.fullmatch(r"[0-9]+", w) and found[i - 1] != "-n"), None)
            if i is not None:
                found[i] = str(min(int(found[i]), most))
        if found[0] == "mpirun":
            if not shutil.which("mpirun.openmpi"):
                raise Missing("Open MPI is not installed")
            found[0] = "mpirun.openmpi"
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return [*self.inner, *found]


def end_group(process, after):
    """Waits for a process; after so many seconds it does what a batch system does at the time limit: SIGTERM to all, and
    SIGKILL later. Returns its status and the CPU seconds of it and all that it waited for."""
    begin, sent = time.monotonic(), []
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        for number, when in ((signal.SIGTERM, after), (signal.SIGKILL, after + 3)):
            if number not in sent and time.monotonic() - begin > when:
                sent.append(number)
                os.killpg(process.pid, number)
        time.sleep(0.02)
