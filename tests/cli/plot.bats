#!/usr/bin/env bats
# plimsoll plot: what is in the pictures, and what happens when there is nothing to draw or nowhere to draw to.

bats_require_minimum_version 1.5.0
load store

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix" TZ=UTC
  cd "$WORK" || return 1
}

# samples [make_samples's options...]: a job that was never submitted, in ./job
samples() {
  mkdir -p job/node1.0123abcd
  "$PROGRAMS/make_samples" -j 42 "$@" job/node1.0123abcd/run1.smp
  echo '{"plimsoll_job": 1, "jobid": "42", "user": "jo", "start_us": 1700000000000000, "tags": {}, "annotations": {}}' >job/job.json
}

# results DIRECTORY [OPTION...]: a job of several hosts, see tests/fixtures/sampled_job.py
results() {
  python3 "$PL_SOURCE/tests/fixtures/sampled_job.py" "$PROGRAMS/make_samples" "$@"
}

# svg FILE CLASS: texts and elements below groups of a class, one a line. That it is XML, and inside its own
# frame, is checked on the way.
svg() {
  python3 - "$1" "$2" <<'P'
import sys, xml.etree.ElementTree as T
root = T.parse(sys.argv[1]).getroot()
ns = "{http://www.w3.org/2000/svg}"
w, h = float(root.get("width")), float(root.get("height"))
for e in root.iter():
    assert e.tag.startswith(ns) and e.tag[len(ns):] in "svg g title rect polyline polygon text circle".split(), e.tag
    for point in (e.get("points") or "").split():
        x, y = map(float, point.split(","))
        assert -1 <= x <= w + 1 and -1 <= y <= h + 1, point
for g in root.iter(ns + "g"):
    if g.get("class") != sys.argv[2]:
        continue
    for e in g:
        if e.tag == ns + "text":
            print(e.text)
        elif e.tag == ns + "title":
            print("title:", e.text)
        elif e.tag in (ns + "polyline", ns + "circle", ns + "polygon"):
            print(e.tag[len(ns):], len((e.get("points") or "x").split()))
P
}

texts() {
  svg "$@" | grep -v -E '^(polyline|circle|polygon) ' | paste -sd'|'
}

@test "an SVG: title, axes with units and times, a line through every point, the legend" {
  samples
  plimsoll plot job -m system.load -o load.svg
  equal head "$(texts load.svg head)" 'system.load|job 42: mean 0.0245, maximum 0.054|processes that want to run'
  equal values "$(texts load.svg y-axis)" '-0.02|0|0.02|0.04|0.06'
  equal times "$(texts load.svg x-axis)" '22:13:20|2023-11-14|22:13:30|22:13:40|22:13:50|22:14:00|22:14:10'
  equal lines "$(svg load.svg line | paste -sd'|')" 'title: node1|polyline 60'
  equal legend "$(texts load.svg legend)" node1
}

@test "counters are rates, where they went back there is none; --since and --until" {
  samples -z 30
  plimsoll plot job -m rx_bytes -o rate.svg
  equal head "$(texts rate.svg head)" 'system.rx_bytes|job 42: mean 1000 B/s, maximum 1000 B/s|bytes received, per second'
  equal values "$(texts rate.svg y-axis)" '0|200 B/s|400 B/s|600 B/s|800 B/s|1000 B/s'
  # 59 differences less the one at the reset, and the begin of the first one
  equal lines "$(svg rate.svg line | paste -sd'|')" 'title: node1|polyline 59'
  plimsoll plot job -m rx_bytes -o part.svg --since 2023-11-14T22:13:30 --until 2023-11-14T22:13:40
  equal part "$(svg part.svg line | uniq -c | awk '{$1 = $1} 1' | paste -sd'|')" '1 title: node1|1 polyline 10|10 circle 1' # few points are marked
}

