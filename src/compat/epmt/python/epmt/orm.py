"""Jobs, processes and models as objects, and columns for filters, in the shape of EPMT's ORM.

    Job["685000"].duration
    get_procs("685000", fltr=Process.duration > 1000000, order=desc(Process.duration), fmt="orm").first()

A comparison of a column becomes a condition of plimsoll-query(1). Numbers are in EPMT's units: times in microseconds,
rssmax in KiB.
"""

import datetime
import functools

from epmt import _bridge

# columns that are counted in nanoseconds or KiB
_NANOSECONDS = {"time_oncpu", "time_waiting"}
_KIB = {"rssmax"}
_BLOCKS = {"inblock", "outblock"}
_RENAMED = {"created_at": "ingested", "updated_at": "ingested", "gen": "generation", "hostname": "host",
            "host_id": "host", "mpinumranks": "numranks"}


@functools.lru_cache(maxsize=None)
def _key_types():
    return {(k["of"], k["key"]): k["value"] for k in _bridge.ask("query", "--keys", "--json")}


class Filter:
    """A condition; & | ~ combine conditions."""

    def __init__(self, text):
        self.text = text

    def __and__(self, other):
        return Filter(f"({self.text}) and ({other.text})")

    def __or__(self, other):
        return Filter(f"({self.text}) or ({other.text})")

    def __invert__(self):
        return Filter(f"not ({self.text})")

    def __bool__(self):
        raise TypeError("combine conditions with & | ~ instead of and, or, not")

    def __repr__(self):
        return self.text


def filter_text(fltr):
    """A condition, or a text in the language of plimsoll-query(1)."""
    if isinstance(fltr, (str, Filter)):
        return str(fltr)
    raise TypeError("fltr takes a comparison such as (Job.duration > 1000000), or a filter of plimsoll-query(1) as text; "
                    "a function cannot be evaluated in the database")


def _quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


class Column:
    """A column of jobs or processes, which is compared and sorted by."""

    def __init__(self, scope, name):
        self.scope, self.name = scope, name
        self.key = _RENAMED.get(name, name)

    def _value(self, value):
        kind = _key_types().get((self.scope, self.key))
        if isinstance(value, datetime.datetime):
            return _quoted(value.isoformat(sep="T"))
        if kind == "duration":
            return f"{value}{'ns' if self.key in _NANOSECONDS else 'us'}"
        if kind == "size":
            return f"{value}K" if self.key in _KIB else str(value * 512 if self.key in _BLOCKS else value)
        return _quoted(value)

    def _test(self, operator, value):
        return Filter(f"{self.key} {operator} {self._value(value)}")

    def __eq__(self, value):
        if value is not None:
            return self._test("=", value)
        return Filter("depth = 0" if self.key == "parent" else f"not {self.key}")

    def __ne__(self, value):
        if value is not None:
            return self._test("!=", value)
        return Filter("depth > 0" if self.key == "parent" else self.key)

    __hash__ = object.__hash__

    def __lt__(self, value):
        return self._test("<", value)

    def __le__(self, value):
        return self._test("<=", value)

    def __gt__(self, value):
        return self._test(">", value)

    def __ge__(self, value):
        return self._test(">=", value)

    def in_(self, values):
        """Any of the values."""
        values = list(values)
        if not values:
            return Filter(f"{self.key} and not {self.key}")
        return Filter(f"{self.key} = {', '.join(self._value(v) for v in values)}")

    def like(self, pattern):
        """SQL's LIKE: % is any text, _ one character."""
        if not set(pattern) & set("%_"):
            return self == pattern
        escaped = "".join("\\" + c if c in "*?\\" else {"%": "*", "_": "?"}.get(c, c) for c in pattern)
        return Filter(f"{self.key} ~ {_quoted(escaped)}")

    def __repr__(self):
        return self.name


def desc(column):
    """Sorts by a column, the largest first."""
    return f"desc({column})"


class Query(list):
    """A list of objects with what EPMT's users call on a query."""

    def count(self, *item):
        return super().count(*item) if item else len(self)

    def first(self):
        return self[0] if self else None

    def all(self):
        return list(self)


class _Table(type):
    """Class attributes are columns, and Job["685000"] is a row."""

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Column(cls._scope, name)

    def __getitem__(cls, key):
        found = cls._get(key)
        if found is None:
            raise KeyError(f"there is no {cls._word} {key!r}")
        return found


class Row(metaclass=_Table):
    """A row whose values are attributes."""

    _scope, _word, _id = "", "row", "id"

    def __init__(self, values):
        self.__dict__.update(values)

    def to_dict(self):
        return dict(self.__dict__)

    def __eq__(self, other):
        return type(other) is type(self) and getattr(other, self._id) == getattr(self, self._id)

    def __hash__(self):
        return hash(getattr(self, self._id))

    def __repr__(self):
        return f"{type(self).__name__}[{getattr(self, self._id)!r}]"


