/* The page of `strobe-lab run --html`: truth and claim (the reconstructed timeline) of one trial. */

/* Kinds of differences, in the order of enum sim_difference_kind. Each has a color of the style sheet, and a pattern of
 * lines: the slope of each is -1, 0, 1 or Infinity. */
const DIFFERENCES = [
  ['missing', 'the claim lacks a call', [1]], ['extra', 'the claim has a call too many', [-1]],
  ['other', 'the claim has another call', [1, -1]],
  ['unseen', 'the claim has no call or a placeholder', [Infinity]],
];

/* Fills a rectangle with a color and the lines of a kind of difference. */
function drawHatch(c, kind, x, y, width, height) {
  c.fillStyle = styleColor(`--${DIFFERENCES[kind][0]}`);
  c.fillRect(x, y, width, height);
  if (width < 5 || height < 8) return;
  c.save();
  c.beginPath();
  c.rect(x, y, width, height);
  c.clip();
  c.strokeStyle = styleColor('--ink');
  c.lineWidth = 1;
  c.beginPath();
  for (const slope of DIFFERENCES[kind][2]) {
    for (let at = Math.floor(x / 7) * 7 - height; at < x + width + height; at += 7) {
      c.moveTo(at, y + (slope > 0 ? height : 0));
      c.lineTo(slope === Infinity ? at : at + height, y + (slope > 0 && slope !== Infinity ? 0 : height));
      if (slope === Infinity) c.moveTo(at, y);
    }
  }
  c.stroke();
  c.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  c.restore();
}

/* Each thread has a heading row and the calls of the truth, a row of differences, and the same of the claim. */
class LabTimeline extends Timeline {
  makeTracks(data) {
    const tracks = new Map(), empty = title => ({begin: [], end: [], name: [], count: [], title});
    for (const side of ['truth', 'claim', 'differences']) for (const t of data[side].tracks) {
      const key = `${t.tid} ${t.generation}`;
      if (!tracks.has(key)) tracks.set(key, {...t, sides: {}});
      tracks.get(key).sides[side] = t.levels.map(decodeLevel);
    }
    const main = t => t.main ? 0 : 1;
    return [...tracks.values()].sort((a, b) => main(a) - main(b) || b.cpu_ns - a.cpu_ns).map((t, i) => {
      const {truth = [], claim = [], differences = [empty()]} = t.sides;
      differences[0].marks = true;
      differences[0].name = differences[0].name.map(kind => this.names.firstDifference + kind);
      const levels = [empty('truth'), ...truth, differences[0], empty('claim'), ...claim];
      return {name: t.name, tid: t.tid, generation: t.generation, main: t.main, cpu: t.cpu_ns, open: i < 2, levels,
        thin: levels.length};
    });
  }

  paintLevel(c, level, y, height) {
    if (level.title) {
      if (height < 10) return;
      c.fillStyle = this.colors.soft;
      c.fillText(level.title, 4, y + height / 2);
      return;
    }
    if (!level.marks) {
      super.paintLevel(c, level, y, height);
      return;
    }
    const scale = this.width / (this.to - this.from);
    let drawn = 0;
    for (let i = firstAfter(level, this.from); i < level.begin.length && level.begin[i] < this.to; i++) {
      const left = Math.max(0, (level.begin[i] - this.from) * scale);
      const right = Math.min(this.width, Math.max((level.end[i] - this.from) * scale, left + 1));
      if (right <= drawn) continue;
      drawn = right;
      if (this.matching) c.globalAlpha = this.matching.has(level.name[i]) ? 1 : 0.22;
      drawHatch(c, level.name[i] - this.names.firstDifference, left, y, right - left, height - (height > 8 ? 1 : 0));
      c.globalAlpha = 1;
      if (!this.isPicked(level, i)) continue;
      c.strokeStyle = this.colors.accent;
      c.lineWidth = 3;
      c.strokeRect(left + 1, y + 1, Math.max(2, right - left - 2), height - 3);
    }
  }

  isCall(name) {
    return name < this.names.firstDifference;
  }

  /* Selects the mark of a difference, or of the block that it is part of. */
  goToDifference(row) {
    this.goTo(row.begin_ns, row.begin_ns + row.ns, row.tid, row.generation);
    const track = this.tracks.find(t => t.tid === row.tid && t.generation === row.generation);
    if (!track) return;
    const depth = track.levels.findIndex(l => l.marks), level = track.levels[depth];
    const index = firstAfter(level, row.begin_ns + row.ns / 2);
    if (index < level.begin.length) this.pick({track, depth, level, index});
  }
}

