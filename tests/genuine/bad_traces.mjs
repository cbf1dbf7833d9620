// Shows that the checks of checks.mjs bite: small traces, each with one fault, must each be found faulty, and the one
// without must not.
//
//   node bad_traces.mjs TRACE-PROCESSOR-DIR
import {cutBytes, faults} from './checks.mjs';
import {TraceProcessor} from './tp.mjs';

const varint = (n) => {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  bytes.push(Number(n));
  return Buffer.from(bytes);
};
const uint = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const message = (field, ...parts) => {
  const body = Buffer.concat(parts.map((x) => (typeof x === 'string' ? Buffer.from(x) : x)));
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};
const packet = (...parts) => message(1, ...parts);

const BEGIN = 1, END = 2, COUNTER = 4, TRACK = 101, PID = 7;
const process_ = packet(uint(10, 1), message(60, uint(1, 100), message(3, uint(1, PID), message(6, 'app'))));
const thread = packet(uint(10, 1), message(60, uint(1, TRACK), uint(5, 100),
  message(4, uint(1, PID), uint(2, PID), message(5, 'main'))));
const state = packet(uint(10, 1), uint(13, 1), uint(87, 1), uint(8, 1000), message(12, message(2, uint(1, 1),
  message(2, 'foo'))));
const event = (ts, type, ...parts) =>
  packet(uint(10, 1), uint(13, 2), uint(8, ts), message(11, uint(9, type), uint(11, TRACK), ...parts));
const named = uint(10, 1);
const slice = [event(2000, BEGIN, named), event(3000, END)];
const head = [process_, thread, state];

const good = {threads: 1, slices: 1, instants: 0, counter_values: 0, process_values: 0, hitches: 0, samples: 0, pid: PID};
const traces = {
  good: [...head, ...slice],
  'an end without a begin': [...head, event(2000, END)],
  'a begin without an end': [...head, ...slice, event(4000, BEGIN, named)],
  'a name that is not in the dictionary': [...head, event(2000, BEGIN, uint(10, 9)), event(3000, END)],
  'a sequence whose state is never cleared': [process_, thread, ...slice],
  'an event on a track that nothing describes': [...head,
    packet(uint(10, 1), uint(13, 2), uint(8, 2000), message(11, uint(9, BEGIN), uint(11, 555), named)),
    packet(uint(10, 1), uint(13, 2), uint(8, 3000), message(11, uint(9, END), uint(11, 555)))],
  'a thread of another process': [process_, packet(uint(10, 1), message(60, uint(1, TRACK), uint(5, 100),
    message(4, uint(1, 8), uint(2, 8), message(5, 'main')))), state, ...slice],
  'a stack that is not in the dictionary': [...head, ...slice,
    packet(uint(10, 1), uint(13, 2), uint(8, 2000), message(66, uint(2, PID), uint(3, PID), uint(4, 77)))],
  'a sample without a stack': [...head, ...slice,
    packet(uint(10, 1), uint(13, 2), uint(8, 2000), message(66, uint(2, PID), uint(3, PID)))],
  'a sample at a time when its thread shows nothing': [...head, ...slice, packet(uint(10, 1), uint(13, 2),
    message(12, message(5, uint(1, 1), message(2, 'foo')), message(17, uint(1, 1), message(2, '/a')),
      message(16, uint(1, 1), message(2, '')), message(19, uint(1, 1), uint(2, 1), uint(5, 4096), uint(7, 1)),
      message(6, uint(1, 1), uint(2, 1), uint(3, 1)), message(7, uint(1, 1), uint(2, 1)))),
    packet(uint(10, 1), uint(13, 2), uint(8, 9000), message(66, uint(2, PID), uint(3, PID), uint(4, 1)))],
  'a clock that nothing sets': [...head, ...slice,
    packet(uint(10, 1), uint(13, 2), uint(58, 64), uint(8, 4000), message(11, uint(9, BEGIN), uint(11, TRACK), named))],
  'more counter values than tracks': [...head, event(2000, BEGIN, named, uint(12, 5)), event(3000, END)],
  'a counter on a track of slices': [...head, ...slice, event(4000, COUNTER, uint(30, 5))],
  'a hitch that the writer did not write': [...head, ...slice,
    packet(uint(10, 1), message(60, uint(1, 9), uint(5, 100), message(2, 'late'))),
    event(5000, BEGIN, uint(11, 9), message(23, 'hitch')), event(6000, END, uint(11, 9))],
  'one slice too few': [...head],
  'one slice too many': [...head, ...slice, event(4000, BEGIN, named), event(5000, END)],
  'an empty slice': [...head, event(2000, BEGIN, named), event(2000, END)],
  'a cut file': [...head, ...slice, packet(uint(10, 1)).subarray(0, 2)],
};

const tp = await TraceProcessor.open(process.argv[2]);
let bad = 0;
for (const [name, packets] of Object.entries(traces)) {
  const bytes = Buffer.concat(packets);
  let found = [];
  try {
    tp.load(bytes);
    found = faults(tp, good);
  } catch (error) {
    found = [error.message];
  }
  if (cutBytes(bytes)) found.push('cut');
  const right = (name === 'good') === (found.length === 0);
  console.log(right ? `ok ${name} is ${found.length ? 'found' : 'fine'}` : `FAIL ${name}: ${found.join('; ') || 'not found'}`);
  bad |= !right;
}
process.exitCode ||= bad ? 1 : 0;
