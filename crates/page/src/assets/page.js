// The page of a drive that is being served: asks for its figures and its map twice a second, and draws them.
"use strict";

const $ = id => document.getElementById(id);

// From the end of an answer to the next question, in milliseconds; and where nobody answers.
const EVERY = 500, RETRY = 1000;
// Points that a chart holds: five minutes. Rates are over so many of them, two seconds.
const POINTS = 600, OVER = 4;
// For how many looks a block is shown as emptied; see docs/reference/page.md, as for what the map's bytes are.
const RECENT = 4;
const HEADER_BYTES = 16, CELL_BYTES = 8, OPEN = 1, COUNTED = 2;
const KINDS = [
  "free", "held", "user", "translation", "tombstone", "bitmap", "gecko", "validity-log", "map", "anchor", "bad",
];
const KIND_NAMES = {
  "free": "free", "held": "free, held back", "user": "data of the host", "translation": "translation pages",
  "tombstone": "tombstones of trims", "bitmap": "validity bitmap", "gecko": "Gecko runs", "validity-log": "validity log",
  "map": "map of data blocks", "anchor": "drive's description", "bad": "bad",
};

const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format;
const fixed = digits => new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).format;
const [one, two, three] = [1, 2, 3].map(fixed);
// Three digits and no more: 0.123, 1.23, 12.3, 1,234.
const short = n => n >= 100 ? count(n) : n >= 10 ? one(n) : n >= 1 || n === 0 ? two(n) : three(n);
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format;
const clock = s => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}`;
const long = s => s < 3600 ? clock(s) : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;

// ---- Colours: those of the style sheet, light or dark.

let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ground", "panel", "text", "soft", "grid", "gc", "other", ...KINDS];
  colours = Object.fromEntries(names.map(name => [name, style.getPropertyValue(`--${name}`).trim()]));
}
const rgb = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
const mix = (a, b, share) => a.map((channel, n) => channel + (b[n] - channel) * share);

// ---- What has been seen: points of cumulative counts, from which rates are made.

let points = [];
const sum = (of, names) => names.reduce((total, name) => total + (of[name]?.programs ?? 0), 0);
const CAUSES = [
  ["host", "host's pages", "user", ["host"]],
  ["collection", "garbage collection", "gc", ["gc", "merge", "wear", "rmw"]],
  ["translation", "translation pages", "translation", ["translation"]],
  ["validity", "validity metadata", "gecko", ["validity"]],
  ["other", "other", "other", ["checkpoint", "map", "trim", "battery"]],
];

function point(state) {
  const { requests, flash, counters } = state;
  return {
    t: state.served_seconds, power: state.power_ons,
    reads: requests.reads, writes: requests.writes, others: requests.trims + requests.zeroes + requests.flushes,
    bytes: requests.read_bytes + requests.written_bytes,
    programs: Object.fromEntries(CAUSES.map(([id, , , purposes]) => [id, sum(flash, purposes)])),
    moved: counters.pages_moved, collections: counters.collections,
    hits: counters.cache_hits, misses: counters.cache_misses, free: counters.free_blocks,
  };
}

// What has become more from `then` to `now`, a second; null where it cannot be told.
const rate = (now, then, pick) => now && then && now.t > then.t ? (pick(now) - pick(then)) / (now.t - then.t) : null;

function derived(now, then) {
  // After the power came back, flash and FTL count from the beginning.
  const same = then && then.power === now.power;
  const host = same ? now.programs.host - then.programs.host : 0;
  const wa = CAUSES.map(([id]) => host > 0 ? (now.programs[id] - then.programs[id]) / host : null);
  const looked = same && now.hits !== undefined ? now.hits - then.hits + now.misses - then.misses : 0;
  return {
    wa,
    reads: rate(now, then, p => p.reads), writes: rate(now, then, p => p.writes), others: rate(now, then, p => p.others),
    bytes: rate(now, then, p => p.bytes),
    collections: same ? rate(now, then, p => p.collections) : null,
    moved: same ? rate(now, then, p => p.moved) : null,
    hits: looked > 0 ? 100 * (now.hits - then.hits) / looked : null,
    looked: same && now.hits !== undefined && now.t > then.t ? looked / (now.t - then.t) : null,
  };
}

// ---- Charts.

const charts = {};

function axes(options) {
  const font = "11px system-ui, 'DejaVu Sans', sans-serif";
  const common = {
    stroke: colours.soft, font, labelFont: font, labelGap: 0,
    grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, width: 1, size: 4 },
  };
  return [
    {
      ...common, label: options.x ?? TIME, labelSize: 16, size: 22, space: 60,
      values: options.xValues ?? overTime, incrs: options.x ? WHOLE : OF_TIME,
    },
    { ...common, label: options.y, labelSize: 16, size: 42, values: options.yValues, space: 24, incrs: options.whole ? WHOLE : undefined },
  ];
}

const overTime = (u, ticks) => ticks.map(clock);
const TIME = "time since serving began (min:s)";

// What has come since may have given a chart another size.
function fitCharts() {
  for (const [name, u] of Object.entries(charts)) {
    const now = size(`plot-${name}`);
    if (now.width !== u.width || now.height !== u.height) { u.setSize(now); }
  }
}

const size = id => ({ width: $(id).clientWidth, height: $(id).clientHeight });

// Steps of axes: whole numbers, and those of a clock.
const WHOLE = [1, 2, 5].flatMap(n => [n, n * 10, n * 100, n * 1e3, n * 1e4, n * 1e5, n * 1e6, n * 1e7]).sort((a, b) => a - b);
const OF_TIME = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];

// The keys of a chart are beside its title: a colour, a name, and the value under the cursor or else the last one.
function keys(name, options) {
  const box = document.querySelector(`#panel-${name} .keys`);
  box.textContent = "";
  const made = options.series.map(series => {
    const key = document.createElement("span"), value = document.createElement("b");
    const mark = document.createElement("i");
    mark.className = "mark";
    mark.style.background = series.colour;
    key.append(mark, ` ${series.label} `, value);
    return [key, value];
  });
  // What is stacked is named from the ground up.
  box.append(...(options.stacked ? made.toReversed() : made).map(([key]) => key));
  return made.map(([, value]) => value);
}

