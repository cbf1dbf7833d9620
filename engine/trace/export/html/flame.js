/* Flame graphs, with the outermost functions on top: of call paths, and inverse, of callers. Data are those of
 * page_flame.h. A comparison has two columns of amounts for each weight, a report one. */

const FLAME_ROW = 18;
const WEIGHTS = {truth: ['Truth', 'ns'], claim: ['Claim', 'ns'], both: ['Truth and claim', 'ns'],
  wall: ['Elapsed time', 'ns'], cpu: ['CPU time', 'ns'], alloc: ['Allocated bytes', 'bytes']};
/* Words for the two sides of a comparison: before each amount, and for the second side alone. */
const SIDES = {captures: ['', 'now', 'the new captures'], both: ['truth ', 'claim', 'the claim']};

/* The tree of one weight: inclusive amounts of each path, by side. */
class FlameTree {
  constructor(data, columns) {
    const count = data.parent.length, others = data.other_of.length;
    this.parent = data.parent.concat(data.other_of);
    this.name = data.name.concat(new Array(others).fill(OTHER_NAME));
    this.paths = new Array(count).fill(0).concat(data.other_paths);
    this.name[0] = ROOT_NAME;
    this.self = columns.map(k => data.self[k].concat(data.other_self[k]));
    this.whole = this.self.map(self => {
      const whole = Float64Array.from(self);
      for (let i = count + others - 1; i >= count; i--) whole[this.parent[i]] += whole[i];
      for (let i = count - 1; i > 0; i--) whole[this.parent[i]] += whole[i];
      return whole;
    });
    this.below = Array.from({length: count + others}, () => []);
    for (let i = 1; i < count + others; i++) this.below[this.parent[i]].push(i);
  }

  /* Returns a node of the graph. Its frames are made when they are drawn. */
  root() {
    return this.frame(0, null);
  }

  frame(index, outer) {
    const tree = this;
    return {
      name: this.name[index], amounts: this.whole.map(w => w[index]), self: this.self.map(s => s[index]), outer,
      paths: this.paths[index], get frames() {
        const frames = tree.below[index].map(i => tree.frame(i, this));
        Object.defineProperty(this, 'frames', {value: sortFrames(frames)});
        return this.frames;
      },
    };
  }

  /* The inverse: the first row has the functions by their own amounts, below them are their callers. */
  callers() {
    const leaves = [];
    for (let i = 1; i < this.name.length; i++) if (this.self.some(s => s[i] > 0)) leaves.push([i, i]);
    const root = {name: ROOT_NAME, amounts: this.whole.map(w => w[0]), self: this.self.map(() => 0), outer: null, paths: 0};
    return this.callersOf(root, leaves);
  }

  /* `ends` has pairs: the path whose amount it is, and the path whose name the next row has. */
  callersOf(node, ends) {
    const tree = this;
    Object.defineProperty(node, 'frames', {configurable: true, get() {
      const groups = new Map();
      for (const [leaf, at] of ends) {
        if (!at) continue;
        const group = groups.get(tree.name[at]);
        if (group) group.push([leaf, tree.parent[at]]);
        else groups.set(tree.name[at], [[leaf, tree.parent[at]]]);
      }
      const frames = [...groups].map(([name, list]) => {
        const amounts = tree.self.map(self => list.reduce((sum, [leaf]) => sum + self[leaf], 0));
        const self = node.outer ? amounts.map(() => 0) : amounts;
        return tree.callersOf({name, amounts, self, outer: node, paths: 0}, list);
      });
      Object.defineProperty(node, 'frames', {value: sortFrames(frames)});
      return node.frames;
    }});
    return node;
  }

  /* Returns the amount of the paths that have one of the names, each counted once. */
  matched(matching, side) {
    const inside = new Uint8Array(this.name.length);
    let sum = 0;
    for (let i = 1; i < this.name.length; i++) {
      inside[i] = inside[this.parent[i]] || (matching.has(this.name[i]) ? 1 : 0);
      if (inside[i] && !inside[this.parent[i]]) sum += this.whole[side][i];
    }
    return sum;
  }
}

