/* The page of `strobe diff --html`. */

const DIFF_TABLES = [
  ['methods_self', 'Functions, self time'], ['methods_self_cpu', 'Functions, self CPU time'],
  ['methods_inclusive', 'Functions, inclusive time'], ['methods_inclusive_cpu', 'Functions, inclusive CPU time'],
  ['paths', 'Call paths, self time'], ['paths_cpu', 'Call paths, self CPU time'], ['waits', 'Blocking calls'],
  ['allocations', 'Allocations'], ['sections', 'Sections'], ['figures', 'Figures of whole captures'],
];

function drawDiff(about, page) {
  const diff = readData('diff'), session = readData('session');
  const names = page.names = new Names(session.names);
  const section = makeSection('summary', 'Summary');
  section.prepend(make('h1', {}, 'Comparison of captures'));
  section.append(make('p', {}, make('b', {class: diff.real ? 'bad' : 'good'}, `${formatCount(diff.real)} of ` +
    `${formatCount(diff.tested)} tested differences are real`), ` at a false discovery rate of ` +
    `${formatNumber(100 * diff.false_discovery_rate, 0)} %. Amounts are ` +
    (diff.per === 'total' ? 'those of a capture.' : 'per second of recording.')),
  make('div', {class: 'sides'}, makeSide('Base', diff.base), makeSide('New', diff.new)),
  make('p', {class: 'note'}, `Rows of less than ${formatNumber(100 * diff.least_share, 1)} % of a table are not tested and ` +
    `not listed. Written by strobe ${about.version}.`));

  drawDiffTables(diff, page);
  page.flame = new Flame(session.flame, names, null);
  const dark = names.dark;
  makeSection('flame', 'Flame graph', makeLegend([
    [`hsl(4, 85%, ${dark ? 36 : 70}%)`, 'more than in the base'], [`hsl(214, 85%, ${dark ? 36 : 70}%)`, 'less'],
    [`hsl(0, 0%, ${dark ? 24 : 91}%)`, 'as much']]), page.flame.element,
  make('p', {class: 'note'}, 'A frame is as wide as the mean of both sides. The color is full at a change of 30 %.'),
  noteOfFlame(session.flame));
}

function makeSide(title, side) {
  const seconds = side.captures.reduce((sum, c) => sum + c.seconds, 0);
  const noise = side.blocks ? `noise from ${side.blocks} parts of its time` : side.captures.length > 1
    ? 'noise from the spread between captures' : 'no noise of its own is known';
  return make('div', {}, make('h3', {}, `${title}: ${formatCount(side.captures.length)} ` +
    `${side.captures.length === 1 ? 'capture' : 'captures'}, ${formatNumber(seconds, 3)} s`),
  make('ul', {class: 'plain'}, side.captures.slice(0, 12).map(c => make('li', {class: 'code'},
    `${c.file}, ${formatNumber(c.seconds, 3)} s`)), side.captures.length > 12
    ? make('li', {}, `and ${side.captures.length - 12} more`) : null), make('p', {class: 'soft'}, noise));
}

function signed(text, value) {
  return value > 0 ? `+${text}` : text;
}

/* Returns the name of a row as the tables of `strobe diff` show it. */
function nameOfRow(row) {
  if (row.path) return row.path.join(' > ');
  return row.place ? `${row.name} in ${row.place}` : row.name;
}

function drawDiffTables(diff, page) {
  const filled = DIFF_TABLES.filter(([key]) => diff[key].length);
  const place = make('div', {}), section = makeSection('differences', 'Differences');
  let only = diff.real > 0;
  const select = make('select', {id: 'diff-table', onchange: () => show()}, filled.map(([key, title]) =>
    make('option', {value: key}, `${title} (${formatCount(diff[key].filter(r => r.real).length)} real)`)));
  const check = make('input', {type: 'checkbox', id: 'diff-real', onchange: event => {
    only = event.target.checked;
    show();
  }});
  check.checked = only;
  const show = () => {
    const rows = diff[select.value].map(row => ({...row, name: nameOfRow(row), verdict: row.real ? 'real'
      : row.tested ? 'not shown' : 'not tested'}));
    const most = Math.max(...rows.map(row => Math.abs(row.change || 0)), 1e-9);
    const amount = (key, title) => ({key, title, number: true, show: row => formatAmount(row[key], row.unit)});
    const columns = [{key: 'name', title: 'Name', kind: 'name', show: showName}, amount('base', 'Base'), amount('new', 'New'),
      {key: 'change', title: 'Change', number: true, sort: row => Math.abs(row.change), share: row =>
        Math.abs(row.change) / most, show: row => make('span', {class: row.real ? (row.change > 0 ? 'bad' : 'good') : null},
        signed(formatAmount(row.change, row.unit), row.change))},
      {key: 'half_width', title: '\u00b1 95 %', number: true, sort: row => row.half_width === null ? -1 : row.half_width,
        show: row => row.half_width === null ? '' : formatAmount(row.half_width, row.unit)},
      {key: 'percent', title: 'Percent', number: true, sort: row => row.percent === null ? Infinity : row.percent,
        show: row => row.percent === null ? 'new' : signed(`${formatNumber(row.percent, 1)} %`, row.percent)},
      {key: 'verdict', title: 'Verdict', show: row => make('span', {class: row.real ? 'bad' : 'soft'}, row.verdict)}];
    if (select.value === 'waits') {
      columns.splice(3, 0, {key: 'base_calls', title: 'Calls', number: true, show: row =>
        `${formatAmount(row.base_calls, '')}, now ${formatAmount(row.new_calls, '')}`});
    }
    const table = page.differences = new Table({title: 'Differences', columns, rows, sort: 'change', filter: ['name', 'image']});
    table.keep = row => !only || row.real;
    table.fill();
    place.replaceChildren(table.element);
  };
  section.append(make('div', {class: 'tools'}, make('label', {}, 'Table', select),
    make('label', {}, check, 'only real differences')), place);
  if (filled.length) show();
  else section.append(make('p', {}, 'No table has a row.'));
}
