"""Marks named regions of a Python program on the time line of its job; see docs/phases.md.

    import plimsoll_mark

    with plimsoll_mark.region("load"):
        ...

    @plimsoll_mark.region("step")
    def step():
        ...

    plimsoll_mark.mark("checkpoint")

Needs nothing but Python 3.8. In a program that is not recorded the calls do nothing. The marks are in a shared mapping of
a file beside the records of the job, in the format of plimsoll-mark(5): SIGKILL loses none. Errors never reach the
program; what cannot be stored is counted.
"""

import contextlib
import mmap
import os
import resource
import socket
import struct
import threading
import time

__all__ = ["begin", "end", "mark", "region"]

_MAGIC, _HEADER, _SLOT, _INLINE, _NAME_MAX = 0x314B4D50, 4096, 64, 40, 232
_FIRST, _MORE, _SLOTS, _LIMIT = 960, 4096, 65536, 1048576
_BEGIN, _END, _POINT = 1, 2, 3
_NEXT, _DROPPED, _HOST = 64, 128, 192  # offsets in the header

_BATCH = {
    "slurm": ("SLURM_JOB_ID", "SLURM_JOBID"), "pbs": ("PBS_JOBID", "PBS_JOB_ID"), "oar": ("OAR_JOB_ID", "OAR_JOBID"),
    "lsf": ("LSB_JOBID",), "sge": ("JOB_ID",),
}
_RANKS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMIX_RANK", "PMIX_SIZE"), ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def _number(name):
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _rank():
    for i, (rank, _) in enumerate(_RANKS):
        if _number(rank) >= 0:
            sizes = [_number(size) for _, size in _RANKS[i:]]
            return _number(rank), next((n for n in sizes if n > 0), 0)
    return -1, 0


def _is_other_job():
    """Is this a job that was submitted from the recorded one, whose variables it inherited?"""
    env, words = os.environ, os.environ.get("PLIMSOLL_CONTEXT", "").split(" ", 1)
    if len(words) < 2:
        return False
    if words[1].startswith("-"):
        if env.get("ENVIRONMENT", "").startswith("BATCH"):
            return bool(env.get("SLURM_JOB_ID") or env.get("JOB_ID"))
        if env.get("PBS_ENVIRONMENT", "").startswith("PBS_BATCH"):
            return bool(env.get("PBS_JOBID"))
        return bool(env.get("LSB_JOBID")) and not env.get("LSB_INTERACTIVE")
    system, _, there = words[1].partition(":")
    there, _, cluster = there.partition("@")
    here = next((env[name] for name in _BATCH.get(system, ()) if env.get(name)), None)
    if here is None:
        return False
    if cluster and env.get("SLURM_CLUSTER_NAME") and env["SLURM_CLUSTER_NAME"] != cluster:
        return True
    if here == there or there.startswith((here + "[", here + ".")):
        return False
    parts = [value for name, value in env.items() if name.startswith("SLURM_JOB_ID_HET_GROUP_")]
    return not (env.get("SLURM_HET_JOB_ID") == there and here in parts)


def _directory(output, host):
    if not output.endswith(".rec"):
        return output
    directory = os.path.dirname(output)
    name = os.path.basename(directory)
    if len(name) > 9 and name[-9] == "." and name[:-9] != host:
        return os.path.dirname(directory)
    return directory


