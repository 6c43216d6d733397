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
    this.pause();
    while (this.drives.length > all.length) { this.drives.pop().engine.close(); $("#drives").lastElementChild.remove(); }
    while (this.drives.length < all.length) {
      const drive = new Drive("ab"[this.drives.length], this.listed.presets);
      await drive.start();
      if (this.trace) { await drive.ask({ do: "trace", name: this.trace.name }, this.trace.bytes); }
      drive.onPower = () => this.pause();
      this.drives.push(drive);
      $("#drives").append(drive.root);
      this.wire(drive);
    }
    document.body.classList.toggle("two", all.length === 2);
    $("#side").setAttribute("aria-pressed", String(all.length === 2));
    const fitting = all.map(settings => this.about(settings.ftl)?.per_channel && settings.channels === 1 ? { ...settings, channels: 2 } : settings);
    for (const [n, drive] of this.drives.entries()) { await drive.open(fitting[n]); }
    this.drives.forEach(drive => drive.board.fit());
    this.controls();
    this.moved();
  },

  about(name) { return this.listed.presets.find(preset => preset.name === name); },

  wire(drive) {
    const own = () => this.busy(() => this.reopen(drive));
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
    const channels = this.about(ftl).per_channel ? 2 : 1;
    return { ...drive.settings, workload: drive.state.workload, ftl, set: ftl === drive.settings.ftl ? set : [], cache: Number($(".cache", drive.root).value) || 0, channels };
  },

  async reopen() {
    this.leave();
    await this.open(this.drives.map(each => this.asked(each)));
  },

  // ---- Time.

  play() {
    if (this.isPlaying) { return this.pause(); }
    if (!this.drives.some(drive => drive.state.is_on && !drive.state.wrong)) { return this.say("The power is off."); }
    if (this.drives.every(drive => drive.state.ended)) { return this.say("The requests are at their end."); }
    this.isPlaying = true;
    this.tells("off");
    $("#play").textContent = "❚❚ pause";
    $("#play").setAttribute("aria-pressed", "true");
    this.playing = this.pump().catch(error => this.wrong(error)).finally(() => this.pause());
  },

  // What changes many times a second is not read out.
  tells(how) { for (const drive of this.drives) { $(".caption", drive.root).setAttribute("aria-live", how); } },

  pause() {
    this.isPlaying = false;
    this.tells("polite");
    $("#play").textContent = "▶ play";
    $("#play").setAttribute("aria-pressed", "false");
  },

  async pump() {
    let last = performance.now(), owed = 0, chunk = 64;
    while (this.isPlaying) {
      const speed = this.speed, on = this.drives.filter(drive => drive.state.is_on && !drive.state.wrong && !drive.state.ended);
      if (on.length === 0) { break; }
      if (speed <= SHOWN) {
        const ends = performance.now() + 1000 / speed;
        await Promise.all(on.map(drive => drive.step(700 / speed)));
        while (this.isPlaying && performance.now() < ends) { await new Promise(requestAnimationFrame); }
        last = performance.now();
      } else if (speed < Infinity) {
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        owed = Math.min(owed + speed * (now - last) / 1000, speed / 4);
        last = now;
        const steps = Math.floor(owed);
        owed -= steps;
        if (steps > 0) { await Promise.all(on.map(drive => drive.fast(steps, 100))); on.forEach(drive => drive.state.is_on && drive.tellRate()); }
      } else {
        // Both drives serve the same requests: as many as the slower one does meanwhile.
        const steps = on.length === 1 ? 1e12 : chunk;
        const answers = await Promise.all(on.map(drive => drive.fast(steps, on.length === 1 ? SLICE_MS : 1e4)));
        const took = Math.max(...answers.map(answer => answer.took));
        if (took < SLICE_MS / 2) { chunk *= 2; }
        if (took > SLICE_MS * 2) { chunk = Math.max(1, chunk >> 1); }
        this.measure(on, answers);
      }
      this.moved();
    }
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

  async step(by) {
    this.pause();
    await this.playing;
    await Promise.all(this.drives.map(drive => by > 0 ? drive.step(400) : drive.go(Math.max(0, drive.state.step - 1))));
    this.moved();
  },

  // To the next request that collects or merges, which is played.
  async seek() {
    this.pause();
    await this.playing;
    await Promise.all(this.drives.map(async drive => {
      if (!drive.state.is_on) { return; }
      const answer = drive.take(await drive.ask({ do: "seek", steps: 20000 }), false);
      if (answer.found) { await drive.step(1500); } else { drive.caption("Nothing was collected in 20,000 requests."); }
    }));
    this.moved();
  },

  async go(step) {
    this.pause();
    await this.playing;
    // An oracle's drive is filled page by page: what counts is how many requests came since.
    const { fill } = this.drives[0].is;
    await Promise.all(this.drives.map(drive => drive.go(Math.max(0, step - fill + drive.is.fill))));
    this.moved();
  },

  moved() {
    const { fill } = this.drives[0].is;
    const furthest = Math.max(...this.drives.map(drive => drive.state.furthest - drive.is.fill)) + fill, at = this.drives[0].state.step;
    $("#history").max = furthest;
    if (document.activeElement !== $("#history") || !this.isDragging) { $("#history").value = at; }
    $("#history-is").textContent = `${count(at)} of ${count(furthest)}`;
  },

  // ---- The host.

  workload() {
    const kind = $("#kind").value, skew = Number($("#skew").value);
    if (kind === "zipf") { return `zipf:${Math.max(0.1, skew / 10)}`; }
    if (kind === "hotcold") { return `hotcold:${Math.min(99, 50 + skew * 2.45).toFixed(0)}/${Math.max(2, 50 - skew * 2.4).toFixed(0)}`; }
    if (kind === "trace") { return `trace:${this.trace.name}`; }
    return kind === "other" ? $("#other").value.trim() : kind;
  },

  // Controls as the drives' settings have them.
  controls() {
    const settings = this.drives[0].settings, [kind, rest] = settings.workload.split(/:(.*)/);
    const known = ["uniform", "zipf", "hotcold", "sequential", "trace"].includes(kind) ? kind : "other";
    $("#kind").value = known;
    if (known === "other") { $("#other").value = settings.workload; }
    if (known === "zipf") { $("#skew").value = Math.round(Number(rest) * 10); }
    if (known === "hotcold") { $("#skew").value = Math.round((Number(rest.split("/")[0]) - 50) / 2.45); }
    $("#ratio").value = Math.round(settings.ratio * 100);
    for (const [id, key] of [["blocks", "blocks"], ["ppb", "pages_per_block"], ["seed", "seed"]]) {
      if ($(`#${id}`).tagName === "SELECT" && ![...$(`#${id}`).options].some(option => Number(option.value) === settings[key])) {
        $(`#${id}`).append(element("option", {}, String(settings[key])));
      }
      $(`#${id}`).value = settings[key];
    }
    this.labels();
  },

  labels() {
    const kind = $("#kind").value;
    $("#skew-label").hidden = !["zipf", "hotcold"].includes(kind);
    $("#other-label").hidden = kind !== "other";
    $("#again").hidden = kind !== "trace";
    $("#skew-is").textContent = this.workload();
    $("#ratio-is").textContent = two(Number($("#ratio").value) / 100);
    const speed = this.speed;
    $("#speed-is").textContent = speed === Infinity ? "all it can" : `${count(speed)}/s`;
  },

  // The host goes on with another workload, from here on.
  async change() {
    this.labels();
    const workload = this.workload();
    for (const drive of this.drives) {
      if (drive.state.is_on) { await drive.act({ act: "workload", workload }); }
    }
    this.moved();
  },

  // A file becomes the host's requests, on drives that are formatted anew. One that cannot be read changes nothing.
  async take(files) {
    if (files.length !== 1) { throw new Error(`${files.length} files: one trace would be right.`); }
    const [file] = files, bytes = new Uint8Array(await file.slice(0, this.listed.trace_bytes_max + 1).arrayBuffer());
    this.pause();
    await this.playing;
    const answers = await Promise.all(this.drives.map(drive => drive.ask({ do: "trace", name: file.name }, bytes)));
    const { name, requests, format, left_out, doubts } = answers[0];
    this.trace = { name, bytes };
    $("#kind [value=trace]").disabled = false;
    this.leave();
    await this.open(this.drives.map(drive => ({ ...this.asked(drive), workload: `trace:${name}` })));
    this.say([`${name}: ${count(requests)} requests, format ${format}${left_out ? `; ${count(left_out)} lines or records left out` : ""}.`, ...doubts].join(" "));
  },

  async format() {
    this.leave();
    const shape = { ratio: Number($("#ratio").value) / 100, blocks: Number($("#blocks").value), pages_per_block: Number($("#ppb").value), seed: Number($("#seed").value), workload: this.workload() };
    await this.open(this.drives.map(drive => ({ ...this.asked(drive), ...shape })));
  },

  async side() {
    const one_ = { ...this.drives[0].settings, workload: this.drives[0].state.workload };
    this.leave();
    await this.open(this.drives.length === 2 ? [one_] : [one_, { ...one_, ftl: one_.ftl === "geckoftl" ? "dftl" : "geckoftl", set: [], channels: 1 }]);
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

  wrong(error) {
    $("#wrong").hidden = false;
    $("#wrong").textContent = error.message ?? String(error);
  },

  // One thing at a time; what fails is said.
  async busy(what) {
    $("#wrong").hidden = true;
    document.body.dataset.busy = String(Number(document.body.dataset.busy ?? 0) + 1);
    try { await what(); } catch (error) { if (error !== LEFT) { this.wrong(error); } } finally {
      document.body.dataset.busy = String(Number(document.body.dataset.busy) - 1);
    }
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
on("#play", "click", () => page.play());
on("#step", "click", () => page.step(1));
on("#seek", "click", () => page.seek());
on("#back", "click", () => page.step(-1));
on("#format", "click", () => page.format());
on("#side", "click", () => page.side());
on("#lesson", "change", () => page.lesson($("#lesson").value));
on("#lesson-next", "click", () => page.current?.next());
on("#lesson-leave", "click", () => page.leave());
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
on("#history", "change", () => { page.isDragging = false; return page.go(Number($("#history").value)); });
$("#history").addEventListener("pointerdown", () => { page.isDragging = true; });
for (const id of ["#skew", "#ratio", "#speed"]) { $(id).addEventListener("input", () => page.labels()); }
addEventListener("hashchange", () => page.busy(async () => {
  page.say("");
  page.leave();
  await page.follow();
}));
addEventListener("resize", () => page.drives.forEach(drive => { drive.board.fit(); drive.shownAt = 0; drive.show(drive.state); }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  page.drives.forEach(drive => { drive.board.recolour(); drive.shownAt = 0; drive.show(drive.state); });
});
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) { return; }
  const keys = {
    " ": () => page.play(), "ArrowRight": () => page.step(1), "ArrowLeft": () => page.step(-1),
    "c": () => page.seek(), "p": () => Promise.all(page.drives.map(drive => drive.plug.pull())), "r": () => Promise.all(page.drives.map(drive => drive.plug.recover())),
  };
  if (!(event.key in keys) || event.key === " " && event.target.tagName === "BUTTON") { return; }
  event.preventDefault();
  page.busy(keys[event.key]);
});
page.busy(() => page.begin());
