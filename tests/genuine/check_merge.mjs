// Checks `strobe merge`, and `strobe import ftrace`, with Perfetto's own trace processor:
//
//   texts      ftrace texts of each kind of event, header, layout and fault: the processor reads the text by itself, and
//              the merged and the imported trace. All have equal slices, scheduling slices, states of threads and
//              counters, as far as the processor reads the text; what it reads only from traces has the counts of the
//              table
//   sessions   recordings of equal pids stay apart; traces with equal ids of sequences are both whole; slices say how
//              their thread was scheduled, as the processor's own states of threads do
//
//   node check_merge.mjs TRACE-PROCESSOR-DIR STROBE SCRATCH SESSION OTHER-SESSION LAB-SESSION OTHER-LAB-SESSION
//
// Prints `ok NAME` or `FAIL NAME: ...` for each check; exit status 1 when one failed.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {BAD_STATS, slicesLackStates} from './checks.mjs';
import {TraceProcessor} from './tp.mjs';

const [dir, strobe, scratch, ...sessions] = process.argv.slice(2);
const tp = await TraceProcessor.open(dir);
const file = (name) => path.join(scratch, name);
const merge = (...args) => execFileSync(strobe, ['merge', '-f', '-q', ...args, '-o', file('merged')]);
const importText = () => execFileSync(strobe, ['import', 'ftrace', '-f', '-q', file('text'), '-o', file('imported.perfetto-trace')]);
let failed = false;

function say(name, found) {
  console.log(found.length ? `FAIL ${name}: ${found.slice(0, 5).join('; ')}` : `ok ${name}`);
  failed ||= found.length > 0;
}

function load(bytes, found, what) {
  tp.load(bytes);
  for (const s of tp.query(BAD_STATS)) found.push(`${what}: statistic ${s.name} (${s.severity}) is ${s.value}`);
}

// ---- texts

// The processor computes times of a text in floating point: they may be 1 ns less. A thread whose start is in the text
// (912) has a state, and its process a thread, from the start on only where the processor reads that event: in the trace.
const TABLES = {
  slices: `select ts, dur, name, depth from slice where ifnull(category, '') not in ('irq', 'mm') order by ts, name`,
  sched: `select ts, dur, cpu, end_state, priority, tid from sched_slice join thread using (utid) order by ts, cpu`,
  states: `select ts, dur, t.tid, state, io_wait, blocked_function, w.tid as waker from thread_state s
    join thread t using (utid) left join thread w on w.utid = s.waker_utid where t.tid != 912 order by ts, t.tid`,
  counters: `select ts, value, name from counter join track on track.id = track_id order by ts, name, value`,
  processes: `select tid, pid from thread left join process using (upid) where tid != 912 order by tid`,
};

const rowsOf = () => Object.fromEntries(Object.entries(TABLES).map(([name, sql]) => [name, tp.query(sql)]));
const close = (a, b) => a === b || (typeof a === 'number' && typeof b === 'number' && Math.abs(a - b) <= 2 && a > 1e8);

function differences(raw, made, found) {
  for (const name of Object.keys(TABLES)) {
    if (raw[name].length !== made[name].length)
      found.push(`${made[name].length} ${name}, but ${raw[name].length} in the text`);
    raw[name].forEach((row, i) => {
      const other = made[name][i] ?? {};
      for (const key of Object.keys(row))
        if (!close(row[key], other[key]) && !(key === 'dur' && Math.abs(row[key] - other[key]) <= 2))
          found.push(`${name} ${i}: ${key} is ${other[key]}, but ${row[key]} in the text`);
    });
  }
}

// A line: time in us after a second, thread, processor, event.
const line = (us, who, cpu, event, {tgid = '(   10)', flags = 'd..2', gap = ' '} = {}) =>
  `${who.padStart(16)} ${tgid}${tgid && ' '}[${String(cpu).padStart(3, '0')}]${gap}${flags}${flags && gap}` +
  `100.${String(us).padStart(6, '0')}:${gap}${event}\n`;
