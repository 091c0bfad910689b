#!/usr/bin/env bats
# Tables that we wrote, as readers of other makers have them: every value is compared with what was to be written.
# The readers come from npm (scripts/deps-npm). With PL_LONG a million rows.

bats_require_minimum_version 1.5.0
load lib
load readers

@test "every value: Parquet by DuckDB and by Arrow's reader in Rust, Feather by Arrow's in JavaScript" {
  need_readers
  expect "$MANY"
  write parquet zstd "$MANY" 65536 t.parquet
  write feather zstd "$MANY" 65536 t.feather
  same duckdb t.parquet wasm t.parquet arrow t.feather
}

# in small batches a dictionary of Feather grows beyond what is remembered of it
@test "other codecs and batches" {
  need_readers
  expect 21000
  write parquet snappy 21000 65536 snappy.parquet
  write parquet none 21000 777 none.parquet
  write feather lz4 21000 65536 lz4.feather
  write feather none 21000 777 none.feather
  same duckdb snappy.parquet wasm none.parquet arrow lz4.feather arrow none.feather
}

@test "tables without rows, and with one" {
  need_readers
  for rows in 0 1; do
    expect "$rows"
    write parquet zstd "$rows" 65536 t.parquet
    write feather lz4 "$rows" 65536 t.feather
    same duckdb t.parquet wasm t.parquet arrow t.feather
  done
}

@test "a reader that finds another value says so" {
  need_readers
  expect 1000
  write feather none 1000 65536 t.feather
  printf '\377' | dd of=expected/0.values bs=1 seek=4000 conv=notrunc status=none
  run ! compare arrow t.feather
  [[ "$output" == "different: id, row 500: 500, not "* ]] || fail "$output"
}
