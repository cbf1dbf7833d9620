
/* The page of `strobe-lab compare --html`: one matrix of policy by scenario for a score that the reader chooses. */

/* Scores that can be chosen: name in the data, title, and whether a high value is better. */
const MATRIX_SCORES = [
  ['agreement', 'Exact agreement', true], ['agreement_resolved', 'Resolved agreement', true],
  ['agreement_seen', 'Exact agreement in view', true], ['agreement_running', 'Exact agreement while running', true],
  ['unseen', 'Unseen time', false], ['bias', 'Largest bias of a method', false],
  ['blocked_error', 'Error of blocked time', false], ['waker_recall', 'Waker recall', true],
  ['waker_precision', 'Waker precision', true], ['recall', 'Recall of calls', true],
  ['precision', 'Precision of calls', true], ['false_merges', 'False merges', false], ['overhead', 'Overhead', false],
  ['bytes_per_app_second', 'Bytes per second of the app', false], ['code_bytes', 'Code added to the app', false],
  ['lost', 'Lost samples', false],
];
const MATRIX_STEPS = 5;
const MATRIX_KEYS = [
  ['Tab', 'go to the score, the matrix, the table of scores'],
  ['\u2190 \u2192 \u2191 \u2193', 'matrix: go from cell to cell'], ['Home End', 'matrix: first and last cell of the row'],
  ['Enter', 'matrix: show the scores of the cell; on a scenario: sort by it'], ['?', 'this help'],
];

/* Formats a value as sim_field_text does: 1 KB has 1,000 bytes. */
function formatScore(value, unit) {
  if (unit === 'share') return `${formatNumber(100 * value, 2)} %`;
  if (unit === 'points') return `${formatNumber(100 * value, 3)} points`;
  if (unit === 'count') return formatNumber(value, Number.isInteger(value) ? 0 : 1);
  const step = value < 1e3 ? 0 : value < 1e6 ? 1 : value < 1e9 ? 2 : 3;
  return `${formatNumber(value / 1000 ** step, step ? 2 : 0)} ${['B', 'KB', 'MB', 'GB'][step]}`;
}

class Matrix {
  constructor(data, onPick) {
    this.scenarios = data.scenarios;
    this.units = {...data.units, bias: 'points'};
    this.given = data.rows.map(row => ({...row, title: row.backend ? `${row.policy} on ${row.backend}` : row.policy}));
    this.rows = [...this.given];
    this.score = MATRIX_SCORES[0];
    this.sorted = -1; /* the scenario that sorts the rows; -1: none */
    this.bestFirst = true;
    this.onPick = onPick;
    this.picked = this.focused = this.given[0].cells[0];
    this.build();
    this.fill();
  }

  build() {
    const option = ([name, title]) => make('option', {value: name}, title);
    this.select = make('select', {id: 'matrix-score', onchange: event => this.choose(event.target.value)},
      MATRIX_SCORES.map(option));
    const head = (title, scenario) => make('th', {scope: 'col', class: scenario < 0 ? 'head' : 'number'},
      make('button', {type: 'button', onclick: () => this.sortBy(scenario)}, title));
    this.heads = this.scenarios.map(head);
    this.body = make('tbody', {});
    this.table = make('table', {role: 'grid', onkeydown: event => this.moveBy(event)},
      make('thead', {}, make('tr', {}, head('Policy', -1), this.heads)), this.body);
    this.legend = make('div', {id: 'matrix-legend'});
    this.element = make('div', {}, make('div', {class: 'tools'}, make('label', {}, 'Score', this.select)), this.legend,
      make('div', {class: 'matrix'}, this.table));
  }

  choose(name) {
    this.score = MATRIX_SCORES.find(s => s[0] === name);
    this.fill();
  }

  /* A second choice of the same scenario turns the order round. "Policy" restores the given order. */
  sortBy(scenario) {
    this.bestFirst = scenario === this.sorted ? !this.bestFirst : true;
    this.sorted = scenario;
    this.fill();
  }

  valueOf(cell) {
    const score = cell.scores[this.score[0]];
    return score ? score.value : null;
  }

  /* Rows without a value are last. */
  sortRows() {
    this.rows = [...this.given];
    if (this.sorted < 0) return;
    const way = this.score[2] === this.bestFirst ? -1 : 1;
    this.rows.sort((a, b) => {
      const x = this.valueOf(a.cells[this.sorted]), y = this.valueOf(b.cells[this.sorted]);
      return x === null || y === null ? (x === null) - (y === null) : way * (x - y);
    });
  }

  /* Returns the step of a value: the last one is the best. */
  stepOf(value) {
    const part = this.most > this.least ? (value - this.least) / (this.most - this.least) : this.score[2] ? 1 : 0;
    return Math.min(MATRIX_STEPS - 1, Math.floor((this.score[2] ? part : 1 - part) * MATRIX_STEPS));
  }

  fill() {
    const values = this.given.flatMap(row => row.cells.map(cell => this.valueOf(cell))).filter(v => v !== null);
    this.least = Math.min(...values);
    this.most = Math.max(...values);
    this.sortRows();
    this.table.setAttribute('aria-label', `${this.score[1]} by policy and scenario`);
    this.heads.forEach((head, i) => {
      if (i !== this.sorted) head.removeAttribute('aria-sort');
      else head.setAttribute('aria-sort', this.score[2] === this.bestFirst ? 'descending' : 'ascending');
    });
    this.fillLegend(values.length);
    this.buttons = this.rows.map(row => row.cells.map((cell, i) => this.makeButton(row, cell, i)));
    this.body.replaceChildren(...this.rows.map((row, r) => make('tr', {class: row.policy === 'ideal' ? 'ideal' : null},
      make('th', {scope: 'row', class: 'head'}, row.title, row.policy === 'ideal' ? make('small', {}, 'reference') : null),
      row.cells.map((cell, i) => make('td', {class: this.valueOf(cell) === null ? 'number' :
        `number heat${this.stepOf(this.valueOf(cell))}`}, this.buttons[r][i])))));
  }

