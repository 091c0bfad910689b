#!/usr/bin/fish
# Everything of fish that makes processes or depends on how they end.
echo "arguments:" (count $argv) "'$argv[1]' '$argv[2]'"
seq 5 | sort -r | head -3 | tr '\n' ' '
echo "pipeline $pipestatus"
set text (echo inside; /bin/false)
echo "substitution $text $status"
$PROGRAMS/actor return 6
echo "program $status"
$PROGRAMS/actor kill 9
echo "killed $status"
$PROGRAMS/actor-static return 9
echo "static $status"
begin
    sh -c 'exit 4'
    echo "block $status"
end
$PROGRAMS/actor sleep 20 7 &
wait
cat (echo one | psub)
for name in one two
    /bin/echo $name
end
function at_end --on-event fish_exit
    echo "at the end"
end
echo "to standard error" >&2
$PROGRAMS/host-state 0 | grep -E 'descriptors|Sig|umask'
exit 23
