#!/usr/bin/env bats
# Keys of nodes and collectors: files that are made, shown and refused.

bats_require_minimum_version 1.5.0
load lib

@test "a new pair: a file for its owner alone, the public key on stdout" {
  umask 000
  public=$(plimsoll keys new -o node.key)
  equal length ${#public} 40
  equal mode "$(stat -c %a node.key)" 600
  equal lines "$(grep -c -E '^(public|secret) = "[^"]{40}"$' node.key)" 2
  grep -q -F "public = \"$public\"" node.key
  equal shown "$(plimsoll keys show node.key)" "$public"
  equal json "$(plimsoll keys show --json node.key | jq -r .public)" "$public"
  # another is another
  other=$(plimsoll keys new --json -o other.key | jq -r .public)
  [ "$other" != "$public" ]
  # to stdout, both
  plimsoll keys new >both
  equal both "$(grep -c -E '^(public|secret) = "[^"]{40}"$' both)" 2
}

@test "a pair is never written over another" {
  plimsoll keys new -o node.key
  cp node.key before
  run plimsoll keys new -o node.key
  equal status "$status" 1
  [[ $output == *"cannot create 'node.key': File exists; remove it first"* ]] || fail "$output"
  cmp node.key before
  ln -s elsewhere link.key
  run plimsoll keys new -o link.key
  equal status "$status" 1
  [ ! -e elsewhere ]
  run plimsoll keys new -o no/such/place
  equal status "$status" 1
  [[ $output == *"no/such/place"* ]] || fail "$output"
}

@test "who is allowed: added once, listed, with a name or for any node" {
  a=$(plimsoll keys new -o a.key)
  b=$(plimsoll keys new -o b.key)
  plimsoll keys allow allowed "$a" node17
  plimsoll keys allow allowed b.key
  plimsoll keys allow allowed "$a" node17
  equal list "$(plimsoll keys list allowed)" "$a node17
$b *"
  equal json "$(plimsoll keys list --json allowed | jq -c '[.[].node]')" '["node17","*"]'
  printf '# people write\n\n  %s\tnode1[89]  \n' "$a" >>allowed
  equal more "$(plimsoll keys list allowed | tail -n 1)" "$a node1[89]"
}

@test "what is no key is refused, with the place" {
  a=$(plimsoll keys new -o a.key)
  printf '%s node1\nnonsense node2\n' "$a" >allowed
  run plimsoll keys list allowed
  equal status "$status" 1
  [[ $output == *"allowed:2: expected a public key"* ]] || fail "$output"
  cp allowed before
  run plimsoll keys allow allowed "$a" node3
  equal status "$status" 1
  cmp allowed before
  run plimsoll keys allow new "nonsense" node3
  equal status "$status" 1
  [[ $output == *"'nonsense' is neither a public key (40 characters) nor a key file"* ]] || fail "$output"
  [ ! -e new ]
  for name in "" "a b" a/b; do
    run plimsoll keys allow new "$a" "$name"
    equal "name '$name'" "$status" 2
  done
  echo 'public = "short"' >short.key
  run plimsoll keys show short.key
  equal status "$status" 1
  [[ $output == *"'short.key' is neither a public key (40 characters) nor a key file"* ]] || fail "$output"
  head -c 100000 /dev/urandom >junk
  run plimsoll keys show junk
  equal status "$status" 1
  run plimsoll keys list junk
  equal status "$status" 1
  run plimsoll keys show missing
  equal status "$status" 1
  [[ $output == *"'missing' is neither a public key (40 characters) nor a key file: No such file"* ]] || fail "$output"
}

@test "wrong words" {
  for words in "" frobnicate "new x" show "list a b" "allow x" "show -o x y"; do
    # shellcheck disable=SC2086
    run plimsoll keys $words
    equal "keys $words" "$status" 2
  done
}

@test "a key that is allowed for two names has both" {
  plimsoll keys new -o a.key >/dev/null
  plimsoll keys allow allowed a.key node1
  plimsoll keys allow allowed a.key node2
  plimsoll keys allow allowed a.key node1
  equal lines "$(wc -l <allowed)" 2
  equal listed "$(plimsoll keys list allowed | cut -c42- | xargs)" "node1 node2"
}

@test "a key is revoked by its name, itself or its file, and the file says so" {
  a=$(plimsoll keys new -o a.key)
  b=$(plimsoll keys new -o b.key)
  c=$(plimsoll keys new -o c.key)
  plimsoll keys allow allowed "$a" node1
  plimsoll keys allow allowed "$b" node2
  plimsoll keys allow allowed "$b" node3
  plimsoll keys allow allowed "$c" 'node[4-9]'
  chmod 640 allowed
  plimsoll keys revoke allowed node1
  equal left "$(plimsoll keys list allowed | cut -c42- | xargs)" "node2 node3 node[4-9]"
  plimsoll keys revoke allowed "$b"
  plimsoll keys revoke allowed c.key
  equal 'nobody is left' "$(plimsoll keys list allowed)" ""
  equal mode "$(stat -c %a allowed)" 640
  equal revoked "$(plimsoll keys list --revoked allowed | cut -d' ' -f2-)" "$a node1
$b node2
$b node3
$c node[4-9]"
  equal 'as JSON' "$(plimsoll keys list --revoked --json allowed | jq -c '.[0] | [.public, .node, (.revoked | test("^20[0-9-]+T[0-9:.]+Z$"))]')" "[\"$a\",\"node1\",true]"
  # it may come back, and is revoked once more
  plimsoll keys allow allowed "$a" node1
  equal back "$(plimsoll keys list allowed)" "$a node1"
  cp allowed before
  run plimsoll keys revoke allowed node17
  equal status "$status" 1
  [[ $output == *"'allowed' contains no key or name 'node17'"* ]] || fail "$output"
  cmp allowed before
  run plimsoll keys revoke allowed
  equal status "$status" 2
  run plimsoll keys show --revoked a.key
  equal status "$status" 2
}
