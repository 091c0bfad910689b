// Compares every value of a table that we wrote, as a reader of another maker has it, with the values that were to be
// written, which `make_tables expect` puts into plain files:
//     node compare.mjs EXPECTED READER FILE [READER FILE]...
// READER: duckdb, wasm, arrow, or rowbinary for what ClickHouse answers in that format, times as whole numbers. Says of
// each file how many values are the same, or what is different, and ends with 1 then.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , directory, ...files] = process.argv;
const require = createRequire(path.resolve(process.env.PL_NPM, 'x.js'));
const load = async (name) => await import(pathToFileURL(require.resolve(name)));

function differ(what) {
  console.log(`different: ${what}`);
  process.exit(1);
}

// ---- what was to be written -------------------------------------------------------------------------
const read = (name) => fs.readFileSync(path.join(directory, name));
const columns = JSON.parse(read('columns.json')).map((c, i) => {
  const absent = read(`${i}.absent`);
  if (c.type !== 'text') {
    const b = read(`${i}.values`);
    return { ...c, absent, bits: new BigInt64Array(b.buffer.slice(b.byteOffset, b.byteOffset + b.length)) };
  }
  const b = read(`${i}.sizes`);
  const sizes = new Uint32Array(b.buffer.slice(b.byteOffset, b.byteOffset + b.length));
  const begin = new Float64Array(sizes.length + 1);
  for (let k = 0; k < sizes.length; k++) begin[k + 1] = begin[k] + sizes[k];
  return { ...c, absent, begin, bytes: read(`${i}.texts`) };
});
const rows = columns[0].absent.length;
let compared = 0;

// The row `at` of a column has these bits; a NaN is a NaN.
function sameBits(c, at, bits) {
  compared++;
  if (bits === c.bits[at]) return;
  if (c.type === 'real') {
    const real = (v) => new Float64Array(BigInt64Array.of(v).buffer)[0];
    if (Number.isNaN(real(bits)) && Number.isNaN(real(c.bits[at]))) return;
    differ(`${c.name}, row ${at}: ${real(bits)}, not ${real(c.bits[at])}`);
  }
  differ(`${c.name}, row ${at}: ${bits}, not ${c.bits[at]}`);
}

function sameText(c, at, buffer, from, to) {
  compared++;
  if (buffer.compare(c.bytes, c.begin[at], c.begin[at + 1], from, to) === 0) return;
  differ(`${c.name}, row ${at}: '${buffer.toString('utf8', from, Math.min(to, from + 100))}', not ` +
    `'${c.bytes.toString('utf8', c.begin[at], Math.min(c.begin[at + 1], c.begin[at] + 100))}'`);
}

// True where the value is absent, in both.
function sameAbsence(c, at, absent) {
  if (absent !== (c.absent[at] === 1)) differ(`${c.name}, row ${at}: ${absent ? 'no value' : 'a value'}`);
  if (absent) compared++;
  return absent;
}

// ---- Arrow's tables --------------------------------------------------------------------------------------
const bitsOf = (a) => new BigInt64Array(a.buffer, a.byteOffset, a.byteLength / 8);
const bufferOf = (a) => Buffer.from(a.buffer, a.byteOffset, a.byteLength);

