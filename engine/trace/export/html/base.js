'use strict';
/* Helpers of all parts of the page: data, elements, texts of amounts, colours of names. Texts of the data are hostile:
 * they become text nodes only. */

function readData(id) {
  const element = document.getElementById(`data-${id}`);
  return element ? JSON.parse(element.textContent) : null;
}

/* Makes an element. Attributes that begin with "on" are listeners; null leaves an attribute out. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

function formatNumber(value, digits) {
  return value.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

function formatCount(value) {
  return formatNumber(Math.round(value), 0);
}

function formatTime(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${formatNumber(ns, Number.isInteger(ns) ? 0 : 1)} ns`;
  if (size < 1e6) return `${formatNumber(ns / 1e3, 2)} us`;
  if (size < 1e9) return `${formatNumber(ns / 1e6, 2)} ms`;
  return `${formatNumber(ns / 1e9, 3)} s`;
}

function formatBytes(bytes) {
  const size = Math.abs(bytes);
  if (size < 1024) return `${formatNumber(bytes, Number.isInteger(bytes) ? 0 : 1)} B`;
  if (size < 1048576) return `${formatNumber(bytes / 1024, 1)} KiB`;
  if (size < 1073741824) return `${formatNumber(bytes / 1048576, 1)} MiB`;
  return `${formatNumber(bytes / 1073741824, 2)} GiB`;
}

function formatShare(part, whole) {
  return whole > 0 ? `${formatNumber(100 * part / whole, 100 * part / whole < 0.1 ? 2 : 1)} %` : '-';
}

function formatAmount(value, unit) {
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'ns') return formatTime(value);
  return formatNumber(value, Math.abs(value) < 100 && !Number.isInteger(value) ? 2 : 0);
}

function lastOfPath(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

/* ---- names */

const CLASS = {function: 0, wait: 1, gap: 2, placeholder: 3, off: 4};
const OTHER_NAME = -1;
const ROOT_NAME = -2;

/* Kinds of time, in the order of legends. Each has a color of the style sheet. */
const KINDS = {
  lock: 'locks', io: 'files and network', idle: 'sleep and poll', gc: 'garbage collection', other: 'other waits',
  off: 'off the processor', unseen: 'unseen',
};
const KIND_WORDS = [
  ['lock', ['mutex', 'rwlock', 'monitor', 'sem ', 'cond', 'unlock', 'futex', 'park']],
  ['io', ['read', 'write', 'open', 'close', 'sync', 'net', 'load', 'recv', 'send', 'accept', 'connect']],
  ['idle', ['poll', 'sleep', 'clock', 'select']],
  ['gc', ['gc ']],
];

/* Returns the kind of a name that is no function; null of a function. */
function kindOf(text, nameClass) {
  if (nameClass === CLASS.gap) return 'unseen';
  if (text === '[off cpu]' || text === '[runnable]') return 'off';
  if (nameClass !== CLASS.wait && nameClass !== CLASS.off) return null;
  for (const [kind, words] of KIND_WORDS) if (words.some(word => text.includes(word))) return kind;
  return 'other';
}

function hashText(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

class Names {
  constructor(data) {
    this.texts = data.text;
    this.classes = data.class;
    this.images = data.image.map(i => data.images[i]);
    this.kinds = this.texts.map((text, i) => kindOf(text, this.classes[i]));
    this.lower = null;
    this.hues = this.images.map((image, i) => hashText(lastOfPath(image) || this.texts[i]) % 360);
    this.shades = this.texts.map(text => hashText(text) % 9);
    this.forgetColors();
  }

  forgetColors() {
    const style = getComputedStyle(document.documentElement);
    this.dark = matchMedia('(prefers-color-scheme: dark)').matches;
    this.colors = new Map();
    this.kindColors = {};
    for (const kind of Object.keys(KINDS)) this.kindColors[kind] = style.getPropertyValue(`--${kind}`).trim();
  }

  text(name) {
    return name === OTHER_NAME ? '(other)' : name === ROOT_NAME ? 'all threads' : this.texts[name];
  }

  image(name) {
    return name < 0 ? '' : this.images[name];
  }

  /* The hue is that of the file, or of a name without one, the lightness that of the name. */
  color(name) {
    let color = this.colors.get(name);
    if (color) return color;
    if (name < 0) color = this.dark ? '#3b424e' : '#dfe3e9';
    else if (this.kinds[name]) color = this.kindColors[this.kinds[name]];
    else color = `hsl(${this.hues[name]}, ${this.dark ? 32 : 58}%, ${(this.dark ? 27 : 74) + this.shades[name]}%)`;
    this.colors.set(name, color);
    return color;
  }

  /* Returns the set of names that contain the text, in any case. */
  matching(text) {
    const wanted = text.toLowerCase();
    this.lower = this.lower || this.texts.map(t => t.toLowerCase());
    const found = new Set();
    this.lower.forEach((name, i) => name.includes(wanted) && found.add(i));
    return found;
  }

  /* Returns the name of a function of the report; -1: none. Long names are cut in this list. */
  find(text, image) {
    const same = i => this.texts[i] === text ||
        (this.texts[i].endsWith('\u2026') && text.startsWith(this.texts[i].slice(0, -1)));
    let found = -1;
    for (let i = 0; i < this.texts.length; i++) {
      if (!same(i)) continue;
      if (!image || this.images[i] === image) return i;
      found = i;
    }
    return found;
  }
}

/* ---- canvases */

/* Makes the canvas as large as it is shown, in the pixels of the screen, and returns its context. */
function prepareCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const wide = Math.round(width * scale), high = Math.round(height * scale);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

const CANVAS_FONT = '12px ui-monospace, "DejaVu Sans Mono", Consolas, monospace';
const CHARACTER_WIDTH = 7.3;

/* Draws the text within `width` pixels, cut if needed. */
function drawLabel(context, text, x, y, width) {
  const room = Math.floor((width - 6) / CHARACTER_WIDTH);
  if (room < 2) return;
  context.fillText(text.length <= room ? text : `${text.slice(0, room - 1)}\u2026`, x + 3, y);
}

function styleColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const tip = {
  show(text, x, y) {
    const element = document.getElementById('tip');
    element.textContent = text;
    element.hidden = false;
    const left = Math.min(x + 14, document.documentElement.clientWidth - element.offsetWidth - 6);
    const below = y + 18 + element.offsetHeight < window.innerHeight;
    element.style.left = `${Math.max(6, left)}px`;
    element.style.top = `${below ? y + 18 : Math.max(6, y - element.offsetHeight - 10)}px`;
  },
  hide() {
    document.getElementById('tip').hidden = true;
  },
};

/* Makes a section with a heading, and its link at the top. */
function makeSection(id, title, ...children) {
  document.getElementById('links').append(make('a', {href: `#${id}`}, title));
  const section = make('section', {id, 'aria-labelledby': `${id}-title`}, make('h2', {id: `${id}-title`}, title),
    ...children);
  document.getElementById('content').append(section);
  return section;
}

function makeFacts(facts) {
  return make('dl', {class: 'facts'}, facts.filter(Boolean).map(([name, value, detail, how]) =>
    make('div', {}, make('dt', {}, name), make('dd', {class: how || null}, value,
      detail ? make('small', {}, detail) : null))));
}

function makeLegend(kinds) {
  return make('ul', {class: 'legend'}, kinds.map(([color, text]) =>
    make('li', {}, make('i', {style: `background: ${color}`}), text)));
}

function showPlace(element) {
  element.scrollIntoView({block: 'start'});
}