function fillKeys(u, values, options) {
  const at = u.cursor.idx ?? (options.lastIsNow === false ? null : u.data[0].length - 1);
  options.series.forEach((series, n) => {
    const value = at == null ? "" : series.value(u, u.data[n + 1][at], n + 1, at);
    const where = u.cursor.idx == null || n + 1 < options.series.length ? "" : ` at ${(options.xShown ?? clock)(u.data[0][at])}`;
    if (values[n].textContent !== value + where) { values[n].textContent = value + where; }
  });
}

function chart(name, options) {
  const id = `plot-${name}`;
  charts[name]?.destroy();
  const values = keys(name, options);
  charts[name] = new uPlot({
    ...size(id),
    series: [{}, ...options.series],
    axes: axes(options),
    scales: { x: { time: false, range: options.xRange }, y: { range: options.range ?? ((u, low, high) => [0, high > 0 ? high * 1.1 : 1]) } },
    cursor: { drag: { x: false, y: false }, points: { size: 5 }, y: false },
    hooks: { setCursor: [u => fillKeys(u, values, options)], setData: [u => fillKeys(u, values, options)] },
    legend: { show: false },
    padding: [8, 10, 0, 0],
  }, [[0], ...options.series.map(() => [null])], $(id));
}

const line = (label, colour, value = short) =>
  ({ label, stroke: colour, colour, width: 1.6, points: { show: false }, value: (u, v) => v == null ? "–" : value(v) });

function makeCharts() {
  readColours();
  // Stacked: each cause is drawn from zero to the sum of it and those below, the highest first.
  const stacked = CAUSES.map(([, label, colour]) => ({
    ...line(label, colours[colour]), fill: colours[colour], width: 0.5,
    value: (u, v, series, at) => at == null || v == null ? "–" : short(wasOf(at)[CAUSES.length - series] ?? 0),
  })).reverse();
  chart("wa", { y: "programs/page", series: stacked, stacked: true });
  chart("requests", {
    y: "requests/s", whole: true, yValues: (u, ticks) => ticks.map(compact),
    series: [line("writes", colours.user), line("reads", colours.gecko), line("trims, zeroes, flushes", colours.translation)],
  });
  if (!$("panel-cache").hidden) {
    chart("cache", { y: "hits (%)", series: [line("look-ups that hit (%)", colours.user, one)], range: () => [0, 100] });
  }
  chart("free", {
    y: "blocks", whole: true, yValues: (u, ticks) => ticks.map(compact),
    series: [line("free", colours.user, count), { ...line("reserve", colours.soft, count), dash: [4, 4] }],
  });
  if (!$("panel-wear").hidden) {
    chart("wear", {
      x: "times that a block was erased", y: "blocks", whole: true, xShown: at => `${wearShown(at)} erases`, lastIsNow: false, xValues: (u, ticks) => ticks.map(compact),
      yValues: (u, ticks) => ticks.map(compact), xRange: wearRange,
      series: [{
        ...line("blocks", colours.user, count), fill: colours.user, width: 0,
        paths: uPlot.paths.bars({ size: [0.86, 100], align: 0 }),
      }],
    });
  }
  drawCharts();
  if (last) { drawWear(last); }
  drawMap();
}

