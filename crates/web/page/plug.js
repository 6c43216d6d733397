// The plug of a drive: when the power fails, what that leaves, and what the recovery finds.
"use strict";

const MOMENT_NAMES = {
  "any": "at any program or erase", "host": "while the host's page is programmed", "moved": "while a live page is moved",
  "metadata": "while metadata are programmed", "erase": "while a block is erased",
};
const FAULT_NAMES = {
  "not-started": "not started: no cell was touched", "unacknowledged": "done, and not acknowledged", "torn-seen": "torn: uncorrectable",
  "torn-unseen": "torn, and the chip's ECC is content", "torn-spare": "data whole, spare area wrong", "looks-erased": "reads as erased, and is not",
  "unstable": "reads well until the power fails again", "unstable-once": "reads well once", "partial-mixed": "pages as they were, blank, or uncorrectable",
  "partial-front": "the first half is blank", "unstable-erase": "reads blank, and programs fail",
};
// How long a recovery is played.
const RECOVERY_MS = 2500;

class Plug {
  constructor(drive) {
    this.drive = drive;
    this.root = $(".plug", drive.root);
    const on = (name, what) => $(`.${name}`, this.root).addEventListener("click", () => page.busy(() => page.between(() => this.doing(what))));
    for (const [name, about] of Object.entries(MOMENT_NAMES)) { $(".moment", this.root).append(element("option", { value: name }, about)); }
    $(".moment", this.root).addEventListener("change", () => this.faults());
    this.faults();
    on("arm", () => this.drive.state.armed ? this.disarm() : this.arm($(".moment", this.root).value, $(".fault", this.root).value, whole($(".skip", this.root), "after")));
    on("pull", () => this.pull());
    on("recover", () => this.recover());
    on("nested", () => this.nested());
    on("examine", () => this.examine());
  }

  // What has gone wrong is said where what was asked is.
  async doing(what) {
    try { await what(); } catch (error) { if (error === LEFT) { throw error; } $(".met", this.root).replaceChildren(element("p", { class: "bad" }, error.message)); }
  }

  // The faults that can meet what the moment names.
  faults() {
    const moment = $(".moment", this.root).value, fits = fault => moment === "any" || (moment === "erase") === (fault.of === "erase");
    const seen = new Set(), chosen = $(".fault", this.root).value;
    const options = Plug.faults.filter(fits).filter(fault => !seen.has(fault.name) && seen.add(fault.name))
      .map(fault => element("option", { value: fault.name }, `${fault.name} – ${FAULT_NAMES[fault.name]}`));
    $(".fault", this.root).replaceChildren(...options);
    $(".fault", this.root).value = seen.has(chosen) ? chosen : [...seen].includes("torn-seen") ? "torn-seen" : [...seen][0];
  }

  opened() {
    $(".met", this.root).replaceChildren();
    $(".recovery", this.root).replaceChildren();
    this.wasOn = true;
    this.hasTold = false;
    const { is } = this.drive;
    this.isCuttable = !is.not_survivable;
    for (const name of ["moment", "fault", "skip", "arm"]) { $(`.${name}`, this.root).disabled = is.has_battery || !this.isCuttable; }
    if (is.not_survivable) { $(".met", this.root).textContent = `It is not made to survive a power cut: ${is.not_survivable}`; }
    if (is.has_battery) { $(".met", this.root).textContent = "It has a battery: a cut is announced, and requests come to their end."; }
  }

  show(state) {
    const set = (name, is) => { $(`.${name}`, this.root).disabled = is; };
    set("pull", !state.is_on || !!state.wrong || !this.isCuttable);
    set("recover", state.is_on || !!state.wrong);
    set("nested", state.is_on || !!state.wrong);
    set("examine", !!state.wrong || !this.isCuttable);
    $(".arm", this.root).textContent = state.armed ? "do not cut" : "cut there";
    // Before what was told, as one is after stepping back, it is not so.
    const isUndone = !state.recovered || !this.wasOn && !this.isRecovering;
    if (this.hasTold && state.is_on && isUndone && !state.wrong) {
      $(".met", this.root).replaceChildren();
      $(".recovery", this.root).replaceChildren();
      this.drive.board.target = null;
      if (!this.wasOn) { this.drive.caption("The power is on."); }
      this.hasTold = false;
    }
    if (!state.is_on && this.wasOn) { this.hasFailed(state); }
    this.wasOn = state.is_on;
    this.hasTold ||= !state.is_on || !!state.wrong;
    if (state.wrong) { $(".met", this.root).replaceChildren(element("p", { class: "bad" }, `The laboratory would report: ${state.wrong}`)); }
  }

