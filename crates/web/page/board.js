// The flash as one sees it: a square for each page, in its block.
"use strict";

const $ = (selector, of = document) => of.querySelector(selector);
const reduced = matchMedia("(prefers-reduced-motion: reduce)");

const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format;
const fixed = digits => new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).format;
const [one, two, three] = [1, 2, 3].map(fixed);
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format;
const bytesOf = n => n < 1024 ? `${count(n)} B` : n < 1 << 20 ? `${one(n / 1024)} KiB` : `${one(n / (1 << 20))} MiB`;
const timeOf = us => us < 1e3 ? `${one(us)} µs` : us < 1e6 ? `${one(us / 1e3)} ms` : `${two(us / 1e6)} s`;

// Made of text and elements alone: nothing that a drive says is read as markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") { made.className = value; } else if (key.startsWith("on")) { made.addEventListener(key.slice(2), value); } else { made.setAttribute(key, value); }
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

// The bytes of pages; look.rs has the same.
const ERASED = 0, LIVE = 1, STALE = 2, TORN = 3, UNREADABLE = 4, BAD = 5, METADATA = 16, METADATA_STALE = 32;
const KINDS = ["user", "tombstone", "anchor", "translation", "bitmap", "gecko", "validity-log", "map", "summary", "tree", "block-log", "mapping-log"];
const KIND_NAMES = {
  "user": "data", "tombstone": "tombstones of trims", "anchor": "description", "translation": "translation pages", "bitmap": "validity bitmap",
  "gecko": "Gecko runs", "validity-log": "validity log", "map": "block map", "summary": "summaries", "tree": "µ-Tree",
  "block-log": "block log", "mapping-log": "mapping log",
};
const STATES = ["free", "held", "open", "written", "bad"];
// What a log block takes, and the colour of its outline; of an FTL without partitions the first is all log blocks.
const LOGS = [null, ["log block", "log"], ["log block of the hot partition", "hot"], ["sequential log block", "sequential"]];
const COLD = ["log block of the cold partition", "log"];

let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ground", "panel", "text", "soft", "line", "grid", "free", "live", "stale", "unreadable", "bad", "host", "gc", "other", "mark", "log", "hot", "sequential", "warn", ...KINDS];
  colours = Object.fromEntries(names.map(name => [name, style.getPropertyValue(`--${name}`).trim()]));
}
const rgb = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
const mix = (a, b, share) => a.map((channel, n) => Math.round(channel + (b[n] - channel) * share));
const word = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;

// A colour for each byte.
function palette() {
  const table = new Uint32Array(256).fill(word(rgb(colours.other)));
  const free = rgb(colours.free);
  const set = (at, colour) => { table[at] = word(colour); };
  set(ERASED, free);
  set(LIVE, rgb(colours.live));
  set(STALE, rgb(colours.stale));
  set(TORN, rgb(colours.warn));
  set(UNREADABLE, rgb(colours.unreadable));
  set(BAD, rgb(colours.bad));
  KINDS.forEach((kind, n) => {
    set(METADATA + n + 1, rgb(colours[kind]));
    set(METADATA_STALE + n + 1, mix(rgb(colours[kind]), free, 0.66));
  });
  return table;
}

// How long a change glows, in frames.
const GLOW = 14;

