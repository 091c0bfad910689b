#!/usr/bin/env python3
"""Writes the dashboards beside it, one for each kind of data source, from one table of panels.

    make_dashboards.py              writes them
    make_dashboards.py --check      fails when a file is not what this would write
    make_dashboards.py --queries postgresql|clickhouse    their SQL, variables filled in, for tests

Rates are per second whatever the interval of a panel is; energies are those of the time that is shown. Energy is what
each job used of its nodes' (job_energy), so that jobs which share a node share its energy, too.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# title, form, unit, source, metric, kind of entity, what is shown, factor to the unit from the metric's own.
# rate: per second; level: as it is; increase: over the time shown; integral: over the time shown, in hours.
PANELS = [
    ("Energy of jobs", "stat", "joule", "job_energy", "energy", "job", "increase", 1),
    ("Energy of jobs, Wh", "gauge", "watth", "job_energy", "energy", "job", "increase", 1 / 3600),
    ("Power of CPU packages", "timeseries", "watt", "rapl", "package_energy", "node", "rate", 1),
    ("Power of memory", "timeseries", "watt", "rapl", "dram_energy", "node", "rate", 1),
    ("Power of nodes (IPMI)", "timeseries", "watt", "ipmi", "power", "node", "level", 1),
    ("Energy of nodes (IPMI), Wh", "gauge", "watth", "ipmi", "power", "node", "integral", 1),
    ("Jobs of a node", "table", "none", "jobs", "cpu_usage", "job", "jobs", 1),
    ("Nodes of a job", "table", "none", "jobs", "cpu_usage", "job", "nodes", 1),
    ("CPUs in use", "timeseries", "none", "jobs", "cpu_usage", "job", "rate", 1e-6),
    ("Memory of programs", "timeseries", "bytes", "jobs", "memory_anon", "job", "level", 1),
    ("Read from storage", "timeseries", "Bps", "jobs", "io_read_bytes", "job", "rate", 1),
    ("Written to storage", "timeseries", "Bps", "jobs", "io_write_bytes", "job", "rate", 1),
    ("CPU cycles", "timeseries", "hertz", "job_counters", "cpu_cycles", "job", "rate", 1),
    ("Cache misses", "timeseries", "cps", "job_counters", "cache_misses", "job", "rate", 1),
    ("Instructions", "timeseries", "cps", "job_counters", "instructions", "job", "rate", 1),
    ("Page faults", "timeseries", "cps", "job_counters", "page_faults", "job", "rate", 1),
    ("Fabric: received", "timeseries", "Bps", "infiniband", "port_rcv_data", "node", "rate", 1),
    ("Fabric: sent", "timeseries", "Bps", "infiniband", "port_xmit_data", "node", "rate", 1),
]
JOBS, NODES = "${Job_ID:singlequote}", "${Node:singlequote}"


def times(factor):
    return "" if factor == 1 else f" * {factor!r}"


# ---- PostgreSQL: the views of the job store ----------------------------------------------------------------------

def postgres_samples(source, metric, entity):
    what = f"metric = '{source}.{metric}' AND entity_kind = '{entity}' AND host IN ({NODES})"
    # samples of a node belong to one job per day
    what += f" AND jobid IN ({JOBS})" if entity == "job" else " AND jobid LIKE 'node:%'"
    return f"{what} AND time BETWEEN $__unixEpochFrom()::bigint * 1000000 AND $__unixEpochTo()::bigint * 1000000"


def postgres(source, metric, entity, shown, factor):
    label = "jobid || ' on ' || host" if entity == "job" else "host"
    where = postgres_samples(source, metric, entity)
    if shown in ("jobs", "nodes"):
        a, b = ("host", "jobid") if shown == "jobs" else ("jobid", "host")
        return (f"SELECT h.{a} AS \"{'Node' if a == 'host' else 'Job'}\", count(DISTINCT h.{b}) AS "
                f"\"{'Jobs' if shown == 'jobs' else 'Nodes'}\" FROM job_hosts h JOIN jobs j ON j.job = h.job WHERE "
                f"h.jobid IN ({JOBS}) AND h.host IN ({NODES}) AND j.start <= $__unixEpochTo()::bigint * 1000000 AND "
                "coalesce(j.\"end\", j.start) >= $__unixEpochFrom()::bigint * 1000000 GROUP BY 1 ORDER BY 1")
    step = "greatest($__interval_ms, 1000)::bigint * 1000"
    if shown == "level":
        return (f"SELECT to_timestamp(at / 1000000) AS time, label AS metric, sum(value){times(factor)} AS value FROM ("
                f"SELECT time / ({step}) * ({step}) AS at, {label} AS label, entity, avg(value) AS value FROM samples "
                f"WHERE {where} GROUP BY 1, 2, 3) s GROUP BY 1, 2 ORDER BY 1")
    if shown == "integral":
        return (f"SELECT host AS metric, avg(value) * ($__unixEpochTo() - $__unixEpochFrom()) / 3600{times(factor)} AS value "
                f"FROM samples WHERE {where} GROUP BY 1 ORDER BY 1")
    # a counter that went back was reset
    grown = (f"SELECT time, {label} AS label, jobid, greatest(value - lag(value) OVER w, 0) AS more, "
             f"time - lag(time) OVER w AS us FROM samples WHERE {where} "
             "WINDOW w AS (PARTITION BY jobid, host, entity ORDER BY time)")
    if shown == "increase":
        return f"SELECT jobid AS metric, sum(more){times(factor)} AS value FROM ({grown}) s GROUP BY 1 ORDER BY 1"
    return (f"SELECT to_timestamp(time / ({step}) * ({step}) / 1000000) AS time, label AS metric, "
            f"avg(more * 1e6 / us){times(factor)} AS value FROM ({grown}) s WHERE us > 0 GROUP BY 1, 2 ORDER BY 1")


def postgres_target(*panel):
    form = "table" if panel[3] in ("jobs", "nodes", "increase", "integral") else "time_series"
    return {"rawSql": postgres(*panel), "format": form, "rawQuery": True}


# ---- ClickHouse: one view per source --------------------------------------------------------------------------

def clickhouse(source, metric, entity, shown, factor):
    table = f"plimsoll_{source}"
    label = "concat(job, ' on ', host)" if entity == "job" else "host"
    where = f"$__timeFilter(time) AND kind = '{entity}' AND host IN ({NODES})"
    where += f" AND job IN ({JOBS})" if entity == "job" else ""
    if shown in ("jobs", "nodes"):
        a, b = ("host AS Node", "uniqExact(job) AS Jobs") if shown == "jobs" else ("job AS Job", "uniqExact(host) AS Nodes")
        return f"SELECT {a}, {b} FROM {table} WHERE {where} GROUP BY {a.split()[2]} ORDER BY {a.split()[2]}"
    where += f" AND isNotNull(`{metric}`)"
    if shown == "increase":
        return (f"SELECT job, sum(more){times(factor)} AS value FROM (SELECT job, host, entity, max(`{metric}`) - min(`{metric}`) "
                f"AS more FROM {table} WHERE {where} GROUP BY job, host, entity) GROUP BY job ORDER BY job")
    if shown == "integral":
        return (f"SELECT host, avg(`{metric}`) * (toUnixTimestamp($__toTime) - toUnixTimestamp($__fromTime)) / 3600"
                f"{times(factor)} AS value FROM {table} WHERE {where} GROUP BY host ORDER BY host")
    # within each interval, so that the result does not depend on its length
    one = (f"avg(`{metric}`)" if shown == "level" else
           f"(max(`{metric}`) - min(`{metric}`)) / ((max(time_us) - min(time_us)) / 1000000)")
    having = "" if shown == "level" else " HAVING max(time_us) > min(time_us)"
    return (f"SELECT at AS time, label, sum(one){times(factor)} AS value FROM (SELECT $__timeInterval(time) AS at, {label} AS "
            f"label, entity, {one} AS one FROM {table} WHERE {where} GROUP BY at, label, entity{having}) GROUP BY at, label "
            "ORDER BY at")


def clickhouse_target(*panel):
    table = panel[3] in ("jobs", "nodes", "increase", "integral")
    return {"rawSql": clickhouse(*panel), "editorType": "sql", "queryType": "table" if table else "timeseries",
            "format": 1 if table else 0}


# ---- Elasticsearch: our own indices ------------------------------------------------------------------------------

def elastic_target(source, metric, entity, shown, factor):
    query = f"_index:plimsoll_{source}-* AND kind:{entity} AND hostname:$Node"
    query += " AND job_id:$Job_ID" if entity == "job" else ""
    terms = lambda field, n: {"id": str(n), "type": "terms", "field": field,
                              "settings": {"min_doc_count": "1", "order": "desc", "orderBy": "_term", "size": "500"}}
    time = {"id": "9", "type": "date_histogram", "field": "@timestamp", "settings": {"interval": "auto", "min_doc_count": "0"}}
    target = {"query": query, "timeField": "@timestamp"}
    if shown in ("jobs", "nodes"):
        a, b = ("hostname", "job_id") if shown == "jobs" else ("job_id", "hostname")
        return {**target, "bucketAggs": [terms(a, 2)], "metrics": [{"id": "1", "type": "cardinality", "field": b}]}
    groups = [terms("job_id", 2), terms("hostname", 3)] if entity == "job" else [terms("hostname", 2)]
    if shown in ("level", "integral"):
        metrics = [{"id": "1", "type": "avg", "field": metric, "settings": {}}]
        if shown == "integral":
            # one value for the time range, in hours
            return {**target, "bucketAggs": groups, "metrics": [metrics[0] | {
                "settings": {"script": "_value * (${__to} - ${__from}) / 3600000.0"}}]}
        return {**target, "bucketAggs": groups + [time], "metrics": metrics}
    # increase of a counter between intervals; unit 1s: per second
    settings = {"unit": "1s"} if shown == "rate" else {}
    metrics = [{"id": "1", "type": "max", "field": metric, "hide": True},
               {"id": "4", "type": "derivative", "field": "1", "pipelineAgg": "1", "settings": settings}]
    if factor != 1:
        metrics[1]["hide"] = True
        metrics.append({"id": "5", "type": "bucket_script", "pipelineVariables": [{"name": "v", "pipelineAgg": "4"}],
                        "settings": {"script": f"params.v * {factor!r}"}})
        if shown == "rate":
            # a script cannot see the rate per second: scale the counter before
            metrics = [{"id": "1", "type": "max", "field": metric, "hide": True,
                        "settings": {"script": f"_value * {factor!r}"}}, metrics[1] | {"hide": False}]
    return {**target, "bucketAggs": groups + [time], "metrics": metrics}


# ---- Prometheus: scraped, or sent by remote write --------------------------------------------------------

PROMETHEUS = {  # the unit in the name, and the factor from our unit
    ("job_energy", "energy"): ("joules", 1), ("rapl", "package_energy"): ("joules", 1), ("rapl", "dram_energy"): ("joules", 1),
    ("ipmi", "power"): ("watts", 1), ("jobs", "cpu_usage"): ("seconds", 1e6), ("jobs", "memory_anon"): ("bytes", 1),
    ("jobs", "io_read_bytes"): ("", 1), ("jobs", "io_write_bytes"): ("", 1), ("infiniband", "port_rcv_data"): ("bytes", 1),
    ("infiniband", "port_xmit_data"): ("bytes", 1),
}


def prometheus(source, metric, entity, shown, factor):
    unit, scale = PROMETHEUS.get((source, metric), ("", 1))
    name = f"plimsoll_{source}_{metric}" + (f"_{unit}" if unit else "")
    name += "" if shown in ("level", "integral") else "_total"
    # scraped rows have no kind; rows of a port have its name, and are also in those of the node
    labels = 'host=~"$Node",job_id=~"$Job_ID",kind=~"job|"' if entity == "job" else 'host=~"$Node",kind=~"node|",port=""'
    by = "host, job_id" if entity == "job" else "host"
    k = times(round(factor * scale, 12))
    if shown in ("jobs", "nodes"):
        a = "host" if shown == "jobs" else "job_id"
        return f"count by ({a}) (count by (host, job_id) ({name}{{{labels}}}))"
    if shown == "level":
        return f"sum by ({by}) ({name}{{{labels}}}){k}"
    if shown == "integral":
        return f"sum by ({by}) (avg_over_time({name}{{{labels}}}[$__range])) * $__range_s / 3600{k}"
    if shown == "increase":
        return f"sum by (job_id) (increase({name}{{{labels}}}[$__range])){k}"
    return f"sum by ({by}) (rate({name}{{{labels}}}[$__rate_interval])){k}"


def prometheus_target(*panel):
    _, _, entity, shown, _ = panel
    once = shown in ("jobs", "nodes", "increase", "integral")
    legend = "{{job_id}} on {{host}}" if entity == "job" and not once else "{{job_id}}" if entity == "job" else "{{host}}"
    return {"expr": prometheus(*panel), "instant": once, "range": not once, "legendFormat": legend,
            "format": "table" if shown in ("jobs", "nodes") else "time_series"}


# ---- dashboards --------------------------------------------------------------------------------------------------

SOURCES = {
    "postgresql": ("postgres", postgres_target,
                   "SELECT DISTINCT jobid FROM jobs WHERE jobid NOT LIKE 'node:%' ORDER BY 1",
                   f"SELECT DISTINCT host FROM job_hosts WHERE jobid IN ({JOBS}) ORDER BY 1"),
    "clickhouse": ("grafana-clickhouse-datasource", clickhouse_target,
                   "SELECT DISTINCT job FROM plimsoll_jobs WHERE kind = 'job' ORDER BY job",
                   f"SELECT DISTINCT host FROM plimsoll_jobs WHERE job IN ({JOBS}) ORDER BY host"),
    "elasticsearch": ("elasticsearch", elastic_target,
                      '{"find": "terms", "field": "job_id", "query": "_index:plimsoll_jobs-* AND kind:job"}',
                      '{"find": "terms", "field": "hostname", "query": "_index:plimsoll_jobs-* AND job_id:$Job_ID"}'),
    "prometheus": ("prometheus", prometheus_target,
                   "label_values(plimsoll_jobs_cpu_usage_seconds_total, job_id)",
                   'label_values(plimsoll_jobs_cpu_usage_seconds_total{job_id=~"$Job_ID"}, host)'),
}


def variable(name, label, datasource, query):
    return {"name": name, "label": label, "type": "query", "datasource": datasource, "query": query, "definition": query,
            "multi": True, "includeAll": True, "refresh": 2, "sort": 3, "current": {"text": ["All"], "value": ["$__all"]}}


def panel(number, row, datasource, make):
    title, form, unit, source, metric, entity, shown, factor = row
    return {
        "id": number, "title": title, "type": form, "datasource": datasource,
        "description": f"{source}.{metric}, {'of each job' if entity == 'job' else 'of each node'}",
        "gridPos": {"h": 8, "w": 12, "x": (number - 1) % 2 * 12, "y": (number - 1) // 2 * 8},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0} if form != "table" else {"unit": unit}, "overrides": []},
        # a stat or gauge of an increase sums the intervals if the data source returns them one by one
        "options": {"reduceOptions": {"calcs": ["sum" if "bucketAggs" in make(*row[3:]) and shown == "increase" else
                                                "lastNotNull"], "values": False}} if form in ("stat", "gauge") else {},
        "targets": [{"refId": "A", "datasource": datasource, **make(source, metric, entity, shown, factor)}],
    }


def dashboard(kind):
    plugin, make, jobs, nodes = SOURCES[kind]
    datasource = {"type": plugin, "uid": "${datasource}"}
    return {
        "title": f"Plimsoll: jobs and nodes ({kind})", "uid": f"plimsoll-{kind}", "tags": ["plimsoll"], "schemaVersion": 36,
        "version": 1, "editable": True, "refresh": "30s", "time": {"from": "now-1h", "to": "now"}, "timezone": "browser",
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": plugin},
            variable("Job_ID", "Job", datasource, jobs), variable("Node", "Node", datasource, nodes)]},
        "panels": [panel(n, row, datasource, make) for n, row in enumerate(PANELS, 1)],
    }


def main():
    if sys.argv[1:2] == ["--queries"]:
        fill = {JOBS: "'1', '2'", NODES: "'a'", "$__interval_ms": "15000", "$__unixEpochFrom()": "1700000000",
                "$__unixEpochTo()": "1700003600", "$__timeFilter(time)": "time >= toDateTime(1700000000)",
                "$__timeInterval(time)": "toDateTime(intDiv(toUInt32(time), 60) * 60)",
                "$__fromTime": "toDateTime(1700000000)", "$__toTime": "toDateTime(1700003600)"}
        _, make, *lists = SOURCES[sys.argv[2]]
        queries = [make(*row[3:])["rawSql"] for row in PANELS] + lists
        for q in queries:
            for a, b in fill.items():
                q = q.replace(a, b)
            print(q + ";")
        return 0
    status = 0
    for kind in SOURCES:
        path, text = os.path.join(HERE, kind + ".json"), json.dumps(dashboard(kind), indent=1) + "\n"
        if sys.argv[1:] == ["--check"]:
            with open(path, encoding="utf-8") as f:
                if f.read() != text:
                    print(f"{path} is not what {sys.argv[0]} makes")
                    status = 1
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
