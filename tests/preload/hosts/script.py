#!/usr/bin/python3
# Everything of Python that makes processes or threads or depends on how they end: script.py MODE.
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

PROGRAMS = os.environ["PROGRAMS"]
ACTOR = os.path.join(PROGRAMS, "actor")


def run_subprocess():
    print("run", subprocess.run([ACTOR, "return", "5"]).returncode)
    print("killed", subprocess.run([ACTOR, "kill", "9"]).returncode)
    print("static", subprocess.run([ACTOR + "-static", "return", "6"]).returncode)
    print("output", subprocess.check_output([ACTOR, "printf", "4"]))
    print("shell", subprocess.call("exit 7", shell=True))
    # these keep subprocess from using vfork
    print("hook", subprocess.run([ACTOR, "return", "8"], preexec_fn=lambda: None).returncode)
    try:
        subprocess.run(["/no/such/program"])
    except OSError as error:
        print("missing", error.errno)
    try:
        subprocess.run([ACTOR, "sleep", "10000"], timeout=0.05)
    except subprocess.TimeoutExpired:
        print("timed out")
    pipeline = subprocess.Popen(["seq", "3"], stdout=subprocess.PIPE)
    print(subprocess.run(["sort", "-r"], stdin=pipeline.stdout, capture_output=True).stdout)
    print("pipeline", pipeline.wait())
    report = subprocess.run([os.path.join(PROGRAMS, "host-state"), "0"], capture_output=True, text=True)
    for line in report.stdout.splitlines():
        if any(word in line for word in ("descriptors", "Sig", "umask")):
            print(line)


def run_fork():
    for code in (0, 3):
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            os._exit(code)
        print("fork", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.execv(ACTOR, [ACTOR, "return", "4"])
    print("exec", os.waitstatus_to_exitcode(os.wait()[1]))
    pid = os.fork()
    if not pid:
        signal.pause()
    os.kill(pid, signal.SIGTERM)
    status = os.wait4(pid, 0)[1]
    print("killed", os.WTERMSIG(status))
    pid = os.fork()
    if not pid:
        os._exit(9)
    result = os.waitid(os.P_PID, pid, os.WEXITED)
    print("waitid", result.si_status, result.si_code)
    try:
        os.wait()
    except ChildProcessError as error:
        print("no child", error.errno)


def square(x):
    return x * x


def run_multiprocessing(method):
    context = multiprocessing.get_context(method)
    with context.Pool(3) as pool:
        print(pool.map(square, range(20)))
        pool.close()
        pool.join()
    process = context.Process(target=sys.exit, args=(5,))
    process.start()
    process.join()
    print("exit code", process.exitcode)


def run_threads():
    total = []
    lock = threading.Lock()

    def add(n):
        with lock:
            total.append(n)

    threads = [threading.Thread(target=add, args=(i,)) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("sum", sum(total))
    local = threading.Thread(target=lambda: subprocess.run([ACTOR, "return", "3"]))
    local.start()
    local.join()
    # still asleep when the interpreter ends
    threading.Thread(target=lambda: time.sleep(60), daemon=True).start()


def run_spawn():
    for arguments in (["return", "5"], ["kill", "9"]):
        pid = os.posix_spawn(ACTOR, [ACTOR] + arguments, os.environ)
        print("spawn", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    pid = os.posix_spawnp("true", ["true"], os.environ, file_actions=[(os.POSIX_SPAWN_CLOSE, 0)])
    print("spawnp", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    try:
        os.posix_spawn("/no/such/program", ["x"], os.environ)
    except OSError as error:
        print("missing", error.errno)


MODES = {
    "subprocess": run_subprocess,
    "fork": run_fork,
    "multiprocessing_fork": lambda: run_multiprocessing("fork"),
    "multiprocessing_spawn": lambda: run_multiprocessing("spawn"),
    "threads": run_threads,
    "posix_spawn": run_spawn,
}

if __name__ == "__main__":
    MODES[sys.argv[1]]()
    print("to standard error", file=sys.stderr)
    sys.exit(23)