class Board {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.picture = document.createElement("canvas");
    this.selected = null;
    this.marks = [];
    this.recolour();
  }

  recolour() {
    this.palette = palette();
    this.isDirty = true;
  }

  // A drive of so many blocks.
  shape(blocks, perBlock) {
    this.blocks = blocks;
    this.perBlock = perBlock;
    this.across = perBlock >= 64 ? 8 : perBlock >= 16 ? 4 : perBlock >= 8 ? 4 : perBlock;
    this.down = Math.ceil(perBlock / this.across);
    this.cells = new Uint8Array(blocks * perBlock);
    // As it was looked at last: squares are ahead of that while a step is played.
    this.seen = this.cells;
    this.glow = new Uint8Array(blocks * perBlock);
    this.looks = new Uint8Array(blocks * 8);
    this.erased = new Uint8Array(blocks);
    this.fit();
  }

  // As many blocks side by side as make the squares largest.
  fit() {
    const width = this.canvas.parentElement.clientWidth;
    if (!this.blocks || width === 0) { return; }
    const [w, h] = [this.across + 1, this.down + 1];
    const room = Math.min(560, Math.max(260, innerHeight * 0.55));
    let best = { size: 0 };
    for (let columns = 1; columns <= this.blocks; columns++) {
      const rows = Math.ceil(this.blocks / columns);
      const size = Math.min((width - 2) / (columns * w + 1), room / (rows * h + 1));
      if (size > best.size) { best = { size, columns, rows }; }
    }
    const scale = devicePixelRatio || 1;
    // Whole device pixels, so that all squares are as large.
    this.size = Math.max(1, Math.floor(best.size * scale));
    this.columns = Math.min(this.blocks, Math.max(1, Math.floor((width * scale - this.size) / (w * this.size))));
    this.rows = Math.ceil(this.blocks / this.columns);
    this.picture.width = this.columns * w + 1;
    this.picture.height = this.rows * h + 1;
    this.canvas.width = this.picture.width * this.size;
    this.canvas.height = this.picture.height * this.size;
    this.canvas.style.width = `${this.canvas.width / scale}px`;
    this.canvas.style.height = `${this.canvas.height / scale}px`;
    this.pixels = this.picture.getContext("2d").createImageData(this.picture.width, this.picture.height);
    this.words = new Uint32Array(this.pixels.data.buffer);
    this.at = new Uint32Array(this.blocks * this.perBlock);
    for (let block = 0; block < this.blocks; block++) {
      const [x, y] = this.corner(block);
      for (let index = 0; index < this.perBlock; index++) {
        this.at[block * this.perBlock + index] = (y + Math.floor(index / this.across)) * this.picture.width + x + index % this.across;
      }
    }
    this.isDirty = true;
  }

  corner(block) {
    return [1 + block % this.columns * (this.across + 1), 1 + Math.floor(block / this.columns) * (this.down + 1)];
  }

  // What the engine's bytes say from now on; what has changed glows.
  show(bytes, glows = true) {
    const pages = this.blocks * this.perBlock;
    if (bytes.length < pages) { return; }
    for (let n = 0; n < pages; n++) {
      if (bytes[n] !== this.cells[n]) {
        if (glows && bytes[n] !== STALE && bytes[n] < METADATA_STALE && bytes[n] !== ERASED) { this.glow[n] = GLOW; }
        this.cells[n] = bytes[n];
      }
    }
    this.seen = bytes.subarray(0, pages);
    this.looks = bytes.subarray(pages, pages + this.blocks * 8);
    this.isDirty = true;
  }

  look(block) {
    const at = block * 8, view = this.looks;
    const live = view[at + 2] | view[at + 3] << 8;
    return {
      state: STATES[view[at] & 15], log: this.logOf(block), kind: view[at + 1] ? KINDS[view[at + 1] - 1] : null, live: live === 0xffff ? null : live,
      erases: view[at + 4] | view[at + 5] << 8 | view[at + 6] << 16 | view[at + 7] << 24,
    };
  }

  logOf(block) {
    const log = this.looks[block * 8] >> 4;
    return log === 1 && this.hasPartitions ? COLD : LOGS[log];
  }

  // An operation of a step that is being played.
  play({ action, block, index, kind, isStaleOf }) {
    const n = block * this.perBlock + index;
    if (action === 2) {
      this.cells[n] = kind === 1 ? LIVE : METADATA + kind;
      this.glow[n] = GLOW;
      if (isStaleOf !== undefined && isStaleOf !== n) { this.cells[isStaleOf] = STALE; }
    } else if (action === 3) {
      this.cells.fill(ERASED, block * this.perBlock, (block + 1) * this.perBlock);
      this.erased[block] = GLOW;
    } else {
      this.marks.push([n, action, GLOW]);
    }
    this.isDirty = true;
  }

  draw() {
    if (!this.words || !this.isDirty) { return; }
    this.isDirty = false;
    const { cells, glow, at, words, palette } = this;
    words.fill(word(rgb(colours.panel)));
    const bright = rgb(colours.mark);
    for (let n = 0; n < cells.length; n++) {
      let colour = palette[cells[n]];
      if (glow[n] > 0) {
        const share = glow[n]-- / GLOW * 0.75;
        colour = word(mix([colour & 255, colour >> 8 & 255, colour >> 16 & 255], bright, share));
        this.isDirty = true;
      }
      words[at[n]] = colour;
    }
    this.picture.getContext("2d").putImageData(this.pixels, 0, 0);
    const { context, size } = this;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, 0, 0, this.canvas.width, this.canvas.height);
    const outline = (block, colour, width) => {
      const [x, y] = this.corner(block);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect((x - 0.5) * size, (y - 0.5) * size, (this.across + 1) * size, (this.down + 1) * size);
    };
    for (let block = 0; block < this.blocks; block++) {
      const state = this.looks[block * 8] & 15, log = this.logOf(block);
      if (log) { outline(block, colours[log[1]], Math.max(1, size * 0.3)); }
      if (state === 2 && !log) { outline(block, colours.text, Math.max(1, size * 0.3)); }
      if (state === 1) { outline(block, colours.soft, Math.max(1, size * 0.2)); }
      if (this.erased[block] > 0) {
        this.erased[block]--;
        outline(block, colours.gc, Math.max(1.5, size * 0.5));
        this.isDirty = true;
      }
    }
    this.marks = this.marks.filter(mark => {
      const [x, y] = [at[mark[0]] % this.picture.width, Math.floor(at[mark[0]] / this.picture.width)];
      context.strokeStyle = mark[1] === 0 ? colours.warn : colours.soft;
      context.lineWidth = Math.max(1, size * 0.25);
      context.strokeRect(x * size, y * size, size, size);
      this.isDirty = true;
      return --mark[2] > 0;
    });
    if (this.selected !== null && this.selected < this.blocks) { outline(this.selected, colours.mark, Math.max(2, size * 0.6)); }
    if (this.target !== undefined && this.target !== null) {
      const [x, y] = [at[this.target] % this.picture.width, Math.floor(at[this.target] / this.picture.width)];
      context.strokeStyle = colours.mark;
      context.lineWidth = Math.max(2, size * 0.4);
      context.strokeRect(x * size - 1, y * size - 1, size + 2, size + 2);
    }
  }

  // The block and page at a place of the screen.
  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / box.width * this.picture.width) - 1;
    const y = Math.floor((event.clientY - box.top) / box.height * this.picture.height) - 1;
    const column = Math.floor(x / (this.across + 1)), row = Math.floor(y / (this.down + 1));
    const block = row * this.columns + column;
    const index = y % (this.down + 1) * this.across + x % (this.across + 1);
    if (x < 0 || y < 0 || column >= this.columns || block >= this.blocks) { return null; }
    const isPage = x % (this.across + 1) < this.across && y % (this.down + 1) < this.down && index < this.perBlock;
    return { block, index: isPage ? index : null };
  }
}

