# Feed clickhouse with ClickHouse itself: one server, and two with Distributed tables.
load lib

ports() {
  python3 -c '
import socket
s = [socket.socket() for _ in range(6)]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))'
}

# start_server N: its files are in s<N>
start_server() {
  local n=$1 base
  base=$(((n - 1) * 3))
  mkdir -p "s$n"
  cat >"s$n/users.xml" <<XML
<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles><users><default>
<password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default></users>
<quotas><default/></quotas></yandex>
XML
  cat >"s$n/config.xml" <<XML
<yandex><logger><level>warning</level><log>$WORK/s$n/log</log><errorlog>$WORK/s$n/errors</errorlog></logger>
<http_port>${port[base]}</http_port><tcp_port>${port[base + 1]}</tcp_port>
<interserver_http_port>${port[base + 2]}</interserver_http_port><listen_host>127.0.0.1</listen_host>
<path>$WORK/s$n/data/</path><tmp_path>$WORK/s$n/tmp/</tmp_path><users_config>$WORK/s$n/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>5000000</mark_cache_size><remote_servers><pair>
<shard><replica><host>127.0.0.1</host><port>${port[1]}</port></replica></shard>
<shard><replica><host>127.0.0.1</host><port>${port[4]}</port></replica></shard></pair></remote_servers></yandex>
XML
  clickhouse-server --config-file="$WORK/s$n/config.xml" >"s$n/out" 2>&1 3>&- &
  for _ in $(seq 300); do
    ! python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:${port[base]}/ping')" 2>/dev/null || return 0
    sleep 0.2
  done
  cat "s$n/out" "s$n/errors"
  fail "server $n did not start"
}

@test "every value is there once, on one server and on two" {
  # shellcheck disable=SC2207
  port=($(ports))
  start_server 1
  start_server 2
  one="http://127.0.0.1:${port[0]}" two="http://127.0.0.1:${port[3]}"
  PL_CLICKHOUSE_URL=$one PL_CLICKHOUSE_READ=$one "$PROGRAMS/test_sink_clickhouse"
  # written by way of the first, read by way of the second
  PL_CLICKHOUSE_URL="$one,$two/?cluster=pair" PL_CLICKHOUSE_READ=$two "$PROGRAMS/test_sink_clickhouse"
}

@test "every query of the ClickHouse dashboard runs" {
  # shellcheck disable=SC2207
  port=($(ports))
  start_server 1
  python3 - "http://127.0.0.1:${port[0]}/" "$PL_SOURCE/contrib/grafana" <<'PY'
import subprocess, sys, urllib.request
url, dir = sys.argv[1:]
sys.path.insert(0, dir)
import make_dashboards as m
ask = lambda sql: urllib.request.urlopen(url, sql.encode()).read().decode()
columns = {}
for row in m.PANELS:
    columns.setdefault(row[3], {})[row[4]] = "Nullable(Float64)" if "energy" in row[4] else "Nullable(Int64)"
for source, names in columns.items():
    ask(f"CREATE TABLE plimsoll_{source} (time DateTime, time_us Int64, host String, kind String, entity String, job String, "
        + ", ".join(f"`{n}` {t}" for n, t in names.items()) + ") ENGINE = Memory")
    for i in range(4):
        v = ", ".join(str(i * 15000000) for _ in names)
        kind = "job" if source.startswith("job") else "node"
        ask(f"INSERT INTO plimsoll_{source} VALUES ({1700000000 + i * 5}, {(1700000000 + i * 5) * 1000000}, 'a', '{kind}', "
            f"'x', '1', {v})")
out = subprocess.run([sys.executable, dir + "/make_dashboards.py", "--queries", "clickhouse"], capture_output=True, text=True)
queries = out.stdout.splitlines()
assert len(queries) == 20, out
got = [ask(q.rstrip(";")) for q in queries]
assert all(got), got
# 45 MJ were used, by the one job; 3 CPUs were in use, all the time
assert got[0] == "1\t45000000\n", got[0]
assert got[8].split("\t")[1:] == ["1 on a", "3\n"], got[8]
assert got[6] == "a\t1\n" and got[7] == "1\t1\n", got[6:8]
PY
}
