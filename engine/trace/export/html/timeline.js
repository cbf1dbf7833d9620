/* The timeline: a track for each thread, a row for each depth. Data are those of page_tracks.h. */

const AXIS_HEIGHT = 24;
const HEAD_HEIGHT = 20;
const ROW_HEIGHT = 16;
const THIN_HEIGHT = 4;
const THIN_ROWS = 8;
const OPEN_TRACKS = 4;

/* Returns the slices of a level as arrays. A merged block has a count above 1. */
function decodeLevel(numbers) {
  const level = {begin: [], end: [], name: [], count: []};
  for (let i = 0, time = 0; i < numbers.length;) {
    time += numbers[i++];
    level.begin.push(time);
    time += numbers[i++];
    level.end.push(time);
    const name = numbers[i++];
    level.name.push(name < 0 ? -1 - name : name);
    level.count.push(name < 0 ? numbers[i++] : 1);
  }
  return level;
}

/* Returns the index of the first slice of the level that ends after `time`. */
function firstAfter(level, time) {
  let low = 0, high = level.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (level.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

class Timeline {
  constructor(data, names, onPick) {
    this.names = names;
    this.onPick = onPick;
    this.begin = data.begin_ns;
    this.end = Math.max(data.end_ns, data.begin_ns + 1);
    this.from = this.begin;
    this.to = this.end;
    this.tracks = this.makeTracks(data);
    this.picked = null;
    this.matching = null;
    this.band = null;
    this.build();
    this.place();
  }

  /* A track has levels of slices. A level may be empty; `thin`: rows of a closed track. */
  makeTracks(data) {
    return data.timeline.tracks.map((t, i) => ({
      name: t.name, tid: t.tid, generation: t.generation, main: t.main, cpu: t.cpu_ns, open: i < OPEN_TRACKS,
      levels: t.levels.map(decodeLevel), thin: THIN_ROWS,
    }));
  }

  build() {
    this.canvas = make('canvas', {
      id: 'timeline-canvas', tabindex: 0, role: 'application', 'aria-roledescription': 'timeline',
      'aria-label': `Timeline of ${this.tracks.length} threads over ${formatTime(this.end - this.begin)}`,
      'aria-describedby': 'timeline-keys',
    }, `A drawing of the calls of ${this.tracks.length} threads. The tables of this page have the same times.`);
    this.spacer = make('div', {}, this.canvas);
    this.scroll = make('div', {class: 'scroll', id: 'timeline-scroll'}, this.spacer);
    this.status = make('div', {class: 'picked', role: 'status', id: 'timeline-picked'});
    const button = (text, label, action) => make('button', {type: 'button', 'aria-label': label, title: label,
      onclick: action}, text);
    this.range = make('output', {class: 'soft', id: 'timeline-range'});
    this.tools = make('div', {class: 'tools'},
      button('+', 'Zoom in', () => this.zoom(0.5)), button('\u2212', 'Zoom out', () => this.zoom(2)),
      button('\u2190', 'Earlier', () => this.pan(-0.25)), button('\u2192', 'Later', () => this.pan(0.25)),
      button('Whole', 'Show the whole time', () => this.show(this.begin, this.end)),
      button('Open all', 'Open or close all threads', () => this.openAll()), this.range);
    this.keys = make('p', {class: 'note', id: 'timeline-keys'},
      'Drag to move, Ctrl and wheel to zoom, click for a slice, double click to fit it. Keys: arrows move, + and - ' +
      'zoom, 0 shows all, Shift and arrows go from slice to slice, Enter fits the slice, o opens or closes its thread.');
    this.element = make('div', {}, this.tools, this.scroll, this.status, this.keys);
    this.listen();
    this.describe();
  }

  /* Places the tracks, and sets the height of the area that scrolls. */
  place() {
    let y = AXIS_HEIGHT;
    for (const track of this.tracks) {
      track.y = y;
      track.row = track.open ? ROW_HEIGHT : THIN_HEIGHT;
      track.rows = track.open ? track.levels.length : Math.min(track.levels.length, track.thin);
      y += HEAD_HEIGHT + track.rows * track.row + 6;
    }
    this.height = y;
    this.spacer.style.height = `${y}px`;
    this.draw();
  }

  openAll() {
    const open = !this.tracks.every(t => t.open);
    for (const track of this.tracks) track.open = open;
    this.place();
  }

  /* ---- the part that is shown */

  show(from, to) {
    const least = Math.min(1000, this.end - this.begin), span = Math.max(least, Math.min(to - from, this.end - this.begin));
    this.from = Math.max(this.begin, Math.min((from + to) / 2 - span / 2, this.end - span));
    this.to = this.from + span;
    this.draw();
  }

  pan(part) {
    const by = (this.to - this.from) * part;
    this.show(this.from + by, this.to + by);
  }

  zoom(factor, at) {
    const middle = at === undefined ? (this.from + this.to) / 2 : at;
    this.show(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
  }

  timeAt(x) {
    return this.from + (this.to - this.from) * x / this.width;
  }

  /* ---- drawing */

  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  paint() {
    this.width = this.scroll.clientWidth;
    this.shown = Math.min(this.scroll.clientHeight, this.height);
    if (!this.width || !this.shown) return;
    const c = prepareCanvas(this.canvas, this.width, this.shown), top = this.scroll.scrollTop;
    this.colors = {text: styleColor('--text'), ink: styleColor('--ink'), soft: styleColor('--soft'),
      line: styleColor('--grid'), card: styleColor('--card'), track: styleColor('--track'), band: styleColor('--band'),
      accent: styleColor('--accent')};
    c.fillStyle = this.colors.card;
    c.fillRect(0, 0, this.width, this.shown);
    c.font = CANVAS_FONT;
    c.textBaseline = 'middle';
    const ticks = this.ticks();
    this.paintGrid(c, ticks);
    for (const track of this.tracks) {
      const y = track.y - top, height = HEAD_HEIGHT + track.rows * track.row;
      if (y > this.shown || y + height < AXIS_HEIGHT) continue;
      this.paintTrack(c, track, y);
    }
    this.paintBand(c);
    this.paintAxis(c, ticks);
    this.range.textContent = `${formatTime(this.from)} to ${formatTime(this.to)}`;
  }

  ticks() {
    const span = this.to - this.from, most = Math.max(2, Math.floor(this.width / 110));
    let step = Math.pow(10, Math.floor(Math.log10(span / most)));
    while (span / step > most) step *= span / step > 5 * most ? 5 : 2;
    const ticks = [];
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) ticks.push(t);
    this.step = step;
    return ticks;
  }

  x(time) {
    return (time - this.from) / (this.to - this.from) * this.width;
  }

  paintGrid(c, ticks) {
    c.fillStyle = this.colors.line;
    for (const t of ticks) c.fillRect(Math.round(this.x(t)), AXIS_HEIGHT, 1, this.shown);
  }

  paintAxis(c, ticks) {
    c.fillStyle = this.colors.card;
    c.fillRect(0, 0, this.width, AXIS_HEIGHT);
    c.fillStyle = this.colors.line;
    c.fillRect(0, AXIS_HEIGHT - 1, this.width, 1);
    c.fillStyle = this.colors.soft;
    const unit = this.step >= 1e8 ? [1e9, 's'] : this.step >= 1e5 ? [1e6, 'ms'] : this.step >= 1e2 ? [1e3, 'us'] : [1, 'ns'];
    const digits = Math.max(0, Math.ceil(-Math.log10(this.step / unit[0]) - 1e-9));
    for (const t of ticks) {
      const text = `${formatNumber(t / unit[0], digits)} ${unit[1]}`, x = Math.round(this.x(t));
      if (x + text.length * CHARACTER_WIDTH + 4 < this.width) c.fillText(text, x + 4, AXIS_HEIGHT / 2);
      c.fillRect(x, AXIS_HEIGHT - 7, 1, 7);
    }
  }

  paintTrack(c, track, y) {
    c.fillStyle = this.colors.track;
    c.fillRect(0, y, this.width, HEAD_HEIGHT);
    c.fillStyle = this.colors.text;
    const cpu = `${formatTime(track.cpu)} CPU`, room = this.width - 10 - cpu.length * CHARACTER_WIDTH;
    drawLabel(c, `${track.open ? '\u25be' : '\u25b8'} ${track.name} ${track.tid}`, 2, y + HEAD_HEIGHT / 2, room);
    c.fillStyle = this.colors.soft;
    c.fillText(cpu, room + 4, y + HEAD_HEIGHT / 2);
    for (let depth = 0; depth < track.rows; depth++) {
      const row = y + HEAD_HEIGHT + depth * track.row;
      if (row < this.shown && row + track.row > AXIS_HEIGHT) this.paintLevel(c, track.levels[depth], row, track.row);
    }
  }

  paintLevel(c, level, y, height) {
    const gap = height > 8 ? 1 : 0;
    const scale = this.width / (this.to - this.from), from = this.from;
    let last = '', drawn = 0; /* slices of less than a pixel are left out up to here */
    for (let i = firstAfter(level, this.from); i < level.begin.length && level.begin[i] < this.to; i++) {
      let left = Math.max(0, (level.begin[i] - from) * scale), right = Math.min(this.width, (level.end[i] - from) * scale);
      if (right < drawn) continue;
      if (right - left < 1.2) {
        left = Math.max(drawn, Math.floor(left));
        right = left + 1;
      }
      drawn = right;
      const width = right - left - (right - left > 3 ? 0.6 : 0);
      const name = level.name[i], picked = this.isPicked(level, i);
      if (this.matching) c.globalAlpha = this.matching.has(name) ? 1 : 0.22;
      const color = this.names.color(name);
      if (color !== last) c.fillStyle = last = color;
      c.fillRect(left, y, width, height - gap);
      if (width <= 2 && !picked) continue;
      last = '';
      if (level.count[i] > 1 && width > 2) this.paintMerged(c, left, y, width, height - gap);
      if (height > 8 && width > 24) {
        c.fillStyle = this.colors.ink;
        drawLabel(c, level.count[i] > 1 ? `${level.count[i]} slices` : this.names.text(name), left, y + height / 2, width);
      }
      if (picked) {
        c.globalAlpha = 1;
        c.strokeStyle = this.colors.accent;
        c.lineWidth = 2;
        c.strokeRect(left + 1, y + 1, Math.max(2, width - 2), height - gap - 2);
      }
    }
    c.globalAlpha = 1;
  }

  /* A block of several slices has a line below. */
  paintMerged(c, x, y, width, height) {
    c.fillStyle = this.colors.ink;
    const alpha = c.globalAlpha;
    c.globalAlpha = alpha * 0.35;
    c.fillRect(x, y + height - Math.max(1, height / 8), width, Math.max(1, height / 8));
    c.globalAlpha = alpha;
  }

  paintBand(c) {
    if (!this.band) return;
    const left = this.x(this.band.begin), right = this.x(this.band.end);
    c.fillStyle = this.colors.band;
    c.fillRect(left, AXIS_HEIGHT, Math.max(2, right - left), this.shown);
  }

  /* ---- slices */

  isPicked(level, index) {
    return this.picked && this.picked.level === level && this.picked.index === index;
  }

  /* Returns the slice, or the track whose heading it is, at a place of the canvas. */
  at(x, y) {
    const place = y + this.scroll.scrollTop;
    if (y < AXIS_HEIGHT) return null;
    const track = this.tracks.find(t => place >= t.y && place < t.y + HEAD_HEIGHT + t.rows * t.row);
    if (!track) return null;
    if (place < track.y + HEAD_HEIGHT) return {track};
    const depth = Math.floor((place - track.y - HEAD_HEIGHT) / track.row), level = track.levels[depth];
    const slack = (this.to - this.from) / this.width, time = this.timeAt(x);
    const index = firstAfter(level, time - slack);
    return index < level.begin.length && level.begin[index] <= time + slack ? {track, depth, level, index} : null;
  }

  textOf(slice) {
    const {track, level, index} = slice, length = level.end[index] - level.begin[index], name = level.name[index];
    const lines = [this.names.text(name), lastOfPath(this.names.image(name)), `${track.name} ${track.tid}`,
      `${formatTime(length)} from ${formatTime(level.begin[index])} on`];
    if (level.count[index] > 1) lines[0] = `${level.count[index]} short slices, the longest: ${lines[0]}`;
    return lines.filter(Boolean);
  }

  pick(slice, quiet) {
    this.picked = slice && slice.level ? slice : null;
    this.describe();
    if (this.picked && !quiet) this.reveal(this.picked);
    this.draw();
  }

  describe() {
    const slice = this.picked;
    if (!slice) {
      this.status.replaceChildren(make('span', {class: 'soft'}, 'No slice is selected.'));
      return;
    }
    const [name, ...rest] = this.textOf(slice), number = slice.level.name[slice.index];
    this.status.replaceChildren(make('b', {class: 'code'}, name), ...rest.map(text => make('span', {}, text)),
      make('button', {type: 'button', class: 'link', onclick: () => this.fit(slice)}, 'Fit'),
      ...(this.isCall(number) ? [make('button', {type: 'button', class: 'link', onclick: () => this.onPick(number)},
        'Flame graph')] : []));
  }

  /* Calls are in the flame graph, too. */
  isCall(name) {
    return name >= 0;
  }

  fit(slice) {
    const {level, index} = slice, length = level.end[index] - level.begin[index];
    this.show(level.begin[index] - length * 0.1, level.end[index] + length * 0.1);
  }

  /* Scrolls and moves so that the slice is seen. */
  reveal(slice) {
    const {track, depth, level, index} = slice;
    if (!track.open && depth >= track.rows) {
      track.open = true;
      this.place();
    }
    const y = track.y + HEAD_HEIGHT + depth * track.row, top = this.scroll.scrollTop, high = this.scroll.clientHeight;
    if (y - AXIS_HEIGHT - HEAD_HEIGHT < top) this.scroll.scrollTop = y - AXIS_HEIGHT - HEAD_HEIGHT;
    else if (y + track.row > top + high) this.scroll.scrollTop = y + track.row - high + 8;
    const middle = (level.begin[index] + level.end[index]) / 2, half = (this.to - this.from) / 2;
    if (level.end[index] < this.from || level.begin[index] > this.to) this.show(middle - half, middle + half);
  }

  /* Goes to the slice before or after, to the one around, or to the first one within. */
  stepTo(way) {
    let {track, depth, level, index} = this.picked || {};
    if (!track) {
      track = this.tracks[0];
      if (!track) return;
      depth = track.levels.findIndex(l => l.begin.length > 0);
      level = track.levels[depth];
      index = Math.min(firstAfter(level, this.from), level.begin.length - 1);
    } else if (way === 'left' || way === 'right') {
      index = Math.max(0, Math.min(level.begin.length - 1, index + (way === 'left' ? -1 : 1)));
    } else {
      const by = way === 'up' ? -1 : 1, time = by < 0 ? (level.begin[index] + level.end[index]) / 2 : level.begin[index];
      let to = depth + by, found = 0;
      for (; track.levels[to]; to += by) {
        found = firstAfter(track.levels[to], time);
        if (found < track.levels[to].begin.length && track.levels[to].begin[found] < level.end[index]) break;
      }
      if (!track.levels[to]) return;
      depth = to;
      level = track.levels[to];
      index = found;
    }
    this.pick({track, depth, level, index});
  }

  /* ---- links to here */

  /* Shows a time of a thread. Without tid it is the main thread, or the first one. */
  goTo(begin, end, tid, generation) {
    const tracks = this.tracks.filter(t => tid === undefined ? t.main : t.tid === tid &&
        (generation === undefined || t.generation === generation));
    const isDuring = level => level.begin[0] <= end && level.end.at(-1) >= begin;
    const track = tracks.find(t => t.levels.some(isDuring)) || tracks[0] ||
        (tid === undefined ? this.tracks[0] : null);
    const length = Math.max(end - begin, 1000);
    this.band = {begin, end: Math.max(end, begin + 1)};
    showPlace(document.getElementById('timeline'));
    if (track) {
      track.open = true;
      this.place();
      this.scroll.scrollTop = track.y - AXIS_HEIGHT - 2;
      const deepest = this.deepest(track, begin, end);
      if (deepest) this.pick(deepest, true);
    }
    this.show(begin - length * 0.15, end + length * 0.15);
    this.canvas.focus({preventScroll: true});
  }

  /* Returns the deepest slice of the track that is about this time. */
  deepest(track, begin, end) {
    for (let depth = track.levels.length - 1; depth >= 0; depth--) {
      const level = track.levels[depth], index = firstAfter(level, (begin + end) / 2);
      if (index < level.begin.length && level.begin[index] <= (begin + end) / 2 &&
          level.end[index] - level.begin[index] >= (end - begin) / 2) return {track, depth, level, index};
    }
    return null;
  }

  /* Shows the longest slice of one of the names, or the next one after the slice that is selected. Returns false when
   * there is none. */
  goToName(matching, next) {
    let best = null, length = 0;
    const places = [];
    for (const track of this.tracks)
      track.levels.forEach((level, depth) => level.name.forEach((name, index) => {
        if (!matching.has(name)) return;
        const slice = {track, depth, level, index}, ns = (level.end[index] - level.begin[index]) / level.count[index];
        if (next) places.push(slice);
        if (ns > length) {
          best = slice;
          length = ns;
        }
      }));
    if (next && places.length) {
      const order = p => this.tracks.indexOf(p.track);
      places.sort((a, b) => order(a) - order(b) || a.level.begin[a.index] - b.level.begin[b.index] || a.depth - b.depth);
      const last = places.findIndex(p => this.picked && this.isPicked(p.level, p.index));
      best = places[(last + 1) % places.length];
    }
    if (!best) return false;
    best.track.open = true;
    this.place();
    this.pick(best);
    const span = best.level.end[best.index] - best.level.begin[best.index], view = this.to - this.from;
    if (span < view / 50 || span > view) this.show(best.level.begin[best.index] - span * 2, best.level.end[best.index] + span * 2);
    showPlace(document.getElementById('timeline'));
    return true;
  }

  highlight(matching) {
    this.matching = matching;
    this.draw();
  }

  /* ---- input */

  listen() {
    const canvas = this.canvas, pointers = new Map();
    let moved = 0;
    const place = event => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('pointerdown', event => {
      pointers.set(event.pointerId, place(event)[0]);
      moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
      const [x, y] = place(event), before = pointers.get(event.pointerId);
      if (before === undefined) {
        const found = this.at(x, y);
        canvas.style.cursor = found ? 'pointer' : 'default';
        if (found && found.level) tip.show(this.textOf(found).join('\n'), event.clientX, event.clientY);
        else tip.hide();
        return;
      }
      tip.hide();
      moved += Math.abs(x - before);
      if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        this.zoom(Math.abs(before - other) / Math.max(8, Math.abs(x - other)), this.timeAt(other));
      } else if (moved > 3) {
        const by = (before - x) / this.width * (this.to - this.from);
        this.show(this.from + by, this.to + by);
      }
      pointers.set(event.pointerId, x);
    });
    const release = event => pointers.delete(event.pointerId);
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => tip.hide());
    canvas.addEventListener('click', event => {
      if (moved > 3) return;
      const found = this.at(...place(event));
      if (found && !found.level) {
        found.track.open = !found.track.open;
        this.place();
      } else {
        this.pick(found, true);
      }
    });
    canvas.addEventListener('dblclick', event => {
      const found = this.at(...place(event));
      if (found && found.level) this.fit(found);
    });
    canvas.addEventListener('wheel', event => {
      const across = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY * 0.002), this.timeAt(place(event)[0]));
      else if (across) this.pan((event.deltaX || event.deltaY) / this.width);
      else return;
      event.preventDefault();
    }, {passive: false});
    canvas.addEventListener('keydown', event => this.press(event));
    this.scroll.addEventListener('scroll', () => this.draw());
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const way = {ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down'}[event.key];
    const actions = {
      a: () => this.pan(-0.15), d: () => this.pan(0.15), w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7),
      '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2),
      0: () => this.show(this.begin, this.end), Home: () => this.show(this.begin, this.end),
      Enter: () => this.picked && this.fit(this.picked),
      o: () => {
        const track = this.picked ? this.picked.track : this.tracks[0];
        track.open = !track.open;
        this.place();
      },
      Escape: () => {
        this.band = null;
        this.pick(null);
      },
    };
    if (way && event.shiftKey) this.stepTo(way);
    else if (way === 'left' || way === 'right') this.pan(way === 'left' ? -0.15 : 0.15);
    else if (way) this.scroll.scrollTop += way === 'up' ? -48 : 48;
    else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  }
}
