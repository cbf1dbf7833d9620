// Checks the scheduling that a session of `strobe record --sched` brings to its trace, with Perfetto's own trace processor.
//
//   node check_sched.mjs TRACE-PROCESSOR-DIR STROBE SCRATCH SESSION PROGRAM'S-OUTPUT FED
//
// The session is of tests/sched/turns.c, whose output says the threads' ids. FED is one of `head`, which reads lines that
// bash writes. Prints `ok NAME` or `FAIL NAME: ...` for each
// check; exit status 1 when one failed.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {BAD_STATS, slicesLackStates} from './checks.mjs';
import {TraceProcessor} from './tp.mjs';

const [dir, strobe, scratch, session, output, fed] = process.argv.slice(2);
const tp = await TraceProcessor.open(dir);
const file = (name) => path.join(scratch, name);
const work = JSON.parse(fs.readFileSync(output));
const report = JSON.parse(execFileSync(strobe, ['report', '--json', session], {maxBuffer: 1 << 26}));
const of = (row) => report.scheduling.threads.find(t => t.tid === row.tid);

function say(name, found) {
  console.log(found.length ? `FAIL ${name}: ${found.slice(0, 5).join('; ')}` : `ok ${name}`);
  if (found.length) process.exitCode = 1;
}

function load(name, found) {
  tp.load(fs.readFileSync(file(name)));
  for (const s of tp.query(BAD_STATS)) found.push(`statistic ${s.name} (${s.severity}) is ${s.value}`);
}

const STATES = `select t.tid, sum(iif(state = 'Running', dur, 0)) as running_ns, sum(iif(state in ('R', 'R+'), dur, 0)) as runnable_ns,
  sum(iif(state = 'S', dur, 0)) as sleeping_ns, sum(state = 'Running') as runs from thread_state
  join thread t using (utid) where t.tid != 0 and dur > 0 group by t.tid order by t.tid`;

// The trace has the threads' whole lives, the report the part of them that is in the session. An event at the begin or
// the end of this part counts in the report only.
function states(found) {
  const states = tp.query(
    'select t.tid, state, ts, dur from thread_state join thread t using (utid) where t.tid != 0 and dur > 0');
  const {threads} = report.scheduling;
  if (threads.length < 2) found.push(`${threads.length} threads are in the report`);
  for (const reported of threads) {
    const begin = report.begin_ns + reported.begin_ns, end = begin + reported.wall_ns;
    const rows = states.filter(s => s.tid === reported.tid && s.ts < end && s.ts + s.dur > begin);
    const ns = (names) => rows.filter(s => names.includes(s.state))
      .reduce((sum, s) => sum + Math.min(s.ts + s.dur, end) - Math.max(s.ts, begin), 0);
    for (const [key, names] of [['running_ns', ['Running']], ['runnable_ns', ['R', 'R+']], ['sleeping_ns', ['S']]])
      if (ns(names) !== reported[key])
        found.push(`${key} of ${reported.tid} is ${ns(names)}, but ${reported[key]} in the report`);
    const left = rows.filter(s => s.state === 'Running' && s.ts + s.dur < end).length;
    if (!(left === reported.switches || left === reported.switches - 1))
      found.push(`${reported.tid} left its processor ${left} times, but ${reported.switches} times in the report`);
  }
}

{
  const found = [];
  execFileSync(strobe, ['convert', '-f', '-q', session, '-o', file('sched.perfetto-trace')]);
  load('sched.perfetto-trace', found);
  states(found);
  found.push(...slicesLackStates(tp, ['running', 'sleeping']));
  say(`scheduling of a session: states (${report.scheduling.source})`, found);
}
if (report.scheduling.source === 'tracepoints') {
  const found = [], reported = of(work.second), {woken} = work.second;
  const wakes = tp.query(`select s.ts, w.tid as waker from thread_state s join thread t using (utid)
    join thread w on w.utid = s.waker_utid where t.tid = ${work.second.tid}`);
  // Beyond the waits that the program counts, the first thread has created the second one, and may have woken it once
  // more. Of a waker in an interrupt, trace processor shows the thread that was interrupted.
  const byFirst = wakes.filter(w => w.waker === work.first.tid).length;
  if (byFirst < woken || byFirst > woken + 2) found.push(`woken ${byFirst} times by the first thread, expected ${woken}`);
  const begin = report.begin_ns + reported.begin_ns;
  const inPart = wakes.filter(w => w.ts >= begin && w.ts < begin + reported.wall_ns).length;
  if (inPart !== reported.wakes) found.push(`${inPart} wake-ups, but ${reported.wakes} in the report`);
  say('scheduling of a session: the waker of a raw futex', found);
}
if (report.scheduling.source === 'tracepoints') {
  const found = [];
  execFileSync(strobe, ['convert', '-f', '-q', fed, '-o', file('sched-fed.perfetto-trace')]);
  load('sched-fed.perfetto-trace', found);
  const wakers = tp.query(`select w.name, count() as wakes from thread_state s join thread t using (utid)
    join thread w on w.utid = s.waker_utid where t.name = 'head' group by w.name order by wakes desc`);
  if (wakers[0]?.name !== 'bash') found.push(`wakers ${JSON.stringify(wakers)}`);
  say('scheduling of a session: the name of a waker of another process', found);
}
{
  const found = [];
  execFileSync(strobe, ['merge', '-f', '-q', session, '-o', file('sched-merged')]);
  load('sched.perfetto-trace', found);
  const rows = JSON.stringify(tp.query(STATES));
  load('sched-merged', found);
  if (JSON.stringify(tp.query(STATES)) !== rows) found.push('other states than in the trace');
  found.push(...slicesLackStates(tp, ['running', 'sleeping']));
  say('scheduling of a session: merged', found);
}
{
  // A trace of the system counts alone: two switches at one time would contradict each other.
  const found = [], at = tp.query('select min(ts) as ts from slice')[0].ts;
  const stamp = (ns) => `${Math.floor(ns / 1e9)}.${String(ns % 1e9).padStart(9, '0')}`;
  const text = (ns, prev, state, next) => `x-${prev} (-----) [000] d..2 ${stamp(ns)}: sched_switch: prev_comm=x prev_pid=${prev} ` +
    `prev_prio=120 prev_state=${state} ==> next_comm=x next_pid=${next} next_prio=120\n`;
  fs.writeFileSync(file('sched-text'), '# clock: boot\n' + text(at + 1000, 0, 'R', work.first.tid) +
    text(at + 501000, work.first.tid, 'S', 0));
  execFileSync(strobe, ['merge', '-f', '-q', session, '--system', file('sched-text'), '-o', file('sched-merged')]);
  load('sched-merged', found);
  const rows = tp.query(STATES);
  if (rows.length !== 1 || rows[0].running_ns !== 500000 || rows[0].runs !== 1) found.push(`states ${JSON.stringify(rows)}`);
  say("scheduling of a session: left out beside the system's", found);
}
{
  const found = [];
  const quarter = Math.floor(report.wall_ns / 4e6); // in ms
  execFileSync(strobe, ['convert', '-f', '-q', '--from', `${quarter}ms`, '--to', `${3 * quarter}ms`, session, '-o',
    file('sched-part.perfetto-trace')]);
  load('sched-part.perfetto-trace', found);
  const {span} = tp.query('select max(ts) - min(ts) as span from sched_slice')[0];
  if (!(span > 0 && span <= 2e6 * quarter)) found.push(`scheduling of ${span} ns of ${2 * quarter} ms`);
  say('scheduling of a session: a part of the time', found);
}