@test "PNG and PDF have the size that was asked for" {
  samples
  plimsoll plot job -m load -o a.png
  plimsoll plot job -m load -o b.PNG --size 640x240
  for f in a.png:00000003c0000001a4 b.PNG:0000000280000000f0; do
    equal "$f" "$(od -An -tx1 -N24 "${f%:*}" | tr -d ' \n' | tail -c 16)" "${f#*:00}"
  done
  plimsoll plot job -m load -o c.pdf --size 500x300 --title 'A title of my own'
  equal size "$(pdfinfo c.pdf | awk '/^Pages/ { print $2 } /^Page size/ { print $3 $4 $5 }' | paste -sd' ')" '1 500x300'
  pdftotext c.pdf - | grep -q '^A title of my own$'
  # a colour of the first line, and white paper
  python3 - b.PNG <<'P'
import struct, sys, zlib
b = open(sys.argv[1], "rb").read()
w, h = struct.unpack(">II", b[16:24])
data, p = b"", 8
while p < len(b):
    n, t = struct.unpack(">I4s", b[p:p + 8])
    data += b[p + 8:p + 8 + n] if t == b"IDAT" else b""
    p += n + 12
raw, k = zlib.decompress(data), b[25]
bpp = {2: 3, 6: 4}[k]
rows, before = [], bytearray(w * bpp)
for y in range(h):
    f, line = raw[y * (w * bpp + 1)], bytearray(raw[y * (w * bpp + 1) + 1:(y + 1) * (w * bpp + 1)])
    for i in range(len(line)):
        a = line[i - bpp] if i >= bpp else 0
        c = before[i - bpp] if i >= bpp else 0
        if f == 1: line[i] = line[i] + a & 255
        elif f == 2: line[i] = line[i] + before[i] & 255
        elif f == 3: line[i] = line[i] + (a + before[i]) // 2 & 255
        elif f == 4:
            q = a + before[i] - c
            d = sorted(((abs(q - a), 0, a), (abs(q - before[i]), 1, before[i]), (abs(q - c), 2, c)))[0][2]
            line[i] = line[i] + d & 255
    rows.append(line)
    before = line
assert rows[0][:3] == b"\xff\xff\xff", rows[0][:3]
blue = sum(1 for r in rows for x in range(w) if bytes(r[x * bpp:x * bpp + 3]) == b"\x2f\x6d\xb3")
assert blue > 100, blue
P
}

@test "per host, in sum, per process: which lines there are" {
  samples -n 3
  results pm -n 3
  equal default "$(plimsoll plot pm -m rss -o a.svg && svg a.svg line | paste -sd'|')" 'title: node001|polyline 60|title: node002|polyline 60|title: node003|polyline 60'
  equal legend "$(texts a.svg legend)" 'node001|node002|node003'
  plimsoll plot pm -m rss --total -o b.svg
  equal total "$(texts b.svg head)" 'process.rss|job pm: mean 6 GiB, maximum 6 GiB|from a text'
  equal axis "$(texts b.svg y-axis)" '0|2 GiB|4 GiB|6 GiB'
  plimsoll plot job -m rss --per-process -o c.svg
  equal processes "$(texts c.svg legend)" 'late.1|p0.100|p1.101|p2.102'
  # the second lived from reading 10 to 19
  equal points "$(svg c.svg line | grep poly | paste -sd' ')" 'polyline 38 polyline 60 polyline 10 polyline 60'
  run -1 --separate-stderr plimsoll plot pm -m rss --host nobody -o d.svg
  [[ $stderr == *'no series of this metric matches that host'* ]] || fail "$stderr"
  plimsoll plot pm -m rss --host 'node?02' -o d.svg
  equal host "$(texts d.svg legend)" node002
}

@test "metrics of several units are charts below each other, with the same times" {
  results pm -n 1
  plimsoll plot pm -m cpu_percent -m 'network.*bytes' -o a.svg
  equal titles "$(texts a.svg head)" 'network.rx_bytes, network.tx_bytes|job pm|process.cpu_percent|job pm: mean 1.31 CPUs, maximum 4 CPUs|CPUs in use'
  equal legends "$(texts a.svg legend)" 'network.rx_bytes|network.tx_bytes|node001'
  equal charts "$(grep -c 'class="chart"' a.svg)" 2
  equal height "$(grep -o 'height="600"' a.svg | head -1)" 'height="600"'
}

