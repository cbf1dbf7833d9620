// Checks what `strobe import` makes with Perfetto's own trace processor: one capture, written in several forms, is the
// same slices, counters and asynchronous slices in each, which are those that the capture holds.
//
//   node check_import.mjs TRACE-PROCESSOR-DIR STROBE FIXTURES SCRATCH
//
// The forms: Perfetto, the same deflated, Chrome's JSON, ftrace text (which the processor reads by itself), and
// Perfetto again by way of a log of btrace 2.0, which has calls only. Captures of samples and method
// traces are loaded without a fault and have a known method's time. Prints `ok NAME` or `FAIL NAME: ...` a form and policy;
// exit status 1 when any failed.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {BAD_STATS, cutBytes} from './checks.mjs';
import {TraceProcessor} from './tp.mjs';

const [dir, strobe, fixtures, scratch] = process.argv.slice(2);
const tp = await TraceProcessor.open(dir);
const begin = 105972000000000;
const shop = 'com.example.shop.';

// Thread, method, begin and duration in us, depth; Cart.parse and onResume end as the policy says.
const calls = (parse, resume) => [
  [2716, `${shop}MainActivity.onCreate`, 100, 900, 0], [2716, 'inflate', 250, 250, 1],
  [2716, 'read: /data/app/shop, new/base.apk,offset: 4096, size: 8192', 300, 120, 2],
  [2716, `${shop}Cart.load`, 600, 200, 1],
  [2716, `${shop}Cart.parse`, 650, parse, 2], [2716, `${shop}Json.next`, 700, 10, 3],
  [2733, `${shop}Api.get|prices`, 810, 90, 0], [2716, `${shop}MainActivity.onResume`, 950, resume, 1]];
const policies = {last: calls(60, 0), enclosing: calls(150, 50)};
const others = ['first frame@830+370', 'heap kB@820=18240', 'heap kB@980=17900'];

const us = ns => Math.floor(ns / 1000);   // a call of no time lasts a ns
const run = (...args) => execFileSync(strobe, ['import', ...args, '-q', '-f']);

function faults(file, expected, onlyCalls) {
  const bytes = fs.readFileSync(file), found = [];
  if (file.endsWith('-trace') && cutBytes(bytes)) found.push('no whole packet at the end');
  tp.load(bytes);
  for (const s of tp.query(BAD_STATS)) found.push(`statistic ${s.name} is ${s.value}`);
  const slices = tp.query(`select tid, s.name, ts, dur, depth from slice s join thread_track t on t.id = s.track_id
    join thread using (utid) order by ts, depth`)
    .map(r => [r.tid, r.name, us(r.ts - begin), us(r.dur), r.depth].join(' '));
  const marks = [
    ...tp.query(`select name, ts, dur from slice where track_id not in (select id from thread_track) order by name`)
      .map(r => `${r.name}@${us(r.ts - begin)}+${us(r.dur)}`),
    ...tp.query(`select t.name, ts, value from counter c join process_counter_track t on t.id = c.track_id order by ts`)
      .map(r => `${r.name.replace(/ value$/, '')}@${us(r.ts - begin)}=${r.value}`)];
  const differ = (what, a, b) => {
    for (let i = 0; i < Math.max(a.length, b.length); i++)
      if (a[i] !== b[i]) found.push(`${what} ${i} is ${a[i]}, but should be ${b[i]}`);
  };
  differ('slice', slices, expected.map(c => c.join(' ')));
  differ('mark', marks, onlyCalls ? [] : others);
  return found;
}

let bad = 0;
function check(name, file, expected, onlyCalls = false) {
  let found;
  try {
    found = faults(file, expected, onlyCalls);
  } catch (error) {
    found = [error.message];
  }
  console.log(found.length ? `FAIL import ${name}: ${found.slice(0, 5).join('; ')}` : `ok import ${name}`);
  bad |= found.length;
}

for (const [policy, expected] of Object.entries(policies)) {
  const text = `${fixtures}/rheatrace.ftrace`, file = ending => `${scratch}/import-${policy}${ending}`;
  for (const ending of ['.perfetto-trace', '.json', '.ftrace']) {
    run('ftrace', text, '--repair', policy, '-o', file(ending));
    check(`${policy}${ending}`, file(ending), expected);
  }
  run('ftrace', text, '--repair', policy, '--deflate', '-o', file('-deflated.perfetto-trace'));
  check(`${policy}, deflated`, file('-deflated.perfetto-trace'), expected);
  run('ftrace', text, '--repair', policy, '-o', file('.btrace2'));
  run('btrace2', file('.btrace2'), '--mapping', file('.btrace2.mapping'), '-o', file('-log.perfetto-trace'));
  const mapped = expected.map(([tid, name, ...rest]) => [tid, name.startsWith('read:') ?
    'read:__data_app_shop__new_base.apk_offset:_4096__size:_8192~3' : name, ...rest]);
  check(`${policy}, by way of a log`, file('-log.perfetto-trace'), mapped, true);
}

// Captures of samples, with the total length in us of one method.
const captures = [
  ['art-trace', 'shop.trace', 'com.example.shop.Api.get(I)V', 3800],
  ['btrace3', 'notify.btrace3', 'waiter_run', 102398],
  ['btrace-ios', 'shop.btrace-ios', 'Lab+0x100000b11', 5240],
  ['collapsed', 'shop.collapsed', 'Json.parse', 41000],
  ['gecko', 'page.gecko.json', 'Renderer::Update', 1500],
  ['instruments', 'shop.instruments.xml', 'Json.parse(_:)', 1500],
  ['perf', 'perf.txt', 'work', 49073],
  ['simpleperf', 'shop.simpleperf', 'com.example.shop.Cart.load', 25000]];
for (const [kind, source, method, total] of captures) {
  const file = `${scratch}/import-${kind}.perfetto-trace`, found = [];
  run(kind, `${fixtures}/${source}`, '-o', file);
  tp.load(fs.readFileSync(file));
  for (const s of tp.query(BAD_STATS)) found.push(`statistic ${s.name} is ${s.value}`);
  const sum = us(tp.query(`select sum(dur) as sum from slice where name = '${method}'`)[0].sum);
  if (sum !== total) found.push(`${method} takes ${sum} us, but should take ${total}`);
  console.log(found.length ? `FAIL import ${kind}: ${found.join('; ')}` : `ok import ${kind}`);
  bad |= found.length;
}
process.exitCode ||= bad ? 1 : 0;
