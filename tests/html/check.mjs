// Opens pages of `strobe report --html`, `strobe diff --html`, and `--html` of `strobe-lab run` and `strobe-lab compare`
// in a browser, as a user does. One browser process.
//
//   check.mjs PLAYWRIGHT DIR [SHOTS]
//
// PLAYWRIGHT: the package's directory. DIR has hang.html, hostile.html, big.html, diff.html, run.html, compare.html,
// wide.html, and hang.json, the report of the first session. SHOTS: a directory for screenshots of the whole pages.
//
// Prints a line `ok NAME` or `FAIL NAME: WHY` for each check, and the counts last.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';

const [playwright, dir, shots] = process.argv.slice(2);
const {chromium} = createRequire(import.meta.url)(resolve(playwright));
const report = JSON.parse(readFileSync(join(dir, 'hang.json'), 'utf8'));
const OPEN_SECONDS_MOST = 3;
let passed = 0, failed = 0;

function check(name, holds, why = '') {
  if (holds) {
    passed++;
    console.log(`ok ${name}`);
  } else {
    failed++;
    console.log(`FAIL ${name}: ${why}`);
  }
}

function equal(name, got, wanted) {
  check(name, JSON.stringify(got) === JSON.stringify(wanted), `${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`);
}

// playwright gives the browser a new directory for its data.
const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox',
  '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync']});

// Opens a page. Anything that it says or asks for is a failure. `seconds` is the time until it is drawn.
async function open(name, width, scheme) {
  const context = await browser.newContext({viewport: {width, height: 900}, colorScheme: scheme,
    deviceScaleFactor: 1, reducedMotion: 'reduce'});
  const page = await context.newPage();
  const said = [];
  page.on('console', message => said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', error => said.push(error.message));
  page.on('request', request => request.url().startsWith('file:') && request.isNavigationRequest() ||
    said.push(`request of ${request.url()}`));
  page.on('dialog', dialog => said.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
  await page.goto(`file://${resolve(dir, name)}.html`);
  const seconds = await page.evaluate(() => new Promise(done =>
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() / 1000)))));
  return {page, said, seconds, close: () => context.close()};
}

// Texts that are wider than the element they are in, or that leave the window.
function findClipped() {
  const texts = 'h1, h2, h3, p, li, dt, dd, th, td, button, a, summary, output, select, label';
  const clipped = [];
  for (const element of document.querySelectorAll(texts)) {
    const box = element.getBoundingClientRect();
    if (!box.width || element.closest('.gone, .skip, dialog')) continue;
    if (element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline')
      clipped.push(`${element.tagName} "${element.textContent.slice(0, 30)}"`);
    const scrolled = element.closest('.matrix')?.getBoundingClientRect();
    if (scrolled ? scrolled.right > innerWidth : box.right > innerWidth + 1 || box.left < -1)
      clipped.push(`outside: "${element.textContent.slice(0, 30)}"`);
  }
  return clipped;
}

// Contrast of the texts of a kind with the background below them (https://www.w3.org/TR/WCAG21/#contrast-minimum).
function findPale() {
  const luminance = rgb => rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const parse = color => color.match(/[\d.]+/g).map(Number);
  const pale = new Set();
  for (const element of document.querySelectorAll('p, li, dt, dd, th button, td, a, small, .soft, .bad, .good')) {
    if (!element.getBoundingClientRect().width) continue;
    let below = element;
    while (below && (parse(getComputedStyle(below).backgroundColor)[3] ?? 1) === 0) below = below.parentElement;
    const [a, b] = [getComputedStyle(element).color, below ? getComputedStyle(below).backgroundColor : 'rgb(255, 255, 255)']
      .map(color => luminance(parse(color).slice(0, 3))).sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) pale.add(`${element.tagName}.${element.className}`);
  }
  return [...pale];
}

// Counts the colors of a copy, because reading a canvas often makes the browser warn.
function countColors(id) {
  const canvas = document.getElementById(id), copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext('2d', {willReadFrequently: true});
  context.drawImage(canvas, 0, 0);
  const pixels = context.getImageData(0, 0, copy.width, copy.height);
  const colors = new Set();
  for (let i = 0; i < pixels.data.length; i += 4 * 7) colors.add(pixels.data.slice(i, i + 3).join());
  return colors.size;
}

