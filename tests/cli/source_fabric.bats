#!/usr/bin/env bats
# Sources of fabrics, parallel file systems, energy, sensors and frequencies, by `plimsoll sources` and
# `plimsoll sample` on trees: those that the tests write, and recorded ones of real machines.

load lib

TREES=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}/trees

# put FILE TEXT: a file below ./root
put() {
  mkdir -p "root/$(dirname "$1")"
  printf '%s\n' "$2" >"root/$1"
}

# program FILE: a script below ./root from standard input
program() {
  mkdir -p "root/$(dirname "$1")"
  cat >"root/$1"
  chmod 755 "root/$1"
}

# sample SOURCE[=OPTION] [ROOT]: one reading in sample.json
sample() {
  plimsoll sample --source "$1" --root "${2-root}" --json >sample.json
}

# val KIND NAME METRIC: a value, null when it is absent
val() {
  jq -c --arg k "$1" --arg n "$2" --arg m "$3" '[.[0].rows[] | select(.kind == $k and .name == $n)][0].values[$m] 
    | if type != "number" then . elif . == floor then . + 0 else (. * 1e6 | round) / 1e6 end' sample.json
}

# fact KIND NAME KEY
fact() {
  jq -r --arg k "$1" --arg n "$2" --arg f "$3" '.[0].rows[] | select(.kind == $k and .name == $n).facts[$f]' sample.json
}

why() {
  jq -r '.[0].error' sample.json
}

absent() {
  jq -r --arg m "$1" '.[0].absent[$m]' sample.json
}

rows() {
  jq '.[0].rows | length' sample.json
}

# source NAME KEY [ROOT]: what `plimsoll sources` says
source_is() {
  plimsoll sources --root "${3-root}" --json | jq -r --arg n "$1" --arg k "$2" '.[] | select(.name == $n)[$k]'
}

@test "none of them is there: absent, with the reason, and nothing is sampled" {
  mkdir root
  for s in infiniband lustre gpfs rapl hwmon thermal cpufreq ipmi; do
    equal "$s state" "$(source_is $s state)" absent
    equal "$s sampled" "$(source_is $s sampled)" true
    [ -n "$(source_is $s detail)" ]
    sample $s
    equal "$s rows" "$(rows)" 0
    [ "$(why)" != null ] || fail "$s has no reason"
  done
}

# power_seen: a reading of ipmi in the samples of ./job
power_seen() {
  find job -name '*.smp' -exec plimsoll samples --json {} \; 2>/dev/null | jq -c 'select(.source == "ipmi" and .event == "reading").rows[0].values.power' | grep -qx 217
}

@test "a source that has nothing to read at the start is tried again, and sampled once it has" {
  mkdir root
  plimsoll monitor -q --no-submit -i 50ms -s "ipmi=$PWD/root/power" -d job -- sh -c 'until [ -e enough ]; do sleep 0.05; done' 3>&- &
  monitor=$!
  for _ in $(seq 400); do [ -n "$(find job -name '*.smp' 2>/dev/null)" ] && break; sleep 0.05; done
  sleep 0.5
  if power_seen; then fail "there is power without a device"; fi
  program power <<<$'#!/bin/sh\necho "Power : 217 W"'
  for _ in $(seq 600); do power_seen && break; sleep 0.1; done
  touch enough
  wait "$monitor"
  power_seen || fail "it was not tried again"
}

@test "infiniband: bytes from words, packets as they are, active ports as the node" {
  for p in mlx5_0/ports/1:ACTIVE:4 mlx5_1/ports/1:DOWN:1 hfi1_0/ports/1:ACTIVE:4; do
    IFS=: read -r port state number <<<"$p"
    put "sys/class/infiniband/$port/state" "$number: $state"
    put "sys/class/infiniband/$port/counters/port_xmit_data" 250000000000
    put "sys/class/infiniband/$port/counters/port_rcv_data" 10
    put "sys/class/infiniband/$port/counters/port_xmit_packets" 31
  done
  put sys/class/infiniband/hfi1_0/ports/1/counters/symbol_error "N/A (no PMA)"
  put sys/class/infiniband/hfi1_0/board_id "Board"
  equal state "$(source_is infiniband state)" usable
  equal detail "$(source_is infiniband detail)" "hfi1_0/1 active, mlx5_0/1 active, mlx5_1/1 down"
  sample infiniband
  equal words "$(val port mlx5_0/1 port_xmit_data)" 1000000000000
  equal packets "$(val port mlx5_0/1 port_xmit_packets)" 31
  equal flits "$(val port hfi1_0/1 port_xmit_data)" 2000000000000
  equal node "$(val node node port_xmit_data)" 3000000000000
  equal node "$(val node node port_rcv_data)" 120
  equal packets "$(val node node port_xmit_packets)" 62
  equal absent "$(val port hfi1_0/1 symbol_error)" null
  equal fact "$(fact port hfi1_0/1 board)" Board
  equal reason "$(absent symbol_error)" "no port has this counter"
}