const wasOf = at => series.wa[at] ?? [];
// What the charts show, a value for each point.
let series = { t: [], wa: [] };

function drawCharts() {
  if (!points.length || !charts.wa) { return; }
  const t = points.map(p => p.t);
  const all = points.map((now, n) => derived(now, points[Math.max(0, n - OVER)]));
  series = { t, wa: all.map(d => d.wa) };
  const stacked = CAUSES.map((_, upTo) =>
    all.map(d => d.wa[0] == null ? null : d.wa.slice(0, upTo + 1).reduce((a, b) => a + b, 0))).reverse();
  charts.wa.setData([t, ...stacked]);
  charts.requests.setData([t, ...["writes", "reads", "others"].map(key => all.map(d => d[key]))]);
  charts.cache?.setData([t, all.map(d => d.hits)]);
  charts.free.setData([t, points.map(p => p.free), t.map(() => last.geometry.reserve_blocks)]);
}

// ---- Wear.

let bars = [];
const wearShown = at => {
  const bar = bars.find(bar => at >= bar.from && at <= bar.to + 1) ?? bars[0];
  return !bar ? "" : bar.from === bar.to ? count(bar.from) : `${count(bar.from)} to ${count(bar.to)}`;
};
const wearRange = () => {
  if (!bars.length) { return [0, 1]; }
  const half = (bars[0].to - bars[0].from + 1) / 2;
  return [bars[0].from - 0.5 - half * 0.2, bars.at(-1).to + 0.5 + half * 0.2];
};

function drawWear(state) {
  if (!state.erases || !charts.wear) { return; }
  bars = state.erases.histogram;
  charts.wear.setData([bars.map(bar => (bar.from + bar.to) / 2), bars.map(bar => bar.blocks)]);
}

// ---- The map.

let map = null, byErases = false, layout = null;
const SIDE_MIN = 2, SIDE_MAX = 22;

const mapHeight = () => Math.max(120, $("map-wrap").clientHeight);

// Cells to ask for: as many as can be told apart.
function cellsWanted() {
  const width = $("map-wrap").clientWidth || 300;
  return Math.max(1, Math.min(65536, Math.floor(width / SIDE_MIN) * Math.floor(mapHeight() / SIDE_MIN)));
}

// The largest cells that fit, in points: squares, or oblongs not twice as long as wide where these fill more.
function laidOut(cells, width, height) {
  let best = { wide: SIDE_MIN, high: SIDE_MIN, columns: Math.max(1, Math.floor(width / SIDE_MIN)) };
  for (let wide = SIDE_MIN; wide <= SIDE_MAX; wide++) {
    for (let high = Math.ceil(wide / 2) ; high <= Math.min(SIDE_MAX, wide * 2); high++) {
      const columns = Math.max(1, Math.floor(width / wide));
      const fits = Math.ceil(cells / columns) * high <= height;
      const value = side => side.wide * side.high - Math.abs(side.wide - side.high) * 0.1;
      if (fits && value({ wide, high }) > value(best)) { best = { wide, high, columns }; }
    }
  }
  return { ...best, rows: Math.ceil(cells / best.columns) };
}

