#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets below seeds/, good files and bad ones, all made up here.

    tests/fuzz/make_seeds.py
"""
import datetime
import gzip
import io
import os
import pickle
import struct
import tarfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")


def write(what, name, data):
    os.makedirs(os.path.join(HERE, what), exist_ok=True)
    with open(os.path.join(HERE, what, name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


# ---- record files ------------------------------------------------------------------------------

SCHEMA, HOST, START, EXEC, END, THREAD, REAP, KEXIT, CLOCK, PEEK = range(1, 11)
PID, PPID, PGID, SID, TID, PROCDEV, STARTTIME, BOOTTIME, REALTIME = range(1, 10)
HOSTNAME, PATH, ARGV, TAGS = range(10, 14)
EXITCODE, EXITSIGNAL, COREDUMP, NUMTIDS, MPIRANK, NUMRANKS = range(14, 20)
USERTIME, SYSTEMTIME, RSSMAX, CUTIME, CSTIME, RCHAR, WCHAR, ONCPU = 25, 26, 27, 36, 37, 42, 43, 49
RDTSC, COMM, EVENTS, COUNTERS, IMAGE_PID, BEGIN, BOOT_ID, NSPID, EXECS, DELAYACCT = (
    52, 53, 55, 56, 57, 58, 59, 60, 61, 64)
F_FORK, F_LAST, F_RUSAGE, F_TASKSTATS, F_LOSSY = 1, 2, 0x20, 0x40, 0x100


def crc32c(data):
    crc = 0xffffffff
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def varint(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def raw(kind, payload, flags=0):
    head = struct.pack("<HHI", kind, flags, len(payload))
    return b"PLR1" + head + struct.pack("<I", crc32c(head + payload)) + payload


def frame(kind, fields, flags=0):
    payload = b""
    for key, v in fields.items():
        if isinstance(v, int):
            payload += varint(key * 2) + varint(v)
        else:
            payload += varint(key * 2 + 1) + varint(len(v)) + v
    return raw(kind, payload, flags)


def host(name=b"node1"):
    return frame(HOST, {
        HOSTNAME: name, BOOT_ID: b"0123abcd-0000", BOOTTIME: 10**9, REALTIME: 16 * 10**14,
        DELAYACCT: 0,
    })


def start(pid, at, path=b"/bin/sh", argv=b"sh\0-c\0true\0", more=None):
    fields = {
        PID: pid, PPID: pid - 1, PGID: 5, SID: 5, STARTTIME: at * 10000,
        BOOTTIME: at * 10**7 + 1000, PATH: path, ARGV: argv, TAGS: b"k:v",
    }
    return frame(START, {**fields, **(more or {})})


def end(pid, at, started, kind=END, flags=0, more=None):
    fields = {
        PID: pid, STARTTIME: started * 10000, BOOTTIME: at * 10**7, USERTIME: 1500,
        SYSTEMTIME: 700, RSSMAX: 4096, RCHAR: 10000, WCHAR: 900, CUTIME: 10, CSTIME: 5,
        ONCPU: 2200000, NUMTIDS: 1,
    }
    if kind == END:
        fields[EXITCODE] = 0
    return frame(kind, {**fields, **(more or {})}, flags)


def good_records(one):
    schema = (b"1 pid\n2 ppid\n7 starttime\n8 boottime\n9 realtime\n10 hostname\n11 path\n12 argv\n"
              b"14 exitcode\n25 usertime\n26 systemtime\n27 rssmax\n59 boot_id\n99 unknown\n")
    first, last = start(100, 150), end(100, 200, 150)
    reap = {
        PID: 102, PPID: 100, BOOTTIME: 190 * 10**7, USERTIME: 5, SYSTEMTIME: 6, RSSMAX: 9,
        EXITSIGNAL: 11, COREDUMP: 1, COMM: b"static",
    }
    peek = {PID: 103, STARTTIME: 1600000, PATH: b"/bin/x", BOOTTIME: 10**9}
    kernel = {
        PID: 103, NSPID: 7, PPID: 1, BOOTTIME: 2 * 10**9, BEGIN: 10**9, EXITCODE: 3, EXECS: 2,
        ONCPU: 10**6, RSSMAX: 77, COMM: b"x",
    }
    clock = {BOOTTIME: 3 * 10**9, REALTIME: 16 * 10**14 + 2 * 10**6}
    counters = b"".join(varint(v) for v in (1, 12345, 3, 99, 500, 0, 2))
    thread = {
        PID: 100, TID: 105, STARTTIME: 1550000, BOOTTIME: 180 * 10**7, USERTIME: 3,
        COUNTERS: counters, RDTSC: 5,
    }
    main_thread = {PID: 100, TID: 100, BOOTTIME: 199 * 10**7, COUNTERS: counters}

    write("record", "empty", b"")
    write("record", "one-process", one)
    write("record", "schema", raw(SCHEMA, schema) + one)
    write("record", "schema-other-numbers",
          raw(SCHEMA, b"1 ppid\n2 pid\n11 argv\n12 path\n") + one)
    write("record", "exec-chain",
          host() + first + end(100, 160, 150, EXEC) + start(100, 150, b"/bin/ls", b"ls\0") + last
          + end(100, 210, 150))
    write("record", "fork-copy",
          host() + first + end(101, 170, 155, flags=F_FORK, more={IMAGE_PID: 100}) + last)
    write("record", "reaped", host() + first + frame(REAP, reap, F_RUSAGE) + last)
    write("record", "kernel",
          host() + frame(PEEK, peek) + frame(KEXIT, kernel, F_TASKSTATS)
          + frame(CLOCK, clock, F_LOSSY))
    write("record", "threads-and-events",
          host() + start(100, 150, more={EVENTS: b"CYCLES,MISSES,NONE"}) + frame(THREAD, thread)
          + frame(THREAD, main_thread)
          + end(100, 200, 150, more={COUNTERS: counters, NUMTIDS: 2}))
    write("record", "pid-used-again",
          one + start(100, 250) + end(100, 260, 250)
          + frame(REAP, {PID: 100, PPID: 99, BOOTTIME: 270 * 10**7, EXITCODE: 0}))
    write("record", "last-words", host() + first + end(100, 160, 150, flags=F_LAST))


def bad_records(one):
    most = 2**64 - 1
    first, last = start(100, 150), end(100, 200, 150)

    write("record", "bad-torn", one + start(101, 201)[:30] + end(101, 220, 201))
    write("record", "bad-checksum", host() + first[:-1] + b"X" + last)
    write("record", "bad-length", b"PLR1" + struct.pack("<HHII", START, 0, 0xffffffff, 0) + one)
    write("record", "bad-fields",
          host() + raw(START, b"\x03\x7fshort") + raw(END, b"\x02\x80") + one)
    write("record", "bad-magics", b"PLR1PLR1PLRPLR1" * 8 + one)
    write("record", "bad-numbers",
          host()
          + frame(START, {PID: most, PPID: 2**63, STARTTIME: most, BOOTTIME: most, REALTIME: 0})
          + frame(END, {PID: most, BOOTTIME: 1, EXITCODE: 2**40, RSSMAX: 2**50, NUMTIDS: 2**33}))
    write("record", "bad-clocks",
          frame(HOST, {HOSTNAME: b"h", BOOTTIME: 10**9, REALTIME: 2**63}) + first + last
          + frame(CLOCK, {BOOTTIME: 3 * 10**9, REALTIME: 2**63 - 1}))
    write("record", "bad-kinds",
          frame(HOST, {HOSTNAME: 1, BOOT_ID: 2})
          + frame(START, {PID: b"text", PATH: 5, ARGV: b"", HOSTNAME: 1})
          + frame(END, {PID: b"", BOOTTIME: b"xx"}))
    write("record", "bad-names",
          frame(HOST, {HOSTNAME: b"a\0b/../c", BOOT_ID: b"\xff" * 9})
          + start(100, 150, b"/x\0y", b"\0\0\0") + start(101, 151, b"/x\0y", b"no end"))


def records():
    one = host() + start(100, 150) + end(100, 200, 150)
    good_records(one)
    bad_records(one)


# ---- pickles and metadata ----------------------------------------------------------------------

ZONE = datetime.timezone(datetime.timedelta(hours=-5))
JOB = {
    "job_pl_id": "17", "job_pl_start_ts": datetime.datetime(2022, 1, 2, 3, 4, 5, 6, tzinfo=ZONE),
    "job_pl_env": {"HOME": "/home/jo", "N": "1"}, "job_el_exitcode": 0, "job_tags": None,
    "list": [1, 2.5, True, (1, 2, 3), b"bytes", -1, 2**40],
}
OLD = (b"(dp0\nS'job_pl_id'\np1\nS'18'\np2\nsS'job_pl_start_ts'\np3\ncdatetime\ndatetime\np4\n"
       b"(S'\\x07\\xe6\\x01\\x02\\x03\\x04\\x05\\x00\\x00\\x06'\np5\ntp6\nRp7\n"
       b"sS'job_pl_env'\np8\n(dp9\n"
       b"S'HOME'\np10\nS\"/home/o'neil\"\np11\nssS'job_el_exitcode'\np12\nI0\ns.")


def pickled():
    for protocol in range(6):
        write("pickle", "protocol-%d" % protocol, pickle.dumps(JOB, protocol))
    write("pickle", "python-2", OLD)
    write("pickle", "set", pickle.dumps({1, 2}, 4))
    write("pickle", "odd-text", pickle.dumps("a\udcff\u20ac\U0001f6a2", 3))
    write("pickle", "bad-system", b"cos\nsystem\n(S'true'\ntR.")
    write("pickle", "bad-build", b"}}b.")
    write("pickle", "bad-itself", b"]q\0h\0a.")
    write("pickle", "bad-cut", pickle.dumps(JOB, 4)[:60])
    twice = (b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(25))
    write("pickle", "bad-bomb", b"]q\0" + b"".join(twice) + b".")
    write("pickle", "bad-deep", b"]" * 50 + b"a" * 49 + b".")
    write("pickle", "bad-time", b"cdatetime\ndatetime\nC\x0a" + b"\xff" * 10 + b"\x85R.")


def metadata():
    write("meta", "native.json",
          '{"plimsoll_job": 1, "jobid": "19", "tags": {"k": "v"}, "start_us": 1600000000000000,'
          ' "environment": {"HOME": "/home/jo"}, "real": 0.25, "none": null, "list": [true, -1]}\n')
    write("meta", "odd-bytes.json",
          '{"a": "\ufffd", "a_b64": "/w==", "nul": "\\u0000", "ship": "\U0001f6a2"}')
    write("meta", "pickle", pickle.dumps(JOB, 3))
    write("meta", "python-2", OLD)
    write("meta", "alike-keys", pickle.dumps({"a": 1, b"b": 2, 3: 4, "3": 5}, 3))
    write("meta", "bad-list.json", "[1, 2]")
    write("meta", "bad-deep.json", '{"a":' * 40 + "1" + "}" * 40)
    write("meta", "bad-twice.json", '{"a": 1, "a": 2}')
    write("meta", "bad-cut.json", '{"jobid": "1')
    write("meta", "bad-number", pickle.dumps(5, 2))
    write("meta", "bad-empty", b"")


# ---- texts -------------------------------------------------------------------------------------

def settings():
    write("settings", "usual.py", '''"""User settings"""
import os
papiex_options = "PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV"  # both
epmt_output_prefix = '/tmp/epmt/'
debug = False
db_params = {
    'url': 'sqlite:///:memory:',
    'echo': None,
}
outlier_thresholds = {'z_score': 3.0, 'iqr': [20, 80], 'n': (1,)}
''')
    write("settings", "texts.py", r"""a = 'it\'s' "x" r'\d' '''three
lines''' u'\u00e4\x41\101\N'
b = ('one '
     'two')
