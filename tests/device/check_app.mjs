// Checks, with Perfetto's own trace processor, that a trace of the app (app.c) shows what an app's developer would look
// for.
//
//   node check_app.mjs TRACE-PROCESSOR-DIR TRACE [--system]
//
// --system: the trace has the scheduling of the system, too.
// Prints `ok NAME` or `FAIL NAME: ...` a check; exit status 1 when any failed.
import fs from 'node:fs';
import {BAD_STATS} from '../genuine/checks.mjs';
import {TraceProcessor} from '../genuine/tp.mjs';

const [dir, trace, ...options] = process.argv.slice(2);
const tp = await TraceProcessor.open(dir);
tp.load(fs.readFileSync(trace));
let bad = false;

function say(name, holds, otherwise) {
  console.log(holds ? `ok ${name}` : `FAIL ${name}: ${otherwise}`);
  bad ||= !holds;
}

function has(name, sql) {
  say(name, tp.query(sql).length > 0, 'no row');
}

const stats = tp.query(BAD_STATS);
say('the trace is read without a fault', stats.length === 0, JSON.stringify(stats));
has('the process has the name of its package', "select pid from process where name = 'com.example.app'");
for (const method of ['void Main.contend(int)', 'int Main.busy(int)', 'void Main.waitMs(long)'])
  has(`slices are named ${method}`, `select id from slice where name = '${method}' and dur > 0`);
has('a method is within its caller', `select c.id from slice c join ancestor_slice(c.id) a
  where c.name = 'int Main.busy(int)' and a.name = 'void Main.contend(int)'`);
has('a wait is within the method that waits', `select c.id from slice c join ancestor_slice(c.id) a
  where c.name = '[cond wait]' and c.dur > 1000000 and a.name = 'void Main.waitMs(long)'`);
has('both threads wait for the monitor, each woken by the other', `select min(it.utid) from flow f
  join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in join slice w on w.id = i.parent_id
  join thread_track ot on ot.id = o.track_id join thread_track it on it.id = i.track_id
  where w.name = '[monitor wait]' and ot.utid != it.utid having count(distinct it.utid) = 2`);
has('sections are slices of the two threads that reported them', `select n from (select count(distinct t.utid) n from
  slice s join thread_track t on t.id = s.track_id
  where s.category = 'section' and s.name = 'a turn' and s.dur > 0) where n = 2`);
if (options.includes('--system')) {
  const own = "select distinct utid from slice join thread_track t on t.id = track_id where slice.name = 'a turn'";
  has('the scheduling of both threads is there', `select n from (select count(distinct utid) n from sched
    where utid in (${own})) where n = 2`);
  // With clocks that are 20 ms apart, a third of the waits would end so by chance.
  const [waits] = tp.query(`select count(*) n, sum(exists(select 1 from sched s where s.utid = t.utid
      and s.ts between w.ts + w.dur * 3 / 4 and w.ts + w.dur)) ended
    from slice w join thread_track t on t.id = w.track_id where w.name = '[cond wait]' and w.dur > 2000000`);
  say('a thread gets a processor when its wait ends', waits.n >= 10 && waits.ended * 3 >= waits.n * 2,
    JSON.stringify(waits));
}
const anonymous = tp.query("select name from slice where name like '0x%'");
say('each managed method has its name', anonymous.length === 0, JSON.stringify(anonymous.slice(0, 3)));
process.exit(bad ? 1 : 0);
