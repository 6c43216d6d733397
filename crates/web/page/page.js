// The page: time, the host, links, keys.
"use strict";

const DEFAULTS = { ftl: "page", set: [], blocks: 256, pages_per_block: 32, page_bytes: 512, channels: 1, dies: 1, ratio: 0.7, cache: 256, workload: "uniform", seed: 1 };
// Requests a second; the last is as many as there can be.
const SPEEDS = [1, 2, 5, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, Infinity];
// Up to here each operation of a request is shown.
const SHOWN = 10;
// How long a worker works before it says how far it is.
const SLICE_MS = 14;
// Short names in links: those that are not here are as the settings have them.
const IN_LINKS = { ppb: "pages_per_block", page: "page_bytes" };

const page = {
  drives: [], isPlaying: false, current: null, frames: 0, trace: null,

  get speed() { return SPEEDS[Number($("#speed").value)]; },

  // One or two drives with these settings.
  async open(all) {
    await this.still();
    while (this.drives.length > all.length) { this.drop(); }
    while (this.drives.length < all.length) {
      const drive = new Drive("ab"[this.drives.length], this.listed.presets);
      await drive.start();
      if (this.trace) { await drive.ask({ do: "trace", name: this.trace.name }, this.trace.bytes); }
      drive.onPower = () => this.pause();
      drive.onAct = () => this.forget(drive);
      drive.onDone = () => this.moved(false);
      this.drives.push(drive);
      $("#drives").append(drive.root);
      this.wire(drive);
    }
    document.body.classList.toggle("two", all.length === 2);
    $("#side").setAttribute("aria-pressed", String(all.length === 2));
    const fitting = all.map(settings => this.about(settings.ftl)?.per_channel && settings.channels === 1 ? { ...settings, channels: 2 } : settings);
    const before = this.drives.map(drive => drive.state && { ...drive.settings, workload: drive.state.workload }), opened = [];
    try {
      for (const [n, drive] of this.drives.entries()) {
        await drive.open(fitting[n]);
        opened.push(n);
      }
      await this.fit(fitting);
    } catch (error) {
      await this.reopened(before, opened);
      throw error;
    }
    this.drives.forEach(drive => drive.board.fit());
    this.controls();
    this.moved();
  },

  drop() {
    this.drives.pop().engine.close();
    $("#drives").lastElementChild.remove();
  },

  // One of them cannot be: the others are what they were, from their beginning on.
  async reopened(before, opened) {
    while (this.drives.length && !before[this.drives.length - 1]) { this.drop(); }
    for (const n of opened.filter(n => n < this.drives.length)) { await this.drives[n].open(before[n]); }
    document.body.classList.toggle("two", this.drives.length === 2);
    $("#side").setAttribute("aria-pressed", String(this.drives.length === 2));
    if (opened.length && this.drives.length) { await this.level(); }
    this.moved();
  },

  // Requests are the same on as many logical pages alone: what does not fit on one drive is lowered on both.
  async fit(wanted) {
    if (new Set(wanted.map(({ ratio }) => ratio)).size > 1) { return; }
    for (;;) {
      const least = Math.min(...this.drives.map(drive => drive.settings.ratio));
      const larger = this.drives.filter(drive => drive.settings.ratio > least);
      if (larger.length === 0) { return; }
      for (const drive of larger) { await drive.open({ ...drive.settings, ratio: least }, wanted[0].ratio); }
    }
  },

  about(name) { return this.listed.presets.find(preset => preset.name === name); },

  wire(drive) {
    const own = () => this.anew(() => this.reopen(), true);
    $(".ftl", drive.root).addEventListener("change", own);
    $(".cache", drive.root).addEventListener("change", own);
    $(".set", drive.root).addEventListener("change", own);
    const slider = $(".cache-slider", drive.root), entries = () => { $(".cache", drive.root).value = Math.round(2 ** Number(slider.value)); };
    slider.addEventListener("input", entries);
    slider.addEventListener("change", () => { entries(); own(); });
  },

  // The drive that its own settings ask for now.
  asked(drive) {
    const ftl = $(".ftl", drive.root).value;
    const set = $(".set", drive.root).value.split(/\s+/).filter(Boolean);
    // Another FTL has the same flash, but for one that is on each channel.
    const { settings } = drive, channels = this.channels(settings, ftl), cache = whole($(".cache", drive.root), "cache");
    return { ...settings, workload: drive.state.workload, ftl, set: ftl === settings.ftl ? set : [], cache, channels };
  },

  channels({ ftl, channels }, other) {
    if (other === ftl) { return channels; }
    return this.about(other).per_channel ? Math.max(2, channels) : this.about(ftl).per_channel ? 1 : channels;
  },

  async reopen() {
    await this.open(this.drives.map(each => this.asked(each)));
  },

  // ---- Time.

  // Why the host cannot go on. Drives side by side wait for each other: they are given the same requests.
  why() {
    for (const [n, drive] of this.drives.entries()) {
      const { is_on, goes_on, wrong, why_ended } = drive.state, of = this.drives.length === 1 ? "" : [" of the first drive", " of the second drive"][n];
      if (wrong) { return `The checker has a finding${of && `${of}: the host stops`}. Step back, or format.`; }
      if (!is_on && !goes_on) { return `The power${of} is off.`; }
      if (why_ended) { return why_ended; }
    }
    return null;
  },

  play() {
    if (this.isPlaying) { return this.pause(); }
    const why = this.why();
    if (why) { return this.stopped(why); }
    if ($("#said").textContent === this.because) { this.say(""); }
    this.isPlaying = true;
    this.tells("off");
    $("#play").textContent = "❚❚ pause";
    $("#play").setAttribute("aria-pressed", "true");
    const turn = this.turn = {}, before = this.playing;
    const pumped = async () => {
      try { await before; await this.pump(turn); } catch (error) { if (error !== LEFT) { this.wrong(error); } } finally { if (this.turn === turn) { this.pause(); } }
    };
    this.playing = pumped();
  },

  // What changes many times a second is not read out.
  tells(how) { for (const drive of this.drives) { $(".caption", drive.root).setAttribute("aria-live", how); } },

  pause() {
    this.isPlaying = false;
    this.tells("polite");
    $("#play").textContent = "▶ play";
    $("#play").setAttribute("aria-pressed", "false");
  },

  // Until nothing plays.
  async still() {
    this.pause();
    await this.playing;
  },

  // Something between two requests: what plays waits for it, and goes on if it can.
  async between(what) {
    const goesOn = this.isPlaying;
    await this.still();
    try { return await what(); } finally { if (goesOn && this.why() === null) { this.play(); } }
  },

  async pump(turn) {
    const goesOn = () => this.isPlaying && this.turn === turn;
    let last = performance.now(), owed = 0, chunk = 64;
    await this.level();
    while (goesOn() && this.why() === null) {
      const speed = this.speed, { drives } = this;
      if (speed <= SHOWN) {
        const ends = performance.now() + 1000 / speed;
        await this.forth(700 / speed);
        while (goesOn() && performance.now() < ends) { await new Promise(requestAnimationFrame); }
        last = performance.now();
      } else {
        if (speed < Infinity) {
          await new Promise(requestAnimationFrame);
          const now = performance.now();
          owed = Math.min(owed + speed * (now - last) / 1000, speed / 4);
          last = now;
        }
        const left = speed < Infinity ? Math.floor(owed) : 1e12;
        if (left === 0) { continue; }
        // One drive has so much time. Two have as many requests as the slower one does in it.
        const isOne = drives.length === 1, steps = isOne ? left : Math.min(left, chunk);
        const answers = await Promise.all(drives.map(drive => drive.fast(steps, isOne ? speed < Infinity ? 100 : SLICE_MS : 1e4)));
        const took = Math.max(...answers.map(answer => answer.took));
        if (took < SLICE_MS / 2 && steps === chunk) { chunk *= 2; }
        if (took > SLICE_MS * 2) { chunk = Math.max(1, steps >> 1); }
        owed -= Math.min(owed, steps);
        await this.level();
        if (speed < Infinity) { drives.forEach(drive => drive.state.is_on && drive.tellRate()); } else { this.measure(drives, answers); }
      }
      this.moved();
    }
    if (this.drives.some(drive => drive.state.ended)) { this.stopped(this.why()); }
  },

  // What one drive was not given, for its power failed or it had no time, is taken back from the other.
  async level() {
    const least = Math.min(...this.drives.map(drive => drive.at));
    await Promise.all(this.drives.filter(drive => drive.at > least).map(drive => drive.level(least)));
    // Where one of them can go no further, what the others did behind that is not to be gone to.
    if (this.drives.some(drive => !drive.state.goes_on && drive.state.step === drive.state.furthest && drive.at === least)) {
      await Promise.all(this.drives.filter(drive => drive.state.furthest_host - drive.is.fill > least).map(drive => drive.forget()));
    }
  },

  // Who does something where it was before does it on all: what the others did from there on comes no more.
  async forget(drive) {
    const others = this.drives.filter(other => other !== drive && other.state && other.state.furthest > other.state.step);
    await Promise.all(others.map(other => other.forget()));
  },

  // Writes a second in the workers.
  measure(on, answers) {
    on.forEach((drive, n) => {
      drive.rates = [...(drive.rates ?? []).slice(-40), [answers[n].done, answers[n].took]];
      const [done, took] = drive.rates.reduce((sum, each) => [sum[0] + each[0], sum[1] + each[1]], [0, 0]);
      drive.perSecond = done / took * 1000;
      drive.tellRate(drive.perSecond);
    });
  },

  // A request, or what was done to a drive between two.
  async forth(ms) {
    await Promise.all(this.drives.map(drive => drive.step(ms)));
    await this.level();
  },

  // The same back: where something was done to one drive alone, the other stays.
  async back() {
    const from = this.drives.map(drive => drive.state.step);
    await Promise.all(this.drives.map((drive, n) => drive.go(Math.max(0, from[n] - 1))));
    const most = Math.max(...this.drives.map(drive => drive.at));
    await Promise.all(this.drives.map((drive, n) => drive.at < most ? drive.go(from[n]) : null));
    this.drives.forEach(drive => drive.wentTo());
  },

  async step(by) {
    await this.still();
    const why = this.why();
    if (by > 0 && why && this.drives.every(drive => drive.state.step === drive.state.furthest)) { this.stopped(why); }
    // It is not played where more of them wait.
    await (by > 0 ? this.forth(this.asks > 1 ? 0 : 400) : this.back());
    this.moved();
  },

  // To the next request that collects or merges, on the drive that does so first. It is played.
  async seek() {
    await this.still();
    const why = this.why();
    if (why) { return this.stopped(why); }
    await this.level();
    const found = await Promise.all(this.drives.map(async drive => drive.take(await drive.ask({ do: "seek", steps: 20000 }), false).found));
    await this.level();
    if (found.some(Boolean)) { await this.forth(1500); } else if (this.why() === null) { this.drives.forEach(drive => drive.caption("Nothing was collected in 20,000 requests.")); }
    this.moved();
  },

  async go(step) {
    await this.still();
    const [first, ...others] = this.drives;
    await first.go(step);
    await Promise.all(others.map(drive => drive.level(first.at)));
    // One of them may not go as far as that.
    await this.level();
    this.drives.forEach(drive => drive.wentTo());
    this.moved();
  },

  moved(isSettled = true) {
    if (!this.drives[0]?.state) { return; }
    const { furthest, step, workload, fill } = this.drives[0].state;
    $("#history").max = furthest - fill;
    if (document.activeElement !== $("#history") || !this.isDragging) { $("#history").value = step - fill; }
    $("#history-is").textContent = `${count(step - fill)} of ${count(furthest - fill)}`;
    if (workload !== this.host.exact) { this.hosts(workload); }
    // While something is done to one after the other they may differ for a moment.
    if (!isSettled) { return; }
    const differ = this.differ();
    $("#differ").hidden = differ === "";
    if ($("#differ").textContent !== differ) { $("#differ").textContent = differ; }
  },

  // Why two drives are not asked the same.
  differ() {
    if (this.drives.length < 2 || !this.drives[1].state) { return ""; }
    const of = ({ settings, is, state: { workload } }) => [
      ["workload", workload], ["logical pages", count(is.logical_pages)],
      ...["sequential", "trace"].includes(workload.split(":")[0]) ? [] : [["seed", settings.seed]],
      // Files, objects and sizes in bytes are so many pages of the drive's.
      .../^(trace|media|desktop|cache|lsm)|bytes=/.test(workload) ? [["bytes of a page", count(settings.page_bytes)]] : [],
      // The laboratory draws its requests for the flash and the cache that there are.
      ...workload.startsWith("lab:") ? [["pages of flash", count(is.blocks * is.pages_per_block)], ["cache entries that they are drawn for", count(is.cache_entries || 64)]] : [],
    ];
    const [a, b] = this.drives.map(of), apart = a.filter(([, value], n) => value !== b[n]?.[1]);
    return apart.length ? `These two drives get different requests: ${apart.map(([name, value]) => `${name} ${value} and ${b.find(other => other[0] === name)?.[1] ?? "none"}`).join("; ")}.` : "";
  },

  // ---- The host.

  // What the controls were set to, exactly: their positions are rounded. Those that were not moved mean that.
  host: {}, ratio: {},

  workload() {
    const kind = $("#kind").value, skew = Number($("#skew").value);
    if (kind === this.host.kind && $("#skew").value === this.host.skew && $("#other").value === this.host.other) { return this.host.exact; }
    if (kind === "zipf") { return `zipf:${Math.max(0.1, skew / 10)}`; }
    if (kind === "hotcold") { return `hotcold:${Math.min(99, 50 + skew * 2.45).toFixed(0)}/${Math.max(2, 50 - skew * 2.4).toFixed(0)}`; }
    if (kind === "trace") { return `trace:${this.trace.name}`; }
    return kind === "other" ? $("#other").value.trim() : kind;
  },

  logical() { return $("#ratio").value === this.ratio.position ? this.ratio.exact : Number($("#ratio").value) / 100; },

  // The controls of the host as this workload has them.
  hosts(workload) {
    const [kind, rest] = workload.split(/:(.*)/);
    const known = ["uniform", "zipf", "hotcold", "sequential", "trace"].includes(kind) ? kind : "other";
    $("#kind").value = known;
    if (known === "other") { $("#other").value = workload; }
    if (known === "zipf") { $("#skew").value = Math.round(Number(rest) * 10); }
    if (known === "hotcold") { $("#skew").value = Math.round((Number(rest.split("/")[0]) - 50) / 2.45); }
    this.host = { exact: workload, kind: known, skew: $("#skew").value, other: $("#other").value };
    this.labels();
  },

  // Controls as the drives' settings have them.
  controls() {
    const { settings, state } = this.drives[0];
    this.refused = [];
    this.shapes(settings);
    this.hosts(state.workload);
  },

  shapes(settings) {
    $("#ratio").value = Math.round(settings.ratio * 100);
    this.ratio = { exact: settings.ratio, position: $("#ratio").value };
    for (const [id, key] of [["blocks", "blocks"], ["ppb", "pages_per_block"], ["seed", "seed"]]) {
      if ($(`#${id}`).tagName === "SELECT" && ![...$(`#${id}`).options].some(option => Number(option.value) === settings[key])) {
        $(`#${id}`).append(element("option", {}, String(settings[key])));
      }
      $(`#${id}`).value = settings[key];
    }
  },

  labels() {
    const kind = $("#kind").value;
    $("#skew-label").hidden = !["zipf", "hotcold"].includes(kind);
    $("#other-label").hidden = kind !== "other";
    $("#again").hidden = kind !== "trace" && !this.workload().startsWith("lab:");
    $("#skew-is").textContent = this.workload();
    const ratio = this.logical();
    $("#ratio-is").textContent = Number.isInteger(Math.round(ratio * 1e9) / 1e7) ? two(ratio) : String(ratio);
    const speed = this.speed;
    $("#speed-is").textContent = speed === Infinity ? "all it can" : `${count(speed)}/s`;
  },

  // The hosts of all drives go on with another workload, from the same request on; or none does.
  async change() {
    this.labels();
    const workload = this.workload(), done = [];
    await this.between(async () => {
      await this.level();
      try {
        for (const drive of this.drives) {
          await drive.act({ act: "workload", workload });
          done.push(drive);
        }
      } catch (error) {
        for (const drive of done) {
          await drive.go(drive.state.step - 1);
          await drive.forget();
        }
        throw error;
      }
      this.host = { ...this.host, exact: workload, kind: $("#kind").value, skew: $("#skew").value, other: $("#other").value };
    }).finally(() => this.moved());
  },

  // A file becomes the host's requests, on drives that are formatted anew. One that cannot be read changes nothing.
  async take(files) {
    if (files.length !== 1) { throw new Error(`${files.length} files: one trace would be right.`); }
    const [file] = files, bytes = new Uint8Array(await file.slice(0, this.listed.trace_bytes_max + 1).arrayBuffer());
    await this.still();
    const answers = await Promise.all(this.drives.map(drive => drive.ask({ do: "trace", name: file.name }, bytes)));
    const { name, requests, format, left_out, doubts } = answers[0];
    this.trace = { name, bytes };
    $("#kind [value=trace]").disabled = false;
    this.leave();
    await this.open(this.drives.map(drive => ({ ...this.asked(drive), workload: `trace:${name}` })));
    this.say([`${name}: ${some(requests, "request")}, format ${format}${left_out ? `; ${count(left_out)} ${left_out === 1 ? "line or record" : "lines or records"} left out` : ""}.`, ...doubts].join(" "));
  },

  async format() {
    const shape = { ratio: this.logical(), blocks: Number($("#blocks").value), pages_per_block: Number($("#ppb").value), seed: whole($("#seed"), "seed"), workload: this.workload() };
    await this.open(this.drives.map(drive => ({ ...this.asked(drive), ...shape })));
  },

  async side() {
    const one_ = { ...this.drives[0].settings, workload: this.drives[0].state.workload }, ftl = one_.ftl === "geckoftl" ? "dftl" : "geckoftl";
    await this.open(this.drives.length === 2 ? [one_] : [one_, { ...one_, ftl, set: [], channels: this.channels(one_, ftl) }]);
  },

  // ---- Lessons, links.

  async lesson(id) {
    this.leave();
    const lesson = LESSONS.find(known => known.id === id);
    if (!lesson) { return; }
    $("#lesson").value = id;
    this.current = new Lesson(lesson, this);
    await this.current.begin();
  },

  leave() {
    this.current?.leave();
    this.current = null;
    $("#lesson").value = "";
  },

  link() {
    const parts = new URLSearchParams();
    const short = Object.fromEntries(Object.entries(IN_LINKS).map(([a, b]) => [b, a]));
    if (this.current) { parts.set("lesson", this.current.lesson.id); return `#${parts}`; }
    this.drives.forEach((drive, n) => {
      const settings = { ...drive.settings, workload: drive.state.workload };
      for (const [key, value] of Object.entries(settings)) {
        const text = Array.isArray(value) ? value.join(",") : String(value), usual = n === 0 ? DEFAULTS[key] : this.drives[0].settings[key];
        const before = Array.isArray(usual) ? usual.join(",") : String(usual);
        if (text !== before || key === "ftl") { parts.set(`${n ? "b." : ""}${short[key] ?? key}`, text); }
      }
    });
    if ($("#speed").value !== "6") { parts.set("speed", $("#speed").value); }
    return `#${parts}`;
  },

  // What a link says; what it does not know is left out.
  linked(hash) {
    const parts = new URLSearchParams(hash.slice(1));
    const of = (prefix, base) => {
      const settings = { ...base };
      for (const [key, value] of parts) {
        if (!key.startsWith(prefix) || key.slice(prefix.length).includes(".")) { continue; }
        const name = IN_LINKS[key.slice(prefix.length)] ?? key.slice(prefix.length);
        if (!(name in DEFAULTS)) { continue; }
        settings[name] = Array.isArray(DEFAULTS[name]) ? value.split(",").filter(Boolean) : typeof DEFAULTS[name] === "number" ? Number(value) : value;
      }
      return settings;
    };
    const a = of("", DEFAULTS);
    if (a.workload.startsWith("trace:") && a.workload !== `trace:${this.trace?.name}`) {
      this.say(`A link has no trace in it: drop ${a.workload.slice(6)} on the page.`);
      a.workload = DEFAULTS.workload;
    }
    const has = [...parts.keys()].some(key => key.startsWith("b."));
    if (parts.has("speed")) { $("#speed").value = parts.get("speed"); }
    return { lesson: parts.get("lesson"), all: has ? [a, of("b.", a)] : [a] };
  },

  async copy(text, what) {
    try { await navigator.clipboard.writeText(text); this.say(`${what} is copied: ${text}`); } catch { this.say(text); }
  },

  say(text) { $("#said").textContent = text; },

  // Until it is so no more.
  stopped(why) {
    this.because = why;
    this.say(why);
  },

  wrong(error) {
    $("#wrong").hidden = false;
    $("#wrong").textContent = error.message ?? String(error);
    this.refused = this.fields().map(input => [input, input.value]);
  },

  // What is asked for in controls.
  refused: [],
  fields() {
    const own = this.drives.flatMap(({ root }) => ["ftl", "cache", "set"].map(name => $(`.${name}`, root)));
    return [...own, ...["kind", "skew", "other", "ratio", "blocks", "ppb", "seed"].map(id => $(`#${id}`))];
  },

  // Controls that were refused, and not touched since, say again what runs.
  putBack() {
    const same = new Set(this.refused.filter(([input, value]) => input.value === value).map(([input]) => input));
    this.refused = [];
    if (!this.drives[0]?.state) { return; }
    for (const drive of this.drives.filter(drive => drive.state)) { drive.controls(name => same.has($(`.${name}`, drive.root))); }
    const { settings, state } = this.drives[0];
    if (["ratio", "blocks", "ppb", "seed"].every(id => same.has($(`#${id}`)))) { this.shapes(settings); }
    if (["kind", "skew", "other"].every(id => same.has($(`#${id}`)))) { this.hosts(state.workload); }
    this.labels();
  },

  // One thing after the other, in the order in which they were asked for; what fails is said.
  // Whoever asks anew means the controls as they are.
  asks: 0, done: null,
  busy(what, isAnew = false) {
    const before = this.done;
    const doing = async () => {
      this.count(1);
      if (before) { await before; }
      $("#wrong").hidden = true;
      if (!isAnew && this.refused.length) { this.putBack(); }
      try { await what(); } catch (error) { if (error !== LEFT) { this.wrong(error); } }
      this.count(-1);
      if (this.asks === 0) { this.done = null; }
    };
    return this.done = doing();
  },

  // The same of a lesson's buttons: whoever is among them stays there, though they change.
  kept(what) {
    const isThere = $("#lesson-panel").contains(document.activeElement);
    return this.busy(what).finally(() => {
      if (isThere && document.activeElement === document.body) { ($("#lesson-options button") ?? $("#lesson-next")).focus(); }
    });
  },

  count(by) { document.body.dataset.busy = String(this.asks += by); },

  // Other drives, at once: what plays stops, and a lesson is left.
  anew(what, isAnew = false) {
    this.pause();
    this.leave();
    this.say("");
    return this.busy(what, isAnew);
  },

  // Opens what the address says. A link that cannot be opened leaves a drive all the same.
  async follow() {
    const { lesson, all } = this.linked(location.hash);
    try {
      await (LESSONS.some(known => known.id === lesson) ? this.lesson(lesson) : this.open(all));
    } catch (error) {
      await this.open([DEFAULTS]);
      this.wrong(error);
    }
  },

  async begin() {
    readColours();
    const engine = await Engine.made();
    this.listed = await engine.ask({ do: "list" });
    engine.close();
    Plug.faults = this.listed.faults;
    $("#lesson").append(...LESSONS.map(lesson => element("option", { value: lesson.id }, lesson.title)));
    $("#specs").append(...this.listed.workloads.map(workload => element("option", { value: workload.name }, workload.about)));
    $("#parts tbody").append(...this.listed.parameters.map(({ name, range, default: usual, about }) =>
      element("tr", {}, ...[name, range, usual, about].map(text => element("td", {}, text)))));
    const frame = () => {
      this.drives.filter(drive => drive.state).forEach(drive => drive.board.draw());
      this.frames++;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    await this.follow();
    document.body.dataset.ready = "true";
  },
};

const on = (id, event, what) => $(id).addEventListener(event, () => page.busy(what));
// A pause does not wait for what is being done.
const play = () => page.isPlaying ? page.pause() : page.busy(() => page.play());
$("#play").addEventListener("click", play);
on("#step", "click", () => page.step(1));
on("#seek", "click", () => page.seek());
on("#back", "click", () => page.step(-1));
$("#format").addEventListener("click", () => page.anew(() => page.format(), true));
$("#side").addEventListener("click", () => page.anew(() => page.side()));
$("#lesson").addEventListener("change", () => {
  const id = $("#lesson").value;
  page.anew(() => page.lesson(id));
});
$("#lesson-next").addEventListener("click", () => {
  const lesson = page.current, at = lesson?.at;
  page.kept(() => lesson && page.current === lesson && lesson.at === at ? lesson.next() : null);
});
$("#lesson-leave").addEventListener("click", () => page.leave());
on("#copy-link", "click", () => { history.replaceState(null, "", page.link()); return page.copy(location.href, "The link"); });
on("#copy-command", "click", async () => page.copy((await page.drives[0].ask({ do: "command" })).command, "The command"));
on("#kind", "change", () => page.change());
on("#skew", "change", () => page.change());
on("#other", "change", () => page.change());
on("#again", "click", () => page.change());
on("#trace", "change", async () => {
  const files = [...$("#trace").files];
  // The same file may have changed until it is chosen again.
  $("#trace").value = "";
  if (files.length) { await page.take(files); }
});
for (const [event, isOver] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  addEventListener(event, dragged => {
    if (!dragged.dataTransfer?.types.includes("Files")) { return; }
    dragged.preventDefault();
    document.body.classList.toggle("dropping", isOver);
    if (event === "drop") { const files = [...dragged.dataTransfer.files]; page.busy(() => page.take(files)); }
  });
}
on("#history", "change", () => { page.isDragging = false; return page.go(Number($("#history").value) + page.drives[0].state.fill); });
$("#history").addEventListener("pointerdown", () => { page.isDragging = true; });
for (const id of ["#skew", "#ratio", "#speed"]) { $(id).addEventListener("input", () => page.labels()); }
addEventListener("hashchange", () => page.anew(() => page.follow()));
addEventListener("resize", () => page.drives.filter(drive => drive.state).forEach(drive => { drive.board.fit(); drive.shownAt = 0; drive.show(drive.state); }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  page.drives.filter(drive => drive.state).forEach(drive => { drive.board.recolour(); drive.shownAt = 0; drive.show(drive.state); });
});
// A list that was chosen from with a pointer is done with; a slider takes arrows alone.
let isPointed = false;
addEventListener("pointerdown", () => { isPointed = true; }, true);
addEventListener("change", event => { if (isPointed && event.target.tagName === "SELECT") { event.target.blur(); } });
addEventListener("keydown", event => {
  const { tagName, type } = event.target, isSlider = type === "range" && !event.key.startsWith("Arrow");
  if (!/^(Arrow|Enter)/.test(event.key) || tagName !== "SELECT") { isPointed = false; }
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(tagName) && !isSlider) { return; }
  const keys = {
    " ": play, "ArrowRight": () => page.step(1), "ArrowLeft": () => page.step(-1), "c": () => page.seek(),
    "p": () => page.between(() => Promise.all(page.drives.filter(drive => drive.state.is_on).map(drive => drive.plug.pull()))),
    "r": () => page.between(() => Promise.all(page.drives.filter(drive => !drive.state.is_on).map(drive => drive.plug.recover()))),
  };
  if (!(event.key in keys) || event.key === " " && /BUTTON|SUMMARY/.test(tagName)) { return; }
  event.preventDefault();
  // A key that is held asks no faster than it is answered.
  if (event.repeat && page.asks > 0) { return; }
  if (event.key === " ") { play(); } else { page.busy(keys[event.key]); }
});
page.busy(() => page.begin());
