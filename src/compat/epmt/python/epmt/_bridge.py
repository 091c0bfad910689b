"""Calls the program that these modules belong to. Words are passed as a vector, never through a shell."""

import datetime
import functools
import json
import logging
import os
import re
import shutil
import subprocess

logger = logging.getLogger("epmt")

_PREFIX = re.compile(r"^(?:plimsoll: (?:error|warning): |(?:ERROR|WARNING):\w+:)", re.MULTILINE)
# one word of a command line may have 128 KiB
_WORD_MAX = 60000


class Error(RuntimeError):
    """Says in one sentence what is wrong."""


def program(name):
    """The program installed with these modules, else the one in PATH."""
    up = os.path.dirname
    beside = os.path.join(up(up(up(up(up(os.path.abspath(__file__)))))), "bin", name)
    found = beside if os.access(beside, os.X_OK) else shutil.which(name)
    if not found:
        raise Error(f"cannot find `{name}` in PATH")
    return found


@functools.lru_cache(maxsize=None)
def _configured_store():
    """The store of settings.py and EPMT_DB_*, as `epmt` finds it; "" is the user's own."""
    show = "import os; print(os.environ.get('PLIMSOLL_DB', ''), end='')"
    return _call([program("epmt"), "python", "-c", show], None, {}, (0,)).decode("utf-8", "surrogateescape")


def _call(words, text, environment, accepted, cwd=None):
    done = subprocess.run(words, input=b"" if text is None else text, capture_output=True, cwd=cwd,
                          env={**os.environ, **environment})
    said = _PREFIX.sub("", done.stderr.decode("utf-8", "replace")).strip()
    if done.returncode not in accepted:
        raise Error(said or f"`{os.path.basename(words[0])} {words[1]}` failed ({done.returncode})")
    if said:
        logger.warning("%s", said)
    return done.stdout


def run(name, *words, text=None, accepted=(0,), cwd=None):
    """The output of `plimsoll` or `epmt`; a failure is an Error with what the program said."""
    store = os.environ.get("PLIMSOLL_DB") or _configured_store()
    if cwd and store and not store.startswith(("/", "sqlite:", "postgres", ":")):
        store = os.path.abspath(store)
    environment = {"PLIMSOLL_DB": store} if store else {}
    if any("\0" in w for w in words):
        raise Error("a name cannot contain a NUL character")
    return _call([program(name), *words], text, environment, accepted, cwd)


def ask(*words, accepted=(0,)):
    """The JSON that a command of `plimsoll` prints."""
    return json.loads(run("plimsoll", *words, accepted=accepted))


def stat(**request):
    """Statistics of numbers, by the same code as `plimsoll outliers`."""
    try:
        text = json.dumps(_as_numbers(request), allow_nan=False, default=_plain).encode()
    except ValueError as error:
        raise ValueError("the values contain at least one NaN or infinity") from error
    return _with_infinity(json.loads(run("epmt", "stat", text=text)))


def _plain(number):
    """Numbers and arrays of NumPy."""
    return _as_numbers(number.tolist()) if hasattr(number, "tolist") else float(number)


def _as_numbers(v):
    """Truth values count as 0 and 1, and integers of more than 64 bits as numbers nearby."""
    if isinstance(v, (list, tuple)):
        return [_as_numbers(x) for x in v]
    if isinstance(v, dict):
        return {k: _as_numbers(x) for k, x in v.items()}
    return float(v) if isinstance(v, bool) or isinstance(v, int) and not -2**63 <= v < 2**63 else v


def _with_infinity(v):
    if isinstance(v, list):
        return [_with_infinity(x) for x in v]
    if isinstance(v, dict):
        return {k: _with_infinity(x) for k, x in v.items()}
    return {"inf": float("inf"), "-inf": float("-inf")}.get(v, v) if isinstance(v, str) else v


def pandas():
    """pandas, or one sentence about what is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise Error("this needs pandas: `apt install python3-pandas`; fmt='dict' and fmt='terse' do not") from error
    return pd


def array(values):
    """A NumPy array where NumPy is installed, as EPMT returns it, else a list."""
    try:
        import numpy as np
    except ImportError:
        return list(values)
    return np.array(values)


def is_frame(value):
    """Is this a DataFrame? Asked without importing pandas."""
    return type(value).__name__ == "DataFrame" and hasattr(value, "columns")


# ---- `epmt list` ------------------------------------------------------------------------------------

def literals(key, values):
    """Words KEY=[...] for `epmt list`: as many as their length asks for."""
    part, size, words = [], 0, []
    for value in values:
        if part and size + len(repr(value)) * 4 > _WORD_MAX:
            words.append(f"{key}={part!r}")
            part, size = [], 0
        part.append(value)
        size += len(repr(value)) * 4
    return words + ([f"{key}={part!r}"] if part else [])


def listed(what, *words):
    """The JSON of `epmt list`."""
    return json.loads(run("epmt", "list", what, "fmt=json", *words) or b"[]")


_TIMES = ("start", "end", "submit", "created_at", "updated_at")


def moment(text):
    """A time as EPMT has it: local to where the job ran, without a zone."""
    if not isinstance(text, str):
        return text
    try:
        value = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return text
    return value.astimezone().replace(tzinfo=None) if value.tzinfo else value


def with_times(row):
    for key in _TIMES:
        if key in row:
            row[key] = moment(row[key])
    return row


def time_word(value):
    """A time for a command line: datetime, Unix time, days before now, or text as EPMT takes it."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep="T")
    return str(value)
