# shellcheck shell=bash
# Servers with their clients: started, used and stopped by the case.
#: postgres|setpriv psql|--sample=200ms|
#: mariadb|mariadbd mariadb-install-db mariadb||
#: redis|redis-server redis-cli redis-benchmark|--sample=200ms|
#: memcached|memcached||
#: nginx|nginx curl|--sample=200ms|
#: ssh|sshd ssh ssh-keygen||
#: rsync|rsync||
#: sqlite|sqlite3||

able_postgres() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || echo 'PostgreSQL is not installed'; }
case_postgres() {
  local bin
  bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | tail -1)")
  as_other "$bin/initdb" -D data -U me --auth=trust --no-sync --locale=C >init.log || return 1
  as_other "$bin/pg_ctl" -D data -w -s -l "$PWD/data/log" -o "-k $PWD -c listen_addresses= -c fsync=off" start || return 1
  export PGHOST=$PWD PGUSER=me PGDATABASE=postgres
  "$bin/pgbench" -i -s 1 -q 2>/dev/null
  "$bin/pgbench" -n -c 4 -j 2 -t 50 >bench
  psql -A -t -c 'set max_parallel_workers_per_gather = 2; select count(*), sum(length(filler)) from pgbench_accounts' -c 'select sum(delta) is not null, count(*) from pgbench_history'
  psql -c 'no such statement'
  as_other "$bin/pg_ctl" -D data -w -s -m fast stop
  local status=$?
  rm -rf data
  return $status
}

case_mariadb() {
  local pid as=()
  [ "$(id -u)" != 0 ] || as=(--user=nobody)
  mkdir -m 777 data
  mariadb-install-db --no-defaults "${as[@]}" --datadir="$PWD/data" --auth-root-authentication-method=normal --skip-test-db >/dev/null 2>install.err || return 1
  mariadbd --no-defaults "${as[@]}" --datadir="$PWD/data" --socket="$PWD/s" --skip-networking --pid-file="$PWD/data/pid" >data/log 2>&1 &
  pid=$!
  until_true mariadb --no-defaults -u root -S s -e 'select 1' || return 1
  mariadb --no-defaults -u root -S s -e 'create database a; use a; create table t (x int primary key, y text) engine=innodb;
    insert into t select seq, repeat("y", 100) from seq_1_to_20000; select count(*), sum(x), max(length(y)) from t;'
  mariadb --no-defaults -u root -S s -e 'nonsense'
  mariadb-dump --no-defaults -u root -S s --skip-dump-date a >dump.sql
  mariadb-admin --no-defaults -u root -S s shutdown
  wait $pid
  local status=$?
  rm -rf data
  return $status
}

case_redis() {
  local pid
  redis-server --port 0 --unixsocket "$PWD/s" --dir "$PWD" --save '' --appendonly yes --appendfsync no >/dev/null &
  pid=$!
  until_true redis-cli -s s ping || return 1
  redis-cli -s s set a 1
  seq 2000 | sed 's/.*/incrby a &/' | redis-cli -s s >answers
  redis-cli -s s eval 'local s = 0 for i = 1, 100000 do s = s + i end return s' 0
  redis-benchmark -s s -q -n 2000 -c 4 --threads 2 -t get,lpush >/dev/null
  redis-cli -s s nonsense
  redis-cli -s s bgsave
  until_true test -s dump.rdb
  redis-cli -s s shutdown nosave
  wait $pid
  local status=$?
  rm -rf appendonlydir dump.rdb
  return $status
}

case_memcached() {
  local pid as=()
  [ "$(id -u)" != 0 ] || as=(-u nobody)
  memcached -s "$PWD/s" -a 777 -t 4 "${as[@]}" &
  pid=$!
  until_true test -S s
  python3 - <<'E'
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("s")
f = s.makefile("rw", newline="")
total = 0
for i in range(500):
    f.write("set k%d 0 0 5\r\n%05d\r\nget k%d\r\n" % (i, i, i))
    f.flush()
    total += [f.readline() for _ in range(4)][2] == "%05d\r\n" % i
print(total)
E
  kill -TERM $pid
  wait $pid
  echo "server $?"
}

case_nginx() {
  local pid i user=
  [ "$(id -u)" != 0 ] || user='user root;'
  mkdir -p www logs
  head -c 300000 /dev/zero >www/zero
  echo hello >www/index.html
  cat >conf <<C
$user
daemon off; worker_processes 2; pid $PWD/pid; error_log $PWD/logs/error;
events { worker_connections 64; }
http { access_log off; client_body_temp_path $PWD/b; proxy_temp_path $PWD/p; fastcgi_temp_path $PWD/f; uwsgi_temp_path $PWD/u;
  scgi_temp_path $PWD/g; server { listen unix:$PWD/s; root $PWD/www; gzip on; gzip_types *; } }
C
  /usr/sbin/nginx -p "$PWD" -c "$PWD/conf" -e "$PWD/logs/error" &
  pid=$!
  until_true curl -s --unix-socket s http://x/ || return 1
  curl -s --unix-socket s http://x/ http://x/zero | md5sum
  for i in 1 2 3 4; do curl -s --compressed --unix-socket s http://x/zero -o "got$i" & done
  wait -n; wait -n; wait -n; wait -n
  curl -s -o /dev/null -w '%{http_code}\n' --unix-socket s http://x/none
  kill -QUIT $pid
  wait $pid
  local status=$?
  rm -rf logs
  return $status
}

case_ssh() {
  local pid status
  ssh-keygen -q -t ed25519 -N '' -f host -C host
  ssh-keygen -q -t ed25519 -N '' -f me -C me
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
  cp me.pub authorized
  local port=$((20000 + RANDOM % 12000))
  cat >config <<C
Port $port
ListenAddress 127.0.0.1
HostKey $PWD/host
AuthorizedKeysFile $PWD/authorized
StrictModes no
UsePAM no
PidFile none
LogLevel QUIET
C
  /usr/sbin/sshd -D -f "$PWD/config" 2>sshd.err &
  pid=$!
  local to=(ssh -F none -q -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i me -p "$port" 127.0.0.1)
  until_true "${to[@]}" true || return 1
  "${to[@]}" 'echo remote; echo problem >&2; exit 3'
  echo "remote $?"
  seq 50000 | "${to[@]}" 'md5sum'
  "${to[@]}" -tt 'tty >/dev/null && echo a terminal'
  status=$?
  kill -TERM $pid
  wait $pid
  rm -f host* me* authorized config sshd.err
  return $status
}

case_rsync() {
  mkdir -p a/b
  for i in $(seq 200); do echo "$i" >"a/b/$i"; done
  ln -s b a/link
  rsync -a a/ c
  echo more >>a/b/7
  rsync -ac --delete -i a/ c | sed 's/ .*b/ b/'
  rsync a/none c
  echo "status $?"
  diff -r a c
}

case_sqlite() {
  sqlite3 a.db 'pragma journal_mode=wal; create table t (x integer primary key, y text);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) insert into t select i, hex(i) from n;
    create index i on t (y); select count(*), sum(x), max(y) from t;'
  sqlite3 a.db 'nonsense'
  sqlite3 a.db 'pragma integrity_check; vacuum'
  sqlite3 -csv a.db 'select * from t where x % 1000 = 0' >some.csv
}
