#!/usr/bin/env bats
# The sources "nvidia" and "amdgpu" from the command line: through the stand-in for NVIDIA's library, and
# on a tree of files.

load lib

FAKE="$PL_BUILD/tests/libnvidia-ml-fake.so"
DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}
ANSWERS="$PL_SOURCE/tests/fixtures/nvml"

nvidia() {
  PLIMSOLL_NVML="$FAKE" FAKE_NVML_ANSWERS="$ANSWERS/$1.answers" plimsoll sample --source nvidia --json
}

# source_state NAME [OPTIONS]: what `plimsoll sources` says of one
source_state() {
  plimsoll sources --json "${@:2}" | jq -r --arg n "$1" '.[] | select(.name == $n) | "\(.state): \(.detail)"'
}

# write FILE TEXT: a file of the first card in ./tree
write() {
  local path=tree/sys/class/drm/card0/device/$1
  mkdir -p "${path%/*}"
  printf '%s\n' "$2" >"$path"
}

@test "an H200 as it was recorded, with units" {
  nvidia h200 >out.json
  equal rows "$(jq '.[0].rows | length' out.json)" 1
  equal name "$(jq -r '.[0].rows[0].name' out.json)" gpu-0
  equal model "$(jq -r '.[0].rows[0].facts.name' out.json)" "NVIDIA H200"
  # MHz, milliwatt and KB/s of the library are Hz, W and bytes/s here
  want=$(awk '$1 == "nvmlDeviceGetClockInfo" && $3 == 1 { print $6 }' "$ANSWERS/h200.answers")
  equal clock "$(jq '.[0].rows[0].values.clock_sm | floor' out.json)" $((want * 1000000))
  want=$(awk '$1 == "nvmlDeviceGetPowerUsage" { print $5 }' "$ANSWERS/h200.answers")
  equal power "$(jq '.[0].rows[0].values.power * 1000 | round' out.json)" "$want"
  want=$(awk '$1 == "nvmlDeviceGetPcieThroughput" && $3 == 1 { print $6 }' "$ANSWERS/h200.answers")
  equal pcie "$(jq '.[0].rows[0].values.pcie_rx | floor' out.json)" $((want * 1000))
  equal fan "$(jq -r '.[0].absent.fan_speed' out.json)" "Not Supported"
}

@test "what the list of sources says of NVIDIA GPUs" {
  export FAKE_NVML_ANSWERS="$ANSWERS/two.answers" PLIMSOLL_NVML="$FAKE"
  equal here "$(source_state nvidia)" "usable: 2 GPUs (Test GPU A), driver 999.10, CUDA 12.4"
  export FAKE_NVML_FAIL="nvmlInit_v2=9"
  equal unloaded "$(source_state nvidia)" "absent: found the NVIDIA library, but its driver is not loaded"
  export FAKE_NVML_FAIL="nvmlInit_v2=4"
  equal forbidden "$(source_state nvidia)" \
    "needs access: found the NVIDIA library, but cannot use it: Insufficient Permissions"
  unset PLIMSOLL_NVML
  equal tree "$(source_state nvidia --root "$WORK")" "absent: a recorded tree has no NVIDIA driver library"
}

@test "the library can be named as the option of the source" {
  export FAKE_NVML_ANSWERS="$ANSWERS/two.answers"
  plimsoll sample --source "nvidia=$FAKE" --json >out.json
  equal rows "$(jq '.[0].rows | length' out.json)" 2
  equal error "$(jq -r '.[0].error' out.json)" null
  plimsoll sample --source nvidia=/nonexistent.so --json >out.json
  jq -r '.[0].error' out.json | grep -q '^no NVIDIA driver library: /nonexistent.so'
}

# bats test_tags=root
@test "a program with privileges of its own does not load a library that is named" {
  if [ "$(id -u)" != 0 ]; then
    skip "only root can make one"
  fi
  mkdir -p bin
  cp "$PL_BUILD/bin/plimsoll" bin/plimsoll
  chmod -R a+rX "$WORK"
  setcap cap_net_admin+ep bin/plimsoll 2>/dev/null || skip "no capabilities of files here"
  export FAKE_NVML_ANSWERS="$ANSWERS/two.answers"
  as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
  }
  [ -x bin/plimsoll ] && as_nobody bin/plimsoll version >/dev/null || skip "cannot be run by others here"
  as_nobody bin/plimsoll sample --source "nvidia=$FAKE" --json >out.json
  equal option "$(jq -r '.[0].error' out.json)" "a privileged program does not load another library"
  PLIMSOLL_NVML="$FAKE" as_nobody bin/plimsoll sample --source nvidia --json >out.json
  ! grep -q "Test GPU" out.json || fail "the library of the environment was loaded"
}