// The same page at each width and in each color scheme: it follows changes of both.
async function checkLooks(name) {
  const {page, said, close} = await open(name, 1600, 'light');
  for (const width of [1600, 390]) for (const scheme of ['light', 'dark']) {
    const title = `${name}_at_${width}_${scheme}`;
    await page.setViewportSize({width, height: 900});
    await page.emulateMedia({colorScheme: scheme});
    await settle(page);
    equal(`${title}_is_no_wider_than_the_window`, await page.evaluate(() => document.documentElement.scrollWidth), width);
    equal(`${title}_clips_no_text`, await page.evaluate(findClipped), []);
    equal(`${title}_has_contrast`, await page.evaluate(findPale), []);
    const drawn = await page.evaluate(() => document.getElementById('flame-canvas') ? 'flame-canvas' : null);
    if (drawn) {
      const colors = await page.evaluate(countColors, drawn);
      check(`${title}_has_a_flame_graph`, colors > 4, `${colors} colors`);
    }
    const [paper, shown] = await page.evaluate(id => [getComputedStyle(document.body).backgroundColor,
      (document.getElementById(id) || document.querySelector('.matrix')).clientWidth], drawn);
    check(`${title}_has_its_colors`, (Number(paper.match(/\d+/)[0]) > 128) === (scheme === 'light'), paper);
    check(`${title}_fills_its_width`, shown > 0.85 * width && shown < width, String(shown));
    if (shots) await page.screenshot({path: join(shots, `${title}.png`), fullPage: true});
  }
  equal(`${name}_says_nothing_and_asks_for_nothing`, said, []);
  await close();
}

const range = page => page.evaluate(() => [strobePage.timeline.from, strobePage.timeline.to]);
const firstCells = (page, id, count) => page.evaluate(([table, n]) => [...document.querySelectorAll(
  `#${table} tbody tr`)].slice(0, n).map(row => row.cells[0].querySelector('.code').textContent), [id, count]);
const settle = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));

async function checkTables(page) {
  const rows = [...report.methods].sort((a, b) => b.self_ns - a.self_ns).map(m => m.name);
  equal('functions_are_sorted_by_self_time', await firstCells(page, 'functions', 5), rows.slice(0, 5));
  await page.click('#functions th button:text-is("Inclusive")');
  const inclusive = [...report.methods].sort((a, b) => b.total_ns - a.total_ns);
  equal('a_click_sorts_by_inclusive_time', (await firstCells(page, 'functions', 1))[0], inclusive[0].name);
  equal('the_sort_is_announced', await page.getAttribute('#functions th:has(button:text-is("Inclusive"))', 'aria-sort'),
    'descending');
  await page.click('#functions th button:text-is("Inclusive")');
  equal('a_second_click_turns_it_round', await page.getAttribute(
    '#functions th:has(button:text-is("Inclusive"))', 'aria-sort'), 'ascending');
  await page.click('#functions th button:text-is("Self")');
  await page.fill('#functions input', 'login');
  const wanted = report.methods.filter(m => m.name.toLowerCase().includes('login')).length;
  equal('a_filter_keeps_the_rows_that_match', await page.locator('#functions tbody tr').count(), wanted);
  await page.fill('#functions input', '');
  const self = await page.evaluate(() => {
    const tree = strobePage.flame.tree('wall'), sums = {};
    tree.name.forEach((name, i) => name >= 0 && (sums[name] = (sums[name] || 0) + tree.self[0][i]));
    return Object.entries(sums).map(([name, ns]) => [strobePage.names.text(+name), ns]);
  });
  const top = report.methods.filter(m => m.self_ns > 5e6 && !m.name.startsWith('[')).map(m => [m.name, m.self_ns]);
  const other = top.filter(([name, ns]) => Math.abs(self.find(s => s[0] === name)?.[1] - ns) > 0.001 * ns);
  equal('the_flame_graph_has_the_times_of_the_table', [top.length > 3, other], [true, []]);
}

