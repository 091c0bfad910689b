#!/usr/bin/env python3
"""plimsoll run as somebody's child: signals, stopping, the terminal. Each word on the command line is a check; a line
says what differed and the status is 1. PLIMSOLL names the program, the working directory is the test's own."""
import ctypes, json, os, pty, select, signal, sqlite3, subprocess, sys, time

RUN = [os.environ.get("PLIMSOLL", "plimsoll"), "run", "-q", "--no-submit", "-o", "job", "--"]
LIBC = ctypes.CDLL(None, use_errno=True)
failures = []


def differs(what, got, want):
    if got != want:
        failures.append("%s: got %r, want %r" % (what, got, want))


def until(condition, what, seconds=30):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            failures.append("never: " + what)
            return False
        time.sleep(0.01)
    return True


def state(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


# prints what it gets: number, code, and what was queued with it
HEARER = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(void)
{
	unsigned long long all = ~0ull;
	siginfo_t si;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		memset(&si, 0, sizeof(si));
		if (syscall(SYS_rt_sigtimedwait, &all, &si, NULL, 8) < 0)
			continue;
		printf("%d %d %d %ld\n", si.si_signo, si.si_code, si.si_pid, (long)si.si_value.sival_int);
		fflush(stdout);
	}
}
"""


def compiled(name, text):
    with open(name + ".c", "w") as f:
        f.write(text)
    subprocess.check_call(["gcc", "-w", "-o", name, name + ".c"])
    return os.path.abspath(name)


def sigqueue(pid, number, value):
    if LIBC.sigqueue(pid, number, ctypes.c_void_p(value)) != 0:
        raise OSError(ctypes.get_errno())


def check_signals():
    """Every signal that can be caught arrives once and alone, with what was queued."""
    hearer = compiled("hearer", HEARER)
    p = subprocess.Popen(RUN + [hearer], stdout=subprocess.PIPE, text=True)
    differs("start", p.stdout.readline(), "ready\n")
    for n in range(1, 65):
        if n in (signal.SIGKILL, signal.SIGSTOP):
            continue
        os.kill(p.pid, n)
        got = p.stdout.readline().split()
        differs("signal %d" % n, got[:2], [str(n), "0"])
        sigqueue(p.pid, n, 1000 + n)
        differs("queued %d" % n, p.stdout.readline().split(), [str(n), "-1", str(os.getpid()), str(1000 + n)])
    # a queue of real-time signals keeps its length and its order
    for value in range(50):
        sigqueue(p.pid, 40, value)
    differs("queue", [int(p.stdout.readline().split()[3]) for _ in range(50)], list(range(50)))
    differs("run lives", p.poll(), None)
    for child in children(p.pid):
        os.kill(child, signal.SIGKILL)
    rest = p.stdout.read()
    differs("more than was sent", rest, "")
    differs("status", p.wait(), -signal.SIGKILL)


def check_ends():
    """Whoever waits for run sees the end of the command, by whatever signal."""
    for n in list(range(1, 65)):
        if n in (17, 18, 19, 20, 21, 22, 23, 28, 32, 33):  # these end nobody, or belong to libc
            continue
        plain = subprocess.run([sys.executable, "-c", "import os,signal,resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nif %d not in (9,): signal.signal(%d, signal.SIG_DFL)\nos.kill(os.getpid(), %d)" % (n, n, n)])
        differs("%d without" % n, plain.returncode, -n)
        subprocess.run(["rm", "-rf", "job"])
        with_run = subprocess.run(RUN + plain.args)
        differs("%d with" % n, with_run.returncode, -n)
    differs("core files", [f for f in os.listdir(".") if f.startswith("core")], [])


def check_group():
    """What the command sends to its own group comes to it once."""
    hearer = compiled("hearer", HEARER)
    script = "%s & sleep 0.3; kill -USR1 0; sleep 0.3; kill -KILL $!" % hearer
    got = subprocess.run(["setsid", "-w"] + RUN + ["sh", "-c", "trap : USR1; " + script], stdout=subprocess.PIPE, text=True)
    differs("signals", [l.split()[0] for l in got.stdout.splitlines()[1:]], ["10"])


def check_ignored_children():
    """A parent that ignores SIGCHLD hands that on; the run ends all the same."""
    got = subprocess.run(RUN + ["grep", "SigIgn", "/proc/self/status"], stdout=subprocess.PIPE, text=True, timeout=60,
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    differs("status", got.returncode, 0)
    differs("ignored", int(got.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1, 1)


def stopped(pid):
    got = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    return got is not None and got.si_code == os.CLD_STOPPED


def check_stops():
    """The command stops itself: so does run, by the same signal, and it continues the command."""
    for n in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        subprocess.run(["rm", "-rf", "job"])
        # a group of its own in a session with others, as a shell's jobs are: else the last three stop nobody
        p = subprocess.Popen(RUN + ["sh", "-c", "kill -%d $$; exit 7" % n], preexec_fn=lambda: os.setpgid(0, 0))
        if until(lambda: stopped(p.pid), "stop by %d" % n):
            differs("stop signal", os.WSTOPSIG(os.waitpid(p.pid, os.WUNTRACED)[1]), n)
            time.sleep(0.2)
            differs("state", state(p.pid), "T")
            os.kill(p.pid, signal.SIGCONT)  # run alone: it continues the command
        differs("status", p.wait(), 7)


def check_stop_alone():
    """Somebody stops and continues the command alone: run goes on with it and does not sleep for ever."""
    p = subprocess.Popen(RUN + ["sh", "-c", "sleep 1; exit 5"])
    # the program itself: its parent waits in vfork until it is there
    until(lambda: children(p.pid) and open("/proc/%d/comm" % children(p.pid)[0]).read() == "sh\n", "command")
    command = children(p.pid)[0]
    os.kill(command, signal.SIGSTOP)
    until(lambda: stopped(p.pid), "stop")
    os.waitpid(p.pid, os.WUNTRACED)
    os.kill(command, signal.SIGCONT)
    differs("status", p.wait(60), 5)


def check_once():
    """SIGCONT to the whole group, as a shell sends it, comes to the command once."""
    hearer = compiled("hearer", HEARER)
    p = subprocess.Popen(RUN + [hearer], stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.setpgid(0, 0))
    p.stdout.readline()
    command = children(p.pid)[0]
    for _ in range(5):
        os.kill(command, signal.SIGSTOP)
        until(lambda: stopped(p.pid), "stop")
        os.waitpid(p.pid, os.WUNTRACED)
        os.killpg(p.pid, signal.SIGCONT)
        differs("continued", p.stdout.readline().split()[0], str(int(signal.SIGCONT)))
        until(lambda: state(p.pid) == "S", "run goes on")
    time.sleep(0.2)
    os.kill(command, signal.SIGKILL)
    differs("more", p.stdout.read(), "")
    p.wait()


def busy_store(path):
    """A store that somebody else is writing to: whoever stores a job waits. Commit lets it go on."""
    subprocess.check_call([RUN[0], "run", "-q", "--db", path, "--", "true"])
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("begin immediate")
    return db


def jobs_in(path):
    listed = subprocess.run([RUN[0], "list", "--db", path, "--json"], stdout=subprocess.PIPE, check=True).stdout
    return sorted((j["jobname"], j["num_procs"]) for j in json.loads(listed))


def storing(path, name):
    """A run whose command has ended and whose job waits for the store."""
    subprocess.run(["rm", "-rf", "over", name])
    argv = [RUN[0], "run", "-q", "--db", path, "-N", name, "-o", name, "--", "sh", "-c", "true & wait; : >over; exit 3"]
    # it waits for the store from the moment that the end of the job is written
    p = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    until(lambda: os.path.exists("over") and not children(p.pid) and "stop_us" in open(name + "/job.json").read(), "the end of the job")
    return p


def check_storing():
    """The first signal while the job is being stored: it is stored whole, and run ends by that signal. The second ends it
    at once, and the job is in its directory."""
    for n in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        path = "once%d.db" % n
        db = busy_store(path)
        p = storing(path, "whole")
        os.kill(p.pid, n)
        time.sleep(0.3)
        differs("%d: still storing" % n, p.poll(), None)
        db.execute("commit")
        err = p.communicate(timeout=60)[1]
        differs("%d: ends by" % n, p.returncode, -n)
        differs("%d: says so" % n, "storing the job" in err, n in (signal.SIGINT, signal.SIGQUIT))
        differs("%d: stored" % n, jobs_in(path), [("true", 1), ("whole", 2)])
        db.close()
    db = busy_store("twice.db")
    p = storing("twice.db", "left")
    for _ in range(2):
        os.kill(p.pid, signal.SIGINT)
        time.sleep(0.3)
    differs("twice: ends by", p.wait(60), -signal.SIGINT)
    db.execute("commit")
    db.close()
    differs("twice: the store", jobs_in("twice.db"), [("true", 1)])
    subprocess.check_call([RUN[0], "submit", "-q", "--db", "twice.db", "left"], stdout=subprocess.DEVNULL)
    differs("twice: submitted", jobs_in("twice.db"), [("left", 2), ("true", 1)])


def check_wait():
    """--wait ends at a signal: the command's descendants go on, run stores what it has and ends by that signal."""
    for n in (signal.SIGINT, signal.SIGTERM):
        subprocess.run(["rm", "-rf", "job", "rest"])
        argv = RUN[:2] + ["--wait", "--no-submit", "--json=wait.json", "-o", "job", "--", "sh", "-c", "sleep 100 >/dev/null 2>&1 & echo $! >rest; exit 3"]
        p = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists("rest") and os.path.getsize("rest") > 0 and len(children(p.pid)) == 1 and
              open("/proc/%d/comm" % children(p.pid)[0]).read() == "sleep\n", "the orphan")
        rest = int(open("rest").read())
        time.sleep(0.3)
        differs("%d: waits" % n, p.poll(), None)
        os.kill(p.pid, n)
        err = p.communicate(timeout=60)[1]
        differs("%d: ends by" % n, p.returncode, -n)
        differs("%d: what still runs" % n, json.load(open("wait.json"))["running"], 1)
        differs("%d: says so" % n, "still running" in err, True)
        differs("%d: goes on" % n, state(rest), "S")
        os.kill(rest, signal.SIGKILL)


