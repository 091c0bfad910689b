#!/usr/bin/env bash
# records SECONDS FILE: a Perl program that has each record on storage before it goes on.
exec perl -MIO::Handle -MTime::HiRes=time -e '
  my ($seconds, $path) = @ARGV;
  my $end = time + $seconds;
  open my $file, ">", $path or die;
  while (time < $end) { $file->print("record\n" x 10); $file->flush; $file->sync }
  unlink $path' "$1" "$2"
