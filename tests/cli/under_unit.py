#!/usr/bin/env python3
"""Runs a command as a unit of systemd's would run it, as far as that can be had without systemd:

    under_unit.py UNIT FILTER WRITABLE -- COMMAND...

From the unit: SystemCallFilter= and SystemCallErrorNumber=, RestrictAddressFamilies=, MemoryDenyWriteExecute=,
CapabilityBoundingSet=, ProtectSystem=strict (WRITABLE is the one directory that is not read-only), ProtectProc=,
ProcSubset=, User= (as nobody) and UMask=. FILTER is what `systemd-analyze syscall-filter` says: what its groups are.
A setting that is neither known here nor without a meaning for what is tested is an error. Needs root, and namespaces.
"""
import ctypes
import errno
import os
import sys

# what has no meaning for the tests, or needs systemd itself
OTHER = """Type ExecStart ExecReload Restart RestartSec TimeoutStopSec WatchdogSec RuntimeDirectory RuntimeDirectoryMode
RuntimeDirectoryPreserve StateDirectory StateDirectoryMode Group Environment LimitNOFILE OOMScoreAdjust MemoryHigh MemoryMax ReadWritePaths
NoNewPrivileges ProtectHome PrivateTmp PrivateDevices ProtectClock ProtectHostname ProtectKernelLogs ProtectKernelModules
ProtectControlGroups ProtectKernelTunables RestrictNamespaces RestrictRealtime RestrictSUIDSGID LockPersonality
SystemCallArchitectures""".split()
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_PTRACE": 19, "CAP_DAC_READ_SEARCH": 2, "CAP_PERFMON": 38, "CAP_SYS_RAWIO": 17}
KILL_PROCESS, ERRNO, ALLOW, COMPARE_EQUAL = 0x80000000, 0x00050000, 0x7fff0000, 4
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_MDWE = 24, 38, 65
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
CLONE_NEWNS = 0x20000
libc = ctypes.CDLL(None, use_errno=True)


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def must(r, what):
    if r < 0:
        sys.exit(f"under_unit: {what}: {os.strerror(ctypes.get_errno() or -r)}")


def read_unit(path):
    unit, section = {}, ""
    for line in open(path):
        line = line.strip()
        if line.startswith("["):
            section = line
        elif "=" in line and line[0] not in "#;" and section == "[Service]":
            key, value = line.split("=", 1)
            if key not in OTHER:
                unit[key] = value
    return unit


def read_groups(path):
    groups, at = {}, None
    for line in open(path):
        word = line.strip()
        if line.startswith("@"):
            at = groups.setdefault(word, [])
        elif word and not word.startswith("#") and line[0] == " ":
            at.append(word)
    return groups


def expand(words, groups):
    for word in words:
        if word.startswith("@"):
            yield from expand(groups[word], groups)
        else:
            yield word


def filter_calls(unit, groups):
    seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    error = unit.pop("SystemCallErrorNumber", None)
    # what is not on the list ends the process, or fails
    other = ERRNO | getattr(errno, error) if error and "UNDER_UNIT_STRICT" not in os.environ else KILL_PROCESS
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(other)))
    calls = set(expand(unit.pop("SystemCallFilter").split(), groups)) | set(expand(["@default"], groups))
    families = unit.pop("RestrictAddressFamilies").split()
    for name in sorted(calls):
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number < 0:  # of other machines
            continue
        if name != "socket":
            must(seccomp.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), number, 0), name)
            continue
        for family in families:
            c = Compare(0, COMPARE_EQUAL, FAMILIES[family], 0)
            must(seccomp.seccomp_rule_add_array(context, ctypes.c_uint32(ALLOW), number, 1, ctypes.byref(c)), name)
    # a family that is not on the list is an error, not an end
    for family in set(range(46)) - {FAMILIES[f] for f in families}:
        c = Compare(0, COMPARE_EQUAL, family, 0)
        number = seccomp.seccomp_syscall_resolve_name(b"socket")
        must(seccomp.seccomp_rule_add_array(context, ctypes.c_uint32(ERRNO | errno.EAFNOSUPPORT), number, 1, ctypes.byref(c)), "socket")
    must(seccomp.seccomp_load(context), "seccomp_load")


def mounts(unit, writable):
    def mount(source, target, kind, flags, data=None):
        must(libc.mount(source, target, kind, ctypes.c_ulong(flags), data), f"mount {target}")

    must(libc.unshare(CLONE_NEWNS), "unshare")
    mount(None, b"/", None, MS_REC | MS_PRIVATE)
    if unit.pop("ProtectSystem") == "strict":
        mount(writable.encode(), writable.encode(), None, MS_BIND)
        for target in b"/", b"/dev/shm":
            mount(target, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
        if os.path.ismount("/tmp"):
            mount(b"/tmp", b"/tmp", None, MS_REMOUNT | MS_BIND | MS_RDONLY)
        os.chdir("/")
    protect, subset = unit.pop("ProtectProc", None), unit.pop("ProcSubset", None)
    if protect or subset:
        words = ["hidepid=" + protect] * bool(protect) + ["subset=" + subset] * bool(subset)
        mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, ",".join(words).encode())


def main():
    unit, groups = read_unit(sys.argv[1]), read_groups(sys.argv[2])
    writable, command = sys.argv[3], sys.argv[5:]
    mounts(unit, writable)
    os.chdir(writable)
    keep = {CAPABILITIES[c] for c in unit.pop("CapabilityBoundingSet").split()}
    for cap in range(64):
        if cap not in keep:
            libc.prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)
    if unit.pop("User", None):
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    os.umask(int(unit.pop("UMask"), 8))
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if unit.pop("MemoryDenyWriteExecute") == "yes" and libc.prctl(PR_SET_MDWE, 1, 0, 0, 0) < 0:
        assert ctypes.get_errno() == errno.EINVAL  # before Linux 6.3
    filter_calls(unit, groups)
    if unit:
        sys.exit(f"under_unit: settings that are not known here: {' '.join(unit)}")
    os.execvp(command[0], command)


main()
