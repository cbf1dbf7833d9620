// Checks, with Perfetto's own trace processor, that a trace of the album scenario in a genuine Android runtime shows
// what an app's developer would look for.
//
//   node check_runtime.mjs TRACE-PROCESSOR-DIR TRACE
//
// Prints `ok NAME` or `FAIL NAME: ...` a check; exit status 1 when any failed.
import fs from 'node:fs';
import {BAD_STATS} from './checks.mjs';
import {TraceProcessor} from './tp.mjs';

const [dir, trace] = process.argv.slice(2);
const tp = await TraceProcessor.open(dir);
tp.load(fs.readFileSync(trace));
let bad = false;

function say(name, holds, otherwise) {
  console.log(holds ? `ok ${name}` : `FAIL ${name}: ${otherwise}`);
  bad ||= !holds;
}

// At least so many rows: the trace has the slice, counter or flow. How many of them a run on real threads has depends on
// when the threads run; tests/contract_art and tests/virtual count them.
function has(name, least, sql) {
  const rows = tp.query(sql).length;
  say(name, rows >= least, `${rows} rows, expected at least ${least}`);
}

// Slices of waits of that kind, woken by a flow from another thread.
const woken = (wait) => `select distinct w.id from flow f
  join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in join slice w on w.id = i.parent_id
  join thread_track ot on ot.id = o.track_id join thread_track it on it.id = i.track_id
  where w.name = '${wait}' and ot.utid != it.utid`;

say('the trace is read without a fault', tp.query(BAD_STATS).length === 0, JSON.stringify(tp.query(BAD_STATS)));
for (const method of ['void Cache.put(long)', 'void Codec.decode(long)', 'void Frame.draw(long)'])
  has(`slices are named ${method}`, 1, `select id from slice where name = '${method}' and dur > 0`);
has('a method is within its caller', 1, `select c.id from slice c join ancestor_slice(c.id) a
  where c.name = 'void Codec.decode(long)' and a.name = 'void Decoder.run(long)'`);
has('managed memory is counted', 1, `select distinct c.value from counter c join thread_counter_track t
  on t.id = c.track_id where t.name = 'allocated bytes' and c.value > 0`);
has('collections are shown', 1, `select id from slice where name = '[gc wait]' and dur > 0`);
has('sleeps are shown', 1, `select id from slice where name = '[sleep]' and dur > 1000000`);
has('waits for monitors have flows from their wakers', 1, woken('[monitor wait]'));
has('waits to be notified have flows from their wakers', 1, woken('[cond wait]'));
has('parks have flows from their wakers', 1, woken('[park wait]'));
has('threads have their names', 7, `select name from thread where name in ('main', 'input', 'meter', 'decoder-1',
  'decoder-2', 'decoder-3', 'HeapTaskDaemon')`);
process.exitCode ||= bad ? 1 : 0;
