#!/usr/bin/env bats
# ORC files that we wrote, as ClickHouse has them, the only reader of ORC that can be had here: every value is compared
# with what was to be written. Its library is large (scripts/deps-npm interop). With PL_LONG a million rows.

bats_require_minimum_version 1.5.0
load lib
load readers

LIBRARY=$PL_SOURCE/build/npm-clickhouse/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so

# ask FILE FORMAT: the rows of a file in their order (parts are read side by side), times as whole numbers
ask() {
  [ -e "$LIBRARY" ] || skip "chdb from npm is not installed"
  "$PROGRAMS/chdb_query" "$LIBRARY" "SELECT * REPLACE (toUnixTimestamp64Nano(time) AS time, toUnixTimestamp64Nano(early) AS early,
    toUnixTimestamp64Nano(no_time) AS no_time) FROM file('$PWD/$1', '$2') ORDER BY id" RowBinary >answer
}

@test "ORC: every value" {
  expect "$MANY"
  write orc zstd "$MANY" 65536 t.orc
  ask t.orc ORC
  same rowbinary answer
}

@test "ORC: other codecs and batches, without rows, with one" {
  for variant in "zlib 70000 65536" "none 20000 777" "zstd 0 1" "zlib 0 1" "none 1 1"; do
    read -r codec rows batch <<<"$variant"
    expect "$rows"
    write orc "$codec" "$rows" "$batch" t.orc
    ask t.orc ORC
    same rowbinary answer
  done
}

@test "Parquet and Feather: every value" {
  expect 70000
  write parquet zstd 70000 65536 t.parquet
  ask t.parquet Parquet
  same rowbinary answer
  write feather lz4 70000 65536 t.feather
  ask t.feather Arrow
  same rowbinary answer
}

@test "Feather with dictionaries that grow" {
  expect 12000
  write feather zstd 12000 777 t.feather
  ask t.feather Arrow
  same rowbinary answer
}
