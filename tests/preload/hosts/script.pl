#!/usr/bin/perl
# Everything of perl that makes processes or depends on how they end.
use strict;
use warnings;
use POSIX ':sys_wait_h';

$| = 0;
my $programs = $ENV{PROGRAMS};
print "arguments: @ARGV\n";

my $pid = fork // die;
exit 4 if !$pid;
print "fork: ", waitpid($pid, 0) == $pid ? "taken" : "lost", " ", $? >> 8, "\n";

$pid = fork // die;
if (!$pid) { exec "$programs/actor", 'return', '5' or exit 99; }
print "exec: ", wait == $pid ? "taken" : "lost", " ", $? >> 8, "\n";

print "system: ", system("$programs/actor", 'return', '6') >> 8, "\n";
print "system by a shell: ", system("exit 7; true") >> 8, "\n";
print "system of nothing: ", system('/no/such/program'), " ", $! + 0, "\n";
my $text = `$programs/actor printf 3`;
print "backticks: $text ", $? >> 8, "\n";

$pid = fork // die;
if (!$pid) { sleep 10 while 1; }
print "kill: ", kill('TERM', $pid), "\n";
waitpid $pid, 0;
print "killed: ", $? & 127, "\n";

my $seen = 0;
{
	local $SIG{CHLD} = sub { while ((my $p = waitpid -1, WNOHANG) > 0) { $seen++ } };
	for (1 .. 5) { $pid = fork // die; POSIX::_exit($_) if !$pid; }
	select undef, undef, undef, 0.01 while $seen < 5;
}
print "handled: $seen\n";

open my $in, '-|', "$programs/actor", 'printf', '5' or die;
print "pipe: ", <$in>, "\n";
close $in;
open my $out, '|-', 'cat' or die;
print $out "to a pipe\n";
close $out;
print "no more children: ", wait, " ", $! + 0, "\n";
print STDERR "to standard error\n";
{
	local $SIG{USR1} = sub { print "signal $_[0]\n" };
	kill 'USR1', $$;
}
END { print "at the end $?\n" }
system "$programs/host-state 0 | grep -E 'descriptors|Sig|umask'";
exit 23;
