// Lessons: a drive or two, what is done with them, and a question that they answer themselves.
"use strict";

// Programs for each page that the host wrote, over the next pages; by cause where one is named.
async function measured(lesson, drive, requests, cause = null) {
  const at = cause === null ? null : CAUSES.findIndex(([id]) => id === cause);
  const sum = state => cause === null ? programsOf(state.flash).reduce((a, b) => a + b, 0) : programsOf(state.flash)[at];
  const before = drive.state;
  await lesson.run(requests, [drive]);
  // Over the same requests; what a cut by hand has set back counts from there.
  const [hits, misses] = drive.state.cached.map((n, at) => n < before.cached[at] ? n : n - before.cached[at]);
  drive.hitsThen = 100 * hits / (hits + misses);
  return (sum(drive.state) - sum(before)) / (drive.state.asked.written - before.asked.written);
}

// Which of several ranges a number is in.
const within = (value, limits) => limits.findIndex(limit => value < limit) === -1 ? limits.length : limits.findIndex(limit => value < limit);
const copyOf = async (drive, page) => (await drive.ask({ do: "page", page })).copies[0];

const LESSONS = [
  {
    id: "cliff", title: "The cliff of garbage collection",
    a: { ftl: "page", workload: "uniform", ratio: 0.7 },
    steps: [
      [l => `The host, a computer, writes numbered pages. The drive's flash translation layer (FTL) decides where they stand on its flash.
Flash has two rules. A page can be programmed only once before it is erased. And only a whole block can be erased: here ${l.a.is.pages_per_block} pages. Each square below is a page, and squares that stand together are a block.
The host has written each of its pages once: these are live. The others, nearly 30 % of the flash, are spare: erased, and ready to be programmed. Now the host writes its pages anew, in random order.`, async l => l.run(Math.floor(l.a.is.logical_pages * 0.3))],
      [l => `No page was programmed over. Each new version went to an erased page. The old version became stale: a pale blue square. Erased ones are grey, and those just written glow. A stale page is of no use, and stays until its block is erased.
So far the drive has programmed ${two(l.a.wa)} pages for each page that the host wrote. That is its write amplification: the large number, counted from the beginning on. Beside it, "now" is of the last pages. But erased pages run out, and stale ones are scattered over all blocks. Write on.`, async l => l.run(Math.floor(l.a.is.logical_pages * 0.4))],
      [l => `That was the cliff: lately write amplification was ${two(l.a.points.at(-1).sum)}. To get erased pages the drive has to erase a block, and each block still holds live pages. Erasing would lose them.
So the drive chooses the block with the fewest live pages, and copies these into another block. That is a collection. The block then counts as free, and is erased when it is needed: some blocks stay all stale for a while. The copies are programs that the host never asked for. Write until it is steady.`, async l => l.run(l.a.is.logical_pages * 4)],
    ],
    question: l => `Now it is steady: ${two(l.a.points.at(-1).sum)} pages are programmed for each page of the host's. One is the page itself, and the rest are copies of live pages.
Take half of the spare space away: 15 % of the flash is spare, instead of 30 %. Write amplification becomes`,
    options: ["hardly larger", "1.5 times as large", "twice as large, or more"],
    answer: async l => {
      const before = await measured(l, l.a, 8000);
      await l.open({ ...l.a.settings, ratio: 0.85 });
      await l.run(l.a.is.logical_pages * 4);
      const after = await measured(l, l.a, 8000);
      return [within(after / before, [1.2, 1.8]), `The drive was formatted anew: "logical / physical" is 0.85 now, which leaves 15 % spare. With 30 % it was ${two(before)} over the last pages, now it is ${two(after)}. The chart below has both parts: the host's pages, and the copies.
With less spare space there are fewer stale pages, so even the emptiest block holds more live ones. Say that half of a block is live. Then two blocks are erased to gain the room of one, and each page of the host's costs two programs.
Say that three quarters are live. Then erasing a block gains a quarter of it, and each page of the host's costs four. The fuller the blocks, the more copies for each page that is gained.`];
    },
  },
  {
    id: "quota", title: "Separation without a quota gains nothing",
    a: { ftl: "page", workload: "uniform", ratio: 0.7 }, b: { ftl: "page", workload: "hotcold:80/20", ratio: 0.7, set: ["placement=static-quota"] },
    steps: [
      ["On the left the host writes all pages equally often. On the right 80 % of the writes go to 20 % of the pages. That drive is told which these are, and keeps them in blocks of their own. Both collect the emptiest block.", async l => l.run(l.a.is.logical_pages * 6)],
    ],
    question: "Hot and cold data are apart on the right. Against uniform writes on the left it writes",
    options: ["much less: hot blocks empty themselves", "about as much", "much more"],
    answer: async l => {
      const [uniform, apart] = [await measured(l, l.a, 12000), await measured(l, l.b, 12000)];
      await l.open(l.a.settings, { ...l.b.settings, ftl: "static-quota", set: [] });
      await l.run(l.a.is.logical_pages * 6);
      const quota = await measured(l, l.b, 12000);
      await l.run(12000, [l.a]);
      return [within(apart / uniform, [0.9, 1.1]), `Uniform: ${two(uniform)}. Apart, the emptiest first: ${two(apart)}. Greedy levels both classes to the same emptiness, as if all pages were equally hot. With a quota of spare space for each class, now on the right: ${two(quota)}.`];
    },
  },
  {
    id: "hot", title: "Hot and cold",
    a: { ftl: "page", workload: "hotcold:90/10", ratio: 0.7 }, b: { ftl: "dac-sealed", workload: "hotcold:90/10", ratio: 0.7 },
    steps: [
      ["90 % of the writes go to 10 % of the pages. The left drive has one stream and collects the emptiest block. The right one promotes pages that are written again, demotes those that are moved, and weighs age against emptiness.", async l => l.run(l.a.is.logical_pages * 6)],
      ["Look at the squares: on the right whole blocks become stale, on the left nearly every block has some cold pages that are moved again and again.", async l => l.run(l.a.is.logical_pages)],
    ],
    question: "How many pages does the right drive move for each that the left one moves?",
    options: ["about as many", "about half", "less than a third"],
    answer: async l => {
      const [one_, other] = [await measured(l, l.a, 12000, "collection"), await measured(l, l.b, 12000, "collection")];
      const share = other / one_;
      return [share > 0.75 ? 0 : share > 1 / 3 ? 1 : 2, `For each page of the host's the left drive moves ${two(one_)}, the right one ${two(other)}. Cold data that stand together are not in the way.`];
    },
  },
  {
    id: "trim", title: "Trim",
    a: { ftl: "page", workload: "uniform", ratio: 0.8 }, b: { ftl: "page", workload: "mixed:trim=20:uniform", ratio: 0.8 },
    steps: [
      ["Both hosts write at random. On the right one request of five is a trim instead: it says that a page is of no use any more.", async l => l.run(l.a.is.logical_pages * 5)],
    ],
    question: "What does a trimmed page give the drive?",
    options: ["nothing until its block is erased", "spare space: less is moved", "more to do: each trim is written"],
    answer: async l => {
      const [without, with_] = [await measured(l, l.a, 10000), await measured(l, l.b, 12000)];
      // Both have asked equally often then, as the history below says.
      await l.run(2000, [l.a]);
      const trims = l.b.state.flash.trim?.[2] ?? 0;
      return [with_ < without * 0.95 ? 1 : with_ > without * 1.05 ? 2 : 0, `Without trims ${two(without)} programs a page, with them ${two(with_)}. ${count(l.b.is.logical_pages - (l.b.sums?.get(LIVE) ?? 0))} logical pages hold nothing, which is spare space. Tombstones, pages that say what was trimmed so that it outlasts a power cut, took ${count(trims)} programs.`];
    },
  },
  {
    id: "miss", title: "What a mapping miss costs",
    a: { ftl: "dftl", workload: "zipf:0.9", ratio: 0.7, cache: 4096 }, b: { ftl: "dftl", workload: "zipf:0.9", ratio: 0.7, cache: 64 },
    steps: [
      ["The mapping is on flash, and a part of it in a cache. The left drive has room for 4,096 entries, the right one for 64. A write needs its entry; a dirty entry that leaves has its translation page written.", async l => l.run(l.a.is.logical_pages * 3)],
    ],
    question: "For each page of the host's the small cache programs so many translation pages:",
    options: ["as few as the large one", "one for every ten", "one or more"],
    answer: async l => {
      const [large, small] = [await measured(l, l.a, 8000, "translation"), await measured(l, l.b, 8000, "translation")];
      return [within(small, [large * 1.5, 0.8]), `With 4,096 entries ${three(large)} and ${one(l.a.hitsThen)} % hits, with 64 entries ${two(small)} and ${one(l.b.hitsThen)} %, over the same 8,000 requests. The host's own page is one program. Collection misses as well: each page that it moves has an entry.`];
    },
  },
  {
    id: "gecko", title: "Logarithmic Gecko's merges",
    a: { ftl: "geckoftl", workload: "zipf:0.9", ratio: 0.7, cache: 256 }, b: { ftl: "mu-ftl-pvb", workload: "zipf:0.9", ratio: 0.7, cache: 256 },
    steps: [
      ["Which pages are stale is on flash as well. The right drive has a bitmap there: a page that becomes stale is a bit in a page that is written anew. The left one has Logarithmic Gecko: a buffer in RAM, written as a sorted run when it is full.", async l => l.run(2000)],
      ["Two runs of a level are merged into one of the next. Watch the levels fill and empty.", async l => l.run(6000)],
      ["Each entry is written once a level. There are few levels, and a page of a run holds many entries.", async l => l.run(l.a.is.logical_pages * 2)],
    ],
    question: "Programs for validity, for each page of the host's: Gecko takes, of what the bitmap takes,",
    options: ["about as much", "about half", "less than a fifth"],
    answer: async l => {
      const [gecko, bitmap] = [await measured(l, l.a, 8000, "validity"), await measured(l, l.b, 8000, "validity")];
      return [gecko / bitmap > 0.75 ? 0 : gecko / bitmap > 0.2 ? 1 : 2, `Gecko ${three(gecko)}, the bitmap ${three(bitmap)}. ${count(l.a.state.gecko?.runs.length ?? 0)} runs stand on the left drive now.`];
    },
  },
  {
    id: "log", title: "Why a log block FTL thrashes",
    a: { ftl: "fast", workload: "sequential", ratio: 0.7 }, b: { ftl: "fast", workload: "uniform", ratio: 0.7 },
    steps: [
      ["FAST maps blocks. What is written goes to log blocks, which are mapped by page. When they are full, one is merged: each data block that it has pages of is written anew. The left host writes in order, the right one at random.", async l => l.run(2500)],
      ["In order, a log block is a data block in the end: it is switched, and nothing is copied.", async l => l.run(2500)],
    ],
    question: "At random, how many pages does it program for each of the host's?",
    options: ["two or three, as page mapping does", "about half of a block's pages or more", "as many as in order"],
    answer: async l => {
      const [order, random] = [await measured(l, l.a, 3000), await measured(l, l.b, 3000)];
      const half = l.b.is.pages_per_block * 0.3;
      return [random > half ? 1 : random < order * 1.5 ? 2 : 0, `In order ${two(order)}, at random ${two(random)}, with blocks of ${l.b.is.pages_per_block} pages. A log block of random pages has pages of nearly as many data blocks.`];
    },
  },
  {
    id: "torn", title: "What a torn page does",
    a: { ftl: "page", workload: "uniform", ratio: 0.7, blocks: 128 },
    steps: [
      ["The host writes, and the drive collects.", async l => l.run(l.a.is.logical_pages)],
      ["Now the power fails while a page of the host's is programmed. Its data are noise, and the chip's ECC is content: it does not see that. The spare area is whole.", async l => l.torn()],
    ],
    question: "The request was not acknowledged. After the recovery its logical page reads as",
    options: ["what it was before", "noise", "a read error"],
    answer: async l => {
      // Whoever powered on, or cut again, by hand has the same cut once more.
      if (l.a.state.is_on || JSON.stringify(l.a.state.met[0]) !== JSON.stringify(l.met)) { await l.torn(); }
      await l.light();
      const after = await copyOf(l.a, l.met.key);
      const torn = l.before.find(copy => copy.block === l.met.block && copy.index === l.met.index);
      const old = l.before.find(copy => copy !== torn);
      const isOld = after && old && after.version === old.version;
      const isSound = !l.a.state.wrong && l.a.state.recovered.unreadable === 0;
      const bad = l.a.state.recovered?.last_pages_bad ?? 0;
      return [isOld && isSound ? 0 : l.a.state.wrong ? 1 : 2, `The recovery read the last page of each block in full. ${count(bad)} did not fit the checksum in its spare area. Logical page ${count(l.met.key)} is in block ${after?.block}, page ${after?.index}, with the version that it had. ${l.a.state.wrong ?? `The checker read ${count(l.a.state.recovered.checked)} pages and found each as the host may expect.`}`];
    },
  },
  {
    id: "battery", title: "Battery or checkpoint",
    a: { ftl: "dftl", workload: "zipf:0.9", ratio: 0.7, cache: 512, blocks: 512 }, b: { ftl: "geckoftl", workload: "zipf:0.9", ratio: 0.7, cache: 512, blocks: 512 },
    steps: [
      ["Dirty mapping entries are in RAM alone. DFTL has a battery: when the power fails it writes what is in RAM. GeckoFTL has none. It takes checkpoints, and reads the spare areas of what was written since.", async l => l.run(l.a.is.logical_pages * 2)],
      ["Pull both plugs.", async l => { l.checkpoints = l.b.state.counters.checkpoint_synchronizations ?? 0; await l.dark(); }],
      ["Both are dark. Power them on.", async l => { await l.dark(); await l.light(); }],
    ],
    question: "Which came up in less of the flash's time?",
    options: ["the one with the battery", "the one with checkpoints", "both took as long"],
    answer: async l => {
      if (!l.a.state.recovered || !l.b.state.recovered) { await l.dark(); }
      await l.light();
      const [a, b] = [l.a.state.recovered, l.b.state.recovered];
      const battery = l.a.state.flash.battery?.[2] ?? 0;
      const reads = recovered => recovered.steps.reduce((sum, step) => sum + step.reads + step.spare_reads, 0);
      const share = a.us / b.us;
      return [share < 0.9 ? 0 : share > 1.1 ? 1 : 2, `DFTL: ${timeOf(a.us)}, ${count(reads(a))} reads, ${count(battery)} programs on battery. GeckoFTL: ${timeOf(b.us)}, ${count(reads(b))} reads, and before that ${count(l.checkpoints)} translation pages written for checkpoints. Nothing acknowledged is lost on either.`];
    },
  },
];