def check_keys():
    """What is typed on a terminal goes to the whole group: the command has it once."""
    hearer = compiled("hearer", HEARER)
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(RUN[0], RUN + [hearer])
    seen = ""
    while "ready" not in seen:
        seen += os.read(fd, 1000).decode()
    for key, n in ("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT), ("\x1a", signal.SIGTSTP):
        seen = ""
        os.write(fd, key.encode())
        time.sleep(0.5)
        while select.select([fd], [], [], 0.3)[0]:
            seen += os.read(fd, 1000).decode()
        heard = [line.split()[:2] for line in seen.replace("^C", "").replace("^\\", "").replace("^Z", "").splitlines() if line]
        differs("signal %d" % n, heard, [[str(int(n)), "128"]])
    for child in children(pid):
        os.kill(child, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, *argv):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["PS1"] = "ready> "
            os.environ["TERM"] = "dumb"
            os.execvp(argv[0], argv)
        self.seen = ""
        self.wait("ready> ")

    def wait(self, text, seconds=30):
        end = time.time() + seconds
        while text not in self.seen:
            if time.time() > end or not select.select([self.fd], [], [], 1)[0]:
                if time.time() > end:
                    failures.append("never saw %r in %r" % (text, self.seen))
                    return
                continue
            try:
                self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                failures.append("the terminal closed before %r in %r" % (text, self.seen))
                return
        self.seen = self.seen.split(text, 1)[1]

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text, answer):
        self.type(text + "\n")
        self.wait(answer)

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)

    def foreground(self):
        return os.tcgetpgrp(self.fd)

    def in_front(self, line, group):
        """Types a line until it has brought the group to the front: a shell that has just taken the
        terminal back may lose what is typed, with run and without."""
        for _ in range(5):
            self.type(line + "\n")
            end = time.time() + 6
            while time.time() < end:
                if self.foreground() == group:
                    return
                time.sleep(0.01)
        failures.append("never: the job's group in front")


