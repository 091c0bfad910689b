#!/bin/tcsh -f
# Everything of tcsh that makes processes or depends on how they end.
echo "arguments: $#argv '$1' '$2'"
seq 5 | sort -r | head -3 | tr '\n' ' '
echo "pipeline $status"
( exit 4 )
echo "subshell $status"
set text = `echo inside`
echo "substitution $text"
$PROGRAMS/actor return 6
echo "program $status"
$PROGRAMS/actor kill 15 >& /dev/null
echo "killed $status"
$PROGRAMS/actor-static return 9
echo "static $status"
no-such-program-anywhere >& /dev/null
echo "missing $status"
# its job number would be printed
( $PROGRAMS/actor sleep 20 7 & ; wait ) > /dev/null
foreach name (one two)
	/bin/echo $name
end
cat <<END
here `/bin/echo document`
END
sh -c 'echo "to standard error" >&2'
nohup $PROGRAMS/host-state 0 | grep -E 'descriptors|Sig|umask'
onintr ignored
exit 23
ignored:
exit 24