// A lesson that is being given.
class Lesson {
  constructor(lesson, page) {
    Object.assign(this, { lesson, page, at: 0, isDone: false });
    this.panel = $("#lesson-panel");
    $("#lesson-title").textContent = lesson.title;
    this.panel.hidden = false;
  }

  get a() { return this.page.drives[0]; }
  get b() { return this.page.drives[1]; }

  async begin() {
    const with_ = settings => settings && { ...DEFAULTS, ...settings };
    await this.open(with_(this.lesson.a), with_(this.lesson.b));
    this.tell(this.lesson.steps[0][0]);
  }

  open(a, b) { this.here(); return this.page.open(b ? [a, b] : [a]); }

  // A lesson that was left does nothing any more.
  here() { if (this.page.current !== this) { throw LEFT; } }

  // So many requests, in parts that one sees.
  run(requests, drives = this.page.drives) {
    return Promise.all(drives.map(async drive => {
      const parts = reduced.matches ? 1 : 40;
      for (let left = requests; left > 0;) {
        // What was cut by hand is powered on.
        await this.light([drive]);
        const asked = Math.min(left, Math.ceil(requests / parts)), begin = drive.at;
        await drive.fast(asked, 1000);
        this.here();
        left -= drive.at - begin;
        const { wrong, why_ended } = drive.state;
        if (wrong || why_ended) { throw new Error(`The lesson cannot go on: ${wrong ? `${wrong}.` : why_ended} Choose it once more.`); }
        await new Promise(requestAnimationFrame);
      }
      drive.slow(drive.state, programsOf(drive.state.flash));
      if (drive.state.is_on) { drive.toldAt = 0; drive.tellRate(); }
      this.page.moved();
    }));
  }