function drawRun(about, page) {
  const result = readData('result'), session = readData('session');
  session.names.text.push(...DIFFERENCES.map(([, text]) => `(${text})`));
  session.names.class.push(...DIFFERENCES.map(() => CLASS.function));
  const none = session.names.images.push('') - 1;
  session.names.image.push(...DIFFERENCES.map(() => none));
  const names = page.names = new Names(session.names);
  names.firstDifference = names.texts.length - DIFFERENCES.length;
  drawRunSummary(about, result, session);

  page.timeline = new LabTimeline(session, names, name => page.flame.goToName(name));
  const shown = ['truth', 'claim', 'differences'].map(side => session[side]);
  const sum = key => shown.reduce((total, side) => total + side[key], 0), merged = sum('slices') > sum('blocks');
  makeSection('timeline', 'Timeline', makeLegend(kindsShown(names).slice(1)),
    make('ul', {class: 'legend marks'}, DIFFERENCES.map(([kind, text]) =>
      make('li', {}, make('i', {class: kind}), text))),
    page.timeline.element, make('p', {class: 'note'}, 'Truth and claim of a thread are above each other. The row between ' +
      'them marks where their call paths differ. ' + (merged
      ? `Slices and differences shorter than ${formatTime(Math.max(...shown.map(s => s.resolution_ns)))} that lie side by ` +
        'side are summed up.' : 'All slices are shown.') + (session.truth.left_out
      ? ` ${formatCount(session.truth.left_out)} threads with less CPU time are left out.` : '')));

  drawLargest(session, page);
  page.flame = new Flame(session.flame, names, name => page.timeline.goToName(new Set([name])));
  makeSection('flame', 'Flame graph', page.flame.element, noteOfFlame(session.flame), make('p', {class: 'note'},
    'Elapsed time of all threads. Of truth and claim together a frame is red when the claim has more time, blue when it ' +
    'has less; its width is the mean.'));
  drawRunMethods(result, page);
  drawRunWaits(session, page);
  drawRunThreads(result, page);
}

function drawRunSummary(about, result, session) {
  const text = name => about.scores.find(s => s.name === name).text;
  const worst = result.methods[0], span = result.thread_ns;
  const points = m => 100 * (m.claimed_self_ns - m.true_self_ns) / span;
  const section = makeSection('summary', 'Summary');
  section.prepend(make('h1', {class: 'code'}, `${result.scenario}, ${result.policy}`));
  section.append(make('p', {class: 'soft'}, `Seed ${result.seed}, ${formatTime(session.end_ns)} of the app's time. ` +
    `Written by strobe-lab ${about.version}.`));
  section.append(makeFacts([
    ['Exact agreement', text('agreement'), 'equal call paths'],
    ['Resolved', text('agreement_resolved'), 'short calls count as part of their caller'],
    ['Largest bias', worst ? `${formatNumber(points(worst), 3)} points` : '-', worst ? worst.name : null],
    ['Wakers found', text('waker_recall'), `${formatCount(result.found_wakers)} of ${formatCount(result.true_wakers)}`],
    ['Blocked time, error', text('blocked_error')],
    ['Overhead', text('overhead'), `${formatTime(result.tracer_cpu_ns + result.held_ns)} of ${formatTime(result.app_cpu_ns)}`],
    ['Samples', text('samples'), `${text('lost')} lost`, result.lost ? 'bad' : null],
    ['Invariants', result.violation ? 'broken' : 'kept', null, result.violation ? 'bad' : 'good'],
  ]));
  if (result.violation) section.append(make('p', {class: 'bad'}, result.violation));
  section.append(make('details', {}, make('summary', {}, 'All scores'), make('ul', {class: 'plain scores'},
    about.scores.map(s => make('li', {}, `${s.name.replaceAll('_', ' ')}: ${s.text}`)))));
}

function drawLargest(session, page) {
  const most = Math.max(...session.largest.map(row => row.ns), 1);
  const rows = session.largest.map(row => ({...row, truth: row.truth || 'no call', claim: row.claim || 'no call',
    what: DIFFERENCES[row.kind][1]}));
  const code = key => row => make('span', {class: 'code'}, row[key]);
  const table = page.differences = new Table({
    title: 'Largest differences', rows, sort: 'ns', filter: ['truth', 'claim', 'thread', 'what'], columns: [
      {key: 'truth', title: 'Truth', kind: 'name', show: code('truth')}, {key: 'claim', title: 'Claim', show: code('claim')},
      {key: 'ns', title: 'Time', number: true, show: row => formatTime(row.ns), share: row => row.ns / most},
      {key: 'begin_ns', title: 'At', number: true, show: row => formatTime(row.begin_ns)},
      {key: 'thread', title: 'Thread', show: row => `${row.thread} ${row.tid}`}, {key: 'what', title: 'Kind'}],
    links: row => [['timeline', `Show the difference at ${formatTime(row.begin_ns)} in the timeline`,
      () => page.timeline.goToDifference(row)]],
  });
  const left = session.difference_count - rows.length;
  makeSection('differences', 'Differences', table.element, make('p', {class: 'note'}, 'The first calls that differ on the ' +
    'two paths.' + (left > 0 ? ` ${formatCount(left)} shorter differences are not listed.` : '')));
}