c = \
  -1_000.5e-3
""")
    write("settings", "code.py", '''def f(x="y"):
    return {"z": [x, """
a = 1
"""]}
a = f()
b = os.environ["HOME"] + "/x"
c = f"{a}"; d = 1
e += [1]
if a == 1: b = 2
''')
    write("settings", "bad-quote.py", "a = 1\nb = 'no end\n")
    write("settings", "bad-brackets.py", "a = [1, (2}, {3: }]\nb = ]\nc = {[1]: 2}\n")
    write("settings", "bad-deep.py", "a = " + "[" * 60 + "]" * 60 + "\n")
    write("settings", "bad-escape.py", "a = '\\xzz'\nb = '\\U00110000'\nc = '\\")
    write("settings", "empty.py", "")


def config():
    write("config", "usual.conf", "# settings\nprefix = /scratch/%u/plimsoll\ndrain = 500ms\n\n"
          "job_tags = exp:one;run:2 # no comment\nmask = *KEY*:*TOKEN*:[a-z]*\n")
    write("config", "blanks.conf", " \t drain\t=\t1s \r\n\r\ntags==\nevents =\nkernel=off")
    write("config", "percent.conf", "prefix = %\nlocal_prefix = /%i/%u/%%/%x\n")
    write("config", "bad-name.conf", "drain = 1s\ncolour = blue\n")
    write("config", "bad-line.conf", "[section]\ndrain = 1s\n")
    write("config", "empty.conf", "")


def proc():
    rest = " S 4 5 6 7 -1 9 10 11 12 13 14 15 16 17 18 -19 " + " ".join(map(str, range(20, 53)))
    write("proc", "stat", "123 (name)" + rest + "\n")
    write("proc", "stat-odd-name", "123 (a) R 1 (\n)" + rest + "\n")
    write("proc", "stat-cut", "123 (name) S 1 22 33")
    write("proc", "io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
          "cancelled_write_bytes: 18446744073709551615\n")
    write("proc", "io-odd", "wchar:2\n\n: 5\nunknown: 9\nrchar: x\nsyscr")
    write("proc", "schedstat", "123456 789 10\n")
    write("proc", "status",
          "Name:\tVmHWM: 5\nPid:\t7\nVmPeak:\t  20 kB\nVmHWM:\t  10 kB\nSeccomp:\t0\n"
          "Seccomp_filters:\t1\n")
    write("proc", "smaps_rollup",
          "55e0-7ffc ---p 00000000 00:00 0                  [rollup]\n"
          "Rss:                1468 kB\nPss:                 246 kB\nPss_Dirty:           120 kB\n"
          "Pss_Anon:            108 kB\nPss_File:            138 kB\nPss_Shmem:             0 kB\n"
          "Private_Clean:         0 kB\nPrivate_Dirty:       120 kB\nSwap:                  0 kB\n"
          "SwapPss:               0 kB\nLocked:                0 kB\n")
    write("proc", "smaps_rollup-odd",
          "Locked: 3 kB\nPss: 1 kB\nPss: 2 kB\nPss:\n: 5\nSwap:\t-7\nPrivate_Clean 9\nSwapPss: 12")
    write("proc", "statm", "2668 367 340 1 0 2104 0\n")
    write("proc", "statm-cut", "2668 367 34")
    write("proc", "bad-no-name", "123 name) S 1 2 3\n")
    write("proc", "bad-empty", "")


def papiex():
    head = "tags,hostname,exename,path,args,exitcode,%spid,generation,ppid,pgid,sid,numtids,%s"
    usage = ("start,end,usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,"
             "invol_ctxsw,%snum_threads,starttime,processor,delayacct_blkio_time,guest_time,rchar,"
             "wchar,syscr,syscw,read_bytes,write_bytes,cancelled_write_bytes,time_oncpu,"
             "time_waiting,timeslices")
    children = "cminflt,cmajflt,cutime,cstime,"
    event = ",rdtsc_duration,PERF_COUNT_SW_CPU_CLOCK\n"
    old = head % ("", "tid,") + usage % "" + event
    new = head % ("exitsignal,", "mpinumranks,tid,mpirank,") + usage % children

    def row(first, count, start=1):
        return first + "," + ",".join(str(start + i) for i in range(count)) + "\n"

    write("papiex", "csv-41", old + row("k:v,node,ls,/bin/ls,-l /tmp", 36)
          + row(",node,sh,/bin/sh,-c a\\,b", 36, 100))
    write("papiex", "csv-46", head % ("exitsignal,", "tid,") + usage % children + event
          + row("k:v,node,ls,/bin/ls,-l /tmp", 41))
    write("papiex", "csv-48", "# tags k:v\n" + new + event
          + row("k:v;l,node,./a.out,/home/jo/a.out,\\a\\b\\f\\n\\r\\t\\v\\\\\\,x", 43))
    write("papiex", "csv-threads",
          new + ",rdtsc_duration,CYCLES,MISSES\n" + row("k:v,node,x,/bin/x,", 44)
          + "," * 13 + row("", 35)[:-1] + "\n" + "," * 13 + row("", 35, 7) + row(",n,y,,", 44))
    write("papiex", "csv-shifted", "pid,tid,num_threads,starttime,rchar,rdtsc_duration\n"
          "1,1,0,237936640000,5,-7\n,2,0,237936640000,5,8\n2,2,1,5,18446744073709551615,\n")
    write("papiex", "csv-bytes", b"pid,args\n1," + bytes(
        c for c in range(1, 256) if c not in b"\n,\\") + b"\n2,\xff\\x\\\n# x\n")
    write("papiex", "csv-header-only", new + "\n")
    write("papiex", "csv-no-newline", "args,pid\na,1\nb,2")
    write("papiex", "bad-empty", "")

    vector = "{usertime,systemtime,rssmax,num_threads,starttime,rdtsc_duration,CYCLES}"
    back = "\ttags\thostname\texename\tpath\texitcode\tpid\tnumtids\tstart\tend\targs\n"
    write("papiex", "tsv", vector + back
          + "{1,2,3,1,5,6,7}\t\tnode\tcut\t/usr/bin/cut\t0\t100\t1\t10\t20\t-d\" -f2 \\t\\\n")
    write("papiex", "tsv-threads", vector + back
          + "{1,2,3,0,5,-6,7,1,2,3,0,5,6,7,1,2,4,0,5,6,}\tk:v\t\tx\t/x\t0\t100\t3\t10\t20\t\n"
          + "{1,2,3,0,5,6,7}\tk:v\tnode\ty\t/y\t-1\t101\t1\t10\t20\t'")
    write("papiex", "tsv-other-columns", "{E,usertime}\tpid\tfinish\tX\n{1,2,3,4}\t5\t6\t7\n")

    write("papiex", "bad-delimiters", "pid,args,path\n1,a,b\n2,c\n")
    write("papiex", "bad-number", "pid,args\n1,a\n-x,b\n")
    write("papiex", "bad-large", "pid,E\n18446744073709551615,9999999999999999999\n"
          "18446744073709551616,1\n")
    write("papiex", "bad-thread", "pid,tid\n,1\n")
    write("papiex", "bad-header", "pid,a\\,b,,pid\n")
    write("papiex", "bad-names", "pid,counters,events,argv,a\0b\n1,2,3,4,5\n")
    write("papiex", "bad-tsv-vector", "{usertime,rssmax}\tpid\n{1,2}\t1\n{1,2,3}\t2\n")
    write("papiex", "bad-tsv-braces", "{{a},b}\tpid\n{1,2}\t1\n{1,{2}}\t2\n")
    write("papiex", "bad-tsv-header", "{usertime,args}\n")


# ---- archives ------------------------------------------------------------------------------------


def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            if data is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
                t.addfile(entry)
                continue
            data = data if isinstance(data, bytes) else data.encode()
            entry.size = len(data)
            t.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def archives():
    meta = pickle.dumps({"job_pl_id": "7", "job_pl_start_ts": datetime.datetime(2020, 1, 2, 3, 4, 5),
                         "job_el_stop_ts": datetime.datetime(2020, 1, 2, 3, 5, 5), "job_pl_env": {"USER": "jo"},
                         "job_el_env": {"EPMT_JOB_TAGS": "a:b"}}, protocol=0)
    csv = "tags,hostname,exename,pid,ppid,start,end,usertime,numtids,tid,E\n"
    csv += "".join(f"k:{i % 2},n,x,{i},{i - 1},{10 + i},{20 - i},{i},1,{i},5\n" for i in range(2, 8)) + ",,,,,11,12,3,,9,6\n"
    header, data = "{usertime,E}\tpid\tppid\tstart\tfinish\targs\n", "{1,2,3,4}\t5\t4\t10\t20\t-x\n{1,2}\t6\t5\t11\t12\t\n"
    native = '{"plimsoll_job":1,"jobid":"8","start_us":1,"stop_us":9,"tags":{"a":"b"},"annotations":{"n":1}}'
    with open(os.path.join(HERE, "record", "one-process"), "rb") as f:
        record = f.read()
    write("archive", "csv.tar", tar([("./job_metadata", meta), ("./n-collated-papiex-7-0.csv", csv)]))
    write("archive", "csv-first.tgz", gzip.compress(tar([("n-papiex-1-0.csv", csv), ("n-papiex-2-0.csv", csv), ("job_metadata", meta)]), mtime=0))
    write("archive", "tsv.tar", tar([("./n-papiex.tsv", data), ("./n-papiex-header.tsv", header), ("./job_metadata", meta)]))
    write("archive", "native.tar", tar([("./job.json", native), ("./h.12345678/1.rec", record)]))
    write("archive", "no-header.tar", tar([("./job_metadata", meta), ("./n-papiex.tsv", data)]))
    write("archive", "no-metadata.tar", tar([("./n-papiex-1-0.csv", csv)]))
    write("archive", "bad-link.tar", tar([("./job_metadata", meta), ("./n-papiex-1-0.csv", None)]))
    write("archive", "bad-path.tar", tar([("../job_metadata", meta)]))
    write("archive", "bad-cut.tgz", gzip.compress(tar([("job_metadata", meta), ("n-papiex-1-0.csv", csv)]), mtime=0)[:200])
    write("archive", "bad-empty", b"")


# ---- sample files ------------------------------------------------------------------------------

SMP_HEAD, SMP_REPEAT, SMP_SOURCE, SMP_ENTITIES, SMP_READING, SMP_ABSENT, SMP_CLOCK, SMP_LOST, SMP_END = range(1, 10)


def zigzag(v):
    return varint(v << 1 if v >= 0 else (-v << 1) - 1)


def text(s):
    return b"\0" if s is None else varint(len(s) + 1) + s.encode()


class Samples:
    """A sample file as docs/samples.md has it; what is put is what is written, sense or not."""

    def __init__(self, host="node1"):
        self.out, self.head, self.numbers = b"", b"", {}
        self.head = (varint(1) + text(host) + text("0123abcd-0000") + text("42") + text(None) + varint(10**9)
                     + varint(5 * 10**9) + zigzag(16 * 10**17))
        self.frame(SMP_HEAD, self.head, b"")

    def frame(self, kind, payload, before=None):
        head = bytes([kind]) + struct.pack("<I", len(payload))[:3]
        before = self.head if before is None else before
        self.out += b"PLS1" + head + struct.pack("<I", crc32c(before + head + payload)) + payload

    def of_source(self, kind, source, payload):
        n = self.numbers.get(source, 0)
        self.numbers[source] = n + 1
        self.frame(kind, varint(source) + varint(n) + payload)

    def source(self, source, name, metrics):
        payload = text(name) + varint(1) + varint(len(metrics))
        for name, unit, kind, agg, scale in metrics:
            payload += text(name) + text(unit) + text(kind) + text(agg) + struct.pack("<d", scale) + text("help")
        self.of_source(SMP_SOURCE, source, payload)

    def entities(self, source, entities):
        self.of_source(SMP_ENTITIES, source, b"".join(
            varint(step) + varint(kind) + text(name) + text(facts) for step, kind, name, facts in entities))

    def reading(self, source, step, rows):
        self.of_source(SMP_READING, source, zigzag(step) + b"".join(
            varint((place << 1 if place >= 0 else (-place << 1) - 1) << 1 | (present is not None))
            + (b"" if present is None else varint(present)) + varint(changed) + b"".join(map(zigzag, values))
            for place, present, changed, values in rows))


def samples():
    metrics = [("user_time", "us", "counter", "sum", 10000.0), ("rss", "bytes", "gauge", "max", 0.0),
               ("heat", "degC", "gauge", "none", 0.001)]
    s = Samples()
    s.source(0, "process", metrics)
    s.entities(0, [(0, 3, "4711.99", "exe=a.out\nmodel=x=y\n"), (1, 3, "4712.99", None)])
    s.reading(0, 6 * 10**9, [(0, 7, 7, [100, 4096, -5]), (0, 1, 1, [2**63 - 1])])
    s.of_source(SMP_ABSENT, 0, varint(2) + text("no sensor"))
    s.frame(SMP_CLOCK, varint(7 * 10**9) + zigzag(16 * 10**17 + 5))
    s.source(1, "system", metrics[:1])
    s.entities(1, [(0, 1, "node", None)])
    s.reading(1, 7, [(0, 1, 1, [5])])
    s.reading(0, 10**9, [(1, None, 1, [-2**63]), (-2, 3, 2, [-1])])
    s.frame(SMP_LOST, varint(3))
    s.reading(1, -7, [(0, None, 0, [])])
    s.frame(SMP_END, text("job ended"))
    write("samplefile", "two-sources", s.out)
    other = Samples("node2")
    other.source(0, "gpu", metrics)
    other.frame(SMP_REPEAT, other.head, b"")
    other.entities(0, [(3, 12, "0", "model=H\n")])
    other.reading(0, 5, [(3, 2, 2, [1])])
    other.source(0, "gpu", metrics)
    other.entities(0, [(0, 12, "1", None)])
    other.reading(0, 9, [(0, 2, 2, [1])])
    write("samplefile", "told-again", other.out)
    write("samplefile", "concatenated", s.out + other.out + s.out)
    write("samplefile", "damaged", s.out[:150] + b"?" + s.out[151:] + other.out)
    write("samplefile", "torn", s.out[:-9])
    write("samplefile", "junk-before", b"x" * 50 + s.out)
    odd = Samples()
    odd.source(255, "", [])
    odd.entities(255, [(5000, 255, "", None)])
    odd.reading(255, 0, [(5000, None, 0, [])])
    odd.frame(77, b"unknown")
    write("samplefile", "edges", odd.out)
    bad = Samples()
    bad.source(0, "process", metrics[:1] * 64)
    bad.entities(0, [(0, 3, "a", "no line"), (0, 0, "", None)])
    bad.reading(0, 1, [(0, 2**64 - 1, 2**64 - 1, [1])])
    bad.source(0, "process", metrics[:1] * 65)
    bad.source(300, "far", [])
    write("samplefile", "bad-sense", bad.out)
    write("samplefile", "bad-text", "no sample file\n")
    write("samplefile", "bad-empty", b"")


# ---- what file systems and management controllers say ----------------------------------------------

def waits():
    write("waits", "nanosleep", "230 0x0 0x0 0x7ffd8f2b2fd0 0x0 0x0 0x0 0x7ffd8f2b2fc8 0x7f2b3c8e5b07\n")
    write("waits", "running", "running\n")
    write("waits", "page-fault", "-1 0x7ffd8f2b2fc8 0x7f2b3c8e5b07\n")
    write("waits", "wchan", "futex_wait_queue")
    write("waits", "tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
          "   0: 0500000A:9C40 0100000A:1538 01 00000000:00000000 00:00000000 00000000     0        0 901 1 0\n"
          "   1: 0100007F:9C41 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 902 1 0\n"
          "   2: 0100007F:0050 0100007F:9C41 01 00000000:00000000 00:00000000 00000000     0        0 903 1 0\n")
    write("waits", "tcp6", "  sl  local_address\n   0: 00000000000000000000000001000000:1F90 "
          "00000000000000000000000001000000:C350 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 0\n"
          "   1: 0000000000000000FFFF00000100007F:0050 0000000000000000FFFF00000100007F:9C41 01 00000000:00000000 "
          "00:00000000 00000000     0        0 78 1 0\n")
    write("waits", "bad-cut", "230 0x0 0x0 0x7ffd8f2b2fd0 0x0 0x0 0x0 0x7ffd8f2b2fc8")
    write("waits", "bad-number", "0 0xfffffffffffffffffffff 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n")
    write("waits", "bad-address", "   0: 0500:9C40 0100000A:1538 01 0:0 0:0 0 0 0 18446744073709551616 1\n")


def fabric():
    write("fabric", "llite", "snapshot_time             1700000000.123456789 secs.nsecs\n"
          "read_bytes                12 samples [bytes] 4096 1048576 9437184\n"
          "write_bytes               7 samples [bytes] 1 4194304 29360128 123145302310912\n"
          "open                      136 samples [regs]\nclose 96 samples [usec] 1 99 500 3000\n")
    write("fabric", "osc", "req_waittime 7348 samples [usec] 58 6461 2436371 1295087477\n"
          "req_active 7348 samples [reqs] 1 1 7348 7348\nread_bytes 3 samples [bytes] 1 2 5 9\n")
    write("fabric", "mmpmon", "_fs_io_s_ _n_ 10.0.0.1 _nn_ node1 _rc_ 0 _t_ 1700000000 _tu_ 5 _cl_ a.b _fs_ scratch _d_ 4 "
          "_br_ 1000 _bw_ 2000 _oc_ 3 _cc_ 4 _rdc_ 5 _wc_ 6 _dir_ 7 _iu_ 8\n_fs_io_s_ _n_ 10.0.0.1 _rc_ 1 _fs_ -\n")
    write("fabric", "ipmi-dcmi", "Current Power                        : 332 Watts\nMinimum Power over sampling duration : 68 watts\n"
          "Maximum Power over sampling duration : 504 watts\nAverage Power over sampling duration : 348 watts\n"
          "Power Measurement                    : Active\n")
    write("fabric", "ipmitool", "\n    Instantaneous power reading:                   215 Watts\n"
          "    Minimum during sampling period:                162 Watts\n"
          "    Average power reading over sample period:      176 Watts\n"
          "    IPMI timestamp: 10/12/23 13:29:17 CEST    Sampling period:                          00065530 Seconds.\n")
    write("fabric", "ipmi-sensors", "1,Temp,Temperature,40.00,C,'OK'\n2,PS1 Input Power,Power Supply,110.00,W,'OK'\n"
          "3,Pwr Consumption,Current,231.00,W,'OK'\n4,PSU2 Power Out,Other,90,Watts,'OK'\n")
    write("fabric", "dcmi", struct.pack("<BBHHHHIIB", 0, 0xdc, 330, 68, 504, 348, 1700000000, 1000, 0x40))
    write("fabric", "dcmi-refused", b"\xc1")
    write("fabric", "cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.142\n\nprocessor\t: 255\ncpu MHz\t\t: 800\n")
    write("fabric", "bad-numbers", "open 18446744073709551616 samples [regs]\nread_bytes 1 samples [bytes] 1 2 99999999999999999999\n"
          "_fs_io_s_ _rc_ 0 _fs_ x _br_ 99999999999999999999 _bw_ -1\nCurrent Power : 99999999999 Watts\n"
          "processor : 99999999999\ncpu MHz : 99999999999999999999.9\n1,Power,x,99999999999,W,x\n")
    write("fabric", "bad-cut", "_fs_io_s_ _n_ 10.0.0.1 _rc_")
    write("fabric", "bad-empty", b"")
def groups():
    head = "pmu skx clx\ncpu GenuineIntel 6 85 0-4\ncpu 0x41 8 0xd0c\n# a comment\n\n"
    flops = ("group FLOPS_DP double precision operations\n"
             "event dp_scalar FP_ARITH_INST_RETIRED:SCALAR_DOUBLE scalar instructions\n"
             "event dp_512 FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE vectors\n"
             "event cycles r3c cycles\n"
             "value flops 1/s (dp_scalar + 8 * dp_512) / time ; operations a second\n"
             "value vector_ratio ratio dp_512 / (dp_scalar + dp_512) ; of all\n"
             "value odd % -(1e2 - .5) * cycles / 2.5e-3 ; numbers\n")
    memory = "group MEM of the machine\nsystem reads uncore_imc/cas_count_read lines\nvalue volume bytes 64 * reads ; bytes\n"
    write("groups", "usual", head + flops + memory)
    write("groups", "no-newline", flops.rstrip("\n"))
    write("groups", "dos-lines", flops.replace("\n", "\r\n"))
    write("groups", "bad-include", "include generic\n" + flops)
    write("groups", "bad-deep", flops + "value deep ratio " + "(" * 60 + "cycles" + ")" * 60 + " ; deep\n")
    write("groups", "bad-long", flops + "value long ratio " + "+".join(["cycles"] * 99) + " ; long\n")
    write("groups", "bad-name", flops + "value v ratio cycles / nothing ; none\n")
    write("groups", "bad-other-event", flops + "group X y\nevent cycles rc0 another\n")
    write("groups", "bad-many", "".join(f"group g{i} x\nevent e{i} r{i:x} x\n" for i in range(60)))
    write("groups", "bad-cpu", "cpu GenuineIntel 6 99-1\n")
    write("groups", "bad-empty-group", "group X y\n")
    write("groups", "empty", "")


# ---- sources of a node ---------------------------------------------------------------------------

def tree(*files):
    return "".join("@@ %s\n%s" % (name, text) for name, text in files)


def node():
    dev = "Inter-|   Receive\n face |bytes\n"
    eth = "  eth0: %d %d 0 0 0 0 0 0 %d %d 0 0 0 0 0 0\n    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n"
    body = ("\topts:\trw,vers=4.1\n\tbytes:\t1 2 3 4 5 6 7 8\n\tper-op statistics\n"
            "\t READ: 3 4 0 1 1 1 1 1 0\n\t WRITE: 3 3 0 1 1 18446744073709551615 1 1 0\n")
    mount = "device s:/%s mounted on /%s with fstype nfs4 statvers=1.1\n" + body
    disk = "8 0 sda %d 0 16 %d 5 0 8 1 0 1 1 0 0 0 0 0 0\n8 1 sda1 1 0 8 1 1 0 8 1 0 1 1\n7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
    write("node", "system", tree(
        ("proc/stat", "cpu  10 0 5 100 3 0 0 0 1 0\ncpu0 10 0 5 100 3 0 0 0 1 0\ncpu3 1 2 3 4\nintr 7 1 2\nctxt 9\nprocesses 4\n"),
        ("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 40 kB\nHugePages_Total: 3\n"),
        ("proc/vmstat", "pgfault 5\noom_kill 0\n"), ("proc/loadavg", "0.01 0.02 10.30 1/300 4711\n"),
        ("proc/pressure/cpu", "some avg10=1.20 avg60=0.00 avg300=0.00 total=55\n"), ("again", ""),
        ("proc/stat", "cpu  20 0 5 110 2 0 0 0 1 0\ncpu0 20 0 5 1 2 0 0 0 1 0\n")))
    write("node", "network", tree(
        ("proc/net/dev", dev + eth % (4294967000, 100, 4294967000, 100)), ("sys/class/net/eth0/operstate", "up\n"),
        ("sys/class/net/eth0/uevent", "DEVTYPE=bond\n"), ("sys/class/net/eth0/ifindex", "3\n"), ("again", ""),
        ("proc/net/dev", dev + eth % (700, 101, 5, 1)), ("sys/class/net/eth0/ifindex", "4\n")))
    write("node", "disk", tree(("proc/diskstats", disk % (7, 4294967290)), ("again", ""), ("proc/diskstats", disk % (8, 3))))
    write("node", "nfs", tree(
        ("proc/self/mountstats", mount % ("a", "a") + mount % ("b\\040c", "b\\040c") + mount % ("a", "a")),
        ("proc/self/mountinfo", "36 20 0:45 / /a rw - nfs4 s:/a rw\n37 20 0:45 / /b\\040c rw - nfs4 s:/b rw\n"),
        ("proc/net/rpc/nfs", "rpc 7 1 2\n"), ("again", ""), ("proc/self/mountstats", mount % ("z", "a"))))
    write("node", "cgroup", tree(
        ("sys/fs/cgroup/cpuacct/g/cpuacct.stat", "user 3\nsystem 2\n"),
        ("sys/fs/cgroup/memory/g/memory.stat", "total_rss 5\ntotal_pgfault 6\n"),
        ("sys/fs/cgroup/memory/g/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/blkio/g/blkio.throttle.io_service_bytes", "8:0 Read 5\n8:0 Write 6\nTotal 11\n"),
        ("sys/fs/cgroup/unified/g/cpu.stat", "usage_usec 3000000000\n"), ("sys/fs/cgroup/unified/g/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/unified/g/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n"),
        ("sys/fs/cgroup/unified/g/memory.events", "oom_kill 1\n"), ("sys/fs/cgroup/unified/g/pids.max", "max\n"),
        ("sys/fs/cgroup/unified/g/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"), ("again", ""),
        ("sys/fs/cgroup/unified/g/cpu.stat", "usage_usec 10\n"), ("sys/fs/cgroup/unified/g/cpu.max", "5000 100000\n")))
    write("node", "hardware", tree(
        ("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\nphysical id : 0\ncpu cores : 4\nflags : lm avx512_vnni\n"),
        ("etc/os-release", "PRETTY_NAME=\"x\"\n"),
        ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4-5\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0,4\n"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 5 kB\n")))
    write("node", "hardware-arm", tree(("proc/cpuinfo", "processor : 0\nFeatures : fp\nCPU implementer : 0x41\nCPU part : 0xd40\n")))
    write("node", "bad-empty", "")
    write("node", "bad-cut", tree(("proc/stat", "cpu  10 0"), ("again", ""), ("proc/net/dev", dev + "eth0: 1 2")))


# ---- perfmon's files: the first byte says which -----------------------------------------------------


def perfmon():
    stamps = '"time_stamps": [1700000000, 1700000030.5, 1700000060]'
    write("perfmon", "cpu", '0{"host_names": ["n1"], "sampling_frequency": 30, "n1": {' + stamps
          + ', "cpu_percent": [0, 99.5, null], "cpu_time": [0, 1.5, 3], "memory_info": {"rss": [1, 2, 3], "vms":'
          ' [4, 5, 6]}, "rapl_powercap": {"package-0": [1, 2, 3], "dram-0": [1, 2]}, "child_proc_md": ["a", {}],'
          ' "parent_proc_md": {"pid": 1}, "new": [1, 2.5, 1e30], "swap": ["1", true, []]}, "n2": {}}\n')
    write("perfmon", "perf", '1{"host_names": [], "n1": {' + stamps + ', "hardware_events": {"cycles": [1, 2, 3],'
          ' "branch-misses": [1, null, 9223372036854775807]}, "L2": {"derv_bandwidth": [1.5, 2, NaN], "derv": [1]}}}')
    write("perfmon", "gpu", '2{"gpu-0.n1": {' + stamps + ', "power_usage": [1, 2, 3], "clock_info": {"sm": [1]}},'
          ' "gpu-x": {"time_stamps": [-1, 1e300]}, "gpu-1.": {' + stamps + ', "temperature": [1, 2, 3, 4]}}')
    write("perfmon", "meta", '3{"n1": {"system": "s", "env": null, "user": "jo", "job_id": 7}, "name": [1]}')
    write("perfmon", "bad-deep", "0" + '{"a":' * 50 + "1" + "}" * 50)
    write("perfmon", "bad-cut", '0{"n1": {"time_stamps": [1, 2')
    write("perfmon", "bad-type", "0[1, 2, 3]")
    write("perfmon", "bad-number", '0{"n1": {"time_stamps": [1e400, 01]}}')
    write("perfmon", "bad-text", '0{"n1\\u0000\\ud800": {"time_stamps": "x", "\\u00e4": {"b": {"c": [1]}}}}')
    write("perfmon", "bad-empty", "0")


# ---- lists of hosts: the first byte says in which form ------------------------------------------------


def requests():
    write("request", "scontrol", "0JobId=7 JobName=x\n   RunTime=00:00:03 TimeLimit=1-02:03:04 TimeMin=N/A\n"
          "   NumNodes=2 NumCPUs=8 NumTasks=4\n   TRES=cpu=8,mem=6G,node=2,gres/gpu=3\n   MinCPUsNode=2 MinMemoryCPU=3G\n")
    write("request", "qstat", "1Job Id: 7\n    Resource_List.mem = 4gb\n    Resource_List.walltime = 01:30:00\n")
    write("request", "bad-numbers", "0RunTime=0 TimeLimit=99999999999999999999-99:99:99\nMinCPUsNode=1 MinMemoryNode=1e300G\n")
    write("request", "bad-empty", "0RunTime=0 TimeLimit=")


def nodelists():
    write("nodelist", "brackets", "0n[1-3,007],rack[0-1]node[01-02]-ib.site,login")
    write("nodelist", "file", "1n1\nn1\n n2 slots=4\r\n\nn3.site")
    write("nodelist", "bad-range", "0n[3-1]")
    write("nodelist", "bad-open", "0n[1,n[2")
    write("nodelist", "bad-many", "0n[0-999999999][0-9]")
    write("nodelist", "bad-same", "0" + "[1,1,1,1,1,1,1,1]" * 20)
    write("nodelist", "bad-name", "1n1\n../../etc/passwd\n")
    write("nodelist", "bad-empty", "1")


# ---- what tells of a job's processes ------------------------------------------------------------

def watch():
    write("watch", "scontrol", "PID      JOBID    STEPID   LOCALID GLOBALID\n4321     4711     0        0       2\n"
          "-1       4711     extern   -       -\n99       4711     batch    0       0\n")
    write("watch", "scontrol-bad", "4321\n4322 \n4323 4711\n99999999999999999999 4711 0 0 0\n-4 4711 0 0 0\n" + "5 4711 " + "x" * 80)
    write("watch", "mountinfo", "30 25 0:27 / /sys/fs/cgroup/freezer rw,nosuid shared:9 - cgroup cgroup rw,freezer\n"
          "31 25 0:28 /part /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
          "32 25 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n")
    write("watch", "mountinfo-bad", "- - - - - - - cgroup\n1 2 3 / /a\\040b r - cgroup x y\n1 2 3 / / r - cgroup2\n")
    write("watch", "cgroup", "4:cpu,cpuacct:/slurm_n1/uid_5/job_4711/step_0/task_0\n"
          "3:freezer:/slurm_n1/uid_5/job_4711/step_0\n1:name=systemd:/\n0::/system.slice\n")
    write("watch", "cgroup-bad", "4:cpu\n::\n:::::\n4::")
    write("watch", "environ", "HOME=/root\0SLURM_JOB_ID=4711\0SLURM_PROCID=3\0PMI_RANK=2\0PMIX_RANK=x\0OMPI_COMM_WORLD_RANK=-1\0")
    write("watch", "environ-bad", "=\0\0PMI_RANK\0PMI_RANK=\0SLURM_PROCID=99999999999999999999\0SLURM_JOB_ID")


# ---- colmet's messages: records of the Python version, MessagePack of the Rust version ---------------

COLMET = {  # name: how Python's struct has what stands behind the head
    "taskstats_default": "8QI21Q", "procstats_default": "58Q5f8192s", "infinibandstats_default": "4q8192s",
    "lustrestats_default": "4Q8192s", "perfhwstats_default": "5q", "RAPLstats_default": "24q8192s",
    "temperaturestats_default": "6q", "jobprocstats_default": "10q", "ipmipowerstats_default": "q8192s",
    "nvidiastats_default": "7q",
}


def colmet_record(name, job, jobs=b"[1000, 1001]", host=b"n1", when=1794709883):
    form = COLMET[name]
    head = struct.pack("<255s255sQQ", name.encode(), host, job, when)
    text = form.endswith("s")
    count = len(struct.unpack("<" + form, bytes(struct.calcsize("<" + form)))) - text
    values = [i * 3 for i in range(count)]
    if "q" in form and not text:
        values[-1] = -1
    return head + struct.pack("<" + form, *values, *([jobs] if text else []))


def msgpack(v):
    if isinstance(v, int):
        if 0 <= v < 128 or -32 <= v < 0:
            return struct.pack("B", v & 0xff)
        return b"\xcf" + struct.pack(">Q", v) if v >= 1 << 16 else b"\xcd" + struct.pack(">H", v) if v > 0 else \
            b"\xd3" + struct.pack(">q", v)
    if isinstance(v, str):
        return (bytes([0xa0 | len(v)]) if len(v) < 32 else bytes([0xd9, len(v)])) + v.encode()
    if isinstance(v, list):
        return (bytes([0x90 | len(v)]) if len(v) < 16 else b"\xdc" + struct.pack(">H", len(v))) + b"".join(map(msgpack, v))
    return (bytes([0x80 | len(v)]) if len(v) < 16 else b"\xde" + struct.pack(">H", len(v))) + b"".join(
        msgpack(k) + msgpack(x) for k, x in v.items())


def colmet():
    write("colmet", "python-jobs", b"".join(colmet_record(n, j) for n in (
        "taskstats_default", "perfhwstats_default", "jobprocstats_default", "nvidiastats_default") for j in (1000, 1001)))
    write("colmet", "python-temperature", colmet_record("temperaturestats_default", 0))
    for name in ("procstats", "infinibandstats", "lustrestats", "RAPLstats", "ipmipowerstats"):
        write("colmet", "python-" + name, colmet_record(name + "_default", 0))
    write("colmet", "python-cut-list", colmet_record("ipmipowerstats_default", 0, b"[1" + b", 1234567" * 910))
    good = colmet_record("taskstats_default", 1000)
    write("colmet", "python-bad-cut", good[:700])
    write("colmet", "python-bad-name", b"x" + good)
    write("colmet", "python-bad-host", good.replace(b"n1", b"/1"))
    write("colmet", "python-bad-twice", good * 2)
    when = 1794710218440
    job = lambda j: ["n1", when, 1, [[j, "memory", ["0", "10", "35"], [0, -1, 1 << 40]], [j, "cpu", ["36"], [0]],
                                     [j, "perfhw", ["39", "66"], [-1, 5]]]]
    write("colmet", "rust", msgpack({1000: job(1000), 1001: job(1001)}))
    write("colmet", "rust-many", msgpack({j: job(j) for j in range(100, 120)}))
    write("colmet", "rust-old", msgpack({7: ["n1", when, [["memory", [1, 8, 18, 33], [1, 2, 3, 4]], ["cpu", [34, 36], [5, 6]]]]}))
    write("colmet", "rust-none", msgpack({}))
    write("colmet", "rust-bad-version", msgpack({1: ["n1", when, 2, []]}))
    write("colmet", "rust-bad-id", msgpack({1: ["n1", when, 1, [[1, "cpu", ["35"], [0]]]]}))
    write("colmet", "rust-bad-count", b"\xdf\xff\xff\xff\xff")
    write("colmet_config", "metrics", msgpack({"metrics": "rss,nr_throttled", "sample_period": "0.5"}))
    write("colmet_config", "perfhw", msgpack({"perfhw_metrics": "cache_ll:2:1000", "sample_period": "1.5"}))
    write("colmet_config", "number", msgpack({"sample_period": 5}))
    write("colmet_config", "real", b"\x81\xadsample_period\xcb" + struct.pack(">d", 2.5))
    write("colmet_config", "bad-key", msgpack({"period": "1"}))
    write("colmet_config", "bad-value", msgpack({"sample_period": "-1"}))
    write("colmet_config", "bad-cut", b"\x82\xa7metrics\xda\x40\x00x")


# ---- mark files --------------------------------------------------------------------------------

def mark(ns, kind, name=b"", tid=700, flags=0, cpu=0):
    first, rest = name[:40], name[40:]
    slots = 1 + (len(rest) + 63) // 64
    return (struct.pack("<QQIBBBB40s", 5000000000 + ns, cpu, tid, kind, flags, len(name), slots, first) +
            rest.ljust((slots - 1) * 64, b"\0"))


def mark_file(*marks, maximum=65536, version=1, flags=0, more=0, host=b"node1"):
    slots = b"".join(marks)
    head = struct.pack("<IHHIIQQQQiIIIQ56xQ56x72s", 0x314B4D50, version, 64, 700, maximum, 12345, 4026531836,
                       5000000000, 1000000000000000000, 3, 4, flags, 0, len(slots) // 64 + more, 0, host)
    return head.ljust(4096, b"\0") + slots


def marks():
    nested = [mark(10, 1, b"outer"), mark(15, 1, b"inner"), mark(17, 3, b"point"), mark(20, 2), mark(30, 2)]
    write("mark", "nested", mark_file(*nested))
    write("mark", "cpu", mark_file(mark(1, 1, b"a", cpu=5), mark(9, 2, cpu=3), flags=1))
    write("mark", "threads", mark_file(mark(1, 1, b"a"), mark(2, 1, b"b", 701), mark(3, 2, tid=701), mark(4, 2)))
    write("mark", "script", mark_file(mark(1, 4, b"one", flags=1), mark(5, 4, b"two", flags=1), mark(6, 1, b"c", 702, 3),
                                      mark(7, 2, b"", 702, 3), mark(9, 2, flags=1)))
    write("mark", "names", mark_file(mark(1, 1, b"x" * 232), mark(2, 1, b"\xff\x1b[0m"), mark(3, 1, b"--password=hunter2"),
                                     mark(4, 1, "\u20ac".encode() * 77 + b"\xe2")))
    write("mark", "open", mark_file(mark(1, 1, b"a"), mark(2, 1, b"b"), more=1000))
    write("mark", "full", mark_file(*nested, maximum=2))
    write("mark", "bad-ends", mark_file(mark(1, 2), mark(2, 2, flags=1), mark(0, 1, b"a"), mark(3, 2), mark(4, 2)))
    write("mark", "bad-slots", mark_file(b"\0" * 64, b"\xff" * 64, mark(5, 9, b"kind"), mark(6, 1, b"tid", 0), mark(1 << 62, 1)))
    write("mark", "bad-cut", mark_file(*nested)[:-70])
    write("mark", "bad-version", mark_file(version=2))
    write("mark", "bad-host", mark_file(*nested, host=b"\xff" * 72))
    write("mark", "bad-empty", b"")


# ---- accounting of a scheduler -----------------------------------------------------------------

def sacct():
    names = "JobID|JobIDRaw|JobName|User|Account|QOS|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|ReqMem|NNodes|AllocTRES|MaxRSS|ConsumedEnergy"
    day = "2026-03-01T%02d:00:00"
    job = "7_1|9|a name|ann|proj|normal|CANCELLED by 1000|0:15|%s|%s|Unknown|1-02:03:04|UNLIMITED|4Gn|2|cpu=2,gres/gpu=1|||" % (day % 1, day % 2)
    step = "7_1.batch|9.batch|batch||proj||COMPLETED|1:0||%s|%s|03:04.567||2000Mc|1|||1180K|1.5K" % (day % 2, day % 3)
    write("sacct", "job", names + "\n" + job.rstrip("|") + "||\n" + step.replace("|||1180K", "||1180K") + "\n")
    write("sacct", "parsable", "State|JobIDRaw|\r\nPENDING|5|\r\n\r\nState|JobID|\r\nFAILED|5_[2-9%4]|\r\n")
    write("sacct", "wide", "JobIDRaw|JobName|State\n5|a|b|c|FAILED\n5.0|x|FAILED\n6.extern|extern|COMPLETED\n")
    write("sacct", "bad-fields", "JobIDRaw|State\n5|FAILED|1\n")
    write("sacct", "bad-id", "JobIDRaw|State\n5'; DROP TABLE job|FAILED\n")
    write("sacct", "bad-number", "JobIDRaw|ReqMem\n5|9999E\n")
    write("sacct", "bad-bytes", b"JobIDRaw|JobName|Account\n5|\xff\xfe\x1b[31m|\x00\n")
    write("sacct", "bad-header", "       JobID    State\n------------ --------\n5 FAILED\n")


# ---- targets of requests -----------------------------------------------------------------------

def targets():
    write("target", "accept", "GET\n/x/api/v1/jobs?limit=5\n" + "text/csv;q=0.5, application/*;q=0.8, */*;q=0")
    write("target", "accept_odd", "GET\n/x/api/v1/jobs\n" + ",;q=;, text/ ;q=1.0001;;x=\"a,b\", */*;q=.5, a/*" + ";" * 50)
    write("target", "accept_arrow", "POST\n/x/api/v1/sql\n" + "application/vnd.apache.arrow.file, application/vnd.apache.parquet;q=0.9")
    def put(name, method, target):
        text = method + "\n" + target
        # the length decides whether the pages are below /x
        write("target", name, text if len(text.encode("latin-1")) % 2 else method + "\n/x" + target)
    put("list", "GET", "/api/v1/jobs?where=user+%3D+ann&from=-7d&tag=op:cut&desc=1&limit=50")
    put("procs", "GET", "/api/v1/jobs/685000/procs?order=-cpu_time&limit=10&offset=5&failed&exe=sh&where=rssmax%3E1G")
    put("compare", "GET", "/api/v1/compare?a=1&a=2&b=3&metric=all&with_failed=yes&min_effect=5")
    put("change", "PUT", "/api/v1/jobs/685000@2026-01-01/annotations")
    put("model", "DELETE", "/api/v1/models/caf%C3%A9")
    put("page", "GET", "/?view=a&text=%22x%22")
    put("up", "GET", "/ui/%2e%2e/%2e%2e/etc/passwd")
    put("slash", "GET", "/api/v1/jobs/a%2fb/tree")
    put("option", "GET", "/api/v1/jobs/--db=x/tree?depth=-1")
    put("escapes", "GET", "/api/v1/jobs/%zz%4?%=%&&=&a=%00%0a")
    put("bytes", "GET", "/api/v1/jobs/%ff%fe?where=%c0%af")
    put("twice", "GET", "/api/v1/jobs/a/tree?depth=1&depth=2")
    put("many", "GET", "/api/v1/alerts?" + "&".join("jobs=%d" % i for i in range(70)))
    put("deep", "GET", "/a" * 20)
    put("absolute", "GET", "http://evil/api")


if __name__ == "__main__":
    records()
    pickled()
    metadata()
    settings()
    config()
    proc()
    papiex()
    archives()
    samples()
    fabric()
    waits()
    groups()
    node()
    perfmon()
    watch()
    nodelists()
    requests()
    sacct()
    colmet()
    marks()
    targets()
