// Checks traces with Perfetto's own trace processor against what their writer says it wrote.
//
//   node check_trace.mjs TRACE-PROCESSOR-DIR WROTE.json     WROTE.json: array of objects as make_traces prints them
//
// Prints `ok NAME` or `FAIL NAME: ...` a trace; exit status 1 when any failed.
import fs from 'node:fs';
import path from 'node:path';
import {cutBytes, faults} from './checks.mjs';
import {TraceProcessor} from './tp.mjs';

const [dir, list] = process.argv.slice(2);
const tp = await TraceProcessor.open(dir);
let bad = 0;
for (const wrote of JSON.parse(fs.readFileSync(list, 'utf8'))) {
  const name = path.basename(wrote.trace);
  if (name.endsWith('.speedscope.json')) continue;
  const bytes = fs.readFileSync(wrote.trace);
  const found = [];
  if (bytes.length !== wrote.bytes) found.push(`${bytes.length} bytes, but the writer wrote ${wrote.bytes}`);
  if (!name.endsWith('.json') && cutBytes(bytes)) found.push(`${cutBytes(bytes)} bytes at the end are no whole packet`);
  try {
    tp.load(bytes);
    found.push(...faults(tp, wrote));
  } catch (error) {
    found.push(error.message);
  }
  console.log(found.length ? `FAIL ${name}: ${found.join('; ')}` : `ok ${name}`);
  bad |= found.length;
}
process.exitCode ||= bad ? 1 : 0;
