// A truth trace, read by Perfetto's own trace processor, holds each call that the score counts, on a track of its thread.
//
//   node check_truth.mjs TRACE-PROCESSOR-DIR FOLDER     FOLDER: as `strobe run -o` leaves it
import fs from 'node:fs';
import path from 'node:path';
import {TraceProcessor} from '../genuine/tp.mjs';

const [dir, folder] = process.argv.slice(2);
const score = JSON.parse(fs.readFileSync(path.join(folder, 'score.json'), 'utf8'));
const tp = await TraceProcessor.open(dir);
tp.load(fs.readFileSync(path.join(folder, 'truth.pftrace')));
const faults = tp.query(`select name, value from stats where value != 0 and severity in ('error', 'data_loss')`)
  .map((s) => `statistic ${s.name} is ${s.value}`);

const slices = Object.fromEntries(tp.query(`select s.name as name, count(*) as n from slice s
  join thread_track t on t.id = s.track_id where s.dur >= 0 and s.name not in ('release', 'woken') group by s.name`)
  .map((row) => [row.name, row.n]));
for (const method of score.methods)
  if (slices[method.name] !== method.calls)
    faults.push(`${method.name}: ${slices[method.name]} slices of ${method.calls} calls`);
const known = new Set(score.methods.map((method) => method.name));
for (const name of Object.keys(slices)) if (!known.has(name)) faults.push(`${name} is not scored`);

const names = tp.query('select thread.name as name from thread_track join thread using (utid)').map((row) => row.name);
const expected = score.threads.map((thread) => thread.name);
if (names.sort().join() !== expected.sort().join()) faults.push(`threads are ${names}, expected ${expected}`);
if (!tp.query('select count(*) as n from flow')[0].n) faults.push('no arrow leads from a waker to who waited');
for (const fault of faults.slice(0, 5)) console.log(fault);
process.exit(faults.length ? 1 : 0);