function sumOf(amounts) {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

function sortFrames(frames) {
  return frames.filter(f => sumOf(f.amounts) > 0).sort((a, b) => sumOf(b.amounts) - sumOf(a.amounts));
}

class Flame {
  constructor(data, names, onFind) {
    this.data = data;
    this.names = names;
    this.onFind = onFind;
    this.columns = {}; /* of each weight: one, or the two sides of a comparison */
    data.columns.forEach((c, i) => {
      if (!c.endsWith(' new')) this.columns[c] = data.columns[i + 1] === `${c} new` ? [i, i + 1] : [i];
    });
    if (this.columns.claim) this.columns.both = [...this.columns.truth, ...this.columns.claim];
    this.weights = Object.keys(this.columns);
    this.trees = {};
    this.weights = this.weights.filter(w => this.tree(w).whole.some(whole => whole[0] > 0));
    this.weight = this.weights[0] || Object.keys(this.columns)[0];
    this.inverse = false;
    this.matching = null;
    this.build();
    this.restart();
  }

  get sides() {
    return this.columns[this.weight].length;
  }

  tree(weight) {
    if (!this.trees[weight]) this.trees[weight] = new FlameTree(this.data, this.columns[weight]);
    return this.trees[weight];
  }

  build() {
    this.canvas = make('canvas', {
      id: 'flame-canvas', tabindex: 0, role: 'application', 'aria-roledescription': 'flame graph',
      'aria-label': 'Flame graph of all threads', 'aria-describedby': 'flame-keys',
    }, 'A drawing of call paths and their times. The tables of this page have the times of functions.');
    this.spacer = make('div', {}, this.canvas);
    this.scroll = make('div', {class: 'scroll', id: 'flame-scroll'}, this.spacer);
    this.status = make('div', {class: 'picked', role: 'status', id: 'flame-picked'});
    const select = make('select', {id: 'flame-weight', onchange: event => {
      this.weight = event.target.value;
      this.restart();
    }}, this.weights.map(w => make('option', {value: w}, WEIGHTS[w][0])));
    this.turn = make('button', {type: 'button', 'aria-pressed': 'false', id: 'flame-inverse', onclick: () => {
      this.inverse = !this.inverse;
      this.turn.setAttribute('aria-pressed', String(this.inverse));
      this.restart();
    }}, 'Inverse (callers)');
    this.out = make('button', {type: 'button', id: 'flame-out', onclick: () => this.zoomTo(this.root)}, 'Whole');
    this.tools = make('div', {class: 'tools'}, make('label', {}, 'Width', select), this.turn, this.out);
    this.keys = make('p', {class: 'note', id: 'flame-keys'},
      'Click a frame to enlarge it, and a frame above to go back. Keys: arrows go from frame to frame, Enter enlarges, ' +
      'Backspace goes back.');
    this.element = make('div', {}, this.tools, this.scroll, this.status, this.keys);
    this.canvas.addEventListener('click', event => {
      const node = this.at(event);
      if (node) this.zoomTo(node);
    });
    this.canvas.addEventListener('pointermove', event => {
      const node = this.at(event);
      this.canvas.style.cursor = node ? 'pointer' : 'default';
      if (node) tip.show(this.textOf(node).join('\n'), event.clientX, event.clientY);
      else tip.hide();
    });
    this.canvas.addEventListener('pointerleave', () => tip.hide());
    this.canvas.addEventListener('keydown', event => this.press(event));
    this.scroll.addEventListener('scroll', () => this.draw());
  }

  restart() {
    this.root = this.inverse ? this.tree(this.weight).callers() : this.tree(this.weight).root();
    this.zoomTo(this.root);
  }

  zoomTo(node) {
    this.focus = this.picked = node;
    this.describe();
    this.draw();
  }

  pick(node) {
    if (!node) return;
    this.picked = node;
    this.describe();
    this.draw();
  }

  unit() {
    return WEIGHTS[this.weight][1];
  }

  textOf(node) {
    const show = amount => formatAmount(amount, this.unit());
    const name = node.name === OTHER_NAME ? `(other): ${formatCount(node.paths)} small paths` : this.names.text(node.name);
    const lines = [name, lastOfPath(this.names.image(node.name))];
    if (this.sides === 2) {
      const [base, now] = node.amounts, [first, second, alone] = SIDES[this.weight] || SIDES.captures;
      lines.push(`${first}${show(base)}, ${second} ${show(now)}`,
        base > 0 ? `${now >= base ? '+' : ''}${formatNumber(100 * (now - base) / base, 1)} %` : `only in ${alone}`);
    } else {
      lines.push(`${show(node.amounts[0])}, ${formatShare(node.amounts[0], this.root.amounts[0])}`);
      if (node.self[0] > 0 && !this.inverse) lines.push(`itself: ${show(node.self[0])}`);
    }
    return lines.filter(Boolean);
  }

  describe() {
    const [name, ...rest] = this.textOf(this.picked), number = this.picked.name;
    this.status.replaceChildren(make('b', {class: 'code'}, name), ...rest.map(text => make('span', {}, text)),
      ...(number >= 0 && this.onFind ? [make('button', {type: 'button', class: 'link',
        onclick: () => this.onFind(number)}, 'Timeline')] : []));
  }

  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  /* Lays out the frames that are wide enough: [node, x, width, row]. */
  layOut(width) {
    const rects = [], above = [];
    for (let node = this.focus; node; node = node.outer) above.unshift(node);
    above.forEach((node, row) => rects.push([node, 0, width, row]));
    const whole = sumOf(this.focus.amounts), open = [[this.focus, 0, above.length - 1]];
    while (open.length) {
      const [node, x, row] = open.pop();
      let left = x;
      for (const frame of node.frames) {
        const wide = width * sumOf(frame.amounts) / whole;
        if (wide < 0.5) break;
        rects.push([frame, left, wide, row + 1]);
        open.push([frame, left, row + 1]);
        left += wide;
      }
    }
    return rects;
  }

  paint() {
    const width = this.scroll.clientWidth;
    if (!width) return;
    this.rects = this.layOut(width);
    const rows = this.rects.reduce((most, r) => Math.max(most, r[3] + 1), 1);
    this.spacer.style.height = `${rows * FLAME_ROW}px`;
    const height = Math.min(rows * FLAME_ROW, this.scroll.clientHeight || rows * FLAME_ROW), top = this.scroll.scrollTop;
    const c = prepareCanvas(this.canvas, width, height);
    const ink = styleColor('--ink'), accent = styleColor('--accent'), depth = this.depthOf(this.focus);
    c.fillStyle = styleColor('--card');
    c.fillRect(0, 0, width, height);
    c.font = CANVAS_FONT;
    c.textBaseline = 'middle';
    for (const [node, x, wide, row] of this.rects) {
      const y = row * FLAME_ROW - top;
      if (y > height || y + FLAME_ROW < 0) continue;
      c.globalAlpha = this.matching && !this.matching.has(node.name) ? 0.25 : row < depth ? 0.55 : 1;
      c.fillStyle = this.colorOf(node);
      c.fillRect(x, y, Math.max(0.5, wide - (wide > 2 ? 0.6 : 0)), FLAME_ROW - 1);
      c.fillStyle = ink;
      if (wide > 24) drawLabel(c, this.names.text(node.name), x, y + FLAME_ROW / 2, wide);
      c.globalAlpha = 1;
      if (node === this.picked) {
        c.strokeStyle = accent;
        c.lineWidth = 2;
        c.strokeRect(x + 1, y + 1, Math.max(2, wide - 2.6), FLAME_ROW - 3);
      }
    }
  }

  depthOf(node) {
    let depth = 0;
    for (let outer = node.outer; outer; outer = outer.outer) depth++;
    return depth;
  }

  /* Of a comparison: red for more, blue for less. The color is full when an amount differs by 30 %. */
  colorOf(node) {
    if (this.sides === 1 || node.name === ROOT_NAME) return this.names.color(node.name);
    const [base, now] = node.amounts, change = (now - base) / Math.max(base, now, 1e-9);
    const part = Math.min(1, Math.abs(change) / 0.3), dark = this.names.dark;
    return `hsl(${change > 0 ? 4 : 214}, ${Math.round(85 * part)}%, ${Math.round(dark ? 24 + 12 * part : 91 - 21 * part)}%)`;
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left;
    const row = Math.floor((event.clientY - box.top + this.scroll.scrollTop) / FLAME_ROW);
    const found = (this.rects || []).find(r => r[3] === row && x >= r[1] && x < r[1] + r[2]);
    return found ? found[0] : null;
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const node = this.picked, beside = node.outer ? node.outer.frames : [node], at = beside.indexOf(node);
    const actions = {
      ArrowUp: () => this.pick(node.outer), ArrowDown: () => this.pick(node.frames[0]),
      ArrowLeft: () => this.pick(beside[at - 1]), ArrowRight: () => this.pick(beside[at + 1]),
      Enter: () => this.zoomTo(node), Backspace: () => this.focus.outer && this.zoomTo(this.focus.outer),
      0: () => this.zoomTo(this.root), Home: () => this.zoomTo(this.root), Escape: () => this.zoomTo(this.root),
      i: () => this.turn.click(),
    };
    if (!actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
    this.reveal();
  }

  reveal() {
    this.paint();
    const found = this.rects.find(r => r[0] === this.picked);
    if (!found) return;
    const y = found[3] * FLAME_ROW, top = this.scroll.scrollTop, high = this.scroll.clientHeight;
    if (y < top) this.scroll.scrollTop = y;
    else if (y + FLAME_ROW > top + high) this.scroll.scrollTop = y + FLAME_ROW - high;
  }

  highlight(matching) {
    this.matching = matching;
    this.draw();
  }

  /* Enlarges the largest frame of a name in the graph of callers, or of paths. */
  goToName(name) {
    if (!this.inverse) this.turn.click();
    const node = this.root.frames.find(f => f.name === name);
    if (node) this.zoomTo(node);
    else {
      this.turn.click();
      this.zoomTo(this.largest(name) || this.root);
    }
    showPlace(document.getElementById('flame'));
    this.canvas.focus({preventScroll: true});
  }

  largest(name) {
    let best = null;
    const open = [this.root];
    while (open.length) {
      const node = open.pop();
      if (node.name === name && (!best || sumOf(node.amounts) > sumOf(best.amounts))) best = node;
      if (node.name !== name) open.push(...node.frames);
    }
    return best;
  }
}
