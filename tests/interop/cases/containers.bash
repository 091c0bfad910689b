# shellcheck shell=bash
# Containers, namespaces and static programs.
#: busybox|busybox||
#: unshare|unshare busybox||
#: bwrap|bwrap||
#: bwrap_bare|bwrap||
#: nspawn|systemd-nspawn busybox||
#: podman|podman runc busybox||
#: qemu|qemu-x86_64-static||

case_busybox() {
  busybox sh -c 'for i in 1 2 3; do busybox seq 1000 | busybox md5sum; done; busybox false'
  echo "status $?"
  env -i "$(command -v busybox)" sh -c '/bin/echo dynamic below static; exit 3'
  echo "status $?"
}

# A root with a static busybox and nothing else
busybox_root() {
  mkdir -p root/bin root/proc root/tmp root/dev root/sys root/etc root/run root/var/tmp root/usr root/root
  cp "$(command -v busybox)" root/bin/
  for i in sh ls echo cat seq md5sum sleep id; do ln -sf busybox "root/bin/$i"; done
  echo 'root:x:0:0:root:/:/bin/sh' >root/etc/passwd
  printf 'ID=none\n' >root/etc/os-release
  : >root/etc/resolv.conf
  : >root/etc/hosts
}

able_busybox() { file -L "$(command -v busybox)" 2>/dev/null | grep -q 'static' || ! command -v file >/dev/null || echo 'busybox is not static'; }
able_unshare() { unshare -Urmpf --mount-proc true 2>/dev/null || echo 'no user namespaces here'; }
case_unshare() {
  busybox_root
  unshare -Urmpf --mount-proc sh -c 'echo $$; set -- /proc/[0-9]*; echo $#; seq 20000 | md5sum; exit 3'
  echo "status $?"
  unshare -Urmpf chroot root /bin/sh -c 'echo $$; id -u; seq 20000 | md5sum; exit 4'
  echo "status $?"
  rm -rf root
}

able_bwrap() { bwrap --ro-bind / / true 2>/dev/null || echo 'bwrap may not make namespaces here'; }
case_bwrap() {
  bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --die-with-parent sh -c 'id -u; seq 20000 | md5sum; exit 3'
  echo "status $?"
}

able_bwrap_bare() { able_bwrap; }
case_bwrap_bare() {
  bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --unshare-pid sh -c 'seq 20000 | md5sum; exit 4'
  echo "status $?"
}

able_nspawn() { [ "$(id -u)" = 0 ] || echo 'systemd-nspawn needs root'; }
case_nspawn() {
  busybox_root
  mkdir -p root/usr/lib
  cp root/etc/os-release root/usr/lib/
  systemd-nspawn -q --register=no --keep-unit --pipe --console=pipe -D root /bin/sh -c 'echo inside; seq 20000 | md5sum; exit 3'
  echo "status $?"
  rm -rf root
}

able_podman() {
  [ "$(id -u)" = 0 ] || echo 'rootless podman needs a login session'
}
case_podman() {
  busybox_root
  local p=(podman --root "$PWD/storage" --runroot "$PWD/run" --cgroup-manager cgroupfs --storage-driver vfs --events-backend file)
  "${p[@]}" run --rm --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --network none --security-opt seccomp=unconfined --runtime runc --rootfs "$PWD/root" /bin/sh -c 'echo inside; seq 20000 | md5sum; exit 3'
  local status=$?
  echo "status $status"
  until_true rm -rf storage
  rm -rf storage run root .config .local
  [ $status = 3 ]
}

case_qemu() {
  qemu-x86_64-static /bin/busybox sh -c 'echo emulated; seq 2000 | md5sum; exit 3'
  echo "status $?"
}