const app = (us, event, how) => line(us, 'app-10', 0, event, how);
const swap = (us, cpu, prev, state, next, how) => line(us, `${prev[0]}-${prev[1]}`, cpu, `sched_switch: ` +
  `prev_comm=${prev[0]} prev_pid=${prev[1]} prev_prio=120 prev_state=${state} ==> ` +
  `next_comm=${next[0]} next_pid=${next[1]} next_prio=120`, {tgid: prev[1] ? '(   10)' : '(-----)', ...how});
const idle = ['swapper/0', 0], main = ['app', 10], other = ['Thread-2', 11];
const wake = (us, tid = 11) => app(us, `sched_waking: comm=Thread-2 pid=${tid} prio=120 target_cpu=001`);
const round = (state, how) => swap(100, 0, idle, 'R', main, how) + swap(200, 0, main, state, other, how) +
  wake(250, 10) + swap(300, 0, other, 'S', main, how) + swap(400, 0, main, 'R+', idle, how);
const mark = (us, text, how) => app(us, `tracing_mark_write: ${text}`, how);
const HEAD = '# tracer: nop\n#\n#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION\n';

// Name, text, and rows that only the merged trace has: a query and its count.
const texts = [
  ...['S', 'D', 'R', 'R+', 'T', 't', 'I', 'D|K', 'D|W', 'Z', 'X', 'P', 'x'].map(s => [`a thread leaves in state ${s}`, round(s)]),
  ['wakers', swap(100, 0, idle, 'R', main) + wake(150) + swap(200, 1, ['swapper/1', 0], 'R', other) +
    swap(300, 1, other, 'S', ['swapper/1', 0]) + wake(350) + wake(360) + swap(400, 1, ['swapper/1', 0], 'R', other)],
  ['a blocked reason', swap(100, 0, idle, 'R', main) + swap(200, 0, main, 'D', idle) +
    app(210, 'sched_blocked_reason: pid=10 iowait=1 caller=wait_on_page_bit+0x1/0x2') + wake(250, 10) +
    swap(300, 0, idle, 'R', main)],
  ['a blocked reason without I/O', swap(100, 0, idle, 'R', main) + swap(200, 0, main, 'D', idle) +
    app(210, 'sched_blocked_reason: pid=10 iowait=0 caller=f') + wake(250, 10) + swap(300, 0, idle, 'R', main)],
  ['slices', mark(100, 'B|10|outer') + mark(110, 'B|10|in: ner|x') + mark(120, 'E|10') + mark(130, 'E|10')],
  ['an end without a process', mark(100, 'B|10|outer') + mark(130, 'E')],
  ['a slice that never ends', mark(100, 'B|10|outer') + mark(110, 'B|10|inner') + mark(120, 'E|10')],
  ['counters of a process', mark(100, 'C|10|queue|5') + mark(110, 'C|10|queue|-7') + mark(120, 'C|10|other|1')],
  ['asynchronous slices', mark(100, 'S|10|load|1') + mark(110, 'S|10|load|2') + mark(120, 'F|10|load|1') +
    mark(130, 'F|10|load|2')],
  ['instants', mark(100, 'I|10|now')],
  ['instants of a track', mark(100, 'N|10|track|now')],
  ['slices of a track', mark(100, 'G|10|track|name|5') + mark(110, 'H|10|track|5')],
  ['clock markers', mark(100, 'trace_event_clock_sync: parent_ts=99.5') + mark(101, 'B|10|a') + mark(102, 'E|10')],
  ['event print', app(100, 'print: B|10|a') + app(110, 'print: E|10')],
  ['event 0', app(100, '0: B|10|a') + app(110, '0: E|10')],
  ['frequencies', app(100, 'cpu_frequency: state=1800000 cpu_id=0') + app(110, 'cpu_frequency: state=600000 cpu_id=3')],
  ['idle states', app(100, 'cpu_idle: state=1 cpu_id=0') + app(110, 'cpu_idle: state=4294967295 cpu_id=0')],
  ['clocks', app(100, 'clock_set_rate: bus state=600 cpu_id=0') + app(110, 'clock_enable: bus state=1 cpu_id=0') +
    app(120, 'clock_disable: bus state=0 cpu_id=0')],
  ['temperatures', app(100, 'thermal_temperature: thermal_zone=cpu id=0 temp_prev=40 temp=41')],
  ['cooling devices', app(100, 'cdev_update: type=fan target=2')],
  ['work queues', app(100, 'workqueue_execute_start: work struct 00000010: function vmstat_update') +
    app(110, 'workqueue_execute_end: work struct 00000010')],
  ['binder', app(100, 'binder_transaction: transaction=5 dest_node=6 dest_proc=20 dest_thread=0 reply=0 flags=0x10 code=0x5') +
    line(120, 'b-20', 1, 'binder_transaction_received: transaction=5', {tgid: '(   20)'}) +
    line(130, 'b-20', 1, 'binder_transaction: transaction=7 dest_node=0 dest_proc=10 dest_thread=10 reply=1 flags=0x0 code=0x0',
      {tgid: '(   20)'}) + app(140, 'binder_transaction_received: transaction=7')],
  ['resident memory', app(100, 'rss_stat: size=8192 member=1 curr=1 mm_id=5')],
  ['interrupts', app(100, 'irq_handler_entry: irq=29 name=timer') + app(110, 'irq_handler_exit: irq=29 ret=handled'),
    "slice where category = 'irq'", 1],
  ['soft interrupts', app(100, 'softirq_entry: vec=1 [action=TIMER]') + app(110, 'softirq_exit: vec=1 [action=TIMER]'),
    "slice where category = 'irq'", 1],
  ['other kinds', app(100, 'my_event: a=1') + app(110, 'my_event: a=2') + app(120, 'another:'),
    "ftrace_event where name in ('my_event', 'another')", 3],
  ['block devices', app(100, 'block_rq_issue: 8,0 R 4096 () 100 + 8 [app]') + app(110, 'block_rq_complete: 8,0 R () 100 + 8 [0]'),
    "ftrace_event where name like 'block_rq_%'", 2],
  ['a new thread', app(100, 'task_newtask: pid=912 comm=app clone_flags=3d0f00 oom_score_adj=0') +
    app(110, 'task_rename: pid=912 oldcomm=app newcomm=Render oom_score_adj=0'),
    "thread where tid = 912 and name = 'Render'", 1],
  ['without the column of processes', round('S', {tgid: ''})],
  ['without the column of flags', round('D', {flags: ''})],
  ['without both', round('S', {tgid: '', flags: ''})],
  ['flags of five letters after latency', round('S', {flags: 'dNh3'})],
  ['wide spacing', round('S', {gap: '    '})],
  ['processes that are not known', round('S', {tgid: '(-----)'})],
  ['unknown commands', line(100, '<...>-10', 0, 'tracing_mark_write: B|10|a') + line(110, '<...>-10', 0, 'tracing_mark_write: E|10')],
  ['a command with brackets and dashes', line(100, 'a-b [x] (y)-10', 0, 'tracing_mark_write: B|10|a') +
    line(110, 'a-b [x] (y)-10', 0, 'tracing_mark_write: E|10')],
  ['a command with a blank', swap(100, 0, idle, 'R', ['two words', 12]) + swap(200, 0, ['two words', 12], 'S', idle)],
  ['a last line that is cut off', round('S') + mark(500, 'B|10|never').trimEnd()],
  ['nanoseconds', `app-10 (10) [000] 100.000100123: tracing_mark_write: B|10|a\napp-10 (10) [000] 100.000100987: tracing_mark_write: E|10\n`],
  ['events of processors out of order', swap(300, 1, ['swapper/1', 0], 'R', other) + swap(100, 0, idle, 'R', main) +
    swap(400, 1, other, 'S', ['swapper/1', 0]) + swap(200, 0, main, 'S', idle)],
  ['lines that end with carriage returns', round('S').replaceAll('\n', '\r\n')],
  ['many processors', [...Array(16).keys()].map(i => swap(100 + i, i, [`swapper/${i}`, 0], 'R', [`t${i}`, 100 + i])).join('')],
];

