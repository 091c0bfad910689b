#!/bin/bash
# Everything of bash that makes processes or depends on how they end.
echo "arguments: $# '$1' '$2'"
seq 5 | sort -r | head -3 | tr '\n' ' '
echo "pipeline ${PIPESTATUS[*]}"
(exit 4)
echo "subshell $?"
text=$(echo inside; exit 5)
echo "substitution $? $text"
"$PROGRAMS/actor" return 6
echo "program $?"
"$PROGRAMS/actor" kill 15 2>/dev/null
echo "killed $?"
"$PROGRAMS/actor-static" return 9
echo "static $?"
no-such-program-anywhere 2>/dev/null
echo "missing $?"
"$PROGRAMS/actor" sleep 20 7 &
first=$!
(sleep 0.01; exit 8) &
wait "$first"
echo "waited for $?"
wait $!
echo "and for $?"
cat <(echo one) <(echo two)
coproc CAT { cat; }
copy=$CAT_PID
echo "through a coprocess" >&"${CAT[1]}"
read -r line <&"${CAT[0]}"
echo "$line"
eval "exec ${CAT[1]}>&-"
wait "$copy"
echo "coprocess $?"
trap 'echo "trapped USR1"' USR1
kill -USR1 $$
trap '' USR2
trap 'echo "trapped CHLD" >/dev/null' CHLD
cat <<END
here $(/bin/echo document)
END
echo "to standard error" >&2
exec 7</dev/null
"$PROGRAMS/host-state" 0 | grep -E 'descriptors|Sig|umask'
trap 'echo "at the end $?"' EXIT
exit 23