class Job(Row):
    """A job; its sums over processes are in proc_sums."""

    _scope, _word, _id = "jobs", "job", "jobid"

    @classmethod
    def _get(cls, jobid):
        from epmt import epmt_query
        found = epmt_query.get_jobs(fltr=cls.jobid == str(jobid), fmt="orm")
        return found.first()

    @property
    def processes(self):
        from epmt import epmt_query
        return epmt_query.get_procs(self.jobid, fmt="orm")

    @property
    def hosts(self):
        return sorted({p.host for p in self.processes})

    @property
    def ref_models(self):
        from epmt import epmt_query
        return Query(m for m in epmt_query.get_refmodels(fmt="orm") if self.jobid in m.jobids)


class Process(Row):
    """A process; its sums over threads are in threads_sums."""

    _scope, _word = "processes", "process"

    @classmethod
    def _get(cls, number):
        return cls._select(cls.id == int(number)).first()

    @staticmethod
    def _select(fltr, jobs=()):
        from epmt import epmt_query
        return epmt_query.get_procs(list(jobs), fltr=fltr, fmt="orm")

    def _related(self, relation):
        return self._select(f"{relation}(id = {self.id})", [self.jobid])

    @property
    def children(self):
        return self._related("parent")

    @property
    def descendants(self):
        return self._related("ancestor")

    @property
    def ancestors(self):
        return self._related("descendant")

    @property
    def threads_df(self):
        from epmt import epmt_query
        return epmt_query.get_thread_metrics(self.id)

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return Process._get(value) if name == "parent" and value is not None else value


class ReferenceModel(Row):
    """A reference model; its id is its name."""

    _scope, _word = "models", "reference model"

    @classmethod
    def _get(cls, name):
        from epmt import epmt_query
        return epmt_query.get_refmodels(name=name, fmt="orm").first()

    @property
    def jobs(self):
        from epmt import epmt_query
        parts = [self.jobids[i:i + 500] for i in range(0, len(self.jobids), 500)]  # a filter has so many values
        return Query(j for p in parts for j in epmt_query.get_jobs(fltr=Job.jobid.in_(p), fmt="orm"))


class Operation(Row):
    """A collection of processes that share tags."""

    _scope, _word, _id = "operations", "operation", "key"

    def __init__(self, jobs, tags, exact_tag_only=False, op_duration_method="sum"):
        from epmt import _operations
        super().__init__(_operations.operation(jobs, tags, exact_tag_only, op_duration_method))

    @property
    def key(self):
        return (tuple(self.jobs), str(self.tags), self.op_duration_method)

    @property
    def processes(self):
        from epmt import epmt_query
        return epmt_query.get_procs(self.jobs, tags=self.tags, exact_tag_only=self.exact_tag_only, fmt="orm")

    def num_runs(self):
        return len(self.intervals)

    def contiguous(self):
        return self.num_runs() == 1

    def to_dict(self, full=False):
        names = ["jobs", "tags", "exact_tag_only", "op_duration_method", "proc_sums", "start", "finish", "duration"]
        row = {n: getattr(self, n) for n in names}
        if full:
            row.update(processes=self.processes, intervals=self.intervals, num_runs=self.num_runs(),
                       contiguous=self.contiguous())
        return row


def orm_get(table, key):
    """A row by its key; None if there is none."""
    return table._get(key)


def orm_is_query(value):
    return isinstance(value, Query)


def orm_col_len(col):
    return len(col)


def orm_commit():
    """Nothing to do: functions that change the store have changed it when they return."""


def db_session(function):
    """EPMT's decorator; every call is a transaction of its own here."""
    return function


def setup_db(settings=None, drop=False, create=True):
    """The store is opened by every call."""
    return True


def jobids(jobs):
    """The ids of a collection: id, comma-separated ids, list, set, Job, Query, list of dicts or DataFrame."""
    if jobs is None:
        return []
    if _bridge.is_frame(jobs):
        return [str(j) for j in jobs["jobid"]]
    if isinstance(jobs, str):
        return [j.strip() for j in jobs.split(",") if j.strip()]
    if isinstance(jobs, (int, Job)):
        jobs = [jobs]
    if isinstance(jobs, dict):
        jobs = [jobs]
    return [j.jobid if isinstance(j, Job) else str(j["jobid"]) if isinstance(j, dict) else str(j) for j in jobs]


def refuse_empty(collection):
    """EPMT's functions that must not mean the whole database."""
    if not _bridge.is_frame(collection) and not orm_is_query(collection) and not collection:
        raise ValueError("You need to specify a non-empty collection as a parameter")
    if orm_is_query(collection) or _bridge.is_frame(collection):
        if not len(collection):
            raise ValueError("the collection is empty")
