#!/usr/bin/env bats
# bats file_tags=epmt
# Called as epmt: settings.py. Every key works or is named with what to use instead, and no other store is ever used in silence.

bats_require_minimum_version 1.5.0
load store

USERNAME=$(id -un 2>/dev/null || id -u)

prepare() {
  unset PLIMSOLL_DB XDG_DATA_HOME
  export HOME=$WORK/home EPMT_SETTINGS=$WORK/settings.py EPMT_OUTPUT_PREFIX=$WORK/out
  mkdir -p "$HOME"
  make_job first --id a
}

@test "db_params: a URL that is put together is the store; what cannot be known is refused" {
  prepare
  export SITE_DB=$WORK/site.db
  while IFS='|' read -r line file; do
    printf 'import os\nhome = os.environ["HOME"]\nname = "sub"\n%s\n' "$line" >settings.py
    rm -rf "$WORK"/*.db home/*.db
    epmt submit first >/dev/null || fail "$line"
    [ -s "$file" ] || fail "$line: no $file"
    [ ! -e home/.local ] || fail "$line: went elsewhere"
  done <<'L'
db_params = {'url': 'sqlite:///{}/{}.db'.format(home, name)}|home/sub.db
db_params = {'url': f'sqlite:///{home}/{name}.db', 'echo': False}|home/sub.db
db_params = {'url': 'sqlite:///' + os.path.join(home, name + '.db')}|home/sub.db
db_params = {'url': 'sqlite:///' + os.environ.get('SITE_DB', '/nowhere')}|site.db
db_params = {'url': 'sqlite:///' + (os.getenv('NO_SUCH_VARIABLE') or os.environ['SITE_DB'])}|site.db
db_params = dict(url='sqlite:///' + os.path.expanduser('~/x.db'))|home/x.db
db_params = {'provider': 'sqlite', 'filename': os.path.expandvars('$SITE_DB')}|site.db
db_params: dict = {'url': 'sqlite:///' + os.environ['SITE_DB']}|site.db
db_params, other = ({'url': 'sqlite:///' + os.environ['SITE_DB']}, 1)|site.db
db_params, other = {'url': os.environ.get('SITE_URL') or 'sqlite:///' + home + '/or.db'}, 1|home/or.db
L
  while IFS='|' read -r lines want; do
    printf '%b\n' "$lines" >settings.py
    run -1 epmt submit first
    [[ $output == *"$want"* ]] || fail "$lines: $output"
    [ ! -e home/.local ] || fail "$lines: a store was made"
    run ! epmt daemon -D -i first
    [ -z "$(find . -name 'refused*')" ] && [ ! -e home/.local ] || fail "$lines: the daemon made a store"
    # what needs no store goes on
    SLURM_JOB_ID=1 epmt run true 2>/dev/null
  done <<'L'
db_params = load()|settings.py:1: db_params cannot be known without executing the file; write db_params = {'url': '...'} with the URL as a text behind it, or set EPMT_DB_URL
from site_settings import *|settings.py:1: db_params cannot be known
from .site import db_params|settings.py:1: db_params cannot be known
try:\n    from local import db_params\nexcept ImportError:\n    pass|settings.py:2: db_params cannot be known
exec(open('/etc/epmt/site.py').read())|settings.py:1: db_params cannot be known
globals()['db_params'] = {'url': 'sqlite:////tmp/x.db'}|settings.py:1: db_params cannot be known
db_params, x = load()|settings.py:1: db_params cannot be known
p = {'url': 'sqlite:///a.db'}\ndb_params = p\np['url'] = 'sqlite:///b.db'|settings.py:3: db_params cannot be known
db_params = {'url': open('/etc/x').read()}|settings.py:1: db_params cannot be known
db_params = {'url': 'sqlite:///%s' % name}|settings.py:1: db_params cannot be known
db_params = {'url': os.environ['NO_SUCH_VARIABLE']}|settings.py:1: db_params cannot be known
db_params = {'url': 'sqlite:///a.db'}\nif x:\n    db_params = {'url': 'sqlite:///b.db'}|settings.py:3: db_params cannot be known
db_params = {'url': 'sqlite:///a.db'}\ndb_params['url'] = other()|settings.py:2: db_params cannot be known
db_params = {'provider': 'mysql', 'host': 'h'}|provider 'mysql'; there are sqlite and postgres
db_params = {'url': 'mysql://h/x'}|is not a store
db_params = {}|db_params has neither url nor provider
L
  # the environment stands above the file
  EPMT_DB_URL=sqlite:///$WORK/env.db epmt submit first >/dev/null
  [ -s env.db ]
  printf "db_params = {'provider': 'postgres', 'host': '127.0.0.1', 'user': 'u', 'password': 'p@s/s', 'dbname': 'x', 'port': 1}\n" >settings.py
  run -1 epmt list
  [[ $output != *'p@s/s'* && $output == *127.0.0.1* ]] || fail "$output"
  run -0 epmt help
  [[ $output == *"db_params:{'url': 'postgresql://***@127.0.0.1:1/x'}"* ]] || fail "$output"
  printf "db_params = {'url': 'postgresql+psycopg2://u:x@127.0.0.1:1/x'}\n" >settings.py
  run -1 epmt list
  [[ $output != *'is not a store'* ]] || fail "$output"
}

@test "keys that work: jobid_env_list, job_tags_env, ingest_failed_dir, retire_jobs_ndays, logfile, verbose" {
  prepare
  cat >settings.py <<P
import os
db_params = {'url': 'sqlite:///$WORK/s.db'}
jobid_env_list = ['MY_ID', 'SLURM_JOB_ID']
job_tags_env = 'MY_TAGS'
ingest_failed_dir = '$WORK/bad'
retire_jobs_ndays = 100
logfile = "$WORK/{}.log".format('epmt')
P
  MY_ID=77 SLURM_JOB_ID=5 MY_TAGS='exp:z' epmt run -a true
  [ -f "out/$USERNAME/77/job_metadata" ] || fail "$(find out)"
  equal tags "$(epmt dump -k job_tags "out/$USERNAME/77")" "{'exp': 'z'}"
  SLURM_JOB_ID=5 epmt start
  [ -d "out/$USERNAME/5" ]
  mkdir broken && echo x >broken/job_metadata
  run -1 epmt submit -m broken
  [ -d bad/broken ] || fail "$output"
  grep -q "^WARNING:epmt_cmds:moved 'broken'" epmt.log || fail "$(cat epmt.log)"
  epmt submit first >/dev/null
  epmt retire >/dev/null
  equal retired "$(epmt list)" '[]'
  epmt submit first >/dev/null
  sed -i 's/= 100/= 100000/' settings.py
  epmt retire >/dev/null
  equal kept "$(epmt list)" "['a']"
  sed -i 's/= 100000/= 0/' settings.py
  epmt retire 2>/dev/null
  equal 'kept for ever' "$(epmt list)" "['a']"
  echo 'verbose = 1' >>settings.py
  epmt submit -n first 2>err >/dev/null
  [ -s err ] || fail 'not verbose'
}

@test "keys without effect are named in one warning, with what to use instead, where they ask for something" {
  prepare
  cat >settings.py <<P
db_params = {'url': 'sqlite:///$WORK/s.db', 'echo': False}
orm = 'sqlalchemy'
bulk_insert = True
post_process_job_on_ingest = False
lazy_compute_process_tree = True
profile = False
ingest_remove_on_success = True
input_pattern = "*-papiex*.[ct]sv"
retire_models_ndays = 0
retire_jobs_per_delete_max = 20
skip_for_thread_sums = ['tid']
max_log_statement_length = pow(2, 11)
my_own_variable = 5
P
  run -0 epmt submit -n first
  [[ $output != *WARNING* ]] || fail "$output"
  cat >>settings.py <<'P'
input_pattern = 'x*.csv'
install_prefix = '/opt/papiex/'
profile = True
orm = 'pony'
univariate_classifiers = ['iqr']
outlier_thresholds = {'z_score': 3.0}
outlier_features = ['duration']
outlier_features_blacklist = []
ingest_remove_on_success = False
retire_models_ndays = 5
P
  run -0 epmt submit -n first
  equal one "$(grep -c WARNING <<<"$output")" 1
  for key in input_pattern install_prefix profile orm univariate_classifiers outlier_thresholds outlier_features outlier_features_blacklist \
    ingest_remove_on_success retire_models_ndays; do
    [[ $output == *"$key (use "* ]] || fail "no $key: $output"
  done
  [[ $output == *"ingest_remove_on_success (use \`daemon --keep\`)"* ]] || fail "$output"
  # a batch script that runs many commands is not told each time
  SLURM_JOB_ID=1 run -0 epmt run true
  equal silent "$output" ''
}
