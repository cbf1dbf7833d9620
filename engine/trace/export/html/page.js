/* Starts the page: draws the part that its data are for, and connects search, keys and the color scheme. */

const KEYS = [
  ['/', 'search names'], ['Enter', 'in the search: the next place in the timeline'], ['Escape', 'end the search'],
  ['Tab', 'go to the timeline, the flame graph, tables, links'], ['?', 'this help'],
  ['\u2190 \u2192 \u2191 \u2193', 'timeline: move; flame graph: go from frame to frame'],
  ['+ \u2212 0', 'timeline: zoom in, zoom out, the whole time (also w, s; a, d move)'],
  ['Shift + arrows', 'timeline: go from slice to slice'],
  ['Enter', 'timeline: fit the slice; flame graph: enlarge the frame'], ['Backspace', 'flame graph: go back'],
  ['i', 'flame graph: inverse, callers'], ['o', 'timeline: open or close the thread'],
];

function connectSearch(page) {
  const input = document.getElementById('search'), found = document.getElementById('found');
  const next = document.getElementById('next');
  let matching = null;
  next.hidden = !page.timeline;
  const search = () => {
    const text = input.value.trim();
    matching = text ? page.names.matching(text) : null;
    if (page.timeline) page.timeline.highlight(matching);
    page.flame.highlight(matching);
    if (!matching) {
      found.textContent = '';
      return;
    }
    const tree = page.flame.tree(page.flame.weight), side = page.flame.sides - 1;
    found.textContent = `${formatCount(matching.size)} ${matching.size === 1 ? 'name' : 'names'}, ` +
      formatShare(tree.matched(matching, side), tree.whole[side][0]);
  };
  const goOn = () => matching && page.timeline && page.timeline.goToName(matching, true);
  input.addEventListener('input', search);
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter') goOn();
    if (event.key === 'Escape') {
      input.value = '';
      search();
      input.blur();
    }
  });
  next.addEventListener('click', goOn);
}

function connectHelp(keys) {
  const dialog = document.getElementById('keys');
  const close = make('button', {type: 'button', onclick: () => dialog.close()}, 'Close');
  dialog.append(make('h2', {id: 'keys-title'}, 'Keys'), make('dl', {class: 'keys'}, keys.map(([key, text]) =>
    [make('dt', {}, make('kbd', {}, key)), make('dd', {}, text)])), close);
  document.getElementById('help').addEventListener('click', () => dialog.showModal());
  document.addEventListener('keydown', event => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.altKey || event.metaKey || dialog.open) return;
    if (event.key === '/' && keys === KEYS) document.getElementById('search').focus();
    else if (event.key === '?') dialog.showModal();
    else return;
    event.preventDefault();
  });
}

function startPage() {
  const about = readData('about'), page = {};
  if (about.page === 'diff') drawDiff(about, page);
  else if (about.page === 'run') drawRun(about, page);
  else if (about.page === 'compare') drawComparison(about, page);
  else drawReport(about, page);
  if (page.flame) connectSearch(page);
  else for (const id of ['search', 'next', 'found']) document.getElementById(id).hidden = true;
  connectHelp(page.keys || KEYS);
  const redraw = () => {
    if (page.timeline) page.timeline.draw();
    if (page.flame) page.flame.draw();
  };
  new ResizeObserver(redraw).observe(document.getElementById('content'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    if (page.names) page.names.forgetColors();
    redraw();
  });
  redraw();
  window.strobePage = page;
}