class _Log:
    """The mark file of this process."""

    def __init__(self):
        host = socket.gethostname()
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.segments, self.used = [], 0
        try:
            with open("/proc/self/stat", encoding="latin-1") as file:
                start = int(file.read().rpartition(")")[2].split()[19])
            namespace = os.stat("/proc/self/ns/pid").st_ino
        except OSError:
            start = namespace = 0
        self.path = os.path.join(_directory(os.environ["PLIMSOLL_OUTPUT"], host),
                                 f"{host}-{namespace}-{self.pid}-{start}.py.mark")
        wanted = _number("PLIMSOLL_MARK_MAX")
        self.max = _SLOTS if wanted < 0 else min(wanted, _LIMIT)
        self.cpu = os.environ.get("PLIMSOLL_MARK_CPU", "")[:1] == "1"
        if os.path.exists(self.path):  # of the program that executed this one
            os.rename(self.path, self.path[:-len(".py.mark")] + f"-{time.time_ns()}.py.mark")
        self._grow(_HEADER + _FIRST * _SLOT)
        rank, ranks = _rank()
        head = self.segments[0]
        struct.pack_into("=HHIIQQQQiII", head, 4, 1, _SLOT, self.pid, self.max, start, namespace,
                         time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns(), rank, ranks, int(self.cpu))
        name = host.encode()[:71]
        head[_HOST:_HOST + len(name)] = name
        struct.pack_into("=I", head, 0, _MAGIC)

    def _grow(self, size):
        at = sum(len(s) for s in self.segments)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and at + size > limit:
            raise OSError("the limit on the size of files is too low")
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, at, size)
            self.segments.append(mmap.mmap(fd, size, mmap.MAP_SHARED, offset=at))
        except OSError:
            if not at:
                os.unlink(self.path)
            raise
        finally:
            os.close(fd)

    def _place(self, n):
        if n < _FIRST:
            return self.segments[0], _HEADER + n * _SLOT
        segment, n = 1 + (n - _FIRST) // _MORE, (n - _FIRST) % _MORE
        while segment >= len(self.segments):
            try:
                self._grow(_MORE * _SLOT)
            except OSError:
                self.max = 0  # no room: what follows is counted only
                raise
        return self.segments[segment], n * _SLOT

    def store(self, now, kind, name):
        slots = 1 + max(0, len(name) - _INLINE + _SLOT - 1) // _SLOT
        cpu = time.process_time_ns() if self.cpu else 0
        with self.lock:
            n, head = self.used, self.segments[0]
            try:
                if n + slots > self.max:
                    raise OSError("the file is full")
                places = [self._place(n + i) for i in range(slots)]
            except OSError:
                dropped, = struct.unpack_from("=Q", head, _DROPPED)
                struct.pack_into("=Q", head, _DROPPED, dropped + 1)
                return
            self.used += slots
            struct.pack_into("=Q", head, _NEXT, self.used)
            for i, (segment, at) in enumerate(places[1:]):
                part = name[_INLINE + i * _SLOT:_INLINE + (i + 1) * _SLOT]
                segment[at:at + len(part)] = part
            segment, at = places[0]
            struct.pack_into("=QQIBBB", segment, at, now, cpu, threading.get_native_id(), kind, 0, len(name))
            segment[at + 24:at + 24 + len(name[:_INLINE])] = name[:_INLINE]
            segment[at + 23] = slots  # now it is complete


_log = None
_off = False
_opening = threading.Lock()


def _reset():
    global _log, _opening
    _log, _opening = None, threading.Lock()


os.register_at_fork(after_in_child=_reset)


def _open():
    global _log, _off
    with _opening:
        if _log is None and not _off:
            try:
                _off = not os.environ.get("PLIMSOLL_OUTPUT") or _is_other_job()
                _log = None if _off else _Log()
            except (OSError, ValueError):
                _off = True
    return _log


def _write(kind, name):
    if _off:
        return
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    log = _log or _open()
    if log:
        text = name if isinstance(name, bytes) else str(name).encode("utf-8", "surrogateescape")
        log.store(now, kind, text.partition(b"\0")[0][:_NAME_MAX])


def begin(name):
    """A region begins; end() of the same thread ends it."""
    _write(_BEGIN, name)


def end():
    """The innermost region of this thread ends."""
    _write(_END, b"")


def mark(name):
    """A point in time."""
    _write(_POINT, name)


class region(contextlib.ContextDecorator):
    """A region as long as the body of a with statement, or each call of a decorated function."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        begin(self.name)
        return self

    def __exit__(self, *_):
        end()
        return False
