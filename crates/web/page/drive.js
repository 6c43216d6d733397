// A drive on the page: its engine, its board, its figures.
"use strict";

const PURPOSES = ["host", "gc", "rmw", "translation", "validity", "merge", "wear", "recovery", "checkpoint", "map", "trim", "format", "battery", "placement"];
const PURPOSE_NAMES = {
  "host": "for the host", "gc": "by collection", "translation": "of the mapping", "validity": "of validity", "merge": "by merges",
  "recovery": "by recovery", "checkpoint": "for checkpoints", "map": "of the block map", "trim": "of trims", "wear": "by wear levelling",
  "battery": "on battery", "rmw": "for partial writes", "format": "by formatting", "placement": "for placement",
};
const POINTS_MAX = 400;

class Drive {
  constructor(letter, presets) {
    this.letter = letter;
    this.root = $("#drive").content.firstElementChild.cloneNode(true);
    this.root.id = `drive-${letter}`;
    this.root.setAttribute("aria-label", `drive ${letter}`);
    this.board = new Board($(".board", this.root));
    this.board.canvas.id = `board-${letter}`;
    this.points = [];
    this.presets = presets;
    const families = new Map();
    for (const preset of presets) {
      $(".ftl", this.root).append(element("option", { value: preset.name }, preset.name));
      families.set(preset.name, preset);
    }
    this.about = name => families.get(name);
    this.inspectKeys();
    this.plug = new Plug(this);
  }

  async start() { this.engine = await Engine.made(); }

  // Questions wait for those before them: what they answer is of one moment.
  ask(question, bytes) { return this.engine.ask(question, bytes); }

  // So much its host has done since the fill: drives of one host are level where this is equal.
  get at() { return this.state.host - this.is.fill; }

  // Another drive. Where it does not fit, its ratio is lowered to what does, and the page says so.
  async open(settings, wanted = settings.ratio) {
    const answer = await this.ask({ do: "open", settings, filled: true, fit: true });
    this.settings = answer.drive.settings;
    this.is = answer.drive;
    this.points = [];
    this.last = null;
    this.board.selected = this.board.target = null;
    this.board.shape(answer.drive.blocks, answer.drive.pages_per_block);
    this.board.hasPartitions = answer.drive.has_partitions;
    this.board.show(answer.bytes, false);
    const preset = this.about(this.settings.ftl);
    this.controls(() => true);
    for (const name of ["cache", "cache-slider"]) { $(`.${name}`, this.root).disabled = !this.is.has_cache; }
    const lowered = this.settings.ratio < wanted ? ` Ratio ${wanted} does not fit${settings.ratio < wanted ? " on the other drive" : ""}: this drive has ${this.settings.ratio}.` : "";
    const oracle = this.is.oracle ? ` ${this.is.oracle[0].toUpperCase()}${this.is.oracle.slice(1)}.` : "";
    $(".about", this.root).textContent = `${preset.about}. ${count(this.is.logical_pages)} logical pages. A power cut: ${this.is.power_loss}.${oracle}${lowered}`;
    $(".found", this.root).textContent = "Click a square, or find a logical page.";
    $(".extents", this.root).textContent = "";
    $(".find", this.root).max = this.is.logical_pages - 1;
    this.plug.opened();
    this.show(answer.state);
    this.toldOf = { counters: answer.state.counters, asked: answer.state.asked };
    this.caption(`${this.settings.ftl} is formatted and filled: ${count(this.is.logical_pages)} logical pages on ${count(this.is.blocks)} blocks.`);
    return answer;
  }

  // These controls as the settings have them.
  controls(isMeant) {
    const { ftl, cache, set } = this.settings;
    if (isMeant("ftl")) { $(".ftl", this.root).value = ftl; }
    if (isMeant("cache")) { [$(".cache", this.root).value, $(".cache-slider", this.root).value] = [cache, Math.log2(Math.max(16, cache))]; }
    if (isMeant("set")) { $(".set", this.root).value = set.join(" "); }
  }

  take(answer, glows = true) {
    if (answer.bytes.length) { this.board.show(answer.bytes, glows && !reduced.matches); }
    this.show(answer.state);
    return answer;
  }

  // So many requests, for so many milliseconds at the most.
  async fast(steps, ms) { return this.take(await this.ask({ do: "fast", steps, ms })); }

  async go(step) { return this.jumped({ do: "go", step }); }

  // To where its host has done so much since the fill.
  async level(at) { return this.jumped({ do: "level", host: Math.max(0, at + this.is.fill) }); }

