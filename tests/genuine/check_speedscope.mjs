// Checks speedscope files against the schema of speedscope itself, and against what the format means beyond it: frames
// open and close like brackets, in the order of time. Then shows, on damaged copies, that the checks bite.
//
//   node check_speedscope.mjs SPEEDSCOPE-DIR WROTE.json     WROTE.json: array of objects as make_traces prints them
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const [dir, list] = process.argv.slice(2);
const Ajv = createRequire(path.resolve(dir, 'package.json'))('ajv').default;
const fits = new Ajv({strict: false}).compile(
  JSON.parse(fs.readFileSync(path.join(dir, 'file-format-schema.json'), 'utf8')));

function faults(file, wrote) {
  if (!fits(file)) return [`schema: ${fits.errors.map((e) => `${e.instancePath} ${e.message}`).join(', ')}`];
  const found = [];
  let slices = 0;
  for (const profile of file.profiles) {
    const open = [];
    let at = profile.startValue;
    for (const event of profile.events) {
      if (event.at < at) found.push(`time goes back to ${event.at} in ${profile.name}`);
      at = event.at;
      if (!file.shared.frames[event.frame]?.name) found.push(`frame ${event.frame} has no name`);
      if (event.type === 'O') open.push(event.frame);
      else if (open.pop() !== event.frame) found.push(`frame ${event.frame} is closed where it is not innermost`);
      slices += event.type === 'O';
    }
    if (open.length) found.push(`${open.length} frames of ${profile.name} are never closed`);
    if (at > profile.endValue) found.push(`${profile.name} ends before its last event`);
  }
  if (slices !== wrote.slices) found.push(`${slices} slices, but the writer wrote ${wrote.slices}`);
  if (file.profiles.length !== wrote.threads) found.push(`${file.profiles.length} profiles for ${wrote.threads} threads`);
  return found;
}

let bad = 0;
function say(name, right, why) {
  console.log(right ? `ok ${name}` : `FAIL ${name}: ${why}`);
  bad |= !right;
}

const damage = {
  'a missing dictionary': (f) => { delete f.shared; },
  'a profile without its end': (f) => { delete f.profiles[0].endValue; },
  'an event of no known type': (f) => { f.profiles[0].events[0].type = 'X'; },
  'a frame that is not there': (f) => { f.profiles[0].events[0].frame = 1e6; },
  'time that goes back': (f) => { f.profiles[0].events[1].at = -1; },
  'a frame that is never closed': (f) => { f.profiles[0].events.pop(); },
};

let example;
for (const wrote of JSON.parse(fs.readFileSync(list, 'utf8'))) {
  if (!wrote.trace.endsWith('.speedscope.json')) continue;
  const text = fs.readFileSync(wrote.trace, 'utf8'), found = faults(JSON.parse(text), wrote);
  say(path.basename(wrote.trace), found.length === 0, found.join('; '));
  if (wrote.slices) example ??= [text, wrote];
}
for (const [name, harm] of Object.entries(damage)) {
  const file = JSON.parse(example[0]);
  harm(file);
  say(`${name} is found`, faults(file, example[1]).length > 0, 'not found');
}
process.exit(bad ? 1 : 0);
