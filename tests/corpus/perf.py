"""What `perf` says of a job: events of the scheduler, and samples of the program counter.

Whose events are the job's follows from the processes and threads that its first process started.
"""
import re
import subprocess
import around

SWITCH = re.compile(r"prev_pid=([0-9]+) prev_prio=-?[0-9]+ prev_state=(\S+) ==> next_comm=.* next_pid=([0-9]+)")
LINE = re.compile(r"^\s*(.*?)\s+(?:([0-9]+)/([0-9]+)|-1/-1)\s+\[([0-9]+)\]\s+([0-9]+\.[0-9]+):\s+(.*)$")
FORK = re.compile(r"PERF_RECORD_FORK\(([0-9]+):([0-9]+)\):\(([0-9]+):([0-9]+)\)")


def script(path, fields):
    """the lines of `perf script`"""
    done = subprocess.Popen(["perf", "script", "--ns", "--show-task-events", "--show-lost-events", "-F", fields, "-i", path],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    with done.stdout as lines:
        for line in lines:
            if "PERF_RECORD_LOST" in line:
                raise around.Missing("perf lost events")
            yield line
    done.wait()


class Job:
    """the threads of a job, by its first one"""

    def __init__(self, root):
        self.threads = {root}

    def fork(self, text):
        found = FORK.search(text)
        if found and int(found[4]) in self.threads:
            self.threads.add(int(found[2]))
        return found is not None


class Account:
    """thread seconds of a job in each state, and what the cores did meanwhile"""

    def __init__(self, root, cores):
        self.job, self.cores = Job(root), cores
        self.state = {}  # of threads of the job: run, ready, blocked
        self.on = {}     # what runs on each core: job, other, idle
        self.last = None
        self.sums = dict.fromkeys(("run", "ready", "ready-others", "ready-idle", "uninterruptible", "nothing"), 0.0)

    def pass_time(self, now):
        states = list(self.state.values())
        dt = now - self.last if self.last is not None and states else 0.0
        self.last = now
        ready, blocked = states.count("ready"), states.count("blocked")
        cores = list(self.on.values())
        others = min(ready, cores.count("other"))
        run = cores.count("job")
        self.sums["run"] += run * dt
        self.sums["ready"] += ready * dt
        self.sums["ready-others"] += others * dt
        self.sums["ready-idle"] += min(ready - others, cores.count("idle")) * dt
        self.sums["uninterruptible"] += blocked * dt
        self.sums["nothing"] += max(0, self.cores - run - ready - blocked) * dt

    def switch(self, cpu, text):
        found = SWITCH.search(text)
        if not found:
            return
        before, how, after = int(found[1]), found[2], int(found[3])
        if before in self.job.threads:
            if how[0] in "XZ":
                self.state.pop(before, None)
            else:
                self.state[before] = "ready" if how.startswith("R") else "blocked" if how.startswith("D") else "asleep"
        if after in self.job.threads:
            self.state[after] = "run"
        self.on[cpu] = "job" if after in self.job.threads else "other" if after else "idle"

    def wake(self, text):
        found = re.search(r"\bpid=([0-9]+)", text)
        thread = int(found[1]) if found else 0
        if thread in self.job.threads and self.state.get(thread) != "run":
            self.state[thread] = "ready"


def states(path, root, cores):
    """seconds: run, ready, of it while others ran or while a core was idle, uninterruptible, and nothing to run"""
    account = Account(root, cores)
    for line in script(path, "comm,pid,tid,cpu,time,event,trace"):
        found = LINE.match(line)
        if not found or account.job.fork(found[6]):
            continue
        thread, cpu, event = int(found[3] or 0), int(found[4]), found[6]
        account.pass_time(float(found[5]))
        if thread in account.job.threads and thread not in account.state and "sched_switch" not in event:
            account.state[thread] = "run"  # the first one, which began before it was known
            account.on[cpu] = "job"
        if "sched_switch:" in event:
            account.switch(cpu, event)
        elif "sched_wak" in event:
            account.wake(event)
    return account.sums


# a sample belongs to the first of these whose function is in its chain of calls
KINDS = (
    ("fork", r"kernel_clone|do_exit|do_group_exit|execve|load_elf|exec_mmap|begin_new_exec|exit_mmap|mmput|ret_from_fork|schedule_tail|kernel_wait4|release_task"),
    ("page-faults", r"exc_page_fault|asm_exc_page_fault|handle_mm_fault|do_user_addr_fault|do_madvise|zap_pte_range|zap_page_range"),
    ("metadata", r"do_sys_open|path_openat|vfs_statx|do_statx|vfs_fstat|newfstat|newlstat|newstat|do_rename|renameat|do_unlink|"
                 r"do_mkdir|do_rmdir|getdents|iterate_dir|filp_close|__fput|task_work_run|sys_close|sys_access|faccessat|getname"),
    ("small-calls", r"ksys_read|ksys_write|vfs_read|vfs_write|ksys_lseek|sys_read|sys_write|sys_lseek|entry_SYSCALL|do_syscall|syscall_"),
)
HERTZ = 997


def kinds(path, root):
    """CPU seconds of a job in the kernel, by kind, and in user mode"""
    job, sums = Job(root), {}
    ours, chain, kernel = False, [], False

    def end():
        if ours and chain:
            kind = "user"
            if kernel:
                text = " ".join(chain)
                kind = next((k for k, pattern in KINDS if re.search(pattern, text)), "other")
            sums[kind] = sums.get(kind, 0.0) + 1 / HERTZ
        chain.clear()

    for line in script(path, "comm,pid,tid,cpu,time,event,ip,sym,dso"):
        found = LINE.match(line)
        if found:
            end()
            ours = not job.fork(found[6]) and int(found[3] or 0) in job.threads
            kernel = False
        elif line.strip():
            kernel = kernel or "kernel.kallsyms" in line or "[k" in line
            chain.append(line)
    end()
    return sums