async function checkTimeline(page) {
  const whole = await range(page);
  const finding = page.locator('.finding', {hasText: 'evil-method'}).first();
  await finding.locator('.finding-link').click();
  await settle(page);
  const shown = await range(page), wanted = await page.evaluate(() => {
    const f = readData('findings').findings.find(x => x.kind === 'evil-method');
    return [f.begin_ns, f.end_ns];
  });
  check('a_finding_leads_to_its_time', shown[0] <= wanted[0] && shown[1] >= wanted[1] &&
    shown[1] - shown[0] < 2 * (wanted[1] - wanted[0]), `${shown}, expected about ${wanted}`);
  equal('the_timeline_has_the_focus', await page.evaluate(() => document.activeElement.id), 'timeline-canvas');
  check('a_slice_is_selected', /sem wait/.test(await page.textContent('#timeline-picked')),
    await page.textContent('#timeline-picked'));
  const colors = await page.evaluate(countColors, 'timeline-canvas');
  check('the_timeline_is_drawn', colors > 6, `${colors} colors`);
  await page.keyboard.press('0');
  equal('0_shows_the_whole_time', await range(page), whole);
  await page.keyboard.press('+');
  const closer = await range(page);
  check('plus_zooms_in', Math.abs((closer[1] - closer[0]) / (whole[1] - whole[0]) - 0.5) < 0.01, String(closer));
  await page.keyboard.press('ArrowRight');
  check('an_arrow_moves_on', (await range(page))[0] > closer[0], String(await range(page)));
  const before = await page.textContent('#timeline-picked');
  await page.keyboard.press('Shift+ArrowUp');
  check('shift_and_up_selects_the_caller', await page.textContent('#timeline-picked') !== before, before);
  await page.keyboard.press('0');
  const box = await page.locator('#timeline-canvas').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -300);
  await page.keyboard.up('Control');
  await page.waitForFunction(span => strobePage.timeline.to - strobePage.timeline.from < span * 0.9, whole[1] - whole[0]);
  check('ctrl_and_wheel_zoom', true);
  const wheel = await range(page);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 200, box.y + 60, {steps: 4});
  await page.mouse.up();
  check('dragging_moves', (await range(page))[0] > wheel[0], `${wheel} to ${await range(page)}`);
  await page.keyboard.press('0');
  await page.locator('#waits table[aria-label="Longest blocking calls"] button.link').first().click();
  const wait = report.waits[0], at = await range(page);
  check('a_wait_leads_to_its_time', at[0] <= wait.begin_ns && at[1] >= wait.begin_ns + wait.duration_ns ||
    wait.duration_ns > 0.7 * (whole[1] - whole[0]), `${at}, expected ${wait.begin_ns} + ${wait.duration_ns}`);
}

async function checkFlame(page) {
  const focus = () => page.evaluate(() => strobePage.names.text(strobePage.flame.focus.name));
  await page.locator('#flame-canvas').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  check('enter_enlarges_a_frame', await focus() !== 'all threads', await focus());
  await page.keyboard.press('Backspace');
  equal('backspace_goes_back', await focus(), 'all threads');
  await page.click('#flame-inverse');
  const self = await page.evaluate(() => strobePage.flame.root.frames.map(f => [strobePage.names.text(f.name), f.amounts[0]]));
  const most = [...report.methods].filter(m => !m.name.startsWith('[')).sort((a, b) => b.self_ns - a.self_ns)[0];
  equal('the_inverse_begins_with_self_times', self.find(([name]) => name === most.name)[1], most.self_ns);
  await page.click('#flame-inverse');
  await page.locator('#flame-canvas').click({position: {x: 300, y: 27}});
  check('a_click_enlarges', await focus() !== 'all threads', await focus());
  await page.selectOption('#flame-weight', 'cpu');
  equal('the_width_is_cpu_time', await page.evaluate(() => [strobePage.flame.weight, strobePage.flame.root.amounts[0] > 0]),
    ['cpu', true]);
  await page.selectOption('#flame-weight', 'wall');
  await page.locator('#functions button.link', {hasText: 'flame'}).first().click();
  check('a_function_leads_to_the_flame_graph', await focus() !== 'all threads', await focus());
}

