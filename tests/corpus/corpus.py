"""Runs programs of the corpus under `plimsoll run`, and reads what was found and how core time was divided."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import around
import score
import table

KEPT = re.compile(r"PLIMSOLL_|SLURM_|PBS_|OAR_|LSB_|FLUX_|PMI|OMPI_|LD_PRELOAD|XDG_|OMP_")


def build(directory, runs):
    """compiles those C programs of the runs that are older than their source"""
    needed = {word for case, _ in runs for word in case.command.split()}
    if any(setting[2] or "neighbours" in case.around for case, setting in runs):
        needed.add("threads")
    out = os.path.join(directory, "corpus")
    header = os.path.getmtime(os.path.join(table.PROGRAMS, "work.h"))
    commands = []
    for name in sorted(os.listdir(table.PROGRAMS)):
        if not name.endswith(".c") or name[:-2] not in needed:
            continue
        source, target = os.path.join(table.PROGRAMS, name), os.path.join(out, name[:-2])
        if os.path.exists(target) and os.path.getmtime(target) > max(os.path.getmtime(source), header):
            continue
        compiler = "mpicc.openmpi" if name.startswith("mpi_") else "cc"
        if shutil.which(compiler):
            commands.append((target, [compiler, "-O1", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-pthread", "-fopenmp", source]))
    if not commands:
        return
    os.makedirs(out, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(table.cores()) as pool:
        list(pool.map(lambda c: compile_one(*c), commands))


def compile_one(target, command):
    """-O1: loops stay loops. Others may build the same program, or run it"""
    made = f"{target}.{os.getpid()}"
    subprocess.run([*command, "-o", made], check=True)
    os.replace(made, target)


def busy():
    """CPU seconds that the machine used since it started"""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(v) for v in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


class Corpus:
    """what all runs share"""

    def __init__(self, options):
        self.options = options
        self.build = os.path.abspath(options.build)
        self.plimsoll = os.path.join(self.build, "bin", "plimsoll")
        self.place = tempfile.mkdtemp(prefix="plimsoll-corpus-", dir=options.directory and os.path.abspath(options.directory))
        os.chmod(self.place, 0o755)
        self.runs, self.left_out = [], []
        self.repeat_until = 0.0  # by the monotonic clock: until then a case that others disturbed is run once more

    def file(self):
        """256 MiB on disk, which all readers share"""
        path = os.path.join(self.place, "file")
        if not os.path.exists(path):
            block = os.urandom(1 << 20)
            with open(path, "wb") as file:
                for _ in range(256):
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.chmod(path, 0o644)
        return path

    def scratch(self, setting):
        """a directory of the one who runs the job"""
        work = tempfile.mkdtemp(prefix="run-", dir=self.place)
        for name in ("home", "dir", "tmp"):
            os.mkdir(os.path.join(work, name))
        if not setting[1] and os.getuid() == 0:
            for name in ("", "home", "dir", "tmp"):
                os.chown(os.path.join(work, name), around.USER, around.USER)
        os.chmod(work, 0o755)
        return work

    def environment(self, work, more):
        clean = {k: v for k, v in os.environ.items() if not KEPT.match(k)}
        clean.update(HOME=f"{work}/home", TMPDIR=f"{work}/tmp", LC_ALL="C.UTF-8", TZ="UTC",
                     PLIMSOLL_CONFIG="/dev/null")
        clean.update(more)
        return clean

    def all(self, runs):
        for case, setting in runs:
            run = self.one(case, setting)
            if run and run.verdict == "wrong" and run.disturbed and time.monotonic() < self.repeat_until:
                self.show(run)
                run = self.one(case, setting) or run
                run.repeated = True
            if run:
                self.runs.append(run)
                self.show(run)

    def show(self, run):
        print(run.line(), file=sys.stderr if self.options.json else sys.stdout, flush=True)

    def one(self, case, setting, beside=()):
        """beside: tools that measure the same run (tools.py)"""
        run = score.Run(case, setting)
        work = self.scratch(setting)
        try:
            with around.Around(case, setting, work, self.build, case.seconds()) as a:
                a.names.update(dir=f"{work}/dir", path=f"{work}/dir/data")
                if "{file}" in case.command:
                    a.names["file"] = self.file()
                for tool in beside:
                    tool.prepare(a, work)
                self.record(run, a, work)
                for tool in beside:
                    tool.done()
            self.read(run, work)
            for tool in beside if run.where else ():
                tool.read(run)
        except around.Missing as why:
            self.left_out.append((f"{case.name} ({table.words(setting)})", str(why)))
            return None
        finally:
            if not self.options.keep:
                shutil.rmtree(work, ignore_errors=True)
        return run

    def record(self, run, a, work):
        command = [*a.prefix, self.plimsoll, "run", "-q", "-o", f"{work}/tmp/job"]
        if run.setting[0]:
            command += ["--sample", self.options.sample]
        command += ["--", *a.words(self.options.quick)]
        run.command = command
        before, begin = busy(), time.monotonic()
        with open(f"{work}/output", "wb") as output:
            job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=f"{work}/dir",
                                   env=self.environment(work, a.environment), preexec_fn=a.enter_groups, start_new_session=True)
            limit = a.limit or run.case.seconds() * 4 + 60
            run.status, run.cpu = around.end_group(job, limit)
        run.seconds = time.monotonic() - begin
        if run.seconds > limit and not a.limit:
            run.error = f"not ended after {limit:.0f} s"
        run.granted = a.granted
        run.others = max(0.0, (busy() - before - run.cpu) / run.seconds)
        allowed = 1.0 if a.neighbour else table.cores() if "neighbours" in run.case.around else 0.0
        run.disturbed = run.others > allowed + 0.15 * table.cores()
        if run.status != 0 and run.case.label not in table.ENDS:
            with open(f"{work}/output", encoding="utf-8", errors="replace") as output:
                run.error = f"it ended with {run.status}: {output.read().strip()[-300:]}"

    def ask(self, work, *words):
        done = subprocess.run([self.plimsoll, *words], capture_output=True, text=True, check=False, cwd=work,
                              env=self.environment(work, {}))
        if done.returncode != 0:
            return None, done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        try:
            return json.loads(done.stdout), None
        except ValueError as e:
            return None, [str(e)]

    def read(self, run, work):
        report, why = self.ask(work, "report", "--json", "last")
        if report is None:  # jobs of a batch system, and those that were cut off, are submitted
            self.ask(work, "submit", f"{work}/tmp/job")
            report, why = self.ask(work, "report", "--json", "last")
        if report is None:
            run.error = run.error or f"report: {why[0]}"
            return
        run.report = report
        findings = report.get("findings", [])
        run.all = [f.get("id") or "?" + f.get("kind", "") for f in findings]
        run.found = run.all[0] if run.all else ""
        for finding in findings:
            advice = " ".join(str(finding.get(k) or "") for k in ("advice", "command"))
            for which in run.case.harmful:
                sentence = table.harmful(which, advice)
                if sentence:
                    run.harm.append(f"{which}: {sentence}")
        if run.setting[0]:
            where, why = self.ask(work, "where", "--json", "last")
            if where is None:
                run.odd.append(f"nothing: {why[0]}")
            else:
                run.where = where
                read_core_time(run, where)
        if self.options.verbose:
            for finding in findings:
                print(f"    {finding.get('id') or finding.get('kind')}: {finding.get('title')} | {finding.get('details')} | "
                      f"{finding.get('advice')}", file=sys.stderr)


def read_core_time(run, where):
    """Puts the named parts and the residue, as shares of granted cores x wall time, into a run, and compares cores, wall
    time and CPU time with what was known before."""
    parts, cores, seconds = where.get("parts"), where.get("granted_cores"), where.get("wall_seconds")
    if not isinstance(parts, list) or not cores or not seconds:
        run.odd.append("nothing: no parts, granted_cores and wall_seconds in the JSON of `where`")
        return
    sums = {p["name"]: p.get("seconds") or 0 for p in parts}
    residue = sums.pop("residue", 0)
    run.covered, run.residue = sum(sums.values()) / (cores * seconds), residue / (cores * seconds)
    cpu = sum(v for name, v in sums.items() if name == "user" or name.startswith("kernel-"))
    if abs(cores - run.granted) > 0.01:
        run.odd.append(f"{cores:g} cores, but {run.granted:g} were granted")
    if not 0.85 * run.seconds - 0.3 <= seconds <= run.seconds + 0.1:
        run.odd.append(f"{seconds:.2f} s, but it took {run.seconds:.2f} s")
    if abs(cpu - run.cpu) > max(0.3, 0.1 * run.cpu):  # the kernel's has the CPU time of plimsoll itself, too
        run.odd.append(f"{cpu:.2f} s of CPU time, but the kernel counted {run.cpu:.2f} s")