@test "a logarithmic axis where values span more than three decades, or as asked" {
  results pm -n 1
  plimsoll plot pm -m network.tx_bytes -m network.rx_bytes -o a.svg
  # 1 KiB/s to 1000 KiB/s is less
  equal linear "$(texts a.svg y-axis)" '0|200 KiB/s|400 KiB/s|600 KiB/s|800 KiB/s|1000 KiB/s'
  plimsoll plot pm -m network.tx_bytes -o b.svg --log
  equal log "$(texts b.svg y-axis)" '1 KiB/s|4 KiB/s|16 KiB/s|64 KiB/s|256 KiB/s|1 MiB/s'
  texts b.svg head | grep -q ', logarithmic|from a text, per second$'
  results wide -n 4
  plimsoll plot wide -m network.tx_bytes -o c.svg
  texts c.svg head | grep -q '^network.tx_bytes|job wide, logarithmic|from a text, per second$'
  plimsoll plot wide -m network.tx_bytes -o d.svg --linear
  equal asked "$(texts d.svg y-axis | cut -d'|' -f1)" 0
}

@test "an axis without a value above 0 is linear and says so, whatever was asked" {
  awk 'BEGIN { for (k = 0; k < 12; k++)
    print k, "network", "tx_packets", "count", "gauge", "sum", "node", "node", 0 }' >values
  "$PROGRAMS/make_samples" -t -j 42 none.smp <values
  plimsoll plot none.smp -m tx_packets --log -o a.svg
  run ! grep -q logarithmic a.svg
}

@test "a value of 0 on a logarithmic axis is at a mark of its own" {
  awk 'BEGIN { for (k = 0; k < 12; k++)
    print k, "network", "tx_packets", "count", "gauge", "sum", "node", "node", k % 3 ? 10 ^ (k / 2) : 0 }' >values
  "$PROGRAMS/make_samples" -t -j 42 zero.smp <values
  plimsoll plot zero.smp -m tx_packets -o a.svg
  texts a.svg head | grep -q ', logarithmic'
  equal 'first mark' "$(texts a.svg y-axis | cut -d'|' -f1-2)" '0|1'
  python3 - a.svg <<'P'
import sys, xml.etree.ElementTree as T
ns = "{http://www.w3.org/2000/svg}"
root = T.parse(sys.argv[1]).getroot()
group = {g.get("class"): g for g in root.iter(ns + "g")}
ys = [float(p.split(",")[1]) for line in group["line"].iter(ns + "polyline") for p in line.get("points").split()]
grid = [float(p.get("points").split()[0].split(",")[1]) for p in group["y-axis"].iter(ns + "polyline")]
zero, one = grid[0], grid[1]
assert len(ys) == 12, ys
assert zero - one > 10, grid
for k, y in enumerate(ys):
    if k % 3 == 0:
        assert abs(y - zero) < 0.2, (k, y, zero)
    else:
        assert y < one, (k, y, one)
P
  # without a 0 there is no room for it
  sed 's/ 0$/ 1/' values | "$PROGRAMS/make_samples" -t -j 42 none.smp
  plimsoll plot none.smp -m tx_packets -o b.svg
  equal none "$(texts b.svg y-axis | cut -d'|' -f1)" 1
}

@test "charts below each other have their times at the same places, and labels do not touch the head" {
  results pm -n 1
  plimsoll plot pm -m cpu_percent -m 'network.*bytes' -o a.svg
  python3 - a.svg <<'P'
import sys, xml.etree.ElementTree as T
ns = "{http://www.w3.org/2000/svg}"
root = T.parse(sys.argv[1]).getroot()
axes = [g for g in root.iter(ns + "g") if g.get("class") == "x-axis"]
spans = [[float(p.split(",")[0]) for p in list(a.iter(ns + "polyline"))[-1].get("points").split()] for a in axes]
assert len(spans) == 2 and spans[0] == spans[1], spans
for chart in (g for g in root.iter(ns + "g") if g.get("class") == "chart"):
    group = {g.get("class"): g for g in chart.iter(ns + "g")}
    head = max(float(t.get("y")) for t in group["head"].iter(ns + "text"))
    top = min(float(t.get("y")) for t in group["y-axis"].iter(ns + "text"))
    assert top - head >= 18, (head, top)
P
}

