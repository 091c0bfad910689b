#!/usr/bin/env bats
# A real Jupyter runs the notebook and serves it, and R draws the example of docs/notebook.md.

bats_require_minimum_version 1.5.0
load store

setup_file() {
  export PLIMSOLL_PREFIX=$BATS_FILE_TMPDIR/prefix PLIMSOLL_DB=$BATS_FILE_TMPDIR/store.db PYTHONDONTWRITEBYTECODE=1
  plimsoll run -q --no-submit --sample 100ms -o "$BATS_FILE_TMPDIR/job" -- \
    sh -c 'for i in 1 2 3; do dd if=/dev/zero bs=64k count=1500 2>/dev/null | gzip -1 >/dev/null; done; sleep 0.3; false' || true
  plimsoll submit "$BATS_FILE_TMPDIR/job"
}

@test "jupyter nbconvert executes the notebook: no cell fails, six pictures and more" {
  export PYTHONPATH=$PL_BUILD/share/plimsoll/python
  plimsoll notebook --print >n.ipynb
  jupyter nbconvert --to notebook --execute --output ran n.ipynb 2>log || fail "$(tail -5 log)"
  equal errors "$(jq '[.cells[].outputs[]? | select(.output_type == "error")] | length' ran.ipynb)" 0
  at_least pictures "$(jq '[.cells[].outputs[]? | select(.data["image/png"])] | length' ran.ipynb)" 6
  at_least tables "$(jq '[.cells[].outputs[]? | select(.data["text/html"])] | length' ran.ipynb)" 5
  equal told "$(jq '[.cells[].outputs[]? | select(.name == "stderr")] | length' ran.ipynb)" 0
}

# bats test_tags=epmt
@test "jupyter nbconvert executes the notebooks with EPMT's functions" {
  export PLIMSOLL_DB=$WORK/epmt.db
  PATH=$PATH /usr/bin/python3 "$PL_SOURCE/tests/cli/epmt_api_check.py" jobs jobs
  plimsoll submit -q jobs/?
  export PYTHONPATH=$PL_BUILD/share/plimsoll/epmt:$PL_BUILD/share/plimsoll/python
  for name in query outliers data_movement graphs comparison; do
    jupyter nbconvert --to notebook --execute --output-dir . --output "$name" "$PL_BUILD/share/plimsoll/epmt/notebooks/$name.ipynb" 2>log || fail "$(tail -5 log)"
    equal "errors of $name" "$(jq '[.cells[].outputs[]? | select(.output_type == "error")] | length' "$name.ipynb")" 0
  done
  at_least pictures "$(jq -s '[.[].cells[].outputs[]? | select(.data["image/png"])] | length' ./*.ipynb)" 8
}

@test "plimsoll notebook: Jupyter serves the notebook, with arguments of the user's" {
  local port allow=()
  port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  [ "$(id -u)" != 0 ] || allow=(--allow-root)
  mkdir out
  plimsoll notebook last --dir out -- --no-browser --ip 127.0.0.1 --port "$port" --NotebookApp.token=thisisatoken "${allow[@]}" \
    >log 2>&1 3>&- &
  local pid=$! i name
  for ((i = 0; i < 300; i++)); do
    ! curl -sf "http://127.0.0.1:$port/api/contents?token=thisisatoken" >contents || break
    sleep 0.2
  done
  kill "$pid"
  wait "$pid" || true
  name=$(jq -r '.content[].name' contents)
  equal file "out/$name" "$(ls out/plimsoll-*.ipynb)"
}

@test "R reads an export and draws, as docs/notebook.md has it" {
  sed -n '/^```r$/,/^```$/p' "$PL_SOURCE/docs/notebook.md" | grep -v '^```' >example.R
  [ -s example.R ]
  sed -n 's/^    \(plimsoll export .*\)$/\1/p' "$PL_SOURCE/docs/notebook.md" >exports
  equal exports "$(wc -l <exports)" 2
  sh -e exports
  Rscript example.R >printed
  # the largest is what the store says
  equal program "$(awk '{ print $1; exit }' printed)" \
    "$(ask "SELECT exename FROM processes GROUP BY exename ORDER BY sum(cpu_time) DESC LIMIT 1")"
  file -b job.png | grep -q 'PNG image data, 900 x 800'
}
