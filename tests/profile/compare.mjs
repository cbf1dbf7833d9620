// Compares two CPU profiles of one program, function by function.
//
//   compare.mjs REPORT.json PERF.txt
//
// REPORT.json: `strobe report --json`. PERF.txt: a line `PERCENT SAMPLES SYMBOL` a function, as `perf report` prints
// them. The ten functions that perf finds hottest must have, in ours, the same share of CPU time within the sampling
// error of both: two shares p of n and m samples differ by less than 4 sqrt(p (1 - p) (1/n + 1/m)) in all but one of
// 16,000 cases; half a point is added for what the two count differently (the kernel's own time, our hooks).
import fs from 'node:fs';

const [reportPath, perfPath] = process.argv.slice(2);
const report = JSON.parse(fs.readFileSync(reportPath, 'utf8'));
const ours = new Map();
let total = 0;
for (const m of report.methods) {
  ours.set(m.name, (ours.get(m.name) || 0) + m.self_cpu_ns);
  total += m.self_cpu_ns;
}
const ourSamples = report.events.sampled;

// A program that is kept from the processor most of the time cannot be stopped when it should be: time is unseen then,
// and says so. That is no profile to compare.
const cpu = report.cpu_ns;
const unseen = report.methods.filter((m) => /^\[(unseen|off cpu)\]$/.test(m.name))
  .reduce((sum, m) => sum + m.self_cpu_ns, 0);
if (unseen > 0.1 * cpu || ourSamples < cpu / 1e6 * 0.85) {
  console.log(`the machine is too crowded: ${ourSamples} samples in ${(cpu / 1e6).toFixed(0)} ms of CPU time, ` +
    `${(100 * unseen / cpu).toFixed(0)} % of it unseen`);
  process.exit(3);
}

const theirs = fs.readFileSync(perfPath, 'utf8').split('\n')
  .map((line) => line.match(/^\s*([\d.]+)%\s+(\d+)\s+\[\.\]\s+(\S+)/)).filter(Boolean)
  .map(([, , samples, name]) => ({name: name.replace(/\.(isra|constprop|part)\..*$/, ''), samples: Number(samples)}));
const n = theirs.reduce((sum, f) => sum + f.samples, 0);
if (n < 100 || ourSamples < 100 || report.methods.length !== report.method_count_in_all) {
  console.error(`too little to compare: ${n} samples of perf, ${ourSamples} of ours`);
  process.exit(2);
}

let odd = 0;
console.log('   perf    ours   bound  function');
for (const f of theirs.sort((a, b) => b.samples - a.samples).slice(0, 10)) {
  const p = f.samples / n;
  const name = [...ours.keys()].find((k) => k.replace(/\.(isra|constprop|part)\..*$/, '') === f.name);
  const q = (ours.get(name) || 0) / total;
  const mean = (p + q) / 2;
  const bound = 4 * Math.sqrt(mean * (1 - mean) * (1 / n + 1 / ourSamples)) + 0.005;
  const ok = Math.abs(p - q) <= bound;
  odd += !ok;
  console.log(`${(100 * p).toFixed(2).padStart(6)}% ${(100 * q).toFixed(2).padStart(6)}% ` +
    `${(100 * bound).toFixed(2).padStart(6)}%  ${f.name}${ok ? '' : '   OUTSIDE'}`);
}
console.log(`${n} samples of perf, ${ourSamples} of ours`);
process.exit(odd ? 1 : 0);