@test "memory: without that of the sampler itself, and on a linear axis" {
  awk 'BEGIN { for (k = 0; k < 10; k++) {
    print k, "process", "rss", "bytes", "gauge", "sum", "job", "job", 10 ^ (k / 2 + 5)
    print k, "sampler", "rss", "bytes", "gauge", "sum", "node", "sampler", 3000000 } }' >values
  "$PROGRAMS/make_samples" -t -j 42 own.smp <values
  plimsoll plot own.smp -m rss -o a.svg
  equal title "$(texts a.svg head | cut -d'|' -f1)" process.rss
  run ! grep -q 'sampler' a.svg
  # over four decades
  run ! grep -q logarithmic a.svg
  equal zero "$(texts a.svg y-axis | cut -d'|' -f1)" 0
  plimsoll plot own.smp -m rss --log -o b.svg
  texts b.svg head | grep -q ', logarithmic'
  plimsoll plot own.smp -m sampler.rss -o c.svg
  equal asked "$(texts c.svg head | cut -d'|' -f1)" sampler.rss
  plimsoll plot own.smp -m '*.rss' -o d.svg
  equal both "$(texts d.svg head | cut -d'|' -f1)" 'process.rss, sampler.rss'
}

@test "64 hosts: the legend is cut and says so; 300: mean, extremes and the highest" {
  results many -n 64 -c 20 -m
  plimsoll plot many -m rss -o a.svg
  equal lines "$(grep -c 'class="line"' a.svg)" 64
  equal more "$(texts a.svg legend | grep -o '|and [0-9]* more$')" '|and 32 more'
  # none of it is below the picture
  equal frame "$(svg a.svg legend | grep -c node)" 32
  results crowd -n 300 -c 20 -m
  plimsoll plot crowd -m rss -o b.svg
  equal legend "$(texts b.svg legend)" 'mean of 300, smallest to largest|highest: node300'
  equal lines "$(grep -c 'class="line"' b.svg)" 2
}

@test "which metrics there are" {
  samples
  plimsoll plot job >list
  equal names "$(awk '{ print $1 }' list | paste -sd' ')" 'METRIC nvidia.power process.rss process.usertime system.load system.rx_bytes'
  equal json "$(plimsoll plot job --list --json | jq -c '.[1]')" \
    '{"metric":"process.rss","entity_kind":"process","series":4,"unit":"bytes","kind":"gauge","help":"resident memory"}'
}

@test "several metrics with commas; CPUs of the job and per cent of the node have an axis of their own" {
  use_store
  plimsoll run -q --sample 50ms -- sleep 0.3
  plimsoll plot -m cpu_percent,process.usertime,process.rss -o a.svg
  equal titles "$(texts a.svg head | tr '|' '\n' | grep -E '^(process|system)')" 'process.cpu_percent, process.usertime
process.rss
system.cpu_percent'
  [[ $(texts a.svg y-axis) == *CPUs*iB*%* ]] || fail "$(texts a.svg y-axis)"
  run -2 --separate-stderr plimsoll plot -m rss, -o b.svg
  [[ $stderr == *"plot: --metric takes metric names, not 'rss,'"* ]] || fail "$stderr"
  # what is put together is put together once, without the sampler
  equal total "$(plimsoll series -m rss --total --json | jq -c '[.[] | [.metric, .entity_kind]]')" '[["process.rss","job"]]'
  equal processes "$(plimsoll series -m rss --total --kind process --json | jq -c '[.[] | [.metric, .entity_kind]]')" '[["process.rss","process"]]'
}

@test "a metric that is not there: did you mean" {
  samples
  for case in 'proces.rss:process.rss' 'rsss:process.rss' 'usertme:process.usertime' 'SYSTEM.LOAD:system.load'; do
    run -1 --separate-stderr plimsoll plot job -m "${case%:*}" -o a.svg
    equal lines "${#stderr_lines[@]}" 1
    [[ $stderr == *"no metric '${case%:*}'; did you mean ${case#*:}"* ]] || fail "$stderr"
  done
  run -1 --separate-stderr plimsoll plot job -m load -m 'quux*' -o a.svg
  [[ $stderr == *"no metric 'quux*'; "*"--list"* ]] || fail "$stderr"
  run -1 --separate-stderr plimsoll plot job -m "$(head -c 100000 /dev/zero | tr '\0' x)" -o a.svg
  equal lines "${#stderr_lines[@]}" 1
  at_most length "${#stderr}" 400
  [ ! -e a.svg ]
}

