/* Tables that sort and filter. A column has a key of the rows, a title, and these, each optional:
 *
 *   number      it is a number: aligned to the right, sorted downwards first
 *   show        makes the text or the element of a row
 *   share       the value's part of the whole, 0 to 1, drawn as a bar
 *   kind        class of the cell
 *   sort        the value to sort by */

const ROWS_FIRST = 25;

class Table {
  constructor({title, columns, rows, sort, filter, links}) {
    this.title = title;
    this.columns = columns;
    this.rows = rows;
    this.links = links;
    this.sortKey = sort || columns[0].key;
    this.down = this.column(this.sortKey).number === true;
    this.words = '';
    this.keep = null;
    this.filterKeys = filter || [];
    this.all = false;
    this.build();
    this.fill();
  }

  column(key) {
    return this.columns.find(c => c.key === key);
  }

  build() {
    this.body = make('tbody', {role: 'rowgroup'});
    this.heads = this.columns.map(c => make('th', {
      scope: 'col', role: 'columnheader', class: c.number ? 'number' : null,
    }, make('button', {type: 'button', onclick: () => this.sortBy(c.key)}, c.title)));
    const heads = this.links ? [...this.heads, make('th', {scope: 'col', role: 'columnheader', class: 'plain'},
      make('span', {class: 'gone'}, 'Links'))] : this.heads;
    this.table = make('table', {role: 'table', 'aria-label': this.title},
      make('thead', {role: 'rowgroup'}, make('tr', {role: 'row'}, heads)), this.body);
    this.count = make('output', {class: 'soft'});
    this.more = make('button', {type: 'button', class: 'more', onclick: () => {
      this.all = true;
      this.fill();
    }});
    this.filter = make('input', {
      type: 'search', placeholder: 'Filter', 'aria-label': `Filter: ${this.title}`, autocomplete: 'off',
      oninput: event => {
        this.words = event.target.value.toLowerCase();
        this.fill();
      },
    });
    this.tools = make('div', {class: 'tools'}, this.filterKeys.length ? this.filter : null, this.count);
    this.element = make('div', {}, this.tools, make('div', {class: 'table'}, this.table), this.more);
  }

  sortBy(key) {
    this.down = key === this.sortKey ? !this.down : this.column(key).number === true;
    this.sortKey = key;
    this.fill();
  }

  valueOf(row, column) {
    return column.sort ? column.sort(row) : row[column.key];
  }

  selected() {
    const words = this.words.split(/\s+/).filter(Boolean);
    const rows = this.rows.filter(row => (!this.keep || this.keep(row)) && words.every(word =>
      this.filterKeys.some(key => String(row[key]).toLowerCase().includes(word))));
    const column = this.column(this.sortKey), way = this.down ? -1 : 1;
    return rows.sort((a, b) => {
      const x = this.valueOf(a, column), y = this.valueOf(b, column);
      return way * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y), 'en'));
    });
  }

  fill() {
    const rows = this.selected(), shown = this.all ? rows : rows.slice(0, ROWS_FIRST);
    this.columns.forEach((c, i) => {
      if (c.key === this.sortKey) this.heads[i].setAttribute('aria-sort', this.down ? 'descending' : 'ascending');
      else this.heads[i].removeAttribute('aria-sort');
    });
    this.body.replaceChildren(...shown.map(row => this.makeRow(row)));
    this.count.textContent = rows.length === this.rows.length ? `${formatCount(rows.length)} rows`
      : `${formatCount(rows.length)} of ${formatCount(this.rows.length)} rows`;
    this.more.hidden = shown.length === rows.length;
    this.more.textContent = `Show all ${formatCount(rows.length)} rows`;
  }

  makeRow(row) {
    const cells = this.columns.map(c => {
      const content = c.show ? c.show(row) : row[c.key];
      const cell = make('td', {
        role: 'cell', class: [c.number ? 'number' : '', c.share ? 'share' : '', c.kind || ''].join(' ').trim() || null,
        'data-label': c.kind === 'name' ? null : c.title.toLowerCase(),
      }, content);
      if (c.share) cell.style.setProperty('--part', `${Math.min(100, 100 * c.share(row))}%`);
      return cell;
    });
    if (this.links) cells.push(make('td', {class: 'links', role: 'cell'}, this.links(row).map(([text, label, action]) =>
      make('button', {type: 'button', class: 'link', 'aria-label': label, onclick: action}, text))));
    return make('tr', {role: 'row'}, cells);
  }
}

function showName(row) {
  return [make('span', {class: 'code'}, row.name), row.image
    ? make('span', {class: 'image', title: row.image}, ` ${lastOfPath(row.image)}`) : null];
}