  // The power on where it is off.
  async light(drives = this.page.drives) {
    for (const drive of drives.filter(drive => !drive.state.is_on)) { await drive.plug.recover(); }
    this.here();
  }

  // And off where it is on.
  async dark() {
    for (const drive of this.page.drives.filter(drive => drive.state.is_on)) { await drive.plug.pull(); }
    this.here();
  }

  // A cut while a page of the host's is programmed; what was met, and the copies that there are then.
  async torn() {
    await this.light();
    await this.a.plug.arm("host", "torn-unseen");
    await this.a.fast(2000, 5000);
    this.here();
    if (this.a.state.is_on) {
      await this.a.plug.disarm();
      throw new Error("The cut waits for a write of the host's. Choose a workload that writes, and then ‘do it’.");
    }
    this.met = this.a.state.met[0];
    this.before = (await this.a.ask({ do: "page", page: this.met.key })).copies;
    this.page.moved();
  }

  tell(text, isVerdict = false) {
    this.here();
    const said = typeof text === "function" ? text(this) : text;
    $("#lesson-text").replaceChildren(...said.split("\n").map(line => element("p", isVerdict ? { class: "verdict" } : {}, line)));
    const steps = this.lesson.steps.length;
    $("#lesson-at").textContent = this.isDone ? "done" : this.at < steps ? `${this.at + 1} of ${steps + 1}` : `${steps + 1} of ${steps + 1}: the question`;
    $("#lesson-next").hidden = this.at >= steps && !this.isDone;
    $("#lesson-next").disabled = false;
    $("#lesson-next").textContent = this.isDone ? "next lesson" : "do it";
    $("#lesson-options").replaceChildren();
    this.panel.dataset.at = this.isDone ? "done" : this.at < steps ? String(this.at) : "question";
  }

