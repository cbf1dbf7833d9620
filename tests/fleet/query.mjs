// Runs statements of SQL with DuckDB, in memory. Results that the statements copy to files are all that is left.
//
//   node query.mjs DUCKDB-DIR FILE.sql
//
// Statements end with a semicolon at the end of a line. Exit status 1 with DuckDB's message when one fails.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [dir, file] = process.argv.slice(2);
const duckdb = createRequire(import.meta.url)(path.resolve(dir, 'duckdb.node'));
const connection = await duckdb.connect(await duckdb.open(':memory:'));
try {
  for (const statement of fs.readFileSync(file, 'utf8').split(/;\s*\n/))
    if (statement.trim()) await duckdb.query(connection, statement);
} catch (error) {
  console.log(error.message);
  process.exit(1);
}