  fillLegend(count) {
    const title = make('p', {}, make('b', {}, this.score[1]), !this.given.some(row => row.cells.some(c => c.seeds > 1))
      ? '.' : this.score[0] === 'bias' ? ', mean over the seeds; \u00b1 half of its 95 % interval.'
        : ', median over the seeds; \u00b1 half the range of the middle half.', ' A deeper color is better.');
    const width = (this.most - this.least) / MATRIX_STEPS, unit = this.units[this.score[0]];
    const items = [];
    for (let step = MATRIX_STEPS - 1; step >= 0 && width > 0; step--) {
      const from = this.least + width * (this.score[2] ? step : MATRIX_STEPS - 1 - step);
      items.push(make('li', {}, make('i', {class: `heat${step}`}),
        `${formatScore(from, unit)} to ${formatScore(from + width, unit)}`));
    }
    const same = count ? `All cells: ${formatScore(this.least, unit)}` : 'No cell has this score.';
    this.legend.replaceChildren(title, make('ul', {class: 'legend'}, items.length ? items : make('li', {}, same)));
  }

  makeButton(row, cell, scenario) {
    const score = cell.scores[this.score[0]];
    const text = score ? score.text : cell.failed ? 'FAILED' : '-';
    return make('button', {type: 'button', tabindex: cell === this.focused ? 0 : -1,
      'aria-pressed': String(cell === this.picked), 'aria-label': `${row.title}, ${this.scenarios[scenario]}: ${text}`,
      onfocus: () => this.takeFocus(cell), onclick: () => this.pick(row, cell, scenario)},
    make('span', {}, text), score && score.spread && cell.seeds > 1 ? make('small', {}, `\u00b1${score.spread}`) : null);
  }

  buttonOf(cell) {
    const row = this.rows.findIndex(r => r.cells.includes(cell));
    return this.buttons[row][this.rows[row].cells.indexOf(cell)];
  }

  /* One cell at a time is a stop of the Tab key. */
  takeFocus(cell) {
    this.buttonOf(this.focused).tabIndex = -1;
    this.focused = cell;
    this.buttonOf(cell).tabIndex = 0;
  }

  pick(row, cell, scenario) {
    this.buttonOf(this.picked).setAttribute('aria-pressed', 'false');
    this.picked = cell;
    this.buttonOf(cell).setAttribute('aria-pressed', 'true');
    this.onPick(row, cell, this.scenarios[scenario]);
  }

  moveBy(event) {
    const row = this.buttons.findIndex(list => list.includes(event.target));
    if (row < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const column = this.buttons[row].indexOf(event.target), last = this.scenarios.length - 1;
    const to = {ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column], Home: [row, 0], End: [row, last]}[event.key];
    if (!to) return;
    event.preventDefault();
    const button = (this.buttons[to[0]] || [])[to[1]];
    if (button) button.focus();
  }
}

/* Makes what the page says of a cell: its scores, and the command that makes the page of its first seed. */
function makeCellDetails(row, cell, scenario) {
  const title = make('h3', {class: 'code'}, `${scenario}, ${row.title}`);
  const command = [make('p', {}, 'This command makes the page of the run of the first seed:'),
    make('pre', {class: 'stack'}, make('code', {id: 'cell-command'}, cell.command))];
  if (!cell.seeds) return [title, make('p', {class: cell.failed ? 'bad' : null}, cell.failed ? 'Failed: ' : 'Not played: ',
    cell.refused || '')];
  const text = (key, column) => ({key, title: column, number: true, sort: r => r.value});
  const rows = Object.entries(cell.scores).map(([name, score]) => ({...score,
    name: name.replaceAll('_', ' ') + (score.method ? ` (${score.method})` : '')}));
  const spread = cell.seeds > 1 ? [text('least', 'Least'), text('quarter', 'Quarter'),
    text('three_quarters', '3 quarters'), text('most', 'Most')] : [];
  const table = new Table({title: `Scores of ${row.title} in ${scenario}`, rows, sort: 'name', columns: [
    {key: 'name', title: 'Score', kind: 'name'}, text('text', cell.seeds > 1 ? 'Median' : 'Value'), ...spread]});
  return [title, make('p', {class: 'soft'}, `${formatCount(cell.seeds)} ${cell.seeds === 1 ? 'seed' : 'seeds'}`),
    cell.refused ? make('p', {class: 'bad'}, cell.refused) : null, ...command, table.element].filter(Boolean);
}

function drawComparison(about, page) {
  const data = readData('matrix'), details = make('div', {'aria-live': 'polite'});
  page.keys = MATRIX_KEYS;
  const matrix = page.matrix = new Matrix(data, (...cell) => details.replaceChildren(...makeCellDetails(...cell)));
  const last = about.first_seed + about.seeds - 1;
  const section = makeSection('matrix', 'Matrix', matrix.element, make('p', {class: 'note'},
    'Choose a cell for all its scores. Choose a scenario to sort the policies by it; "Policy" restores the order. ' +
    '"ideal" is the reference: it samples the truth evenly, at no cost.'));
  section.prepend(make('h1', {}, 'Capture policies by scenario'), make('p', {class: 'soft'},
    `${about.seeds === 1 ? `Seed ${about.first_seed}` : `Seeds ${about.first_seed} to ${last}`}. ` +
    `Written by strobe-lab ${about.version}.`));
  makeSection('cell', 'Scores of a cell', details);
  details.replaceChildren(...makeCellDetails(matrix.given[0], matrix.picked, data.scenarios[0]));
}