# bats test_tags=root
@test "lustre: one row a mount, targets added up, debugfs that only root may enter" {
  put sys/fs/lustre/version 2.15.3
  put sys/kernel/debug/lustre/llite/scratch-ffff01/stats "read_bytes 4 samples [bytes] 1 2 4096"
  put sys/kernel/debug/lustre/osc/scratch-OST0000-osc-ffff01/stats "write_bytes 2 samples [bytes] 1 2 100 5"
  put sys/kernel/debug/lustre/osc/scratch-OST0001-osc-ffff01/stats "write_bytes 3 samples [bytes] 1 2 50 5"
  sample lustre
  equal bytes "$(val filesystem scratch-ffff01 read_bytes)" 4096
  equal calls "$(val filesystem scratch-ffff01 reads)" 4
  equal osc "$(val filesystem scratch-ffff01 osc_write_bytes)" 150
  equal name "$(fact filesystem scratch-ffff01 fsname)" scratch
  chmod 000 root/sys/kernel/debug
  if [ "$(id -u)" = 0 ]; then
    equal state "$(source_is lustre state)" usable # root may look everywhere
  else
    equal state "$(source_is lustre state)" "needs access"
    equal remedy "$(source_is lustre remedy)" "sudo mount -o remount,mode=0755 /sys/kernel/debug"
    sample lustre
    [[ $(why) == *"only root may read" ]]
  fi
  chmod 755 root/sys/kernel/debug
}

@test "gpfs: mmpmon is asked, and a program of a recorded tree runs only on request" {
  program usr/lpp/mmfs/bin/mmpmon <<END
#!/bin/sh
touch $WORK/ran
read question
echo "_fs_io_s_ _n_ 10.0.0.1 _nn_ n1 _rc_ 0 _t_ 1 _tu_ 2 _cl_ site _fs_ \$question _d_ 4 _br_ 11 _bw_ 22 _oc_ 3 _cc_ 4 _rdc_ 5 _wc_ 6 _dir_ 7 _iu_ 8"
END
  equal state "$(source_is gpfs state)" "needs access"
  sample gpfs
  [[ $(why) == *"not run; gpfs=run runs it" ]]
  [ ! -e ran ]
  sample gpfs=run
  [ -e ran ]
  equal read "$(val filesystem site:fs_io_s read_bytes)" 11
  equal written "$(val filesystem site:fs_io_s write_bytes)" 22
  equal disks "$(fact filesystem site:fs_io_s disks)" 4
}

