#!/usr/bin/env bats
# The page of a report as a browser shows it: one Chromium looks at all of them (page_check.py), the tests
# hold what it saw against what the made-up reports say (tests/unit/support/report_page.h).

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash" || exit 1
load browser

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  mkdir home
  for kind in full hostile one nothing many; do
    "$PROGRAMS/make_page" "$kind" "$kind.html" || return 1
  done
  # and one of a job that really ran, with a program and tags that are no better
  cp /bin/true './<img src=x onerror=hurt()>'
  plimsoll run -q --no-submit -o job --tags 'op:<script>hurt()</script>' --job-tags 'k:"><script>hurt()</script>' \
    -- sh -c 'for i in 1 2 3; do "./<img src=x onerror=hurt()>" "</script>"; done' || return 1
  plimsoll report -q -o real.html job || return 1
  look page_check.py full.html hostile.html one.html nothing.html many.html real.html
}

@test "the page says nothing on the console and asks for nothing over a network" {
  see console .console '[]'
  see requests .requests '[]'
  see sections .sections '"verdict figures accounting series concurrency tree processes operations executables hosts ranks gpu energy hardware metadata unmeasured about"'
}

@test "values have the units that the program writes" {
  see units .units '[]'
  see cases '.unit_cases > 30' true
}

@test "values under the pointer: of each line, with a cursor in every chart" {
  see tip '.tip | test("process.cpu4 CPUs \\(3.6 CPUs to 4 CPUs\\)$")' true
  see time '.tip | startswith("22:18:20.0, 5 min 00 s after the start")' true
  see cursors '.cursors | .[0] > 2 and .[0] == .[1]' true
  see bar '.bar | test("^/usr/bin/bashprocesspid 1000from22:13:20.000ran10 min 00 sCPU time5 min 00 s$")' true
}

@test "a range that is dragged is that of all charts; wheel, keys and double click" {
  # half a pixel of the mouse is a second and a half
  see view '.view | map(. / 1000000 / 3 | round)' '[50,100]'
  see linked .linked 1 # and the check has waited for the labels of every chart to change
  see range '.range | test("^22:15:(49|50|51).* to 22:18:(19|20|21).* Show all$")' true
  see wheel '(.wheel[1] - .wheel[0]) / (.view[1] - .view[0]) * 100 | round' 80
  see keyed '(.keyed[1] - .keyed[0]) / (.wheel[1] - .wheel[0]) * 100 | round' 200
  see panned '(.panned[0] - .keyed[0]) / (.keyed[1] - .keyed[0]) * 100 | round' 20
  see reset .reset '[0,600000000,true]'
  see 'axes are those from before' .axes '[]'
}

@test "the process tree: a click looks closer, the width has a choice of meanings" {
  see io .io '"bash  100 MiB"'
  see narrow '.narrow / .zoomed[2] * 100 | round' 78 # 700 of 900 seconds
  see walked .walked '"bash ×2  3 min 00 s"' # beside the one that was clicked
  see zoomed '.zoomed[0] == .zoomed[2] and .zoomed[1] == 3' true
}

@test "tables sort, the search finds in tables and charts, the theme changes" {
  see sorted '.sorted | length == 5 and . == sort' true
  see found .found '["/usr/bin/nccopy"]'
  see faded '.faded > 0' true
  see theme .theme '"rgb(19, 22, 26)"'
}

@test "text has contrast in light and dark, and fits 375 pixels" {
  see light '.light | .least >= 4.5 and .n > 300' true
  see dark '.dark | .least >= 4.5 and .n > 300' true
  for page in full many hostile nothing; do
    see "$page" ".[\"width $page\"]" '[375,375]'
  done
}

@test "hostile texts are shown and never executed" {
  see hurt .hurt '["undefined",0,9,true,false]'
  see 'hostile console' '.["hostile console"]' '[]'
  see injected .injected '"undefined"'
  see real .real '["undefined",0,9,"<img src=x onerror=hurt()>","op:<script>hurt()</script>",[]]'
}

# bats test_tags=epmt
@test "65,304 processes are a page below a megabyte" {
  data=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}
  [ -e "$data/epmt/bench/2557072.tgz" ] || skip "no sample data beside the project"
  plimsoll report -q -o big.html "$data/epmt/bench/2557072.tgz"
  at_most size "$(stat -c %s big.html)" 1048576
  at_least size "$(stat -c %s big.html)" 200000
  grep -q '<dt>Processes</dt><dd>65,304</dd>' big.html
  grep -q '<b>Accounted 99.569 % of CPU time</b>' big.html
}

@test "readable without scripts, on paper, and with little or nothing to show" {
  # the curve that has one sample is a line of text
  see bare .bare '{"#theme":0,".plot .line":12,"#flame rect":6,"#gantt path":6,"tbody tr":16,".finding":3,".xs text":45}'
  see printed .printed '"none"'
  see one .one '["verdict figures accounting series concurrency tree processes operations executables about",[]]'
  see nothing .nothing '["verdict figures accounting series concurrency tree about",[]]'
}