function compareArrow(arrow, table) {
  if (table.numRows !== rows) differ(`${table.numRows} rows, not ${rows}`);
  if (table.schema.fields.length !== columns.length) differ(`${table.schema.fields.length} columns`);
  const types = { int: 'Int64', real: 'Float64', time: 'Timestamp<NANOSECOND, UTC>' };
  columns.forEach((c, i) => {
    const field = table.schema.fields[i];
    if (field.name !== c.name) differ(`column ${i} is called '${field.name}', not '${c.name}'`);
    const type = String(field.type);
    if (c.type === 'text' ? !/^(Dictionary<Int32, Utf8>|Utf8)$/.test(type) : type !== types[c.type])
      differ(`${c.name} is of type ${type}`);
    if (!field.nullable) differ(`${c.name} must always have a value`);
    let at = 0;
    for (const data of table.getChildAt(i).data) {
      const isNull = (k) => data.nullCount > 0 && !((data.nullBitmap[(data.offset + k) >> 3] >> ((data.offset + k) & 7)) & 1);
      if (c.type !== 'text') {
        const bits = bitsOf(data.values);
        for (let k = 0; k < data.length; k++, at++)
          if (!sameAbsence(c, at, isNull(k))) sameBits(c, at, bits[k]);
      } else if (arrow.DataType.isDictionary(data.type)) {
        const texts = [];
        for (const d of data.dictionary.data)
          for (let k = 0; k < d.length; k++)
            texts.push(bufferOf(d.values).subarray(d.valueOffsets[k], d.valueOffsets[k + 1]));
        for (let k = 0; k < data.length; k++, at++) {
          if (sameAbsence(c, at, isNull(k))) continue;
          const text = texts[data.values[k]];
          sameText(c, at, text, 0, text.length);
        }
      } else {
        const bytes = bufferOf(data.values);
        for (let k = 0; k < data.length; k++, at++)
          if (!sameAbsence(c, at, isNull(k))) sameText(c, at, bytes, data.valueOffsets[k], data.valueOffsets[k + 1]);
      }
    }
    if (at !== rows) differ(`${c.name} has ${at} rows`);
  });
}

async function arrow(file) {
  const a = await load('apache-arrow');
  const fzstd = await load('fzstd');
  const lz4 = await load('lz4js');
  a.compressionRegistry.set(a.CompressionType.ZSTD, { decode: (b) => fzstd.decompress(b).slice() });
  a.compressionRegistry.set(a.CompressionType.LZ4_FRAME, { decode: (b) => (lz4.default ?? lz4).decompress(b) });
  compareArrow(a, a.tableFromIPC(fs.readFileSync(file)));
}

async function wasm(file) {
  const a = await load('apache-arrow');
  const p = require('parquet-wasm');
  compareArrow(a, a.tableFromIPC(p.readParquet(fs.readFileSync(file)).intoIPCStream()));
}

// ---- DuckDB ------------------------------------------------------------------------------------------------
async function duckdb(file) {
  const d = await load('@duckdb/node-api');
  const connection = await (await d.DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  await connection.run('SET preserve_insertion_order = true');
  const result = await connection.stream(`SELECT * FROM read_parquet('${file}')`);
  const types = { int: 'BIGINT', real: 'DOUBLE', time: 'TIMESTAMP WITH TIME ZONE', text: 'VARCHAR' };
  columns.forEach((c, i) => {
    if (result.columnName(i) !== c.name) differ(`column ${i} is called '${result.columnName(i)}'`);
    if (String(result.columnType(i)) !== types[c.type]) differ(`${c.name} is of type ${result.columnType(i)}`);
  });
  const one = new Float64Array(1);
  const oneBits = new BigInt64Array(one.buffer);
  let at = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) break;
    columns.forEach((c, i) => {
      const v = chunk.getColumnVector(i);
      for (let k = 0; k < chunk.rowCount; k++) {
        const item = v.getItem(k);
        if (sameAbsence(c, at + k, item === null)) continue;
        if (c.type === 'text') {
          compared++;
          if (item !== c.bytes.utf8Slice(c.begin[at + k], c.begin[at + k + 1])) differ(`${c.name}, row ${at + k}: '${item.slice(0, 100)}'`);
        } else if (c.type === 'time') {
          compared++; // DuckDB has microseconds, cut off
          if (item.micros !== c.bits[at + k] / 1000n) differ(`${c.name}, row ${at + k}: ${item.micros} us, not ${c.bits[at + k]} ns`);
        } else if (c.type === 'real') {
          one[0] = item;
          sameBits(c, at + k, oneBits[0]);
        } else {
          sameBits(c, at + k, item);
        }
      }
    });
    at += chunk.rowCount;
  }
  if (at !== rows) differ(`${at} rows, not ${rows}`);
  await ranges(connection, file);
  await searches(connection, file);
}