# bats test_tags=root
@test "rapl: joules of domains, the node as packages and memory, what only root may read" {
  for z in 0:package-0:5000000 0:0:core:1000000 0:1:dram:250000 1:psys:9000000; do
    uj=${z##*:} z=${z%:*} name=${z##*:} z=${z%:*}
    put "sys/class/powercap/intel-rapl:$z/name" "$name"
    put "sys/class/powercap/intel-rapl:$z/energy_uj" "$uj"
    put "sys/class/powercap/intel-rapl:$z/max_energy_range_uj" 262143328850
  done
  equal detail "$(source_is rapl detail)" "package-0, core-0, dram-0, psys-0"
  sample rapl
  equal package "$(val package package-0 energy)" 5
  equal core "$(val package core-0 energy)" 1
  equal dram "$(val package dram-0 energy)" 0.25
  equal psys "$(val package psys-0 energy)" 9
  equal node "$(val node node energy)" 5.25
  chmod 000 root/sys/class/powercap/*/energy_uj
  if [ "$(id -u)" = 0 ]; then
    equal state "$(source_is rapl state)" usable
  else
    equal state "$(source_is rapl state)" "needs access"
    # every zone that may not be read is named
    equal detail "$(source_is rapl detail)" "$(for zone in 0 0:0 0:1 1; do echo "cannot read 'root/sys/class/powercap/intel-rapl:$zone/energy_uj': Permission denied"; done | paste -sd'|' | sed 's/|/; /g')"
    equal remedy "$(source_is rapl remedy)" "sudo chmod a+r /sys/class/powercap/*rapl*/energy_uj"
    sample rapl
    [[ $(why) == *"intel-rapl:0/energy_uj': Permission denied"* ]] || fail "$(why)"
  fi
}

@test "rapl: a counter that wraps between two readings goes on" {
  put sys/class/powercap/intel-rapl:0/name package-0
  put sys/class/powercap/intel-rapl:0/energy_uj 262143000000
  put sys/class/powercap/intel-rapl:0/max_energy_range_uj 262143328850
  plimsoll sample --source rapl --root root --over 2s --json >sample.json &
  pid=$!
  sleep 0.7
  put sys/class/powercap/intel-rapl:0/energy_uj 671149
  wait $pid
  equal energy "$(val package package-0 energy)" 262144
}

@test "hwmon and thermal: one row a channel, faulty ones and states of -1 are absent" {
  put sys/class/hwmon/hwmon0/name k10temp
  put sys/class/hwmon/hwmon0/temp1_input 45250
  put sys/class/hwmon/hwmon0/temp1_label Tctl
  put sys/class/hwmon/hwmon0/temp1_crit 95000
  put sys/class/hwmon/hwmon0/temp2_input 1
  put sys/class/hwmon/hwmon0/temp2_fault 1
  put sys/class/hwmon/hwmon1/name power_meter
  put sys/class/hwmon/hwmon1/power1_average 312000000
  put sys/class/thermal/thermal_zone0/type acpitz
  put sys/class/thermal/thermal_zone0/temp 27800
  put sys/class/thermal/cooling_device0/type intel_powerclamp
  put sys/class/thermal/cooling_device0/cur_state -1
  put sys/class/thermal/cooling_device1/type Fan
  put sys/class/thermal/cooling_device1/cur_state 3
  sample hwmon
  equal rows "$(rows)" 2
  equal temperature "$(val sensor k10temp/Tctl temperature)" 45.25
  equal crit "$(fact sensor k10temp/Tctl crit)" 95
  equal power "$(val sensor power_meter/power1 power)" 312
  sample thermal
  equal rows "$(rows)" 2
  equal zone "$(val sensor acpitz temperature)" 27.8
  equal fan "$(val sensor cooling/Fan cooling)" 3
}

@test "cpufreq: this machine or its absence, and throttling counted once a core" {
  for c in 0 1; do
    put sys/devices/system/cpu/cpu$c/cpufreq/scaling_cur_freq $((c + 1))000000
    put sys/devices/system/cpu/cpu$c/thermal_throttle/core_throttle_count 4
    put sys/devices/system/cpu/cpu$c/thermal_throttle/package_throttle_count 9
    put sys/devices/system/cpu/cpu$c/topology/physical_package_id 0
    put sys/devices/system/cpu/cpu$c/topology/core_id 0
  done
  sample cpufreq
  equal cpu1 "$(val cpu cpu1 frequency)" 2000000000
  equal mean "$(val node node frequency)" 1500000000
  equal core "$(val node node core_throttles)" 4
  equal package "$(val node node package_throttles)" 9
  sample cpufreq ""
  if grep -q '^cpu MHz' /proc/cpuinfo; then
    equal rows "$(jq '[.[0].rows[] | select(.kind == "cpu")] | length' sample.json)" "$(grep -c '^cpu MHz' /proc/cpuinfo)"
    at_least frequency "$(val node node frequency)" 1000000
  fi
}

@test "ipmi: the command that is named, from PATH or below a root" {
  program usr/bin/ipmitool <<'END'
#!/bin/sh
[ "$*" = "dcmi power reading" ] && echo "    Instantaneous power reading:                   215 Watts"
END
  [[ $(source_is ipmi detail) == *"run only when named"* ]]
  sample ipmi
  equal rows "$(rows)" 0
  sample ipmi=ipmitool
  equal power "$(val node node power)" 215
  equal by "$(fact node node by)" ipmitool
  PATH=$WORK/root/usr/bin:$PATH plimsoll sample --source ipmi=ipmitool --json >sample.json
  equal power "$(val node node power)" 215
  equal other "$(PATH=/usr/bin:/bin "$PL_BUILD/bin/plimsoll" sample --source ipmi=ipmi-nothing --json | jq -r '.[0].error')" \
    "cannot find the program 'ipmi-nothing'"
}

@test "ipmi: garbage and endless output of a command are no reading" {
  program usr/bin/ipmitool <<'END'
#!/bin/sh
head -c 5000 /dev/urandom
END
  sample ipmi=ipmitool
  equal rows "$(rows)" 0
  equal why "$(absent '*')" "'root/usr/bin/ipmitool' prints no power"
  program usr/bin/ipmitool <<'END'
#!/bin/sh
yes "Instantaneous power reading: 1 Apples"
END
  sample ipmi=ipmitool
  equal rows "$(rows)" 0
  equal why "$(absent '*')" "'root/usr/bin/ipmitool' printed more than 262144 bytes"
}

@test "commands that never return are ended, with what they started" {
  for f in usr/bin/ipmitool usr/lpp/mmfs/bin/mmpmon; do
    program $f <<END
#!/bin/sh
sleep 1000 &
echo \$! >>$WORK/children
echo \$\$ >>$WORK/children
wait
END
  done
  plimsoll sample --source ipmi=ipmitool --root root --json >ipmi.json &
  one=$!
  plimsoll sample --source gpfs=run --root root --json >gpfs.json &
  wait $!
  wait $one
  equal ipmi "$(jq -r '.[0].absent["*"]' ipmi.json)" "'root/usr/bin/ipmitool' did not answer within 10 s"
  equal gpfs "$(jq -r '.[0].absent["*"]' gpfs.json)" "'root/usr/lpp/mmfs/bin/mmpmon' did not answer within 5 s"
  equal children "$(wc -l <children)" 4
  while read -r pid; do
    for _ in $(seq 100); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    ! kill -0 "$pid" 2>/dev/null || fail "$pid is left"
  done <children
}

# ---- recorded trees ---------------------------------------------------------------------------------

# The links of the trees are files that hold where they lead.
restore_links() {
  cp -r "$TREES/node_exporter" tree
  chmod -R u+w tree
  find tree/sys -type f -size -200c -print0 | while IFS= read -r -d '' f; do
    read -r target <"$f" || true
    case $target in
    ../*) rm "$f" && ln -s "${target%/}" "$f" ;;
    esac
  done
}

@test "recorded: Omni-Path, mlx4 and mlx5 ports" {
  [ -d "$TREES" ] || skip "no recorded trees beside the project"
  sample infiniband "$TREES/procfs"
  equal rows "$(rows)" 5
  # flits of 8 bytes
  equal hfi1 "$(val port hfi1_0/1 port_xmit_data)" $((273558326543 * 8))
  equal hfi1 "$(val port hfi1_0/1 port_rcv_data)" $((345091702026 * 8))
  equal hfi1 "$(val port hfi1_0/1 port_rcv_packets)" 638036947
  equal mlx4 "$(val port mlx4_0/1 port_xmit_data)" $((26509113295 * 4))
  equal mlx4 "$(val port mlx4_0/2 port_rcv_data)" $((2460436784 * 4))
  equal mlx4 "$(val port mlx4_0/1 port_xmit_wait)" 3599
  equal mlx5 "$(val port mlx5_0/1 port_xmit_data)" $((2880761508848 * 4))
  equal mlx5 "$(val port mlx5_0/1 roce_adp_retrans)" 99
  equal mlx5 "$(val port mlx5_0/1 out_of_sequence)" 1
  equal mlx5 "$(val port mlx5_0/1 local_ack_timeout_err)" 131
  equal node "$(val node node port_xmit_data)" $((273558326543 * 8 + (26509113295 + 26540356890 + 2880761508848) * 4))
  equal node "$(val node node port_xmit_packets)" $((568318856 + 85734114 + 88622850 + 10907922116))
  equal rate "$(fact port mlx5_0/1 rate)" "25 Gb/sec (1X EDR)"
  equal firmware "$(fact port hfi1_0/1 firmware)" 1.27.0
}

@test "recorded: ports without an agent, and counters that have stopped" {
  [ -d "$TREES" ] || skip "no recorded trees beside the project"
  sample infiniband "$TREES/node_exporter"
  equal i40iw "$(val port i40iw0/1 port_xmit_data)" null
  equal i40iw "$(fact port i40iw0/1 model)" I40IW
  equal ext "$(val port mlx4_0/2 port_xmit_data)" $((3733440 * 4))
  # the wide counter of packets is not fed here, the other has passed 32 bits
  equal packets "$(val port mlx4_0/1 port_rcv_packets)" 6825908347
  equal packets "$(val port mlx4_0/2 port_rcv_packets)" 0
  equal discards "$(val port mlx4_0/1 port_xmit_discards)" 5
  equal wait "$(val port mlx4_0/1 port_xmit_wait)" null
  [[ $(absent port_xmit_wait) == "the 32-bit counter of mlx4_0/1 has reached its maximum"* ]]
  equal node "$(val node node port_xmit_data)" $((3733440 * 4 * 2))
}

@test "recorded: Lustre, energy, thermal zones, frequencies of the kernel's text" {
  [ -d "$TREES" ] || skip "no recorded trees beside the project"
  sample lustre "$TREES/lustre"
  fs=lustrefs-ffff88105db50000
  equal rows "$(rows)" 1
  equal read "$(val filesystem $fs read_bytes)" 4194304
  equal written "$(val filesystem $fs write_bytes)" 93813797294080
  equal writes "$(val filesystem $fs writes)" 89467810
  equal open "$(val filesystem $fs open)" 136
  equal permission "$(val filesystem $fs inode_permission)" 398
  equal osc "$(val filesystem $fs osc_write_bytes)" 65298098221056
  equal osc "$(val filesystem $fs osc_requests)" $((7348 + 7348 + 18215581 + 7350 + 7349 + 7348 + 7348))
  equal osc "$(val filesystem $fs osc_wait)" $((2436371 + 2503101 + 110282569237 + 2605721 + 2487976 + 2456353 + 2458476))
  equal mdc "$(val filesystem $fs mdc_requests)" 7604
  sample rapl "$TREES/procfs"
  equal package "$(val package package-0 energy)" 240422.366267
  equal core "$(val package core-0 energy)" 118821.284256
  equal package "$(val package package-10 energy)" 240422.366267
  equal node "$(val node node energy)" 480844.732534
  sample thermal "$TREES/procfs"
  equal rows "$(rows)" 3
  equal zone "$(val sensor bcm2835_thermal temperature)" 49.925
  equal zone "$(val sensor acpitz temperature)" -44
  equal cooling "$(val sensor cooling/Processor cooling)" 0
  sample cpufreq "$TREES/procfs"
  equal cpu0 "$(val cpu cpu0 frequency)" 799998000
  equal lowest "$(val node node frequency_lowest)" 799989000
  equal highest "$(val node node frequency_highest)" 800083000
}

@test "recorded: sensors of many chips, frequencies and throttling" {
  [ -d "$TREES" ] || skip "no recorded trees beside the project"
  restore_links
  sample hwmon tree
  equal core "$(val sensor "coretemp.0/Core 1" temperature)" 52
  equal core "$(val sensor "coretemp.1/Physical id 0" temperature)" 55
  equal crit "$(fact sensor "coretemp.1/Core 3" crit)" 100
  equal fan "$(val sensor nct6779/fan2 fan)" 1098
  equal voltage "$(val sensor nct6779/in1 voltage)" 1.024
  equal beside "$(val sensor "applesmc/Left side" fan)" "$(cat tree/sys/devices/platform/applesmc.768/fan1_input)"
  equal twice "$(val sensor hwmon4/foosensor temperature)" 55
  equal twice "$(val sensor hwmon4/foosensor-temp2 temperature)" 54
  equal wifi "$(val sensor mt7996_phy0_2/temp1 temperature)" 57
  # 2 x coretemp of 5, nct6779 with a fan and two voltages, applesmc with two fans, 2 of hwmon4, 3 radios
  equal rows "$(rows)" 20
  sample thermal tree
  equal zone "$(val sensor cpu-thermal temperature)" 12.376
  sample cpufreq tree
  equal cpu0 "$(val cpu cpu0 frequency)" 1699981000
  equal mean "$(val node node frequency)" $(((1699981 * 2 + 8000 * 2) / 4 * 1000))
  # four cores of their own in two packages
  equal throttles "$(val node node core_throttles)" $((5 + 0 + 0 + 9))
  equal packages "$(val node node package_throttles)" $((30 + 6))
  equal driver "$(fact node node driver)" intel_pstate
}