// Compares one file of texts with what the two commands make of it. Returns the faults of each command.
function compare(text, more) {
  const bytes = Buffer.from(HEAD + text), before = [], faults = {};
  fs.writeFileSync(file('text'), bytes);
  merge('--system', file('text'));
  importText();
  load(bytes, before, 'one');
  const raw = rowsOf();
  for (const [command, made] of [['merged', 'merged'], ['imported', 'imported.perfetto-trace']]) {
    const after = [];
    load(fs.readFileSync(file(made)), after, 'one');
    const found = faults[command] = after.filter(f => !before.includes(f)); // where texts meet, switches do not fit one another
    differences(raw, rowsOf(), found);
    for (const [from, count] of more) {
      const n = tp.query(`select count(*) as n from ${from}`)[0].n;
      if (n !== count) found.push(`${n} of ${from}, but ${count} in the text`);
    }
  }
  return faults;
}

// The processor takes most of a millisecond a line to begin and end, so the texts are one file, a second apart, and each
// is a file of its own only with FULL=1. A text that ends in the middle of a line is always alone.
const alone = texts.filter(([, text]) => process.env.FULL || !text.endsWith('\n'));
const joined = texts.filter(t => !alone.includes(t));
for (const [name, text, from, count] of alone)
  for (const [command, found] of Object.entries(compare(text, from ? [[from, count]] : []))) say(`${command} text: ${name}`, found);
