// A Parquet file as DuckDB writes the same table, packed by zstd: node rewrite.mjs FROM TO
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , from, to] = process.argv;
const require = createRequire(path.resolve(process.env.PL_NPM, 'x.js'));
const { DuckDBInstance } = await import(pathToFileURL(require.resolve('@duckdb/node-api')));
const connection = await (await DuckDBInstance.create(':memory:')).connect();
await connection.run(`COPY (FROM read_parquet('${from}')) TO '${to}' (FORMAT parquet, COMPRESSION zstd)`);