  async jumped(question) {
    const answer = await this.ask(question);
    this.isJump = true;
    try { return this.take(answer, false); } finally { this.isJump = false; }
  }

  // What was said is of another moment than that to which whoever watches went.
  wentTo() {
    const { counters, asked, is_on, wrong, step, fill } = this.state;
    [this.toldAt, this.toldOf] = [performance.now(), { counters, asked }];
    this.caption(is_on || wrong ? `The drive as it is at step ${count(step - fill)}.` : "The power is off: RAM is gone, and the flash is as the cut left it.");
  }

  // What it did from here on before is to come no more.
  async forget() { return this.show((await this.ask({ do: "forget" })).state); }

  async look() { return this.take(await this.ask({ do: "look" }), false); }

  // One step, its operations played for so many milliseconds.
  async step(ms = 0) {
    const answer = await this.ask({ do: "step" }), isDone = answer.state.step > this.state.step;
    await this.played(this.operations(answer.bytes), ms, answer.left_out);
    if (isDone && !answer.operations) { this.caption("A step without an operation of the flash."); }
    return this.look();
  }

  async act(act, ms = 0) {
    const answer = await this.ask({ do: "act", ...act });
    answer.played = this.operations(answer.bytes);
    await this.onAct?.();
    await this.played(answer.played, ms, answer.left_out);
    await this.look();
    this.onDone?.();
    return answer;
  }