if (joined.length) {
  const later = joined.map(([, text], i) => text.replace(/([ \t])100\./g, `$1${100 + i}.`)).join('');
  const wanted = {};
  for (const [, , from, count] of joined) if (from) wanted[from] = (wanted[from] ?? 0) + count;
  const second = (text) => Number(/ is (\d{12})\b/.exec(text)?.[1] ?? 0) / 1e9 - 100;
  for (const [command, found] of Object.entries(compare(later, Object.entries(wanted)))) {
    for (const [i, [name]] of joined.entries())
      say(`${command} text: ${name}`, found.filter(f => Math.floor(second(f)) === i));
    say(`${command} texts together`, found);
  }
}

// ---- sessions

const COUNTS = {
  slices: 'select count(*) as n, sum(dur) as sum from slice where dur > 0',
  instants: 'select count(*) as n, 0 as sum from slice where dur = 0',
  samples: 'select count(*) as n, sum(ts) as sum from perf_sample',
  counters: 'select count(*) as n, sum(value) as sum from counter',
  scheduling: 'select count(*) as n, sum(dur) as sum from sched_slice where dur > 0',
  processes: 'select count(*) as n, 0 as sum from process where pid != 0',
  threads: 'select count(*) as n, 0 as sum from thread_track',
};
const countsOf = () => Object.fromEntries(Object.entries(COUNTS).map(([name, sql]) => [name, tp.query(sql)[0]]));

function counted(name, found) {
  load(fs.readFileSync(file(name)), found, name);
  return countsOf();
}

// `more` slices of whole processes are in a trace of several.
function sums(found, got, parts, lives = 0) {
  for (const name of Object.keys(COUNTS)) {
    const wanted = parts.reduce((n, p) => n + p[name].n, name === 'slices' ? lives : 0);
    if (got[name].n !== wanted) found.push(`${got[name].n} ${name}, but ${wanted} in the parts`);
    const sum = parts.reduce((n, p) => n + p[name].sum, 0);
    if (name !== 'slices' && Math.abs(got[name].sum - sum) > 1e-9 * Math.abs(sum) + 1)
      found.push(`the sum of ${name} is ${got[name].sum}, but ${sum} in the parts`);
  }
}