async function checkKeys(page) {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('/');
  equal('slash_goes_to_the_search', await page.evaluate(() => document.activeElement.id), 'search');
  await page.keyboard.type('login');
  const found = await page.textContent('#found');
  check('the_search_counts_names', /^[1-9]\d* names?, \d/.test(found), found);
  check('the_search_highlights', await page.evaluate(() => strobePage.timeline.matching.size > 0 &&
    strobePage.flame.matching.size > 0));
  await page.keyboard.press('Enter');
  check('enter_goes_to_a_place', /login/i.test(await page.textContent('#timeline-picked')),
    await page.textContent('#timeline-picked'));
  await page.focus('#search');
  await page.keyboard.press('Escape');
  equal('escape_ends_the_search', await page.evaluate(() => [document.getElementById('search').value,
    strobePage.timeline.matching]), ['', null]);
  await page.keyboard.press('?');
  check('question_mark_opens_the_help', await page.evaluate(() => document.getElementById('keys').open));
  await page.keyboard.press('Escape');
  check('escape_closes_the_help', await page.evaluate(() => !document.getElementById('keys').open));
  const reached = new Set();
  await page.evaluate(() => window.scrollTo(0, 0));
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => {
      const style = getComputedStyle(document.activeElement);
      return document.activeElement.id + (style.outlineStyle === 'none' ? ' without an outline' : '');
    }));
  }
  for (const id of ['search', 'timeline-canvas', 'flame-canvas'])
    check(`tab_reaches_${id}`, reached.has(id), [...reached].join(' '));
}

async function checkHostile() {
  const {page, said, close} = await open('hostile', 1600, 'light');
  equal('hostile_names_say_nothing', said, []);
  check('hostile_names_run_nothing', !/taken/.test(await page.title()) && await page.locator('img').count() === 0,
    await page.title());
  const text = await page.textContent('#content');
  for (const part of ['</script><script>document.title', '<b>main</b>\u2029', 'onerror="document.title', '&amp;\u2028'])
    check(`hostile_name_is_shown_${JSON.stringify(part)}`, text.includes(part));
  await close();
}

async function checkBig() {
  const {page, said, seconds, close} = await open('big', 1600, 'dark');
  equal('a_big_page_says_nothing', said, []);
  check(`a_big_page_opens_in_${OPEN_SECONDS_MOST}_s`, seconds < OPEN_SECONDS_MOST, `${seconds.toFixed(2)} s`);
  console.log(`a page of a session of more than 100 MB opened in ${seconds.toFixed(2)} s`);
  const merged = await page.textContent('#timeline');
  check('a_big_page_says_what_it_sums_up', /are summed up: the timeline has/.test(merged), merged.slice(-300));
  await close();
}

async function checkDiff() {
  const {page, close} = await open('diff', 1600, 'light');
  const diff = await page.evaluate(() => readData('diff'));
  equal('a_comparison_has_its_real_rows', await page.locator('#differences tbody tr').count(),
    Math.min(25, diff.methods_self.filter(r => r.real).length));
  await page.uncheck('#diff-real');
  equal('all_rows_are_shown_on_demand', await page.locator('#differences tbody tr').count(),
    Math.min(25, diff.methods_self.length));
  await page.selectOption('#diff-table', 'waits');
  check('another_table_is_shown', (await page.textContent('#differences tbody')).includes(' in '));
  const amounts = await page.evaluate(() => strobePage.flame.root.amounts);
  check('the_flame_graph_has_two_sides', amounts.length === 2 && amounts.every(a => a > 0), String(amounts));
  await close();
}