function drawMap() {
  if (!map || !colours.free) { return; }
  const canvas = $("map"), scale = Math.max(1, Math.round(devicePixelRatio));
  const { blocks, perCell, cells, bytes } = map;
  const { wide, high, columns, rows } = layout = laidOut(cells, $("map-wrap").clientWidth, mapHeight());
  const [across, down] = [wide * scale, high * scale], [width, height] = [columns * across, rows * down];
  const isLarge = Math.min(wide, high) >= 6;
  if (canvas.width !== width || canvas.height !== height) { [canvas.width, canvas.height] = [width, height]; }
  canvas.style.width = `${columns * wide}px`;
  canvas.style.height = `${rows * high}px`;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const word = ([r, g, b]) => (255 << 24 | Math.round(b) << 16 | Math.round(g) << 8 | Math.round(r)) >>> 0;
  const palette = KINDS.map(kind => rgb(colours[kind])), [free, panel, gc] = ["free", "panel", "gc"].map(name => rgb(colours[name]));
  const least = last?.erases?.min ?? 0, most = Math.max(least + 1, last?.erases?.max ?? 1);
  const fewest = rgb(colours.free), mostOf = rgb(colours.translation);
  const gap = isLarge ? scale : 0;
  for (let cell = 0; cell < cells; cell++) {
    const at = HEADER_BYTES + cell * CELL_BYTES;
    const [kind, second, others, live, flags, recent] = bytes.subarray(at, at + 6);
    let colour;
    if (byErases) {
      const erases = bytes[at + 6] | bytes[at + 7] << 8;
      colour = mix(fewest, mostOf, Math.min(1, Math.max(0, (erases - least) / (most - least))));
    } else {
      colour = mix(palette[kind] ?? free, palette[second] ?? free, others / 255);
      // Fainter, the less of it is valid.
      if (flags & COUNTED) { colour = mix(mix(panel, colour, 0.22), colour, live / 255); }
      if (recent) { colour = mix(colour, gc, recent / RECENT); }
    }
    const value = word(colour), x = cell % columns * across, y = Math.floor(cell / columns) * down;
    for (let row = y; row < y + down - gap; row++) {
      pixels.fill(value, row * width + x, row * width + x + across - gap);
    }
    if (flags & OPEN && isLarge && !byErases) {
      const inner = Math.max(2, Math.floor(Math.min(across, down) / 3)), mark = word(panel);
      const [left, top] = [across, down].map(side => Math.floor((side - gap - inner) / 2));
      for (let row = y + top; row < y + top + inner; row++) {
        pixels.fill(mark, row * width + x + left, row * width + x + left + inner);
      }
    }
  }
  context.putImageData(image, 0, 0);
  const g = last.geometry, kib = g.page_bytes / 1024;
  const cellIs = perCell === 1 ? "a cell is a block" : `a cell is ${count(perCell)} blocks`;
  const shades = byErases
    ? `grey: ${count(least)} erases, amber: ${count(most)}`
    : `fainter: fewer valid pages; <span class="mark gc"></span> emptied in the last 2 s` +
      (isLarge ? `; <span class="mark open"></span> being written` : "");
  const note = `${count(blocks)} blocks of ${g.pages_per_block} pages of ${kib} KiB; ${cellIs}; ${shades}`;
  if ($("map-note").innerHTML !== note) { $("map-note").innerHTML = note; }
}

function cellAt(event) {
  if (!layout || !map) { return null; }
  const x = Math.floor(event.offsetX / layout.wide), y = Math.floor(event.offsetY / layout.high);
  const cell = y * layout.columns + x;
  return x >= 0 && x < layout.columns && cell >= 0 && cell < map.cells ? cell : null;
}

