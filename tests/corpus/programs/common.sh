# What the shell programs of the corpus share. SECONDS is the first argument of each.
set -u
wanted=$1
begin=$EPOCHREALTIME

# passed: whether the time is over
passed() {
  ((${EPOCHREALTIME/./} - ${begin/./} > $(printf '%.0f' "${wanted}e6")))
}

# crunch SECONDS: awk computes for so long, by the clock
crunch() {
  awk -v limit="$1" 'BEGIN {
    srand(); begin = srand(); srand(); t = begin
    while (t - begin < limit) { for (i = 0; i < 200000; i++) x = x * 0.5 + i; srand(); t = srand() }
  }'
}