// Truth and claim of a trial: DIR/run.txt is what the command printed beside the page.
async function checkRun() {
  const {page, said, close} = await open('run', 1600, 'light');
  const printed = readFileSync(join(dir, 'run.txt'), 'utf8'), session = await page.evaluate(() => readData('session'));
  const scores = await page.evaluate(() => readData('about').scores), text = await page.textContent('#summary');
  equal('a_page_of_a_run_has_the_scores_that_are_printed', scores.filter(s =>
    !new RegExp(`\\b${s.name} +${s.text.replace(/[.+]/g, '\\$&')}`).test(printed) ||
    !text.includes(`${s.name.replaceAll('_', ' ')}: ${s.text}`)), []);
  const marks = await page.evaluate(() => strobePage.timeline.tracks.map(t => t.levels.filter(l => l.marks || l.title)
    .map(l => l.title || 'marks')));
  check('each_thread_has_truth_marks_and_claim', marks.length > 1 && marks.every(m => m.join() === 'truth,marks,claim'),
    JSON.stringify(marks));
  const wrong = await page.evaluate(() => {
    const r = readData('result'), s = readData('session').differences;
    return [r.thread_ns - r.agree_ns, strobePage.timeline.tracks.reduce((sum, t) => {
      const level = t.levels.find(l => l.marks);
      return sum + level.end.reduce((ns, end, i) => ns + end - level.begin[i], 0);
    }, 0), (s.slices - s.blocks) * s.resolution_ns];
  });
  check('the_marks_last_as_long_as_there_is_no_agreement', wrong[1] >= wrong[0] && wrong[1] <= wrong[0] + wrong[2],
    String(wrong));
  await page.locator('#differences button.link').first().click();
  await settle(page);
  const shown = await range(page), largest = session.largest[0];
  check('a_difference_leads_to_its_time', shown[0] <= largest.begin_ns && shown[1] >= largest.begin_ns + largest.ns &&
    shown[1] - shown[0] < 2 * largest.ns, `${shown}, expected ${largest.begin_ns} + ${largest.ns}`);
  equal('its_mark_is_selected', await page.evaluate(() => {
    const {level, index} = strobePage.timeline.picked;
    return [level.marks, level.begin[index], level.end[index]];
  }), [true, largest.begin_ns, largest.begin_ns + largest.ns]);
  await page.keyboard.press('Shift+ArrowDown');
  equal('shift_and_down_goes_from_the_marks_to_the_claim', await page.evaluate(() => {
    const {track, depth} = strobePage.timeline.picked;
    return depth > track.levels.findIndex(l => l.title === 'claim');
  }), true);
  await page.keyboard.press('-');
  check('minus_zooms_out', (await range(page))[1] - (await range(page))[0] > 1.9 * (shown[1] - shown[0]));
  const rows = [...(await page.evaluate(() => readData('result').methods))];
  const error = m => Math.abs(m.claimed_self_ns - m.true_self_ns);
  equal('methods_are_sorted_by_their_difference', (await firstCells(page, 'methods', 1))[0],
    rows.sort((a, b) => error(b) - error(a))[0].name);
  await page.click('#methods th button:text-is("Calls")');
  equal('a_click_sorts_methods_by_calls', (await firstCells(page, 'methods', 1))[0],
    rows.sort((a, b) => b.calls - a.calls)[0].name);
  await page.fill('#waits input', 'waker found');
  check('waits_are_filtered_by_their_verdict', await page.locator('#waits tbody tr').count() > 0 &&
    !(await page.textContent('#waits tbody')).includes('wrong waker'));
  const sums = [];
  for (const weight of ['truth', 'claim', 'both']) {
    await page.selectOption('#flame-weight', weight);
    sums.push(await page.evaluate(() => strobePage.flame.root.amounts));
  }
  check('flame_graphs_of_truth_and_claim', sums[0][0] > 0 && sums[1][0] > 0 &&
    sums[2].join() === `${sums[0][0]},${sums[1][0]}`, JSON.stringify(sums));
  await page.click('#flame-inverse');
  check('the_inverse_has_both', await page.evaluate(() => strobePage.flame.root.frames[0].amounts.length === 2));
  equal('interactions_with_a_run_say_nothing', said, []);
  await close();
}

