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
    perfmon()