def check_terminal():
    """^Z, fg, bg, ^C and the foreground group on a terminal, as without run."""
    for prefix in "", " ".join(RUN):
        s = Shell("bash", "--norc", "--noprofile", "-i")
        for stopper in ("sh -c 'echo begun; sleep 100; echo no'", "sh -c 'echo begun; cat; echo no'"):
            s.type("rm -rf job; %s %s\n" % (prefix, stopper))
            s.wait("begun\r\n")
            time.sleep(0.5)  # a shell that waits in vfork for a child that has stopped does not stop
            group = s.foreground()
            s.type("\x1a")
            s.wait("Stopped")
            s.wait("ready> ")
            s.in_front("fg", group)
            s.type("\x03")
            s.wait("ready> ")
            s.line("echo status=$?", "status=130")
            s.wait("ready> ")
        # a command that ignores ^Z is not stopped, nor is run
        s.type("rm -rf job; %s sh -c 'trap \"\" TSTP; echo begun; sleep 1; echo over'\n" % prefix)
        s.wait("begun\r\n")
        time.sleep(0.3)
        s.type("\x1a")
        s.wait("over")
        s.wait("ready> ")
        # a loop of the shell ends at ^C
        s.type("for i in 1 2 3; do rm -rf job; %s sh -c 'echo begun; sleep 20; echo no'; done; echo\n" % prefix)
        s.wait("begun\r\n")
        time.sleep(0.3)
        s.type("\x03")
        s.line("echo after $((6 * 7))", "after 42")
        differs("loop goes on (%r)" % prefix, "begun" in s.seen, False)
        # a shell in the run has the terminal and its own jobs
        s.type("rm -rf job; %s bash --norc --noprofile -i\n" % prefix)
        s.wait("ready> ")
        s.type("sleep 50\n")
        time.sleep(0.3)
        s.type("\x1a")
        s.wait("Stopped")
        s.line("while jobs %1 >/dev/null 2>&1; do kill -KILL %1; sleep 0.1; done; exit 3", "ready> ")
        s.line("echo status=$?", "status=3")
        # the background: reading from the terminal stops the job, the shell says so
        s.type("rm -rf job; %s cat &\n" % prefix)
        s.wait("ready> ")
        time.sleep(0.5)
        s.line("jobs", "Stopped")
        s.line("kill -TERM %1; kill -CONT %1; wait %1; echo status=$?", "status=143")
        s.close()


def check_hangup():
    """The terminal goes away: the leader of the session hears it, and the command in its place."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(RUN[0], RUN + ["sh", "-c", "trap 'echo hangup >heard; exit 4' HUP; echo begun; while :; do sleep 0.05; done"])
    seen = b""
    while b"begun" not in seen:
        seen += os.read(fd, 1000)
    os.close(fd)
    differs("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 4)
    differs("heard", os.path.exists("heard"), True)


signal.alarm(150)  # a check that hangs fails
for word in sys.argv[1:]:
    globals()["check_" + word]()
for line in failures:
    print(line)
sys.exit(bool(failures))
