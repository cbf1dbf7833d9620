/* The page of `strobe report --html`. */

function drawReport(about, page) {
  const report = readData('report'), findings = readData('findings'), session = readData('session');
  const names = page.names = new Names(session.names);
  const program = report.command || report.exe || `process ${report.pid}`;
  document.title = `${lastOfPath(program.split(' ')[0])} - Strobe`;
  drawSummary(about, report, findings, session, names, page);
  drawFindings(findings, page);

  page.timeline = new Timeline(session, names, name => page.flame.goToName(name));
  const timeline = makeSection('timeline', 'Timeline', makeLegend(kindsShown(names)), page.timeline.element,
    noteOfTimeline(session.timeline));
  timeline.classList.add('wide');

  page.flame = new Flame(session.flame, names, name => page.timeline.goToName(new Set([name])));
  makeSection('flame', 'Flame graph', page.flame.element, noteOfFlame(session.flame));

  drawFunctions(report, page);
  drawWaits(report, page);
  drawThreads(about, report, page);
  drawSections(report);
  drawAccounting(report);
}

function kindsShown(names) {
  const shown = Object.keys(KINDS).filter(kind => names.kinds.includes(kind));
  const tone = hue => `hsl(${hue}, ${names.dark ? 32 : 58}%, ${names.dark ? 32 : 76}%)`;
  return [[`linear-gradient(90deg, ${[30, 140, 270].map(tone).join(', ')})`, 'functions, colored by file'],
    ...shown.map(kind => [`var(--${kind})`, KINDS[kind]])];
}

function noteOfTimeline(timeline) {
  const merged = timeline.slices - timeline.blocks;
  const text = merged > 0 ? `Of ${formatCount(timeline.slices)} slices, those shorter than ` +
    `${formatTime(timeline.resolution_ns)} that lie side by side are summed up: the timeline has ` +
    `${formatCount(timeline.blocks)} blocks. A block of several slices has a line below and the color of the longest; ` +
    '--from and --to show a part with more of them.'
    : `All ${formatCount(timeline.slices)} slices are shown.`;
  const left = timeline.left_out ? ` ${formatCount(timeline.left_out)} threads with less CPU time are left out.` : '';
  return make('p', {class: 'note'}, text + left);
}

function noteOfFlame(flame) {
  return make('p', {class: 'note'}, flame.left_out
    ? `${formatCount(flame.left_out)} paths with less than ${formatNumber(100 * flame.share, 2)} % are summed up as (other).`
    : 'All call paths are shown.');
}

/* ---- summary */

function stateOf(report) {
  if (report.closed) return 'ended normally';
  if (report.killed) return 'killed';
  return report.exited ? 'exited without an end of the session' : 'did not end normally';
}

