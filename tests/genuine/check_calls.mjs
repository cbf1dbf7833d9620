// Checks a trace of `strobe record --method` with Perfetto's own trace processor: as many slices of each function as the
// program counted calls, and no errors.
//
//   node check_calls.mjs TRACE-PROCESSOR-DIR TRACE COUNTED     COUNTED: lines `NAME COUNT`, see tests/record/calls.c
//
// Prints `ok NAME` or `FAIL NAME: ...`; exit status 1 when it failed.
import fs from 'node:fs';
import {TraceProcessor} from './tp.mjs';

const [dir, trace, counted] = process.argv.slice(2);
const tp = await TraceProcessor.open(dir);
const found = [];
tp.load(fs.readFileSync(trace));
const calls = new Map(tp.query('select name, count(*) as n from slice group by name').map(r => [r.name, r.n]));
const lines = fs.readFileSync(counted, 'utf8').trim().split('\n').map(line => line.split(' '));
for (const [name, count] of lines)
  if ((calls.get(name) ?? 0) !== Number(count)) found.push(`${name}: ${calls.get(name)} slices, but ${count} calls`);
if (lines.length < 10) found.push('the program has not counted');
for (const row of tp.query(`select name, value from stats where severity in ('error', 'data_loss') and value > 0`))
  found.push(`${row.name} is ${row.value}`);
console.log(found.length ? `FAIL calls as counted: ${found.join('; ')}` : 'ok calls as counted');
process.exitCode ||= found.length ? 1 : 0;