// Write amplification by cause, one point for every so many pages that the host wrote.
const CAUSES = [
  ["host", "host", "host", ["host"]],
  ["collection", "collection and merges", "gc", ["gc", "merge", "wear", "rmw"]],
  ["translation", "translation pages", "translation", ["translation"]],
  ["validity", "validity", "gecko", ["validity"]],
  ["other", "all else", "other", ["checkpoint", "map", "trim", "battery", "recovery", "placement", "format"]],
];
const programsOf = flash => CAUSES.map(([, , , purposes]) => purposes.reduce((sum, purpose) => sum + (flash[purpose]?.[2] ?? 0), 0));

function drawChart(canvas, all) {
  // A point is of the pages up to it.
  const points = all.length ? [{ ...all[0], written: 0 }, ...all] : all;
  const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (width === 0) { return; }
  if (canvas.width !== Math.round(width * scale)) { canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale); }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const [left, bottom, top] = [30, height - 16, 6];
  const end = points.at(-1)?.written ?? 0, highest = points.reduce((most, point) => Math.max(most, point.sum), 1) * 1.08;
  const x = written => left + (width - left - 6) * (end ? written / end : 0), y = value => bottom - (bottom - top) * value / highest;
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.fillStyle = colours.soft;
  context.strokeStyle = colours.grid;
  const step = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100].find(size => highest / size <= 5) ?? 200;
  for (let value = 0; value <= highest; value += step) {
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(width - 6, y(value));
    context.stroke();
    context.textAlign = "right";
    context.fillText(String(value), left - 4, y(value) + 4);
  }
  context.textAlign = "left";
  context.fillText("0", left, height - 3);
  context.textAlign = "right";
  context.fillText(`${compact(end)} pages`, width - 6, height - 3);
  let below = points.map(() => 0);
  CAUSES.forEach(([, , colour], n) => {
    const upper = points.map((point, at) => below[at] + point.wa[n]);
    context.fillStyle = colours[colour];
    context.beginPath();
    points.forEach((point, at) => context.lineTo(x(point.written), y(upper[at])));
    for (let at = points.length - 1; at >= 0; at--) { context.lineTo(x(points[at].written), y(below[at])); }
    context.fill();
    below = upper;
  });
}