  hasFailed(state) {
    const met = state.met[0], pages = this.drive.is.pages_per_block;
    let text = "The power failed with nothing in flight.";
    if (met) {
      const what = met.kind === null ? `the erase of block ${met.block}` : `the program of page ${met.index} of block ${met.block} (${KIND_NAMES[met.kind]} ${count(met.key)})`;
      text = `The power failed at operation ${count(met.operation)}, ${what}. What it left: ${FAULT_NAMES[met.fault]}.`;
      this.drive.board.target = met.kind === null ? null : met.block * pages + met.index;
      this.drive.board.selected = met.block;
    }
    $(".met", this.root).replaceChildren(element("p", {}, text));
    $(".recovery", this.root).replaceChildren();
    this.drive.caption("The power is off: RAM is gone, and the flash is as the cut left it.");
    this.drive.onPower?.();
  }

  arm(moment, fault, skip = 0) { return this.drive.act({ act: "arm", moment, fault, skip }); }
  disarm() { return this.drive.act({ act: "disarm" }); }
  pull() { return this.drive.act({ act: "pull" }); }

  // A fault meets what it befalls: the recovery's first program, or its first erase.
  async nested() {
    const fault = $(".fault", this.root).value || "torn-seen", of = Plug.faults.filter(known => known.name === fault).map(known => known.of);
    const isErase = !of.includes("program") || of.includes("erase") && $(".moment", this.root).value === "erase";
    const before = this.drive.state.met.length;
    await this.drive.act({ act: "recover-until", moment: isErase ? "erase" : "any", fault, skip: 0 }, RECOVERY_MS / 2);
    const met = this.drive.state.met.slice(before).at(-1), [operation, does] = isErase ? ["erase", "erases"] : ["program", "programs"];
    $(".met", this.root).append(element("p", {}, met ? `The recovery was cut at its operation ${count(met.operation)}, its first ${operation}. What that left: ${FAULT_NAMES[fault]}.` :
      `The recovery ${does} nothing, and ${fault} befalls ${operation}s alone: there is nothing to cut. Power on.`));
  }

  async recover() {
    this.isRecovering = true;
    const answer = await this.drive.act({ act: "recover" }, RECOVERY_MS).finally(() => { this.isRecovering = false; });
    this.report(answer.state.recovered, answer.state.wrong, answer.played);
    this.drive.board.target = null;
  }

  // What the recovery read, concluded and cost; and what the checker says.
  report(recovered, wrong, operations) {
    if (!recovered) {
      $(".recovery", this.root).replaceChildren(element("p", { class: "bad" }, `The checker: ${wrong}`));
      return;
    }
    // Steps follow each other: each has as many of the operations as it counts, erases apart.
    let from = 0;
    const counted = operations.filter(({ action }) => action !== 3);
    const parts = recovered.steps.map(step => counted.slice(from, from += step.reads + step.spare_reads + step.programs));
    const rows = recovered.steps.map((step, n) => element("tr", {}, element("td", {}, parts[n].length ? element("button", { class: "link", title: "show what it touches", onclick: () => this.drive.again(parts[n]) }, step.name) : step.name), ...[step.reads, step.spare_reads, step.programs].map(n => element("td", {}, count(n))), element("td", {}, timeOf(step.us))));
    const head = element("tr", {}, ...["step", "pages read", "spare areas read", "programs", "time"].map(text => element("th", {}, text)));
    const facts = [`It took ${timeOf(recovered.us)} of the flash's time.`];
    if (recovered.last_pages) { facts.push(`Of ${count(recovered.last_pages)} last pages of blocks, ${count(recovered.last_pages_bad)} did not hold what their spare areas say.`); }
    if (recovered.battery_saved !== null) { facts.push(recovered.battery_saved ? "What the battery saved was found." : "Nothing was found that a battery saved."); }
    if (recovered.bound) { facts.push(`It may cost ${count(recovered.bound.reads)} pages and ${count(recovered.bound.spare_reads)} spare areas read and ${count(recovered.bound.programs)} programs at the most, by its own bound.`); }
    const taken = recovered.older + recovered.unreadable;
    const verdict = taken ? `Of what was not flushed, ${some(recovered.older, "page")} read as before, and ${some(recovered.unreadable, "page")} as errors: its contract says so.` : "Nothing acknowledged is lost.";
    $(".recovery", this.root).replaceChildren(
      element("table", {}, element("caption", {}, "the recovery"), element("thead", {}, head), element("tbody", {}, ...rows)),
      element("p", {}, facts.join(" ")),
      element("p", { class: "good" }, `The checker read ${count(recovered.checked)} logical pages: each is as the host may expect. ${verdict}`));
    this.drive.caption("The power is on: the drive goes on where its flash says it was.");
  }

  async examine() {
    const { finding } = await this.drive.ask({ do: "examine" });
    $(".recovery", this.root).append(element("p", { class: finding ? "bad" : "good" }, finding ? `Examined: ${finding}` :
      "Examined on a copy, as a crash sweep does: cut, recovered twice, written over twice, and read after each. No finding."));
    return finding;
  }
}
Plug.faults = [];