@test "no curves at all, a time with no points, one sample" {
  use_store
  native_job old
  run -1 --separate-stderr plimsoll plot old -m rss -o a.svg
  [[ $stderr == *'the job was not sampled'* ]] || fail "$stderr"
  samples -c 1
  plimsoll plot job -m load -o one.svg
  equal dot "$(svg one.svg line | paste -sd'|')" 'title: node1|circle 1'
  # a counter that was read once has no rate
  plimsoll plot job -m rx_bytes -o none.svg
  grep -q '>no data</text>' none.svg
  plimsoll plot job -m load --since 2030-01-01 -o later.svg
  grep -q '>no data</text>' later.svg
  plimsoll plot job -m load --since 2030-01-01 -o later.pdf
  pdftotext later.pdf - | grep -q '^no data$'
}

@test "names that are markup, controls and no UTF-8 are shown, not executed" {
  bad=$'<script>alert(1)</script>&"\x01\x1b[31m\xff\xe2\x80\xae'
  results pm -n 1 --names '<b onload=x>&amp;"\u0001' --user '<i>'
  plimsoll plot pm -m rss -o a.svg --title "$bad"
  # it is XML, with no element that is not ours
  texts a.svg head | grep -qF '<script>alert(1)</script>&"\x01\x1b[31m\xff\u202e|job pm'
  grep -q '&lt;script&gt;alert(1)&lt;/script&gt;' a.svg
  run ! grep -q '<script\|<b ' a.svg
  plimsoll plot pm -m rss -o a.pdf --title "$bad"
  pdftotext a.pdf - | grep -qF '<script>alert(1)</script>'
  plimsoll plot pm -m rss -o b.svg --title "$(head -c 100000 /dev/zero | tr '\0' x)"
  at_most size "$(stat -c %s b.svg)" 20000
  texts b.svg head | grep -q 'xxx…|'
}

@test "a file that cannot be written: a line, and the old one stays" {
  samples
  echo old >a.png
  (
    trap '' XFSZ
    ulimit -f 1
    run -1 --separate-stderr plimsoll plot job -m load -o a.png
    [[ $stderr == *"cannot write 'a.png': File too large"* ]] || fail "$stderr"
  )
  equal kept "$(cat a.png)" old
  run -1 --separate-stderr plimsoll plot job -m load -o missing/a.png
  [[ $stderr == *"cannot write 'missing/a.png': No such file or directory"* ]] || fail "$stderr"
  mkdir dir.png
  run -1 --separate-stderr plimsoll plot job -m load -o dir.png
  [[ $stderr == *"cannot write 'dir.png': Is a directory"* ]] || fail "$stderr"
  ln -s /dev/full full.png
  run -1 --separate-stderr plimsoll plot job -m load -o full.png
  [[ $stderr == *"cannot write 'full.png': No space left on device"* ]] || fail "$stderr"
  if [ "$(id -u)" != 0 ]; then
    mkdir closed
    echo old >closed/a.png
    chmod 500 closed
    run -1 --separate-stderr plimsoll plot job -m load -o closed/a.png
    chmod 700 closed
    [[ $stderr == *"Permission denied"* ]] || fail "$stderr"
    equal kept "$(cat closed/a.png)" old
  fi
  equal 'nothing aside' "$(find . -name '.*png*' | wc -l)" 0
}

@test "wrong questions" {
  samples
  while read -r want options; do
    # shellcheck disable=SC2086
    run --separate-stderr plimsoll plot $options
    equal "$options" "$status" 2
    [[ $stderr == *"${want//_/ }"* ]] || fail "$options: $stderr"
  done <<'W'
takes_at_most_1_JOB,_not_2 a b
-o_FILE job -m load
must_end_in_.svg,_.png_or_.pdf job -m load -o x.gif
requires_--metric job -o x.svg
WIDTHxHEIGHT job -m load -o x.svg --size 10x10
WIDTHxHEIGHT job -m load -o x.svg --size 99999x200
WIDTHxHEIGHT job -m load -o x.svg --size big
takes_a_time job -m load -o x.svg --since tomorrow
--kind_takes_node,_job, job -m load -o x.svg --kind thing
W
  run -1 plimsoll plot ./nowhere
}
