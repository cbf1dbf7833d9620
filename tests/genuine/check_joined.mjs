// Checks with Perfetto's own trace processor that traces can be joined end to end, and that a trace of several processes
// has a track for each. The earlier trace comes first: the processor takes no clock that goes back.
//
//   node check_joined.mjs TRACE-PROCESSOR-DIR TRACE TRACE MERGED PROCESSES
//
// Prints `ok NAME` or `FAIL NAME: ...` for each check; exit status 1 when one failed.
import fs from 'node:fs';
import {BAD_STATS} from './checks.mjs';
import {TraceProcessor} from './tp.mjs';

const [dir, ...paths] = process.argv.slice(2);
const [a, b, merged] = paths.slice(0, 3).map(path => fs.readFileSync(path));
const processes = Number(paths[3]);
const COUNTS = {
  slices: 'select count(*) as n from slice where dur > 0',
  'slices that never end': 'select count(*) as n from slice where dur < 0',
  samples: 'select count(*) as n from perf_sample',
  threads: 'select count(*) as n from thread_track join thread using (utid)',
  'thread counters': 'select count(*) as n from counter join thread_counter_track t on t.id = counter.track_id',
  processes: "select count(distinct upid) as n from process join process_track using (upid)",
};
let failed = false;

async function counts(bytes, found) {
  const tp = await TraceProcessor.open(dir);
  tp.load(bytes);
  for (const s of tp.query(BAD_STATS)) found.push(`statistic ${s.name} (${s.severity}) is ${s.value}`);
  return [tp, Object.fromEntries(Object.entries(COUNTS).map(([name, sql]) => [name, tp.query(sql)[0].n]))];
}

function say(name, found) {
  console.log(found.length ? `FAIL ${name}: ${found.join('; ')}` : `ok ${name}`);
  failed ||= found.length > 0;
}

const alone = [];
const [, first] = await counts(a, alone);
const [, second] = await counts(b, alone);
say('traces to be joined', first.slices && second.slices ? alone : [...alone, 'one of them has no slices']);
const together = [];
const [, both] = await counts(Buffer.concat([a, b]), together);
for (const what of Object.keys(COUNTS))
  if (both[what] !== first[what] + second[what])
    together.push(`${both[what]} ${what}, but ${first[what]} and ${second[what]} alone`);
say('joined traces', together);

const found = [];
const [tp, all] = await counts(merged, found);
if (all.processes !== processes) found.push(`${all.processes} processes, but ${processes} were recorded`);
if (all['slices that never end']) found.push(`${all['slices that never end']} slices never end`);
const lives = tp.query(`select p.pid, p.name, p.start_ts as begin, s.ts, s.dur from slice s join process_track t on
  t.id = s.track_id join process p using (upid) where t.name = 'process'`);
if (lives.length !== processes) found.push(`${lives.length} slices of whole processes`);
for (const life of lives)
  if (!life.name || life.begin !== life.ts || life.dur <= 0) found.push(`process ${life.pid}: ${JSON.stringify(life)}`);
const again = tp.query(`select group_concat(p.name, ', ') as names, group_concat(t.name, ', ') as threads from process p
  join thread t using (upid) where t.is_main_thread group by p.pid having count(*) > 1 order by p.upid`);
if (!again.some(pid => pid.names === 'bash, sort' && pid.threads === 'bash, sort'))
  found.push(`programs with one pid: ${JSON.stringify(again)}`);
say('a track for each process', found);
process.exitCode ||= failed ? 1 : 0;
