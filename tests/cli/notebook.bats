#!/usr/bin/env bats
# `notebook`: what it writes, what Jupyter gets, and what is said where something is missing.

bats_require_minimum_version 1.5.0
load store

setup_file() {
  export PLIMSOLL_DB=$BATS_FILE_TMPDIR/store.db PYTHONPATH=/else/where PYTHONDONTWRITEBYTECODE=1
  native_job "$BATS_FILE_TMPDIR/685000" --id 685000 --procs 3
  plimsoll submit "$BATS_FILE_TMPDIR/685000"
}

# A Jupyter that says how it was called.
stand_in() {
  mkdir -p bin
  cat >"bin/$1" <<'J'
#!/bin/sh
printf '%s\n' "$0" "$PWD" "$PYTHONPATH" "$PLIMSOLL_DB" "$@" >>"$CALLED"
J
  chmod +x "bin/$1"
  export CALLED=$WORK/called PATH=$WORK/bin:$PATH
}

# alone COMMAND...: with a PATH that has the program and nothing else
alone() {
  env PATH="$PL_BUILD/bin" "$@"
}

@test "Jupyter gets the notebook, its arguments, the module and the store" {
  stand_in jupyter-notebook
  mkdir out
  cp "$PLIMSOLL_DB" rel.db
  plimsoll notebook 685 --db rel.db --dir out -- --no-browser --dir 'a b'
  equal called "$(cat called)" "$(printf '%s\n' "$WORK/bin/jupyter-notebook" "$WORK/out" \
    "$PL_BUILD/share/plimsoll/python:$PYTHONPATH" "$WORK/rel.db" plimsoll-685000.ipynb --no-browser --dir 'a b')"
  grep -qF "plimsoll.job(\\\"685000\\\")" out/plimsoll-685000.ipynb
  jq -e '.nbformat == 4' out/plimsoll-685000.ipynb >/dev/null
  equal files "$(ls -A out)" plimsoll-685000.ipynb
  # without a job: the last one, whenever that is
  rm called
  plimsoll notebook -- last
  equal arguments "$(tail -n +5 called)" "$(printf '%s\n' plimsoll.ipynb last)"
  grep -qF 'plimsoll.job(\"last\")' plimsoll.ipynb
  # where there is only the newer one
  rm called
  mv bin/jupyter-notebook bin/jupyter-lab
  PATH=$WORK/bin:$PL_BUILD/bin plimsoll notebook
  equal program "$(head -1 called)" "$WORK/bin/jupyter-lab"
}

# bats test_tags=epmt
@test "epmt notebook: every word is Jupyter's" {
  stand_in jupyter-notebook
  EPMT_DB_PROVIDER='' epmt notebook -- --ip 0.0.0.0 --NotebookApp.token='thisisatoken'
  equal arguments "$(tail -n +5 called)" "$(printf '%s\n' plimsoll.ipynb --ip 0.0.0.0 --NotebookApp.token=thisisatoken)"
}

@test "a notebook that is there stays as it is" {
  stand_in jupyter-notebook
  echo mine >plimsoll.ipynb
  run -0 plimsoll notebook -v
  [[ "$output" == *"keeping the existing"* ]]
  equal content "$(cat plimsoll.ipynb)" mine
  [ -e called ]
}

@test "faults: no Jupyter, no job, no directory, no permission, a full disk" {
  run -1 alone plimsoll notebook
  [[ "$output" == *"Jupyter is not in PATH; install jupyter-notebook python3-pandas python3-matplotlib, or run \`plimsoll notebook --install\`"* ]]
  equal files "$(ls -A)" ""
  stand_in jupyter-notebook
  run -1 plimsoll notebook nosuchjob
  [[ "$output" == *"there is no job 'nosuchjob'"* ]]
  plimsoll run -q --no-submit -o unstored -- true
  run -1 plimsoll notebook unstored
  [[ "$output" == *"run \`plimsoll submit "* ]]
  run -2 plimsoll notebook one two
  [[ "$output" == *"must follow --"* ]]
  run -1 plimsoll notebook --dir nowhere
  [[ "$output" == *"cannot open directory 'nowhere': No such file"*"--dir"* ]]
  run -1 sh -c 'plimsoll notebook --print >/dev/full'
  [[ "$output" == *"cannot write the notebook: No space left"* ]]
  if [ "$(id -u)" != 0 ]; then
    mkdir locked
    chmod 555 locked
    run -1 plimsoll notebook --dir locked
    [[ "$output" == *"cannot write 'locked/plimsoll.ipynb': Permission denied"* ]]
  fi
  # a limit on the size of files is as good as a full disk: nothing half is left
  mkdir full
  run -1 sh -c 'trap "" XFSZ; ulimit -f 1; plimsoll notebook --dir full'
  [[ "$output" == *"cannot write 'full/plimsoll.ipynb'"* ]]
  equal left "$(ls -A full)" ""
  [ ! -e called ]
}

# harmless FILE: a notebook of the job odd is valid, has this name, and executes nothing of the id
harmless() {
  stand_in jupyter-notebook
  export PLIMSOLL_DB=$WORK/odd.db
  plimsoll submit odd
  mkdir out
  plimsoll notebook last --dir out
  equal files "$(ls -A out)" "$1"
  PYTHONPATH=$PL_BUILD/share/plimsoll/python /usr/bin/python3 "$PL_SOURCE/tests/cli/python_check.py" load out/plimsoll-*.ipynb
  [ ! -e hit ]
}

@test "a job id that tries things is a text in the notebook and a harmless file name" {
  native_job odd --id 'x");open("hit","w")#\"' --procs 3
  harmless 'plimsoll-x___open__hit___w_____.ipynb'
}

# bats test_tags=epmt
@test "the same with an id that only EPMT may have" {
  make_job odd --id '../x");import os;os.system("touch hit")#\"ü' --procs 3
  harmless 'plimsoll-.._x___import_os_os.system__touch_hit_______.ipynb'
}

@test "--install says what it does, and does it by apt-get" {
  stand_in sudo
  stand_in apt-get
  stand_in jupyter-notebook
  run -0 plimsoll notebook --install
  [[ "${lines[0]}" == *"apt-get install -y --no-install-recommends jupyter-notebook python3-pandas python3-matplotlib" ]]
  local command=apt-get
  [ "$(id -u)" = 0 ] || command=sudo
  equal program "$(sed -n 1p called)" "$WORK/bin/$command"
  grep -qx python3-matplotlib called
  grep -qx plimsoll.ipynb called
  # it fails: nothing is started
  rm called
  printf '#!/bin/sh\nexit 100\n' >"bin/$command"
  run -1 plimsoll notebook --install
  [[ "$output" == *"apt-get failed with status 100"* ]]
  [ ! -e called ]
  run -1 alone plimsoll notebook --install
  [[ "$output" == *"--install needs apt-get"* ]]
}
