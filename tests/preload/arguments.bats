#!/usr/bin/env bats
# Arguments are recorded byte for byte, whatever is in them and however long they are, and programs
# receive them unchanged.

# shellcheck disable=SC2016 # text for jq and perl
load lib

@test "spaces, tabs, newlines, quotes, backslashes, empty arguments" {
  compare "$PROGRAMS/host-arguments" print 'a b' '' $'tab\there' $'two\nlines' "it's" '"quoted"' "back\\slash" \
    '$HOME `x` *' $'\001\033\177' ''
  recorded_end true
  recorded true 'argv[2:] | tojson' \
    '["a b","","tab\there","two\nlines","it'"'"'s","\"quoted\"","back\\slash","$HOME `x` *","\u0001\u001b\u007f",""]'
  recorded true 'argv_b64' null
}

@test "characters outside ASCII" {
  compare "$PROGRAMS/host-arguments" print 'größe' '数据' '🚢'
  recorded true 'argv[2:] | tojson' '["größe","数据","🚢"]'
  recorded true 'argv_b64' null
}

@test "bytes that are not UTF-8" {
  compare "$PROGRAMS/host-arguments" print $'\xff\xfe' plain $'half \xe2\x82' $'\xc0\x80' $'\xed\xa0\x80'
  recorded_end true
  recorded true 'argv[2:] | length' 5
  recorded true 'argv[3]' plain
  value true 'argv_b64[2:][]' >encoded
  while read -r line; do base64 -d <<<"$line" | od -An -tx1 | tr -d ' \n'; echo; done <encoded >got
  diff with/stdout got
}

@test "1.5 MB of arguments with every byte in them" {
  compare "$PROGRAMS/host-arguments" huge 1500000 "$PROGRAMS/host-arguments"
  equal status "$status" 102
  recorded '.argv[1] == "sum"' exitcode 102
  # the program's own count, and the same count over what was recorded
  value '.argv[1] == "sum"' 'argv_b64[]' >encoded
  perl -MMIME::Base64 -ne '
    my $bytes = decode_base64($_) . "\0";
    $n++;
    $size += length $bytes;
    { use integer; $sum = 5381 if $n == 1; $sum = $sum * 33 + ord for split //, $bytes; }
    END { printf "%d arguments, %d bytes, sum %u\n", $n, $size, $sum }
  ' encoded >got
  diff with/stdout got
}

@test "more than the kernel takes: the same error" {
  compare "$PROGRAMS/host-arguments" huge 9000000 "$PROGRAMS/host-arguments"
  equal output "$(cat with/stdout)" 'errno 7'
  recorded_end true
}

@test "no argument at all" {
  compare "$PROGRAMS/host-arguments" none "$PROGRAMS/host-arguments"
  equal status "$status" 105
  recorded '.ended == "exit"' exitcode 105
  recorded '.ended == "exit"' 'argv | tojson' '[""]'
  recorded '.ended == "exit"' path "$PROGRAMS/host-arguments"
}

@test "another name than the program's" {
  compare perl -e 'exec {$ARGV[0]} @ARGV[1 .. $#ARGV]' "$PROGRAMS/host-arguments" 'another name' print x
  recorded '.exename == "another name"' 'argv | tojson' '["another name","print","x"]'
  recorded '.exename == "another name"' path "$PROGRAMS/host-arguments"
}