// A comparison: DIR/compare.txt is its table and DIR/compare.json its array of summaries, of the same trials.
async function checkComparison() {
  const {page, said, close} = await open('compare', 1600, 'light');
  const summaries = JSON.parse(readFileSync(join(dir, 'compare.json'), 'utf8'));
  const printed = readFileSync(join(dir, 'compare.txt'), 'utf8').split('\n');
  const shown = () => page.evaluate(() => [...document.querySelectorAll('.matrix tbody tr')].map(row =>
    [row.querySelector('th').firstChild.textContent, ...[...row.querySelectorAll('td')].map(td =>
      [...td.querySelectorAll('span, small')].map(e => e.textContent).join(' '))]));
  // Returns the matrix that the table has: the medians of a column, and the line of spreads below each.
  const table = column => {
    const rows = new Map();
    printed.forEach((line, i) => {
      const policy = line.match(/^  (strobe|sync-only|ideal) /)?.[1], cut = text =>
        text.slice(16).match(/(\+-)?[\d.]+( ?(%|B|KB|MB))?/g)[column];
      if (policy) rows.set(policy, [...(rows.get(policy) || [policy]),
        `${cut(line)} ${cut(printed[i + 1]).replace('+-', '\u00b1')}`]);
    });
    return [...rows.values()];
  };
  const columns = {agreement_resolved: 0, agreement: 1, agreement_seen: 2, unseen: 3, blocked_error: 4, waker_recall: 5,
    false_merges: 6, overhead: 7, bytes_per_app_second: 8, code_bytes: 9, lost: 10};
  const seen = new Set();
  for (const [score, column] of Object.entries(columns)) {
    await page.selectOption('#matrix-score', score);
    const cells = await shown();
    equal(`the_matrix_has_the_printed_${score}`, cells, table(column));
    seen.add(JSON.stringify(cells));
    const [title, legend] = await page.evaluate(() => [document.getElementById('matrix-score').selectedOptions[0].text,
      document.getElementById('matrix-legend').textContent]);
    check(`the_legend_names_${score}`, legend.startsWith(title), legend);
  }
  check('the_choice_of_a_score_changes_the_cells', seen.size > 8, String(seen.size));
  await page.selectOption('#matrix-score', 'bias');
  equal('the_matrix_has_the_largest_bias', (await shown()).flatMap(row => row.slice(1)).map(t => t.split(' ')[0]),
    ['strobe', 'sync-only', 'ideal'].flatMap(policy => summaries.filter(s => s.policy === policy).map(s =>
      `${s.bias[0].mean < 0 ? '' : '+'}${(100 * s.bias[0].mean).toFixed(3)}`)));

  await page.selectOption('#matrix-score', 'overhead');
  await page.click('.matrix th button:text-is("hang")');
  equal('the_least_overhead_is_first', (await shown()).map(row => row[0]), ['ideal', 'sync-only', 'strobe']);
  equal('the_order_is_announced', await page.getAttribute('.matrix th:has(button:text-is("hang"))', 'aria-sort'), 'ascending');
  await page.selectOption('#matrix-score', 'agreement');
  equal('the_best_agreement_is_first', (await shown())[0][0], 'strobe');
  await page.click('.matrix th button:text-is("hang")');
  equal('a_second_choice_turns_the_order_round', (await shown()).map(row => row[0]), ['sync-only', 'ideal', 'strobe']);
  await page.click('.matrix th button:text-is("Policy")');
  equal('the_given_order_comes_back', (await shown()).map(row => row[0]), ['strobe', 'sync-only', 'ideal']);
  const steps = await page.evaluate(() => [...document.querySelectorAll('.matrix td')].map(td =>
    Number(td.className.match(/heat(\d)/)[1])));
  const values = ['strobe', 'sync-only', 'ideal'].flatMap(policy => summaries.filter(s => s.policy === policy)
    .map(s => s.scores.agreement.median));
  check('a_better_cell_is_not_paler', values.every((a, i) => values.every((b, k) => a <= b || steps[i] >= steps[k])) &&
    Math.max(...steps) === 4 && Math.min(...steps) === 0, `${values}: ${steps}`);
  check('ideal_is_marked', (await page.textContent('.matrix tr.ideal th')).includes('reference'));

  await page.focus('#matrix-score');
  for (let i = 0; i < 4; i++) await page.keyboard.press('Tab');
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  check('tab_reaches_the_first_cell', /^strobe, hang: /.test(await focused()), await focused());
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  check('arrows_go_from_cell_to_cell', /^sync-only, priority_inversion: /.test(await focused()), await focused());
  await page.keyboard.press('Enter');
  equal('enter_shows_the_cell', await page.textContent('#cell h3'), 'priority_inversion, sync-only');
  equal('a_cell_has_its_command', await page.textContent('#cell-command'), 'strobe-lab run ' +
    'fixtures/scenarios/priority_inversion.scn --seed 1 --policy sync-only --html priority_inversion-sync-only.html');
  const cell = summaries.find(s => s.policy === 'sync-only' && s.scenario === 'priority_inversion');
  const details = await page.evaluate(() => [...document.querySelectorAll('#cell tbody tr')].map(row => [row.cells[0]
    .textContent, row.cells[1].textContent]));
  const percent = value => `${(100 * value).toFixed(2)} %`;
  equal('a_cell_has_all_scores', [details.length, details.find(d => d[0] === 'agreement running')[1],
    details.find(d => d[0] === 'waker precision')[1]], [22, percent(cell.scores.agreement_running.median),
    percent(cell.scores.waker_precision.median)]);
  equal('interactions_with_a_comparison_say_nothing', said, []);
  await close();
}