const parts = [];
{
  const found = [];
  sessions.forEach((session, i) => execFileSync(strobe, ['convert', '-f', '-q', session, '-o', file(`part${i}`)]));
  sessions.forEach((_, i) => parts.push(counted(`part${i}`, found)));
  say('sessions to be merged', parts.every(p => p.slices.n) ? found : [...found, 'one has no slices']);
}
for (const [name, inputs, which, lives] of [
  ['two sessions', sessions.slice(0, 2), [0, 1], 2],
  ['two recordings of one pid at one time', sessions.slice(2), [2, 3], 2],
  ['one session twice', [sessions[0], sessions[0]], [0, 0], 2],
  ['a session and its trace', [sessions[0], file('part0')], [0, 0], 0],
  ['two traces', [file('part1'), file('part0')], [0, 1], 0],
]) {
  const found = [];
  merge(...inputs);
  sums(found, counted('merged', found), which.map(i => parts[i]), lives);
  say(`merged: ${name}`, found);
}

// The scheduling of a session's threads: a text that the threads' own times make, and the processor's states.
{
  const found = [];
  load(fs.readFileSync(file('part2')), found, 'part2');
  const threads = tp.query(`select tid, min(ts) as a, max(ts + dur) as b from slice join thread_track t on t.id = track_id
    join thread using (utid) group by tid order by a`);
  const rows = [];
  const stamp = (ns) => `${Math.floor(ns / 1e9)}.${String(ns % 1e9).padStart(9, '0')}`;
  threads.forEach(({tid, a, b}, cpu) => {
    const to = (at, prev, state, next) => rows.push([at, `x-${prev} (-----) [${String(cpu).padStart(3, '0')}] d..2 ${stamp(at)}: ` +
      `sched_switch: prev_comm=x prev_pid=${prev} prev_prio=120 prev_state=${state} ==> next_comm=x next_pid=${next} next_prio=120`]);
    let at = a - 1000000;
    const step = Math.max(700001, Math.ceil((b - a) / 300));
    // All threads but the first start 5 ms after the scenario's begin.
    const begin = threads[0].a + 2000000;
    if (cpu)
      rows.push([begin, `x-${threads[0].tid} (-----) [${String(cpu).padStart(3, '0')}] d..2 ${stamp(begin)}: ` +
        `task_newtask: pid=${tid} comm=x clone_flags=3d0f00 oom_score_adj=0`]);
    for (let i = 0; at < b; i++) {
      to(at, 0, 'R', tid);
      to(at += step + 1000 * (i % 7), tid, ['S', 'D', 'R'][i % 3], 0);
      if (i % 3 < 2) rows.push([at += 300000, `w-1 (1) [030] d..2 ${stamp(at)}: sched_waking: comm=x pid=${tid} prio=120 target_cpu=000`]);
      at += 50000;
    }
  });
  fs.writeFileSync(file('text'), '# clock: boot\n' + rows.sort((v, w) => v[0] - w[0]).map(r => r[1]).join('\n') + '\n');
  merge(sessions[2], '--system', file('text'));
  load(fs.readFileSync(file('merged')), found, 'merged');
  found.push(...slicesLackStates(tp, ['running', 'sleeping', 'uninterruptible', 'runnable']));
  say('merged: slices say how their thread was scheduled', found);
  const twice = tp.query(`select tid, count(*) as n from thread where tid in (${threads.map(t => t.tid)}) group by tid having n > 1`);
  const apart = tp.query(`select tid from thread where utid in (select utid from thread_track join slice on track_id = thread_track.id)
    and utid not in (select utid from sched_slice)`);
  say('merged: a thread that begins in the middle is one thread in slices and scheduling', threads.length < 2 ? ['one thread only'] :
    [...twice.map(t => `${t.n} threads ${t.tid}`), ...apart.map(t => `thread ${t.tid} is never scheduled`)]);
}
if (failed) process.exitCode = 1;
