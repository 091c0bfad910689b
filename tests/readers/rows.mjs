// Prints what Arrow's readers have of a file, as JSON: {"types": {column: type}, "rows": [{column: value}]}.
//     node rows.mjs arrow|wasm FILE
// Times are microseconds since 1970; other integers of 64 bits are numbers, too.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , reader, file] = process.argv;
const require = createRequire(path.resolve(process.env.PL_NPM, 'x.js'));
const load = async (name) => await import(pathToFileURL(require.resolve(name)));
const a = await load('apache-arrow');

if (reader === 'arrow') {
  const fzstd = await load('fzstd');
  const lz4 = await load('lz4js');
  a.compressionRegistry.set(a.CompressionType.ZSTD, { decode: (b) => fzstd.decompress(b).slice() });
  a.compressionRegistry.set(a.CompressionType.LZ4_FRAME, { decode: (b) => (lz4.default ?? lz4).decompress(b) });
}
const data = fs.readFileSync(file);
const table = a.tableFromIPC(reader === 'arrow' ? data : require('parquet-wasm').readParquet(data).intoIPCStream());
const types = {};
const rows = Array.from({ length: table.numRows }, () => ({}));
table.schema.fields.forEach((field, c) => {
  const type = a.DataType.isDictionary(field.type) ? field.type.dictionary : field.type;
  const time = a.DataType.isTimestamp(type);
  types[field.name] = time ? 'Timestamp' : String(type);
  const column = table.getChildAt(c);
  rows.forEach((row, i) => {
    const value = column.get(i);
    // the reader gives times as milliseconds
    row[field.name] = value === null ? null : time ? Math.round(Number(value) * 1000) :
      typeof value === 'bigint' ? Number(value) : value;
  });
});
console.log(JSON.stringify({ types, rows }));