// Looking for a value finds all rows that have it: no row group is passed over for a wrong range.
async function searches(connection, file) {
  for (const c of columns.filter((x) => x.type === 'text' || x.type === 'int')) {
    for (const at of [0, rows >> 1, rows - 1].filter((k) => c.absent[k] === 0)) {
      const [from, to] = c.type === 'text' ? [c.begin[at], c.begin[at + 1]] : [0, 0];
      const value = c.type === 'text' ? c.bytes.utf8Slice(from, to) : c.bits[at];
      let want = 0;
      for (let k = 0; k < rows; k++) {
        if (c.absent[k]) continue;
        if (c.type !== 'text') want += c.bits[k] === value;
        else if (c.begin[k + 1] - c.begin[k] === to - from) want += c.bytes.compare(c.bytes, from, to, c.begin[k], c.begin[k + 1]) === 0;
      }
      const found = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet('${file}') WHERE "${c.name}" = $1`, [value]);
      if (Number(found.getRows()[0][0]) !== want) differ(`${c.name} = ${value}: ${found.getRows()[0][0]} rows, not ${want}`);
    }
  }
}

// Do the ranges that the footer has of each row group hold, as DuckDB finds them in the values?
async function ranges(connection, file) {
  const told = await connection.runAndReadAll(`SELECT path_in_schema, min(CASE WHEN type = 'INT64' THEN TRY_CAST(stats_min_value AS BIGINT) END),
    max(CASE WHEN type = 'INT64' THEN TRY_CAST(stats_max_value AS BIGINT) END), sum(stats_null_count)::BIGINT, sum(num_values)::BIGINT
    FROM parquet_metadata('${file}') GROUP BY 1`);
  for (const [name, min, max, absent, values] of told.getRows()) {
    const c = columns.find((x) => x.name === name);
    const missing = c.absent.reduce((a, b) => a + b, 0);
    if (Number(absent) !== missing || Number(values) !== rows) differ(`${name}: ${absent} of ${values} absent, not ${missing} of ${rows}`);
    if (c.type !== 'int' || missing === rows) continue;
    let least = null, most = null;
    for (let k = 0; k < rows; k++) {
      if (c.absent[k]) continue;
      if (least === null || c.bits[k] < least) least = c.bits[k];
      if (most === null || c.bits[k] > most) most = c.bits[k];
    }
    if (min !== least || max !== most) differ(`${name}: said to be ${min} to ${max}, is ${least} to ${most}`);
  }
}

// ---- ClickHouse's rows -------------------------------------------------------------------------------------
function rowbinary(file) {
  const b = fs.readFileSync(file);
  let p = 0;
  for (let at = 0; at < rows; at++) {
    for (const c of columns) {
      if (p >= b.length) differ(`only ${at} rows`);
      if (sameAbsence(c, at, b[p++] === 1)) continue;
      if (c.type !== 'text') {
        sameBits(c, at, b.readBigInt64LE(p));
        p += 8;
        continue;
      }
      let size = 0, shift = 0;
      for (;;) {
        const byte = b[p++];
        size += (byte & 127) * 2 ** shift;
        shift += 7;
        if (byte < 128) break;
      }
      sameText(c, at, b, p, p + size);
      p += size;
    }
  }
  if (p !== b.length) differ(`more than ${rows} rows`);
}

while (files.length) {
  const [reader, file] = files.splice(0, 2);
  compared = 0;
  await { duckdb, wasm, arrow, rowbinary }[reader](file);
  if (compared !== rows * columns.length) differ(`${compared} values compared, not ${rows * columns.length}`);
  console.log(`same: ${compared}, ${reader} of ${path.basename(file)}`);
}