function drawRunMethods(result, page) {
  const time = (key, title) => ({key, title, number: true, show: row => formatTime(row[key])});
  const rows = result.methods.map(m => ({...m, error_ns: m.claimed_self_ns - m.true_self_ns}));
  const most = Math.max(...rows.map(row => Math.abs(row.error_ns)), 1);
  const find = (row, action) => {
    const name = page.names.find(row.name);
    if (name >= 0) action(name);
  };
  const table = page.functions = new Table({
    title: 'Methods', rows, sort: 'error_ns', filter: ['name'], columns: [
      {key: 'name', title: 'Method', kind: 'name', show: showName}, time('true_self_ns', 'True self'),
      time('claimed_self_ns', 'Claimed self'),
      {key: 'error_ns', title: 'Difference', number: true, sort: row => Math.abs(row.error_ns),
        share: row => Math.abs(row.error_ns) / most, show: row => signed(formatTime(row.error_ns), row.error_ns)},
      time('true_total_ns', 'True inclusive'), time('claimed_total_ns', 'Claimed inclusive'),
      {key: 'calls', title: 'Calls', number: true, show: row => formatCount(row.calls)}],
    links: row => [
      ['timeline', `Show ${row.name} in the timeline`, () => find(row, name => page.timeline.goToName(new Set([name])))],
      ['flame', `Show ${row.name} in the flame graph`, () => find(row, name => page.flame.goToName(name))]],
  });
  makeSection('methods', 'Methods', table.element);
}

function drawRunWaits(session, page) {
  const rows = session.waits.map(w => ({...w, found: !w.is_claimed ? 'wait not shown' : !w.waker ? 'no thread ended it'
    : w.is_right ? 'waker found' : w.claimed_waker ? 'wrong waker' : 'no waker'}));
  const good = row => row.found === 'waker found' ? 'good' : row.waker || !row.is_claimed ? 'bad' : null;
  const table = page.waits = new Table({
    title: 'Longest waits', rows, sort: 'ns', filter: ['kind', 'thread', 'waker', 'found'], columns: [
      {key: 'kind', title: 'Wait', kind: 'name', show: row => make('span', {class: 'code'}, row.kind)},
      {key: 'ns', title: 'True time', number: true, show: row => formatTime(row.ns)},
      {key: 'claimed_ns', title: 'Claimed', number: true, show: row => formatTime(row.claimed_ns)},
      {key: 'begin_ns', title: 'At', number: true, show: row => formatTime(row.begin_ns)},
      {key: 'thread', title: 'Thread', show: row => `${row.thread} ${row.tid}`},
      {key: 'waker', title: 'Ended by'}, {key: 'claimed_waker', title: 'Claimed waker'},
      {key: 'found', title: 'Verdict', show: row => make('span', {class: good(row)}, row.found)}],
    links: row => [['timeline', `Show ${row.kind} at ${formatTime(row.begin_ns)} in the timeline`,
      () => page.timeline.goTo(row.begin_ns, row.begin_ns + row.ns, row.tid, row.generation)]],
  });
  makeSection('waits', 'Waits', table.element, make('p', {class: 'note'},
    'The longest waits in which a thread blocked, and the claimed wait of the same kind that overlaps most.'));
}

function drawRunThreads(result, page) {
  const share = (key, title) => ({key, title, number: true, show: row => `${formatNumber(100 * row[key], 2)} %`});
  const time = (key, title) => ({key, title, number: true, show: row => formatTime(row[key])});
  const table = page.threads = new Table({
    title: 'Threads', rows: result.threads, sort: 'thread_ns', filter: ['name', 'tid'], columns: [
      {key: 'name', title: 'Thread', kind: 'name', show: row => `${row.name} ${row.tid}`}, time('thread_ns', 'Life'),
      time('running_ns', 'Running'), share('agreement', 'Exact'), share('agreement_resolved', 'Resolved'),
      share('agreement_running', 'While running')],
  });
  makeSection('threads', 'Threads', table.element);
}
