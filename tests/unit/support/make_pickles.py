#!/usr/bin/env python3
"""Writes pickles.h: what Python makes of some made-up values in every protocol, for test_pickle_*.c.

    tests/unit/support/make_pickles.py > tests/unit/support/pickles.h

The values are plain data as job metadata hold them. Each comes with the JSON that our reader must
make of it. Python 2 is not at hand any more, so what it wrote is put together here, opcode by
opcode, the way its pickle module did.
"""
import datetime
import json
import pickle
import sys


def to_json(v):
    """The JSON that value_to_json() writes."""
    if isinstance(v, datetime.datetime):
        return json.dumps(v.isoformat(timespec="microseconds"))
    if isinstance(v, datetime.timedelta):
        return str((v.days * 86400 + v.seconds) * 1000000 + v.microseconds)
    if isinstance(v, datetime.timezone):
        return str(int(v.utcoffset(None).total_seconds()))
    if isinstance(v, (bytes, bytearray)):
        return json.dumps(v.decode("ascii"))
    if isinstance(v, dict):
        pairs = (json.dumps(str(k), ensure_ascii=False) + ":" + to_json(x) for k, x in v.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(v, (list, tuple, set, frozenset)):
        return "[" + ",".join(to_json(x) for x in v) + "]"
    return json.dumps(v, ensure_ascii=False)


class Python2:
    """pickle.dumps(value, 0) of Python 2, where text is bytes."""

    def __init__(self):
        self.out = bytearray()
        self.memo = {}
        self.known = {}

    def put(self, key=None):
        self.out += b"p%d\n" % len(self.memo)
        self.memo[len(self.memo)] = True
        if key is not None:
            self.known[key] = len(self.memo) - 1

    def text(self, raw):
        if ("text", raw) in self.known:
            self.out += b"g%d\n" % self.known["text", raw]
            return
        self.out += b"S" + repr(raw)[1:].encode() + b"\n"
        self.put(("text", raw))

    def time(self, t):
        state = bytes([t.year >> 8, t.year & 255, t.month, t.day, t.hour, t.minute, t.second])
        state += t.microsecond.to_bytes(3, "big")
        if "datetime" in self.known:
            self.out += b"g%d\n" % self.known["datetime"]
        else:
            self.out += b"cdatetime\ndatetime\n"
            self.put("datetime")
        self.out += b"("
        self.text(state)
        self.out += b"t"
        self.put()
        self.out += b"R"
        self.put()

    def save(self, v):
        if v is None:
            self.out += b"N"
        elif isinstance(v, bool):
            self.out += b"I01\n" if v else b"I00\n"
        elif isinstance(v, int):
            self.out += b"I%d\n" % v if abs(v) < 2**31 else b"L%dL\n" % v
        elif isinstance(v, float):
            self.out += b"F" + repr(v).encode() + b"\n"
        elif isinstance(v, bytes):
            self.text(v)
        elif isinstance(v, str):
            raw = v.replace("\\", "\\u005c").replace("\n", "\\u000a")
            self.out += b"V" + raw.encode("raw-unicode-escape") + b"\n"
            self.put()
        elif isinstance(v, datetime.datetime):
            self.time(v)
        elif isinstance(v, dict):
            self.out += b"(d"
            self.put()
            for key, item in v.items():
                self.save(key)
                self.save(item)
                self.out += b"s"
        elif isinstance(v, list):
            self.out += b"(l"
            self.put()
            for item in v:
                self.save(item)
                self.out += b"a"
        else:
            raise TypeError(type(v))

    def dumps(self, v):
        self.save(v)
        return bytes(self.out + b".")


EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
WEST = datetime.timezone(datetime.timedelta(hours=-8))
SHARED = ["shared", {"inner": True}]

VALUES = {
    "scalars": {
        "none": None, "yes": True, "no": False, "zero": 0, "byte": 255, "short": 65535,
        "word": 65536,
        "minus": -1, "int32 min": -2**31, "int32 max": 2**31 - 1, "more": 2**31, "less": -2**31 - 1,
        "int64 min": -2**63, "int64 max": 2**63 - 1, "half": 0.5, "quarters": -2.25, "huge": 1e100,
    },
    "texts": {
        "empty": "", "plain": "abc", "escapes": "a\nb\tc\\d'e\"f\r\x01\x00g", "latin": "\xe4\xff",
        "greek": "\u03c0", "ship": "\U0001f6a2", "long": "x" * 300, "\u00fc": "key",
    },
    "containers": {
        "list": [1, [2, [3, []]], "x"], "tuple": (), "one": (1,), "two": (1, "b"),
        "three": (1, 2, 3),
        "four": (1, 2, 3, (4, 5)), "dict": {"a": {"b": {"c": None}}, "d": {}}, "again": SHARED,
        "and again": SHARED, "same": [SHARED, SHARED], 7: "number",
    },
    "times": {
        "naive": datetime.datetime(2019, 1, 2, 3, 4, 5, 678901),
        "round": datetime.datetime(1970, 1, 1),
        "first": datetime.datetime(1, 1, 1),
        "last": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        "utc": datetime.datetime(2020, 2, 29, 12, 0, tzinfo=datetime.timezone.utc),
        "east": datetime.datetime(2021, 3, 4, 5, 6, 7, 8, tzinfo=EAST),
        "west": datetime.datetime(2021, 3, 4, 5, 6, 7, 8, tzinfo=WEST),
        "folded": datetime.datetime(2021, 10, 31, 2, 30, fold=1),
        "span": datetime.timedelta(days=1, seconds=2, microseconds=3),
        "back": -datetime.timedelta(seconds=1.5),
        "zone": EAST,
    },
    "bytes": {"some": b"abc", "same": [b"abc", b"abc"], "long": b"y" * 300},
    "job": {
        "job_pl_id": "20210304.1", "job_pl_username": "jane", "job_pl_hostname": "node7",
        "job_pl_submit_ts": datetime.datetime(2021, 3, 4, 5, 6, 7, 8, tzinfo=WEST),
        "job_pl_start_ts": datetime.datetime(2021, 3, 4, 5, 6, 8, 9, tzinfo=WEST),
        "job_pl_env": {"HOME": "/home/jane", "SLURM_JOB_NAME": "ocean", "PS1": "\\u@\\h \\$ "},
        "job_el_stop_ts": datetime.datetime(2021, 3, 4, 6, 6, 8, 9, tzinfo=WEST),
        "job_el_exitcode": 0, "job_el_reason": "none", "job_jobname": "ocean",
        "job_tags": {"exp": "ocean", "run": "1"}, "job_env_changes": {}, "checked": True,
        "annotations": {"note": "none", "tries": 3},
    },
    # more than Python writes at once
    "long list": [True] * 1001,
    "long dict": {i: None for i in range(1001)},
}
NEWER = {"set": {7}, "frozen": frozenset([8])}
NEWEST = {"buffer": bytearray(b"abc")}

PYTHON2 = {
    b"job_pl_id": b"4711",
    b"job_pl_submit_ts": datetime.datetime(2018, 3, 4, 5, 6, 7, 89101),
    b"job_pl_start_ts": datetime.datetime(2018, 9, 10, 11, 39, 13, 2570),
    b"job_pl_env": {
        b"HOME": b"/home/joe", b"PS1": b"\\[\\e[1m\\]$ ", b"QUOTE": b"it's", b"BOTH": b"'\"",
        b"LINES": b"a\nb\tc", b"SAME": b"/home/joe",
    },
    b"job_el_exitcode": 0,
    b"job_el_reason": b"none",
    b"big": 2**40,
    b"half": 0.5,
    b"yes": True,
    b"nothing": None,
    b"list": [b"x", 1, "\u03c0 \\ \n"],
}


def decode(v):
    if isinstance(v, bytes):
        return v.decode()
    if isinstance(v, dict):
        return {decode(k): decode(x) for k, x in v.items()}
    if isinstance(v, list):
        return [decode(x) for x in v]
    return v


def c_string(data):
    """A C literal in lines of at most 96 characters, broken between the characters of the text."""
    lines, line = [], ""
    for c in data:
        if c in b'"\\':
            piece = "\\" + chr(c)
        elif c == 10:
            piece = "\\n"
        elif 32 <= c < 127:
            piece = chr(c)
        else:
            piece = "\\%03o" % c
        if len(line) + len(piece) > 86:
            lines.append(line)
            line = ""
        line += piece
    return "\n\t".join('"%s"' % x for x in lines + [line])


def main():
    fixtures = []

    def emit_json(name, value):
        ident = "json_" + name.replace(" ", "_")
        print("static const char %s[] =\n\t%s;\n" % (ident, c_string(to_json(value).encode())))
        return ident

    def emit(name, protocol, data, value):
        ident = "pickle_%d" % len(fixtures)
        print("static const char %s[] =\n\t%s;\n" % (ident, c_string(data)))
        fixtures.append((name, protocol, ident, value))

    print("/* Made by make_pickles.py; do not edit. */")
    print("#ifndef PL_TESTS_PICKLES_H\n#define PL_TESTS_PICKLES_H\n")
    print("/* clang-format off */")
    for values, first in ((VALUES, 0), ({"newer": NEWER}, 4), ({"newest": NEWEST}, 5)):
        for name, value in values.items():
            ident = emit_json(name, value)
            for protocol in range(first, 6):
                emit(name, protocol, pickle.dumps(value, protocol), ident)
    data = Python2().dumps(PYTHON2)
    # what Python itself makes of it is what we say it is
    assert to_json(decode(pickle.loads(data, encoding="bytes"))) == to_json(decode(PYTHON2))
    emit("python 2", 0, data, emit_json("python2", decode(PYTHON2)))
    print("static const struct pickle_fixture {")
    print("\tconst char *name;\n\tint protocol;\n\tconst char *data;\n\tsize_t size;")
    print("\tconst char *json;\n} pickles[] = {")
    for name, protocol, ident, value in fixtures:
        print('\t{"%s", %d, %s, sizeof(%s) - 1, %s},' % (name, protocol, ident, ident, value))
    print("};\n/* clang-format on */\n\n#endif")
    return 0


if __name__ == "__main__":
    sys.exit(main())