  // Five numbers each; recorder.rs writes them.
  operations(bytes) {
    const numbers = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2), made = [];
    const per = this.is.pages_per_block;
    for (let at = 0; at + 4 < numbers.length; at += 5) {
      const [what, place, key, begin, done] = numbers.subarray(at, at + 5);
      const action = what & 255, isErase = action === 3;
      made.push({
        action, purpose: PURPOSES[what >> 8 & 255], kind: what >> 16 & 255, key, begin, done,
        block: isErase ? place : Math.floor(place / per), index: isErase ? 0 : place % per,
      });
    }
    return made;
  }

  async played(operations, ms, leftOut = 0) {
    const text = this.told(operations);
    if (text) { this.caption(leftOut ? `${text}. The last ${count(leftOut)} operations are not shown.` : text); }
    if (reduced.matches || ms <= 0) { return; }
    const frames = Math.max(1, Math.round(ms / 16)), each = Math.ceil(operations.length / frames);
    for (let at = 0; at < operations.length; at += each) {
      operations.slice(at, at + each).forEach(operation => this.board.play(operation));
      await new Promise(requestAnimationFrame);
    }
  }

  // What a part of a recovery touched, shown once more: the flash stays as it is.
  async again(operations) {
    const frames = reduced.matches ? 1 : 60, each = Math.ceil(operations.length / frames);
    this.caption(`${this.told(operations)}.`);
    for (let at = 0; at < operations.length; at += each) {
      for (const { action, block, index } of operations.slice(at, at + each)) { this.board.marks.push([block * this.board.perBlock + index, action === 1 ? 1 : 0, GLOW * 4]); }
      this.board.isDirty = true;
      await new Promise(requestAnimationFrame);
    }
  }

  // A step in words: programs, reads and erases by what they were for.
  told(operations) {
    const sums = new Map();
    for (const { action, purpose } of operations) {
      const key = `${action} ${purpose}`;
      sums.set(key, (sums.get(key) ?? 0) + 1);
    }
    const words = [["pages read", "page read"], ["spare areas read", "spare area read"], ["pages programmed", "page programmed"], ["blocks erased", "block erased"]];
    return [...sums].sort().reverse().map(([key, n]) => {
      const [action, purpose] = key.split(" ");
      return `${count(n)} ${words[action][n === 1 ? 1 : 0]} ${PURPOSE_NAMES[purpose] ?? purpose}`;
    }).join(", ");
  }

  // What came about since this was told before.
  tellRate(perSecond) {
    const now = performance.now(), { counters, asked } = this.state;
    if (now - this.toldAt < 300) { return; }
    const then = this.toldOf;
    const more = name => (counters[name] ?? 0) - (then.counters[name] ?? 0);
    const requests = asked.requests - then.asked.requests, parts = [`${compact(requests)} request${requests === 1 ? "" : "s"}`];
    for (const [name, what, done] of [["collections", "block", "collected"], ["pages_moved", "page", "moved"], ["synchronizations", "translation page", "written"], ["full_merges", "full merge", ""], ["partial_merges", "partial merge", ""], ["switch_merges", "switch merge", ""]]) {
      if (more(name) > 0) { parts.push(`${compact(more(name))} ${what}${more(name) === 1 ? "" : "s"} ${done}`.trimEnd()); }
    }
    if (requests > 0) { this.caption(`${perSecond ? `${compact(perSecond)} requests a second in the worker. ` : ""}Just now: ${parts.join(", ")}.`); }
    [this.toldAt, this.toldOf] = [now, { counters, asked }];
  }

  caption(text) { $(".caption", this.root).textContent = text; }

  // ---- Figures.

  show(state) {
    this.state = state;
    const { asked, flash, counters } = state, root = this.root;
    const programs = programsOf(flash), sum = programs.reduce((a, b) => a + b, 0);
    this.wa = asked.written ? sum / asked.written : null;
    this.point(asked.written, programs);
    const set = (selector, text) => {
      const at = $(selector, root);
      if (at.textContent !== text) { at.textContent = text; }
    };
    set(".wa", this.wa === null ? "–" : two(this.wa));
    set(".wa-sub", this.wa === null ? "programs for each page that the host wrote" : `${count(sum)} programs for ${count(asked.written)} pages`);
    const recent = this.points.at(-1);
    set(".wa-now", recent && !recent.isWide ? two(recent.sum) : "–");
    set(".written", count(asked.written));
    set(".rate", `${timeOf(state.time_us)} on the flash's clock${state.recovered ? ", since power on" : ""}`);
    set(".free", count(counters.free_blocks ?? 0));
    set(".free-sub", `reserve ${count(this.is.reserve_blocks)}`);
    set(".ram", bytesOf(state.ram.papers));
    set(".ram-sub", "as papers count it");
    const [hits, misses] = state.cached;
    $(".cache-tile", root).hidden = !("cache_hits" in counters);
    set(".hits", hits + misses ? one(100 * hits / (hits + misses)) : "–");
    set(".hits-sub", `${count(misses)} miss${misses === 1 ? "" : "es"}${state.recovered ? ", since power on" : ""}`);
    const power = $(".power", root);
    power.textContent = state.wrong ? "wrong" : state.is_on ? state.armed ? "on, a cut waits" : "on" : "off";
    power.className = `power pill ${state.wrong || !state.is_on ? "off" : state.armed ? "armed" : "on"}`;
    this.plug.show(state);
    // What was left out last is made up for.
    const wait = 250 - (performance.now() - this.shownAt);
    clearTimeout(this.later);
    if (wait > 0) { this.later = setTimeout(() => this.show(this.state), wait); } else { this.shownAt = performance.now(); this.slow(state, programs); }
  }

  // What need not be as new as a frame.
  slow(state, programs) {
    const rows = CAUSES.map(([, label, colour], n) => element("tr", {}, element("td", {}, mark(colour), label),
      element("td", {}, count(programs[n])), element("td", {}, state.asked.written ? three(programs[n] / state.asked.written) : "–")));
    $(".causes tbody", this.root).replaceChildren(...rows);
    drawChart($(".chart", this.root), this.points);
    const sums = new Map();
    for (const cell of this.board.seen) { sums.set(cell, (sums.get(cell) ?? 0) + 1); }
    const entries = [[LIVE, "live data", "live"], [STALE, "stale data", "stale"], [ERASED, "erased", "free"],
      ...KINDS.slice(1).map((kind, n) => [METADATA + n + 2, KIND_NAMES[kind], kind]), [TORN, "torn", "warn"], [UNREADABLE, "unreadable", "unreadable"], [BAD, "bad", "bad"]];
    const legend = entries.filter(([cell]) => sums.get(cell) > 0 || cell === ERASED).map(([cell, label, colour]) =>
      element("li", {}, mark(colour), `${label} `, element("b", {}, count(sums.get(cell) ?? 0))));
    const staleMeta = [...sums].filter(([cell]) => cell >= METADATA_STALE).reduce((sum, [, n]) => sum + n, 0);
    if (staleMeta) { legend.push(element("li", {}, mark("other"), "stale metadata, paler ", element("b", {}, count(staleMeta)))); }
    $(".legend:not(.now)", this.root).replaceChildren(...legend, element("li", {}, element("i", { class: "mark open" }), "open block"),
      ...this.logs(), ...this.held());
    this.sums = sums;
    this.board.canvas.setAttribute("aria-label", `${this.settings.ftl}: ${entries.filter(([cell]) => sums.get(cell)).map(([cell, label]) => `${count(sums.get(cell))} pages of ${label}`).join(", ")}. Arrows move from block to block.`);
    this.structures(state);
  }

  // Log blocks by the writes that they take.
  logs() {
    const sums = new Map();
    for (let block = 0; block < this.board.blocks; block++) {
      const log = this.board.logOf(block);
      if (log) { sums.set(log, (sums.get(log) ?? 0) + 1); }
    }
    return [...sums].sort().map(([[label, colour], n]) => element("li", {}, element("i", { class: "mark log", style: `border-color:var(--${colour})` }), `${label} `, element("b", {}, count(n))));
  }

  // Blocks of stale pages alone that may not be erased yet.
  held() {
    const held = Array.from({ length: this.board.blocks }, (_, block) => this.board.look(block).state).filter(state => state === "held").length;
    return held ? [element("li", {}, element("i", { class: "mark held" }), "block held back from its erase ", element("b", {}, count(held)))] : [];
  }

  structures(state) {
    const levels = new Map();
    state.gecko?.runs.forEach(run => levels.set(run.level, [...(levels.get(run.level) ?? []), run]));
    const rows = state.gecko ? [element("h3", {}, "Logarithmic Gecko"),
      element("p", { class: "buffer" }, `buffer: ${count(state.gecko.buffered)} of ${count(state.gecko.buffer)} entries `, meter(state.gecko.buffered / state.gecko.buffer))] : [];
    for (const [level, runs] of [...levels].sort(([a], [b]) => a - b)) {
      rows.push(element("p", { class: "level" }, `level ${level} `, ...runs.map(run => element("span", { class: "run", style: `flex-grow:${run.pages}`, title: `flushes ${run.flushes[0]} to ${run.flushes[1]}` }, `${run.pages}`))));
    }
    $(".gecko", this.root).replaceChildren(...rows);
    const row = ([name, value]) => element("tr", {}, element("td", {}, name.replaceAll("_", " ")), element("td", {}, typeof value === "number" ? Number.isInteger(value) ? count(value) : three(value) : String(value)));
    $(".ledger tbody", this.root).replaceChildren(...state.ram.structures.map(([name, bytes]) => row([name, bytesOf(bytes)])));
    $(".counters tbody", this.root).replaceChildren(...Object.entries(state.counters).map(row));
    if (this.is.has_tree && !(performance.now() - this.lookedAt < 1500)) { this.lookedAt = performance.now(); this.watch(this.extents()); }
  }

  async extents() {
    if (this.isLooking) { return; }
    this.isLooking = true;
    const { extents } = await this.ask({ do: "extents" }).finally(() => { this.isLooking = false; });
    if (!extents) { return; }
    const pages = extents.reduce((sum, [, n]) => sum + n, 0);
    $(".extents", this.root).replaceChildren(element("h3", {}, "µ-Tree"), element("p", {}, `${count(extents.length)} extents of ${two(pages / Math.max(1, extents.length))} pages on average`),
      element("p", { class: "strip" }, ...extents.slice(0, 200).map(([first, n]) => element("i", { style: `flex-grow:${n}`, title: `${count(n)} pages from ${count(first)} on` }))));
  }

  point(written, programs) {
    if (this.last && written < this.last.written) {
      this.points = this.points.filter(point => point.written <= written);
      const at = this.points.at(-1);
      this.last = at ? { written: at.written, programs: at.programs } : { written: 0, programs: CAUSES.map(() => 0) };
    }
    const last = this.last;
    if (!last) { this.last = { written, programs }; return; }
    const least = Math.max(64, (this.points.at(-1)?.written ?? 0) / POINTS_MAX * 2);
    if (written - last.written < least) { return; }
    const wa = programs.map((n, at) => (n - last.programs[at]) / (written - last.written));
    // Whoever jumps through history passes over more than the last pages.
    this.points.push({ written, programs, wa, sum: wa.reduce((a, b) => a + b, 0), isWide: this.isJump && written - last.written > 2 * least });
    this.last = { written, programs };
    if (this.points.length > POINTS_MAX) { this.thin(); }
  }

  // Two points become one: over both of their pages.
  thin() {
    const kept = this.points.filter((_, n) => n % 2 === 1);
    let before = { written: 0, programs: CAUSES.map(() => 0) };
    this.points = kept.map(point => {
      const wa = point.programs.map((n, at) => (n - before.programs[at]) / (point.written - before.written));
      before = point;
      return { ...point, wa, sum: wa.reduce((a, b) => a + b, 0) };
    });
  }

  // ---- A block, a logical page.

  inspectKeys() {
    const canvas = this.board.canvas;
    canvas.addEventListener("click", event => {
      const hit = this.board.hit(event);
      if (hit) { this.watch(this.inspect(hit.block, hit.index)); }
    });
    canvas.addEventListener("keydown", event => {
      const { columns, blocks } = this.board;
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
      if (event.key in moves) {
        const next = (this.board.selected ?? 0) + moves[event.key];
        if (next >= 0 && next < blocks) { this.choose(next); }
      } else if (event.key === "Enter") {
        this.watch(this.inspect(this.board.selected ?? 0, null));
      } else { return; }
      event.preventDefault();
      event.stopPropagation();
    });
    const find = () => this.watch(this.find($(".find", this.root)));
    $(".find-go", this.root).addEventListener("click", find);
    $(".find", this.root).addEventListener("keydown", event => { if (event.key === "Enter") { find(); } });
  }

  choose(block) {
    this.board.selected = block;
    this.board.isDirty = true;
    const { state, log, kind, live, erases } = this.board.look(block);
    this.caption(`block ${block}: ${state}${log ? `, ${log[0]}` : ""}${kind ? `, ${KIND_NAMES[kind]}` : ""}${live === null ? "" : `, ${some(live, "live page")}`}, erased ${some(erases, "time")}`);
  }

  // What is looked at and cannot be had is said where it would stand.
  async watch(looking) {
    try { await looking; } catch (error) { if (error !== LEFT) { $(".found", this.root).textContent = error.message; } }
  }

  // Squares, table and place are of one look: the drive may be at work meanwhile.
  async inspect(block, index) {
    this.choose(block);
    const found = await this.ask({ do: "block", block, index });
    this.board.target = null;
    this.take({ bytes: found.bytes, state: found.drive }, false);
    this.choose(block);
    const rows = found.pages.map((cell, n) => {
      const what = cell.kind ? `${KIND_NAMES[cell.kind]} ${count(cell.key)}` : cell.cell === ERASED ? "erased" : cell.cell === BAD ? "bad" : cell.cell === TORN ? "torn" : "unreadable";
      const state = cell.kind ? cell.cell === LIVE || cell.cell >= METADATA && cell.cell < METADATA_STALE ? "in use" : "stale" : "";
      const name = cell.kind === "user" ? element("button", { class: "link", onclick: () => this.watch(this.find(cell.key)) }, what) : what;
      return element("tr", n === index ? { class: "chosen" } : {}, element("td", {}, String(n)), element("td", {}, name), element("td", {}, state), element("td", {}, cell.seq ? count(cell.seq) : ""));
    });
    const head = element("tr", {}, ...["page", "content", "", "program"].map(text => element("th", {}, text)));
    const log = this.board.logOf(block);
    const about = `Block ${block} at step ${count(found.drive.step - this.is.fill)}: ${found.state}${log ? `, ${log[0]}` : ""}${found.live === null ? "" : `, ${some(found.live, "live page")}`}, erased ${some(found.erases, "time")}.`;
    $(".found", this.root).replaceChildren(...found.place ? [this.place(found.place, found.drive.step)] : [], element("p", {}, about), element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  }

  // Where a logical page is, and where it was: of a number, or of the field that has it.
  async find(of) {
    const answer = await this.ask({ do: "page", page: typeof of === "number" ? of : whole(of, "page") });
    $(".found", this.root).replaceChildren(this.place(answer, answer.step));
  }

  place({ logical, copies, holds }, step) {
    $(".find", this.root).value = logical;
    const now = copies.find(copy => copy.live);
    this.board.target = now ? now.block * this.board.perBlock + now.index : null;
    this.board.isDirty = true;
    const older = copies.filter(copy => copy !== now).map(copy => `block ${copy.block}, page ${copy.index}`);
    const is = now ? `is in block ${now.block}, page ${now.index}` : holds ? "is nowhere on this flash" : "holds no data: it reads as zeros";
    return element("div", { class: "place" }, element("p", {}, `Logical page ${count(logical)} ${is}, at step ${count(step - this.is.fill)}.`),
      element("p", {}, older.length ? `Older copies, newest first: ${older.join("; ")}.` : "No older copy of it is left."));
  }
}

const some = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;

// The number of a field, which has to be whole and in its range.
function whole(input, name) {
  const { value, min, max, validity } = input;
  if (value === "" || !validity.valid || !Number.isInteger(Number(value))) {
    throw new Error(`${name}: ${value || "no number"}; a whole number from ${count(min || 0)} to ${count(max)} would be right`);
  }
  return Number(value);
}

function mark(colour) { return element("i", { class: "mark", style: `background:var(--${colour})` }); }
function meter(share) { return element("span", { class: "meter" }, element("i", { style: `width:${Math.round(share * 100)}%` })); }