function showTip(event) {
  const cell = cellAt(event), tip = $("tip");
  tip.hidden = cell === null;
  if (cell === null) { return; }
  const at = HEADER_BYTES + cell * CELL_BYTES, b = map.bytes, first = cell * map.perCell;
  const end = Math.min(map.blocks, first + map.perCell) - 1;
  const name = kind => KIND_NAMES[KINDS[kind]] ?? "?";
  const parts = [first === end ? `block ${count(first)}` : `blocks ${count(first)} to ${count(end)}`];
  parts.push(b[at + 2] ? `mostly ${name(b[at])}, some ${name(b[at + 1])}` : name(b[at]));
  if (b[at + 4] & OPEN) { parts.push("being written"); }
  if (b[at + 4] & COUNTED) { parts.push(`${Math.round(b[at + 3] / 2.55)} % valid`); }
  if (b[at + 5]) { parts.push("just emptied"); }
  parts.push(`erased ${count(b[at + 6] | b[at + 7] << 8)} times`);
  tip.textContent = parts.join(", ");
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(4, Math.min(event.pageX + 12, room))}px`;
  tip.style.top = `${event.pageY + 14}px`;
}

// ---- Figures and tables.

function figures(state) {
  const now = points.at(-1), then = points.at(-1 - Math.min(OVER, points.length - 1));
  const d = derived(now, then === now ? null : then), known = n => n !== null && !Number.isNaN(n);
  const text = (id, value) => { if ($(id).textContent !== value) { $(id).textContent = value; } };
  const all = [d.reads, d.writes, d.others].every(known) ? d.reads + d.writes + d.others : null;
  text("t-requests", known(all) ? count(all) : "–");
  text("t-requests-sub", known(d.bytes) ? `${short(d.bytes / 2 ** 20)} MiB/s, ${state.requests.in_progress} in progress` +
    (state.requests.failed ? `, ${count(state.requests.failed)} failed` : "") : "");
  const wa = d.wa[0] == null ? null : d.wa.reduce((a, b) => a + b, 0), total = state.write_amplification?.total;
  text("t-wa", known(wa) ? two(wa) : "–");
  text("t-wa-sub", total ? `${two(total)} since power-on` : "nothing written yet");
  text("t-gc", known(d.collections) ? short(d.collections) : "–");
  text("t-gc-sub", known(d.moved) ? `${count(d.moved)} pages moved/s` : "");
  text("t-cache", known(d.hits) ? one(d.hits) : "–");
  text("t-cache-sub", `${count(state.counters.cache_entries ?? 0)} entries, ${count(state.counters.dirty_entries ?? 0)} dirty`);
  text("t-free", state.counters.free_blocks === undefined ? "–" : count(state.counters.free_blocks));
  text("t-free-sub", `of ${count(state.geometry.blocks)}, reserve ${count(state.geometry.reserve_blocks)}`);
  if (state.write_cache) {
    text("t-dirty", `${short(state.write_cache.dirty_bytes / 2 ** 20)} MiB`);
    text("t-dirty-sub", `of ${short(state.write_cache.size_bytes / 2 ** 20)} MiB: a power cut may lose them`);
  }
  if (state.erases) {
    text("t-wear", short(state.erases.mean));
    text("t-wear-sub", `${count(state.erases.min)} to ${count(state.erases.max)}, deviation ${short(state.erases.stddev)}`);
  }
}

// Rows of the table of kinds, by kind: made once, and filled.
const rows = {};

function kinds(state) {
  const seen = new Set();
  for (const of of state.blocks) {
    seen.add(of.kind);
    let row = rows[of.kind];
    if (!row) {
      row = rows[of.kind] = document.createElement("tr");
      row.innerHTML = `<td><span class="mark"></span>${KIND_NAMES[of.kind] ?? of.kind}</td><td></td><td></td><td></td>`;
      const after = Object.keys(rows).filter(kind => KINDS.indexOf(kind) > KINDS.indexOf(of.kind));
      const next = after.sort((a, b) => KINDS.indexOf(a) - KINDS.indexOf(b)).map(kind => rows[kind])[0];
      $("kinds").tBodies[0].insertBefore(row, next ?? null);
    }
    row.hidden = false;
    row.querySelector(".mark").style.background = `var(--${of.kind})`;
    const [, blocks, open, valid] = row.cells;
    blocks.textContent = count(of.blocks);
    open.textContent = of.open ? count(of.open) : "";
    const whole = of.counted_blocks * state.geometry.pages_per_block;
    const percent = whole ? 100 * of.live_pages / whole : null;
    if (percent === null) { valid.textContent = ""; continue; }
    if (!valid.firstChild) { valid.innerHTML = `<span></span><span class="bar"><i></i></span>`; }
    valid.firstChild.textContent = `${one(percent)} %`;
    const bar = valid.querySelector("i");
    bar.style.width = `${percent}%`;
    bar.style.background = `var(--${of.kind})`;
  }
  for (const [kind, row] of Object.entries(rows)) { row.hidden = !seen.has(kind); }
}

// Levels that there were: the panel is to keep its height.
let levels = 0;

function gecko(state) {
  const { runs, buffered_entries, buffer_entries } = state.gecko;
  levels = runs.reduce((most, run) => Math.max(most, run.level), levels);
  const most = runs.reduce((most, run) => Math.max(most, run.pages), 1);
  const parts = [`<span class="level">buffer</span><div class="buffer"><i></i><span>${count(buffered_entries)} of ${count(buffer_entries)} entries</span></div>`];
  for (let level = 0; level <= levels; level++) {
    const here = runs.filter(run => run.level === level);
    const drawn = here.map(run => `<div class="run" data-share="${run.pages / most}">${count(run.pages)} ${run.pages === 1 ? "page" : "pages"}</div>`);
    parts.push(`<span class="level">level ${level}</span><div class="runs">${drawn.join("") || "<span class='level'>–</span>"}</div>`);
  }
  const total = runs.reduce((sum, run) => sum + run.pages, 0);
  parts.push(`<span class="level"></span><span class="level">${count(runs.length)} ${runs.length === 1 ? "run" : "runs"}, ${count(total)} ${total === 1 ? "page" : "pages"}; ` +
    `${count(state.counters.gecko_flushes ?? 0)} flushes, ${count(state.counters.gecko_merges ?? 0)} merges</span>`);
  $("gecko").innerHTML = parts.join("");
  $("gecko").querySelector("i").style.width = `${100 * buffered_entries / Math.max(1, buffer_entries)}%`;
  for (const run of $("gecko").querySelectorAll(".run")) { run.style.width = `${Math.max(9, 100 * run.dataset.share)}%`; }
}

const STATES = { "serving": "serving", "read-only": "read-only: worn out", "coming-up": "power was cut, coming up", "off": "off" };

function status(state) {
  $("state").textContent = STATES[state.state] ?? state.state;
  $("state").className = `pill ${state.state}`;
  const cuts = state.power_ons - 1;
  $("served").textContent = `for ${long(state.served_seconds)}` + (cuts > 0 ? `; power cut ${count(cuts)} ${cuts === 1 ? "time" : "times"}` : "");
}

// ---- Asking.

let last = null, asked = 0;

function panels(state) {
  const show = { "panel-map": state.blocks, "panel-wear": state.erases, "tile-wear": state.erases, "tile-dirty": state.write_cache, "panel-gecko": state.gecko };
  const cache = state.counters.cache_hits !== undefined;
  let changed = false;
  for (const [id, there] of [...Object.entries(show), ["panel-cache", cache], ["tile-cache", cache], ["panel-free", state.counters.free_blocks !== undefined]]) {
    // A drive that is off shows what it showed last.
    if (state.state === "off" && !there) { continue; }
    changed ||= $(id).hidden === Boolean(there);
    $(id).hidden = !there;
  }
  return changed;
}

async function get(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(5000) });
  if (!answer.ok) { throw new Error(`${path}: ${answer.status}`); }
  return answer;
}

async function look() {
  const state = await (await get("state.json")).json();
  const first = !last, isNew = first || state.look !== last.look || state.served_seconds !== last.served_seconds;
  // Another server has come to this address.
  if (!first && state.served_seconds < last.served_seconds) { points = []; }
  last = state;
  document.querySelector("main").classList.remove("stale");
  status(state);
  // It says how the drive came up last.
  $("about").textContent = state.about;
  if (first) {
    $("ftl").textContent = state.ftl;
    document.title = `${state.ftl}: a drive at work`;
  }
  if (!isNew || state.state === "coming-up" || state.state === "off") { return; }
  const changed = panels(state);
  points.push(point(state));
  if (points.length > POINTS) { points.shift(); }
  if (changed || first) { makeCharts(); } else { drawCharts(); drawWear(state); }
  figures(state);
  if (state.gecko) { gecko(state); }
  if (state.blocks) {
    kinds(state);
    const bytes = new Uint8Array(await (await get(`map?cells=${cellsWanted()}`)).arrayBuffer());
    const [blocks, perCell, cells, number] = new Uint32Array(bytes.buffer, 0, HEADER_BYTES / 4);
    map = { blocks, perCell, cells, number, bytes };
    drawMap();
  }
  fitCharts();
  asked += 1;
  document.body.dataset.looks = asked;
}

async function ask() {
  let wait = EVERY;
  if (!document.hidden) {
    try {
      await look();
    } catch (error) {
      // Nobody answers: the server has ended, or is being restarted.
      wait = RETRY;
      $("state").textContent = "no answer";
      $("state").className = "pill gone";
      document.querySelector("main").classList.add("stale");
      if (!(error instanceof TypeError || error.name === "TimeoutError" || /: \d+$/.test(error.message))) { throw error; }
    } finally {
      setTimeout(ask, wait);
    }
    return;
  }
  setTimeout(ask, wait);
}

for (const [id, erases] of [["by-kind", false], ["by-erases", true]]) {
  $(id).addEventListener("click", () => {
    byErases = erases;
    $("by-kind").setAttribute("aria-pressed", String(!erases));
    $("by-erases").setAttribute("aria-pressed", String(erases));
    drawMap();
  });
}
$("map").addEventListener("pointermove", showTip);
$("map").addEventListener("pointerdown", showTip);
$("map").addEventListener("pointerleave", () => { $("tip").hidden = true; });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (last) { makeCharts(); } });
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => { if (last) { makeCharts(); } }, 150);
});
ask();