function drawSummary(about, report, findings, session, names) {
  const sum = key => report.threads.reduce((total, t) => total + t[key], 0);
  const wall = sum('wall_ns'), wait = sum('wait_ns'), off = sum('off_cpu_ns'), gap = sum('gap_ns'), lost = sum('lost');
  const samples = sum('samples'), part = report.part || {};
  const section = makeSection('summary', 'Summary');
  section.prepend(make('h1', {class: 'code'}, report.command || report.exe || `process ${report.pid}`));
  section.append(make('p', {class: 'soft'}, `${about.file}, process ${report.pid}, ${stateOf(report)}. ` +
    `Written by strobe ${about.version}.`));
  if (part.thread || part.from_ns || part.to_ns) {
    const place = part.from_ns || part.to_ns ? ` from ${formatTime(session.begin_ns)} to ${formatTime(session.end_ns)}` : '';
    section.append(make('p', {}, `A part of the session${place}${part.thread ? `, thread ${part.thread}` : ''}.`));
  }
  section.append(makeFacts([
    ['Duration', formatTime(report.wall_ns)],
    ['CPU time', formatTime(report.cpu_ns), `${formatShare(report.cpu_ns, report.wall_ns)} of one processor`],
    ['Threads', formatCount(about.thread_count)],
    ['Samples', formatCount(samples)],
    ['Samples lost', formatCount(lost), formatShare(lost, samples + lost), lost ? 'bad' : 'good'],
    ['Unseen time', formatShare(gap, wall), `${formatTime(gap)} of ${formatTime(wall)}`],
    ['Findings', formatCount(findings.findings.length), null, findings.findings.length ? 'bad' : 'good'],
    ['Accounting', report.balanced ? 'consistent' : 'not consistent', report.verdict, report.balanced ? 'good' : 'bad'],
  ]));
  const parts = [['running', 'in functions', wall - wait - off - gap], ['lock', 'in blocking calls', wait],
    ['off', 'off the processor', off], ['unseen', 'unseen', gap]].filter(p => p[2] > 0);
  section.append(make('h3', {}, 'Time of all threads'),
    make('div', {class: 'shares', 'aria-hidden': 'true'}, parts.map(([color, , ns]) =>
      make('span', {style: `background: var(--${color}); flex: ${ns / wall} 1 0`}))),
    makeLegend(parts.map(([color, text, ns]) => [`var(--${color})`, `${text}: ${formatTime(ns)}, ${formatShare(ns, wall)}`])));
  if (report.warnings.length)
    section.append(make('h3', {}, 'Warnings'), make('ul', {class: 'plain'}, report.warnings.map(w => make('li', {}, w))));
  if (report.features) {
    section.append(make('details', {}, make('summary', {}, 'Features of the capture'),
      make('ul', {class: 'plain'}, report.features.map(f => make('li', {}, f)))));
  }
}

/* ---- findings */

function drawFindings(findings, page) {
  const section = makeSection('findings', 'Findings');
  const list = findings.findings;
  if (!list.length) section.append(make('p', {}, 'Nothing was found about the main thread.'));
  let shown = 20;
  const place = make('div', {});
  const more = make('button', {type: 'button', class: 'more', onclick: () => {
    shown = list.length;
    fill();
  }}, `Show all ${formatCount(list.length)} findings`);
  const fill = () => {
    place.replaceChildren(...list.slice(0, shown).map(f => makeFinding(f, page)));
    more.hidden = shown >= list.length;
  };
  fill();
  section.append(place, more, make('details', {}, make('summary', {}, 'What this capture could not have shown'),
    make('ul', {class: 'plain'}, findings.unseen.map(line => make('li', {}, line)))));
}

