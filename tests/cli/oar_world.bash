#!/usr/bin/env bash
# A whole OAR on this machine: database, server, node.
#     oar_world.bash DIRECTORY FIRST-JOB-ID
# It has namespaces of its own, so that its fixed ports and directories, its links in /dev, and its habit of killing all
# processes of a user and removing his files from /tmp concern nobody outside; all of it is gone with its first process.
# The outer one has only a /dev of its own: a node daemon in there sees OAR's links and the processes of the whole
# machine. DIRECTORY is /mnt in the inner one, and has the file `ready` when jobs can be submitted; `log` says why not.
set -eu
dir=$1 first=$2
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root
unset TMPDIR

if [ -z "${3:-}" ]; then
  mount --make-rprivate /
  mkdir "$dir/dev"
  mount -t tmpfs -o mode=755 tmpfs "$dir/dev"
  for f in null zero full random urandom tty; do
    touch "$dir/dev/$f"
    mount --bind "/dev/$f" "$dir/dev/$f"
  done
  mkdir "$dir/dev/pts" "$dir/dev/shm"
  mount --rbind /dev/pts "$dir/dev/pts"
  ln -s pts/ptmx "$dir/dev/ptmx"
  ln -s /proc/self/fd "$dir/dev/fd"
  mount --move "$dir/dev" /dev
  # not exec: this process is what has the outer namespace alone
  unshare -m -p -n --fork --kill-child --mount-proc "$0" "$dir" "$first" inner
  exit
fi

exec >>"$dir/log" 2>&1
set -x
# as USER COMMAND...
as() { setpriv --reuid="$1" --regid="$1" --init-groups -- "${@:2}"; }

ip link set lo up
mount --bind "$dir" /mnt
# copies take the place of what the packages installed
for d in /etc/oar /var/lib/oar; do
  mkdir -p "/mnt/copy$d"
  cp -a "$d/." "/mnt/copy$d"
  chown --reference="$d" "/mnt/copy$d"
  chmod --reference="$d" "/mnt/copy$d"
  mount --bind "/mnt/copy$d" "$d"
done
{
  cat /etc/passwd
  echo 'oartest:x:64999:65534::/home/oartest:/bin/bash'
} >/mnt/copy/passwd
mount --bind /mnt/copy/passwd /etc/passwd
for d in /tmp /var/tmp /dev/shm /run /home /var/log; do mount -t tmpfs tmpfs "$d"; done
chmod 1777 /tmp /var/tmp /dev/shm
mkdir -m 755 /run/sshd
install -d -o oartest /home/oartest
touch /home/oartest/.bashrc
install -o oar /dev/null /var/log/oar.log
cd /

bin=$(compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -n 1)
install -d -o postgres /tmp/db
as postgres "$bin/initdb" -D /tmp/db/data -U postgres --auth=trust --no-sync --encoding=UTF8 --locale=C
as postgres "$bin/postgres" -D /tmp/db/data -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp/db -c fsync=off &
until as postgres "$bin/pg_isready" -q -h 127.0.0.1; do sleep 0.1; done
sed -i -e 's/^DB_BASE_PASSWD=.*/DB_BASE_PASSWD="oar"/' -e 's/^DB_BASE_PASSWD_RO=.*/DB_BASE_PASSWD_RO="oar_ro"/' /etc/oar/oar.conf
oar-database --create --db-admin-user postgres --db-admin-pass none </dev/null
as postgres "$bin/psql" -h 127.0.0.1 -d oar -q -c "ALTER SEQUENCE jobs_job_id_seq RESTART WITH $first"

/usr/sbin/sshd -f /etc/oar/sshd_config -o ListenAddress=127.0.0.1
as oar /usr/sbin/Almighty &
for cpu in 0 1; do oarnodesetting -a -h 127.0.0.1 -p cpuset=$cpu; done
until [ "$(oarnodes -s | grep -c Alive)" = 2 ]; do sleep 0.2; done
touch /mnt/ready
wait