@test "processes of the job are those of the watched ones" {
  sleep 300 &
  child=$!
  {
    echo "nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 2 $child 1000 0 0 1 500 0 0"
    cat "$ANSWERS/two.answers"
  } >some.answers
  export FAKE_NVML_ANSWERS="$WORK/some.answers" PLIMSOLL_NVML="$FAKE"
  plimsoll sample --source nvidia --json --pid "$child" >out.json
  kill "$child"
  equal all "$(jq '.[0].rows[0].values.processes' out.json)" 2
  equal job "$(jq '.[0].rows[0].values.processes_job' out.json)" 1
  equal memory "$(jq '.[0].rows[0].values.memory_job' out.json)" 1000
  equal pids "$(jq -r '.[0].rows[0].facts.pids' out.json)" "$child"
}

@test "a call that hangs can be made, and hangs" {
  export FAKE_NVML_ANSWERS="$ANSWERS/h200.answers" PLIMSOLL_NVML="$FAKE"
  run env FAKE_NVML_HANG=nvmlDeviceGetPowerUsage timeout -s KILL 2 plimsoll sample --source nvidia
  [ "$status" = 137 ] || fail "it ended with $status: $output"
}

@test "the recorder records from the stand-in what the stand-in was given" {
  gcc -O1 -o record "$PL_SOURCE/tests/interop/nvml_record.c" -ldl
  export FAKE_NVML_ANSWERS="$ANSWERS/h200.answers" PLIMSOLL_NVML="$FAKE"
  ./record >again.answers
  # those lines that answer a call well, without remarks and time stamps
  answers() {
    sed -n 's/ *#.*//; s/^\(nvmlDevice.* = 0 .*[0-9"]\) *$/\1/p' "$1" |
      awk '$1 == "nvmlDeviceGetFieldValues" { NF = 8 } { print }' | sed 's/ *$//' |
      grep -v 'LinkGeneration\|ThrottleReasons\|PowerManagementLimit'
  }
  answers "$ANSWERS/h200.answers" | sort >want
  answers again.answers | sort >got
  [ "$(wc -l <want)" -ge 50 ] || fail "only $(wc -l <want) answers are compared"
  comm -23 want got >missing
  [ ! -s missing ] || fail "not recorded: $(cat missing)"
}

@test "an AMD GPU of a tree" {
  write vendor 0x1002
  write device 0x740c
  write gpu_busy_percent 42
  write mem_info_vram_used 1048576
  write pp_dpm_sclk "0: 500Mhz
1: 1700Mhz *"
  write hwmon/hwmon3/power1_average 300000000
  equal probe "$(source_state amdgpu --root tree)" "usable: 1 GPU (AMD 0x740c)"
  plimsoll sample --source amdgpu --root tree --json >out.json
  equal row "$(jq -r '.[0].rows[0].name' out.json)" amd-0
  equal load "$(jq '.[0].rows[0].values.utilization_gpu' out.json)" 42
  equal clock "$(jq '.[0].rows[0].values.clock_graphics | floor' out.json)" 1700000000
  equal power "$(jq '.[0].rows[0].values.power | round' out.json)" 300
  equal missing "$(jq -r '.[0].absent.fan' out.json)" "the driver has no file for this on this GPU"
  rm -r tree/sys
  equal none "$(source_state amdgpu --root tree)" "absent: no AMD GPU"
}

@test "a file of an AMD GPU that may not be read" {
  if [ "$(id -u)" = 0 ]; then
    skip "root may read everything"
  fi
  write vendor 0x1002
  write gpu_busy_percent 42
  write mem_info_vram_used 7
  chmod 000 tree/sys/class/drm/card0/device/gpu_busy_percent
  plimsoll sample --source amdgpu --root tree --json >out.json
  equal load "$(jq '.[0].rows[0].values.utilization_gpu' out.json)" null
  equal why "$(jq -r '.[0].absent.utilization_gpu' out.json)" "cannot read the driver's file: Permission denied"
  equal memory "$(jq '.[0].rows[0].values.memory_used' out.json)" 7
}

@test "recorded trees of other machines" {
  trees=$DATA/trees
  [ -d "$trees/procfs" ] || skip "no sample data beside the project"
  plimsoll sample --source amdgpu --root "$trees/procfs" --json >out.json
  equal used "$(jq '.[0].rows[0].values.memory_used' out.json)" 1490378752
  equal clock "$(jq '.[0].rows[0].values.clock_graphics | floor' out.json)" 852000000
  equal slot "$(jq -r '.[0].rows[0].facts.pci' out.json)" 0000:09:00.0
}