// Cells without scores: fake ART's player crashes in scenario fine, and scenario odd cannot be played there.
async function checkCellsWithoutScores() {
  const {page, said, close} = await open('cells', 1600, 'light');
  const texts = await page.evaluate(() => [...document.querySelectorAll('.matrix tbody tr')].map(row =>
    [...row.querySelectorAll('td span')].map(e => e.textContent)));
  check('a_cell_of_a_failed_player_is_marked', texts[1][0] === 'FAILED' && /%$/.test(texts[0][0]), JSON.stringify(texts));
  check('a_cell_that_was_not_played_is_empty', texts[1][1] === '-' && /%$/.test(texts[0][1]), JSON.stringify(texts));
  const details = async column => {
    await page.click(`.matrix tbody tr:nth-child(2) td:nth-of-type(${column}) button`);
    return page.textContent('#cell');
  };
  const failed = await details(1), refused = await details(2);
  check('the_reason_of_a_failure_is_shown', /Failed: the played process: Segm/.test(failed), failed);
  check('the_reason_of_a_refusal_is_shown', /Not played: .*odd\.scn: method "java\.lang\.A\.run": expected a name/
    .test(refused), refused);
  check('a_cell_without_scores_has_no_command', !(await page.$('#cell-command')), '');
  equal('cells_without_scores_cause_no_error', said, []);
  await close();
}

// Many columns: the matrix scrolls in its own box, and the names of the rows stay.
async function checkWide() {
  const {page, close} = await open('wide', 390, 'light');
  const [rows, cells, scenarios, backends] = await page.evaluate(() => [document.querySelectorAll('.matrix tbody tr').length,
    document.querySelectorAll('.matrix tbody td button').length, readData('matrix').scenarios.length,
    new Set(readData('matrix').rows.map(r => r.backend)).size]);
  equal('the_matrix_has_a_cell_for_each_pair', [rows, cells, scenarios, backends], [4, 4 * 14, 14, 2]);
  await page.locator('.matrix td button').first().focus();
  await page.keyboard.press('End');
  await settle(page);
  const [left, box, head, inside] = await page.evaluate(() => {
    const matrix = document.querySelector('.matrix'), at = document.activeElement.getBoundingClientRect();
    return [matrix.scrollLeft, matrix.getBoundingClientRect().left, document.querySelector('.matrix tbody th')
      .getBoundingClientRect().left, at.right <= matrix.getBoundingClientRect().right + 1];
  });
  check('the_matrix_scrolls_and_its_row_heads_stay', left > 300 && Math.abs(head - box) < 2 && inside,
    `${left} ${head} ${box} ${inside}`);
  await close();
}

try {
  await checkBig();
  for (const name of ['hang', 'diff', 'run', 'compare', 'wide']) await checkLooks(name);
  await checkRun();
  await checkComparison();
  await checkCellsWithoutScores();
  await checkWide();
  const {page, said, close} = await open('hang', 1600, 'light');
  await checkTables(page);
  await checkTimeline(page);
  await checkFlame(page);
  await checkKeys(page);
  equal('interactions_say_nothing', said, []);
  await close();
  await checkHostile();
  await checkDiff();
} catch (error) {
  check('the_checks_end', false, error.message.split('\n')[0]);
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