  async next() {
    if (this.isDone) {
      const next = LESSONS[(LESSONS.indexOf(this.lesson) + 1) % LESSONS.length];
      return this.page.lesson(next.id);
    }
    // One sees that it is at work, and what to wait for.
    $("#lesson-next").disabled = true;
    $("#lesson-next").textContent = "at work…";
    try {
      await this.page.still();
      await this.lesson.steps[this.at][1](this);
    } finally {
      if (this.page.current === this) { $("#lesson-next").disabled = false; $("#lesson-next").textContent = "do it"; }
    }
    this.at++;
    if (this.at < this.lesson.steps.length) { return this.tell(this.lesson.steps[this.at][0]); }
    this.ask();
  }

  ask() {
    this.tell(this.lesson.question);
    $("#lesson-options").append(...this.lesson.options.map((option, n) => element("button", { onclick: () => this.page.kept(() => this.answered(n)) }, option)));
  }

  async answered(n) {
    $("#lesson-options").replaceChildren();
    $("#lesson-text").replaceChildren(element("p", {}, "The drives are asked…"));
    await this.page.still();
    const [right, text] = await this.lesson.answer(this).catch(error => { if (this.page.current === this) { this.ask(); } throw error; });
    this.isDone = true;
    this.right = right;
    this.tell(`You said: ${this.lesson.options[n]}. The drive says: ${this.lesson.options[right]}. ${text}`, true);
  }

  leave() {
    this.panel.hidden = true;
    delete this.panel.dataset.at;
  }
}