function makeFinding(finding, page) {
  const values = Object.entries(finding.values).filter(([key, value]) => value && key !== 'cost_ms')
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${formatNumber(value, Number.isInteger(value) ? 0 : 1)}`).join(', ');
  const head = make('p', {}, make('b', {}, finding.kind), make('span', {}, formatTime(finding.cost_ns)),
    make('span', {class: 'code'}, finding.blame || 'no method to blame'),
    finding.scene ? make('span', {}, `in ${finding.scene}`) : null,
    make('button', {type: 'button', class: 'link finding-link', 'aria-label':
      `Show ${finding.kind} at ${formatTime(finding.begin_ns)} in the timeline`,
    onclick: () => page.timeline.goTo(finding.begin_ns, finding.end_ns)}, `at ${formatTime(finding.begin_ns)}`));
  const box = make('div', {class: 'finding'}, head, values ? make('p', {class: 'soft'}, values) : null);
  if (finding.stack.length) {
    const text = finding.stack.map(s => `${'  '.repeat(Math.min(s.depth, 40))}${s.method}  ${formatCount(s.ms)} ms` +
      (s.count > 1 ? `, ${s.count} times` : '')).join('\n');
    box.append(make('details', {}, make('summary', {}, `Stack of ${finding.stack.length} methods`),
      make('pre', {class: 'stack code'}, text)));
  }
  if (finding.unseen) box.append(make('p', {class: 'note'}, `Not seen: ${finding.unseen}`));
  return box;
}

/* ---- tables */

function drawFunctions(report, page) {
  const wall = report.threads.reduce((sum, t) => sum + t.wall_ns, 0), cpu = report.cpu_ns;
  const time = (key, title, whole) => ({key, title, number: true, show: row => formatTime(row[key]),
    share: row => whole ? row[key] / whole : 0});
  const columns = [{key: 'name', title: 'Function', kind: 'name', show: showName}, time('self_ns', 'Self', wall),
    time('self_cpu_ns', 'Self CPU', cpu), time('total_ns', 'Inclusive', wall), time('total_cpu_ns', 'Inclusive CPU', cpu),
    {key: 'slices', title: report.calls && report.calls.calls ? 'Calls' : 'Slices', number: true,
      show: row => formatCount(row.slices)}];
  if (report.methods.some(m => m.alloc_total_bytes)) {
    columns.push({key: 'alloc_self_bytes', title: 'Allocated', number: true, show: row => formatBytes(row.alloc_self_bytes)},
      {key: 'alloc_total_bytes', title: 'Allocated inclusive', number: true, show: row => formatBytes(row.alloc_total_bytes)});
  }
  const find = (row, action) => {
    const name = page.names.find(row.name, row.image);
    if (name >= 0) action(name);
  };
  const table = page.functions = new Table({
    title: 'Functions', columns, rows: report.methods, sort: 'self_ns', filter: ['name', 'image'],
    links: row => [
      ['timeline', `Show ${row.name} in the timeline`, () => find(row, name => page.timeline.goToName(new Set([name])))],
      ['flame', `Show ${row.name} in the flame graph`, () => find(row, name => page.flame.goToName(name))]],
  });
  const count = report.method_count_in_all, left = count - report.methods.length;
  makeSection('functions', 'Functions', table.element, make('p', {class: 'note'}, left > 0
    ? `${formatCount(left)} of ${formatCount(count)} functions, with less time each, are left out (--top N lists more). `
    : null, 'Self: the function was innermost. Waits and unseen time are self time of no function.'));
}

function drawWaits(report, page) {
  const whole = report.wait_kinds.reduce((sum, w) => sum + w.duration_ns, 0);
  const kinds = new Table({
    title: 'Blocking calls by kind', rows: report.wait_kinds, sort: 'duration_ns', columns: [
      {key: 'kind', title: 'Kind', kind: 'name'},
      {key: 'duration_ns', title: 'Time', number: true, show: row => formatTime(row.duration_ns),
        share: row => whole ? row.duration_ns / whole : 0},
      {key: 'count', title: 'Count', number: true, show: row => formatCount(row.count)},
      {key: 'mean', title: 'Mean', number: true, sort: row => row.duration_ns / row.count,
        show: row => formatTime(row.duration_ns / row.count)}],
  });
  const waits = page.waits = new Table({
    title: 'Longest blocking calls', rows: report.waits, sort: 'duration_ns', filter: ['kind', 'method', 'thread', 'waker'],
    columns: [
      {key: 'kind', title: 'Call', kind: 'name', show: row => [make('span', {class: 'code'}, row.kind),
        row.method ? make('span', {class: 'code'}, ` in ${row.method}`) : null,
        row.unfinished ? make('span', {class: 'bad'}, ' not ended') : null]},
      {key: 'duration_ns', title: 'Time', number: true, show: row => formatTime(row.duration_ns)},
      {key: 'begin_ns', title: 'At', number: true, show: row => formatTime(row.begin_ns)},
      {key: 'thread', title: 'Thread', show: row => `${row.thread} ${row.tid}`},
      {key: 'waker', title: 'Ended by', show: row => row.waker ? `${row.waker} ${row.waker_tid}`
        : row.nobody ? 'timeout' : ''}],
    links: row => [['timeline', `Show ${row.kind} at ${formatTime(row.begin_ns)} in the timeline`,
      () => page.timeline.goTo(row.begin_ns, row.begin_ns + row.duration_ns, row.tid)]],
  });
  makeSection('waits', 'Waits', make('h3', {}, 'By kind'), kinds.element, make('h3', {}, 'Longest'), waits.element);
}

function drawThreads(about, report, page) {
  const time = (key, title) => ({key, title, number: true, show: row => formatTime(row[key])});
  const count = (key, title) => ({key, title, number: true, show: row => formatCount(row[key])});
  const table = page.threads = new Table({
    title: 'Threads', rows: report.threads, sort: 'cpu_ns', filter: ['name', 'tid'], columns: [
      {key: 'name', title: 'Thread', kind: 'name', show: row => `${row.name} ${row.tid}${row.is_main ? ' (main)' : ''}`},
      {...time('cpu_ns', 'CPU'), share: row => report.cpu_ns ? row.cpu_ns / report.cpu_ns : 0}, time('wall_ns', 'Life'),
      time('wait_ns', 'Waits'), time('off_cpu_ns', 'Off CPU'), time('gap_ns', 'Unseen'), count('slices', 'Slices'),
      count('samples', 'Samples'), count('lost', 'Lost')],
    links: row => row.slices ? [['timeline', `Show thread ${row.name} ${row.tid} in the timeline`,
      () => page.timeline.goTo(page.timeline.begin, page.timeline.end, row.tid)]] : [],
  });
  const left = about.thread_count - report.threads.length;
  makeSection('threads', 'Threads', table.element, left > 0
    ? make('p', {class: 'note'}, `${formatCount(left)} threads with less CPU time are left out.`) : null);
}

function drawSections(report) {
  const time = (key, title) => ({key, title, number: true, show: row => formatTime(row[key])});
  const parts = [];
  if (report.sections && report.sections.length) {
    parts.push(make('h3', {}, 'Sections that the program reported'), new Table({
      title: 'Sections', rows: report.sections, sort: 'total_ns', filter: ['name'], columns: [
        {key: 'name', title: 'Section', kind: 'name'}, time('total_ns', 'Time'), time('longest_ns', 'Longest'),
        time('self_cpu_ns', 'Self CPU'), {key: 'count', title: 'Count', number: true, show: row => formatCount(row.count)}],
    }).element);
  }
  if (report.counters && report.counters.length) {
    const value = (key, title) => ({key, title, number: true, show: row => formatCount(row[key])});
    parts.push(make('h3', {}, 'Counters'), new Table({
      title: 'Counters', rows: report.counters, sort: 'name', filter: ['name'], columns: [
        {key: 'name', title: 'Counter', kind: 'name', show: row => row.thread ? `${row.name} (${row.thread} ${row.tid})` : row.name},
        value('last', 'Last'), value('least', 'Least'), value('most', 'Most'), value('count', 'Values')],
    }).element);
  }
  if (report.lines && report.lines.length) {
    parts.push(make('h3', {}, 'Source lines'), new Table({
      title: 'Source lines', rows: report.lines, sort: 'samples', filter: ['method', 'file'], columns: [
        {key: 'method', title: 'Function', kind: 'name'}, {key: 'file', title: 'File', show: row => `${row.file}:${row.line}`},
        {key: 'samples', title: 'Samples', number: true, show: row => formatCount(row.samples)}],
    }).element);
  }
  if (parts.length) makeSection('sections', 'Sections', ...parts);
}

function drawAccounting(report) {
  const e = report.events;
  if (!e) return;
  const fact = (name, value, detail) => [name, formatCount(value), detail];
  makeSection('losses', 'Losses', makeFacts([
    fact('Requests', e.requests), fact('Sampled', e.sampled), fact('Gated', e.gated, 'too soon after another sample'),
    fact('Overwritten', e.overwritten), fact('Dropped', e.dropped), fact('Without a stack', e.unwind_failed),
    fact('Stacks cut', report.stacks.cut), fact('Stacks doubtful', report.stacks.doubtful),
    report.calls.calls ? fact('Calls', report.calls.calls, `${formatCount(report.calls.refused)} entries refused`) : null,
    fact('Short waits', report.short_waits.count, `${formatTime(report.short_waits.ns)} in all`)]));
}
