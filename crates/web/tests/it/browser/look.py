"""Looks at the page with a headless Chromium: `python look.py PAGE FOLDER DRIVES`.

The page comes from disk, and once from a server. It has to ask nobody else, and to say nothing on the console. Every
preset loads and writes, a cut at each fault recovers, every lesson comes to its end. Drives are what they are outside a
browser: DRIVES are questions, and the digest that they come to. FOLDER gets screenshots.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import os
import pathlib
import sys
import threading
import time
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PATIENCE_MS = 60_000
WRITES_A_SECOND = 300_000
# Of frames at 60 a second; a machine that does other things as well may be late with some.
FRAME_MS = 20
WINDOWS = [(1280, 900, "light"), (390, 844, "dark")]
if os.environ.get("PHELSUMA_THOROUGH") == "1":
    WINDOWS += [(1280, 900, "dark"), (390, 844, "light")]

STICKS_OUT = """() => {
  const out = [];
  if (document.documentElement.scrollWidth > innerWidth) { out.push(`the page is ${document.documentElement.scrollWidth} wide`); }
  for (const e of document.querySelectorAll('.tile p, .tile h2, .panel h2, button, label, select, input, .pill, canvas')) {
    const box = e.getBoundingClientRect();
    if (e.checkVisibility() && e.id !== 'to-drive' && (box.right > innerWidth + 1 || box.left < -1)) { out.push(`${e.id || e.className || e.tagName} sticks out`); }
  }
  for (const e of document.querySelectorAll('input, select, button, canvas[tabindex]')) {
    const name = e.labels?.length ? e.labels[0].textContent : e.textContent || e.ariaLabel || e.getAttribute('aria-label');
    if (e.checkVisibility() && !name?.trim()) { out.push(`${e.id || e.className} has no name`); }
  }
  return out;
}"""

PRESETS = """async () => {
  const wrong = [];
  for (const preset of page.listed.presets) {
    await page.open([{ ...DEFAULTS, blocks: 128, pages_per_block: 16, cache: 64, ratio: 0.6, ftl: preset.name, workload: 'zipf:0.9' }]);
    const drive = page.drives[0];
    await drive.fast(1500, 5000);
    await drive.step();
    if (drive.state.wrong || drive.state.asked.written !== 1501 || !(drive.wa >= 1)) {
      wrong.push(`${preset.name}: ${drive.state.wrong} ${drive.state.asked.written} ${drive.wa}`);
    }
    const text = document.querySelector('.wa').textContent;
    if (!(Number(text) >= 1)) { wrong.push(`${preset.name} shows ${text}`); }
  }
  return [page.listed.presets.length, wrong];
}"""

FAULTS = """async ftl => {
  const wrong = [], met = [];
  await page.open([{ ...DEFAULTS, blocks: 128, pages_per_block: 16, cache: 64, ratio: 0.6, ftl, workload: 'zipf:0.9' }]);
  const drive = page.drives[0];
  await drive.fast(1500, 5000);
  for (const fault of page.listed.faults) {
    drive.plug.root.querySelector('.moment').value = fault.of === 'erase' ? 'erase' : 'moved';
    drive.plug.faults();
    drive.plug.root.querySelector('.fault').value = fault.name;
    drive.plug.root.querySelector('.arm').click();
    await page.done;
    if (!drive.state.armed) { wrong.push(`${fault.name} is not armed`); }
    await drive.fast(20000, 10000);
    if (drive.state.is_on) { wrong.push(`${fault.name} did not come`); continue; }
    met.push(drive.state.met[0].fault);
    await drive.plug.nested();
    if (drive.state.met.slice(1).some(met => met.fault !== fault.name || (met.kind === null) !== (fault.of === 'erase'))) {
      wrong.push(`the recovery from ${fault.name} meets ${JSON.stringify(drive.state.met)}`);
    }
    await drive.plug.recover();
    const text = drive.plug.root.querySelector('.recovery').textContent;
    if (drive.state.wrong || !text.includes('Nothing acknowledged is lost') || await drive.plug.examine() !== null) { wrong.push(`${fault.name} of ${fault.of}: ${drive.state.wrong} ${text}`); }
    await drive.fast(300, 5000);
  }
  return [met, wrong];
}"""

SAME = """async drives => {
  const wrong = [];
  for (const { ftl, asked, digest } of drives) {
    const engine = await Engine.made();
    for (const question of asked) { await engine.ask(question); }
    const { step, time_ns, hash } = await engine.ask({ do: 'digest' });
    engine.close();
    if (step !== digest.step || time_ns !== digest.time_ns || hash !== digest.hash) {
      wrong.push(`${ftl}: step ${step}, ${time_ns} ns, ${hash} and not ${JSON.stringify(digest)}`);
    }
  }
  return wrong;
}"""

# The best of some seconds: other programs may have the machine now and then.
SPEED = """async () => {
  await page.open([{ ...DEFAULTS, blocks: 512 }]);
  const drive = page.drives[0], frames = [];
  document.getElementById('speed').value = 12;
  page.play();
  let writes = 0, frame = Infinity;
  for (let second = 0; second < 8 && (writes < 4e5 || frame > 17); second++) {
    const times = [], from = drive.state.asked.written, begin = performance.now();
    while (performance.now() - begin < 1000) { times.push(await new Promise(requestAnimationFrame)); }
    const between = times.slice(1).map((time, n) => time - times[n]).sort((a, b) => a - b);
    frame = Math.min(frame, between[between.length >> 1]);
    writes = Math.max(writes, (drive.state.asked.written - from) / (performance.now() - begin) * 1000);
  }
  page.pause();
  await page.playing;
  return [writes, frame, drive.engine.inWorker];
}"""


def opened(browser: Browser, url: str, window: tuple[int, int, str], motion: str, wrong: list[str]) -> Page:
    """The page in a window, once it is ready; what it says or asks for is wrong."""
    width, height, scheme = window
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion=motion
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"{error}"))
    page.on("requestfailed", lambda request: wrong.append(f"{request.url} failed"))
    own = (url.split("#")[0], "data:", "blob:")
    page.on("request", lambda request: request.url.startswith(own) or wrong.append(f"asks for {request.url}"))
    page.goto(url)
    page.wait_for_function("document.body.dataset.ready === 'true'")
    return page


def used(page: Page, wrong: list[str]) -> None:
    """What hands do: buttons, keys, squares, links."""

    def idle() -> None:
        page.wait_for_function("!(Number(document.body.dataset.busy) > 0)")

    def step() -> int:
        idle()
        return int(page.evaluate("page.drives[0].state.step"))

    def holds(what: str, is_so: Any) -> None:
        if not is_so:
            wrong.append(what)

    begin = step()
    page.click("#back")
    fresh = "page.drives[0].state.step === page.drives[0].state.fill && page.drives[0].state.asked.written === 0"
    holds("there is nothing before the fill's end", step() == begin and page.evaluate(fresh))
    page.keyboard.press("ArrowRight")
    page.click("#step")
    holds("two steps are two steps", step() == begin + 2)
    digest = page.evaluate("page.drives[0].ask({ do: 'digest' })")["hash"]
    page.click("#back")
    holds("a step back is one", step() == begin + 1)
    holds("what was told of the step before is gone", "at step 1." in (page.text_content(".caption") or ""))
    holds("so says the history", page.text_content("#history-is") == "1 of 2")
    page.keyboard.press("ArrowRight")
    step()
    holds("forth it is what it was", page.evaluate("page.drives[0].ask({ do: 'digest' })")["hash"] == digest)
    page.fill(".find", "7")
    page.click(".find-go")
    page.wait_for_function("document.querySelector('.found').textContent.includes('Logical page 7 is in block')")
    page.click(".board", position={"x": 60, "y": 40})
    page.wait_for_function("document.querySelector('.found table') !== null")
    page.focus(".board")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    holds("a block is told", "block" in (page.text_content(".caption") or ""))
    page.click("#play")
    page.wait_for_function(f"page.drives[0].state.step > {begin + 60}")
    page.click("#play")
    page.wait_for_function("!page.isPlaying")
    page.select_option("#kind", "hotcold")
    idle()
    holds("the host goes on otherwise", page.evaluate("page.drives[0].state.workload").startswith("hotcold:"))
    page.click("body > header")
    page.keyboard.press("p")
    page.wait_for_function("!page.drives[0].state.is_on")
    page.keyboard.press("r")
    page.wait_for_function("page.drives[0].state.is_on")
    page.wait_for_function("document.querySelector('.recovery').textContent.includes('The checker read')")
    idle()
    shown = "page.drives[0].state.step - page.drives[0].state.fill === Number(document.querySelector('#history').value)"
    holds("history goes on with the plug", page.evaluate(shown))
    page.locator(".recovery button").first.click()
    page.click("#back")
    idle()
    holds("the power is off again", not page.evaluate("page.drives[0].state.is_on"))
    page.click("#play")
    page.wait_for_function("page.drives[0].state.is_on")
    page.click("#play")
    page.evaluate("page.playing")
    page.evaluate("page.busy(() => page.go(page.drives[0].state.acts.at(-1).step))")
    page.click("#back")
    idle()
    holds("nothing is told of a cut to come", not page.text_content(".recovery") and not page.text_content(".met"))
    holds("nor that the power is off", "is off" not in (page.text_content(".caption") or ""))
    page.evaluate("page.busy(() => page.go(page.drives[0].state.furthest))")
    idle()
    page.click("#seek")
    idle()
    holds("a collection is told", "collection" in (page.text_content(".caption") or ""))
    page.click("#side")
    page.wait_for_function("page.drives.length === 2 && page.drives[1].state?.step > 0")
    idle()
    page.evaluate("page.busy(() => Promise.all(page.drives.map(drive => drive.fast(900, 5000))))")
    idle()
    asked = page.evaluate("page.drives.map(drive => drive.state.asked.written)")
    holds(f"both serve the same: {asked}", asked[0] == asked[1] == 900)
    link = page.evaluate("page.link()")
    holds(f"a link has both: {link}", "b.ftl=geckoftl" in link)
    sorted_ = "all => JSON.stringify(all.map(settings => Object.entries(settings).sort()))"
    same = page.evaluate(
        f"(({sorted_})(page.linked(page.link()).all) === ({sorted_})(page.drives.map(drive => drive.settings)))"
    )
    holds("a link leads to what it was made of", same)
    command = page.evaluate("page.drives[1].ask({ do: 'command' })")["command"]
    holds(f"a command: {command}", command.startswith("phelsuma run --ftl geckoftl --workload"))
    page.evaluate("location.hash = '#ftl=fast&blocks=128&workload=sequential&ratio=0.5'")
    page.wait_for_function("page.drives.length === 1 && page.drives[0].settings.ftl === 'fast'")
    idle()
    page.focus("#parts summary")
    page.keyboard.press(" ")
    holds("space opens what it is on", page.evaluate("document.querySelector('#parts').open && !page.isPlaying"))
    page.keyboard.press(" ")
    page.click("#speed")
    page.keyboard.press(" ")
    page.wait_for_function("page.isPlaying")
    page.keyboard.press(" ")
    page.evaluate("page.playing")
    page.select_option("#kind", "other")
    idle()
    page.fill("#other", "garbage")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#wrong').textContent.includes('garbage')")
    idle()
    page.click("#step")
    idle()
    runs = "page.drives[0].state.workload === document.querySelector('#other').value"
    holds("what was refused is put back", page.evaluate(runs) and not page.locator("#wrong").is_visible())
    jump = """async to => {
      await page.drives[0].fast(6000, 9000);
      await page.go(page.drives[0].state.fill + 50);
      await page.go(page.drives[0].state.furthest);
      return document.querySelector('.wa-now').textContent;
    }"""
    holds("a jump is not of the last pages", page.evaluate(jump) == "–")
    page.fill(".set", "victim=nobody")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#wrong').textContent.includes('victim')")
    page.select_option(".ftl", "page")
    page.wait_for_function("page.drives[0].settings.ftl === 'page'")
    idle()
    page.fill(".set", "victim=fifo")
    page.keyboard.press("Enter")
    page.wait_for_function("page.drives[0].is.parts.join(' ').includes('fifo')")
    idle()
    holds("what was wrong is gone", not page.locator("#wrong").is_visible())
    holds("a link is followed", page.evaluate("page.drives[0].is.blocks") == 128)


# The board, the table and the place of a square that is clicked while the drive is at work: all of one moment.
SQUARE = """async () => {
  const drive = page.drives[0], wrong = [];
  for (let n = 0; n < 20; n++) {
    await drive.inspect(n, 3);
    const row = drive.root.querySelector('.found tr.chosen')?.textContent ?? '', place = drive.root.querySelector('.found .place')?.textContent ?? '';
    if (row.includes('in use') && !place.includes(`is in block ${n}, page 3,`)) { wrong.push(`${row} and ${place}`); }
    if (row.includes('stale') && !place.includes(`block ${n}, page 3`)) { wrong.push(`${row} and ${place}`); }
    const cell = drive.board.cells[n * drive.board.perBlock + 3];
    if (row.includes('data') && row.includes('in use') !== (cell === LIVE)) { wrong.push(`${row} and a square of ${cell}`); }
    if (/undefined|NaN/.test(row + place)) { wrong.push(row + place); }
  }
  return wrong;
}"""


def two(page: Page, wrong: list[str]) -> None:
    """Two drives get the same requests, whatever is done meanwhile; and what is done fast is done in order."""

    def idle() -> None:
        page.wait_for_function("!(Number(document.body.dataset.busy) > 0)")

    def hosts() -> list[str]:
        idle()
        return list(page.evaluate("page.drives.map(drive => JSON.stringify([drive.at, drive.state.asked]))"))

    def holds(what: str, is_so: Any) -> None:
        if not is_so:
            wrong.append(f"{what}: {page.text_content('#said')} {page.text_content('#wrong')}")

    page.evaluate("location.hash = '#ftl=page&workload=zipf:1.23&ratio=0.635&blocks=128&b.ftl=geckoftl&b.cache=64'")
    page.wait_for_function("page.drives.length === 2 && page.drives[1].state?.workload === 'zipf:1.23'")
    idle()
    page.click("#format")
    idle()
    exact = "page.drives.every(({ settings }) => settings.workload === 'zipf:1.23' && settings.ratio === 0.635)"
    holds("exact settings stay exact", page.evaluate(exact))
    holds("they are shown", "0.635" == page.text_content("#ratio-is") and "zipf:1.23" == page.text_content("#skew-is"))
    for speed, kind in ((11, "hotcold"), (12, "uniform"), (8, "zipf"), (12, "sequential")):
        page.evaluate(f"document.getElementById('speed').value = {speed}")
        page.click("#play")
        page.wait_for_timeout(200)
        page.select_option("#kind", kind)
        idle()
        page.wait_for_function("page.isPlaying")
        page.wait_for_timeout(100)
        wrong += page.evaluate(SQUARE) if speed == 11 else []
        page.click("#play")
        page.evaluate("page.playing")
        a, b = hosts()
        holds(f"level at speed {speed}, {a} {b}", a == b)
    page.locator(".skip").first.fill("500")
    page.locator(".arm").first.click()
    page.click("#play")
    page.wait_for_function("!page.drives[0].state.is_on")
    page.evaluate("page.playing")
    a, b = hosts()
    holds(f"level where the power of one failed, {a} {b}", a.split(",")[0] == b.split(",")[0])
    page.click("#play")
    idle()
    holds("one waits for the other", "first drive is off" in (page.text_content("#said") or ""))
    # Either of two may be the one that goes no further: history ends there for both.
    for step in ("0", "page.drives[0].state.furthest"):
        page.evaluate(f"page.busy(() => page.go({step}))")
        a, b = hosts()
        holds(f"history moves both, {a} {b}", a.split(",")[0] == b.split(",")[0])
    page.select_option("#kind", "uniform")
    idle()
    page.locator(".recover").first.click()
    page.click("#seek")
    idle()
    holds("both have the other workload", page.evaluate("page.drives.every(d => d.state.workload === 'uniform')"))
    # The next collection may be the first drive's next request: so many steps lie behind its recovery.
    for _ in range(3):
        page.click("#step")
    idle()
    at = page.evaluate("page.drives.map(drive => drive.at)")
    page.click("#back")
    page.click("#back")
    page.keyboard.press("ArrowLeft")
    idle()
    back = page.evaluate("page.drives.map(drive => drive.at)")
    holds(f"three steps back are three, {at} {back}", at[0] == at[1] and back == [at[0] - 3] * 2)
    page.evaluate("document.getElementById('speed').value = 12")
    page.locator(".skip").last.fill("700")
    page.locator(".arm").last.click()
    page.click("#play")
    page.wait_for_function("!page.drives[1].state.is_on")
    page.evaluate("page.playing")
    page.focus("#history")
    for key in ("Home", "End"):
        page.keyboard.press(key)
        a, b = hosts()
        holds(f"history ends where the second can go, {a} {b}", a.split(",")[0] == b.split(",")[0])
    ends = "page.drives.every(({ state }) => state.step === state.furthest)"
    holds("and is at its end there", page.evaluate(ends))
    page.locator(".recover").last.click()
    a, b = hosts()
    holds(f"level when the power is on, {a} {b}", a.split(",")[0] == b.split(",")[0])
    page.fill("#seed", "1.5")
    page.click("#format")
    idle()
    holds("a number is told", "seed: 1.5; a whole number from 0 to" in (page.text_content("#wrong") or ""))
    page.fill("#seed", "4294967296")
    page.click("#format")
    idle()
    holds("a seed may be larger", page.evaluate("page.drives.every(({ settings }) => settings.seed === 2 ** 32)"))
    page.fill("#seed", "1")
    page.click("#format")
    # Each drive that goes while it works is gone at once.
    for drives in (1, 2, 1):
        page.evaluate("document.getElementById('speed').value = 12")
        page.click("#play")
        page.wait_for_function("page.drives.every(drive => drive.state.asked.written > 0)")
        page.click("#side")
        page.wait_for_function(f"page.drives.length === {drives} && page.drives.every(drive => drive.state?.step > 0)")
        idle()
        holds("nothing is wrong", not page.locator("#wrong").is_visible() and not page.evaluate("page.isPlaying"))


def by_hand(page: Page, wrong: list[str]) -> None:
    """A lesson in which the plug is pulled by hand comes to the same end."""
    page.evaluate("page.anew(() => page.lesson('torn'))")
    for pull in (True, True, True, False):
        page.wait_for_function("!(Number(document.body.dataset.busy) > 0)")
        if page.locator("#lesson-next").is_visible():
            page.click("#lesson-next")
            page.wait_for_function("!(Number(document.body.dataset.busy) > 0)")
        if pull:
            is_on = page.evaluate("page.drives[0].state.is_on")
            page.locator(".pull" if is_on else ".recover").first.click()
    page.locator("#lesson-options button").first.click()
    page.wait_for_function("document.querySelector('#lesson-panel').dataset.at === 'done'")
    if page.evaluate("page.current.right") != 0 or page.locator("#wrong").is_visible():
        wrong.append(f"the lesson by hand: {page.text_content('#lesson-text')} {page.text_content('#wrong')}")


# A file as hands drop it.
DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  for (const event of ['dragover', 'drop']) { document.body.dispatchEvent(new DragEvent(event, { dataTransfer: files, bubbles: true, cancelable: true })); }
}"""


def traces(page: Page, folder: pathlib.Path, wrong: list[str]) -> None:
    """Traces are dropped and chosen, and wrong ones are refused."""

    def idle() -> None:
        page.wait_for_function("!(Number(document.body.dataset.busy) > 0)")

    def holds(what: str, is_so: Any) -> None:
        if not is_so:
            wrong.append(f"{what}: {page.text_content('#said')} {page.text_content('#wrong')}")

    heading = "time_us,device,op,offset_bytes,size_bytes\n"
    lines = "".join(f"{n},0,write,{n * 2654435761 % 100_000 * 512},1024\n" for n in range(3000))
    page.evaluate(DROP, ["small trace.csv", heading + lines])
    page.wait_for_function("page.drives[0].state.workload === 'trace:small trace.csv'")
    idle()
    holds("a trace is told", "3,000 requests, format csv" in (page.text_content("#said") or ""))
    holds("nothing is wrong with it", not page.locator("#wrong").is_visible())
    holds("the host is the trace", page.input_value("#kind") == "trace")
    page.evaluate("page.busy(() => page.drives[0].fast(100000, 10000))")
    idle()
    # A request that wraps is two.
    ended, written = page.evaluate("[page.drives[0].state.ended, page.drives[0].state.asked.written]")
    holds(f"all of it is served, {written} pages", ended and written == 6000)
    command = page.evaluate("page.drives[0].ask({ do: 'command' })")["command"]
    holds(f"the command has it: {command}", "--trace 'small trace.csv'" in command and "--fold wrap" in command)
    page.click("#again")
    idle()
    holds("it is served again", not page.evaluate("page.drives[0].state.ended"))
    page.click("#side")
    page.wait_for_function("page.drives.length === 2 && page.drives[1].state?.workload === 'trace:small trace.csv'")
    idle()
    digest = page.evaluate("page.drives[0].ask({ do: 'digest' })")
    for name, text, about in [
        ("bad.csv", heading + "0,0,write,0,512\n1,0,fly,0,512\n", "bad.csv:3: the op is"),
        ("large.csv", heading + " " * (2 << 20), "over 2 MiB"),
        ("photo.jpg", "\u00ff\u00d8" * 500, "photo.jpg: "),
    ]:
        page.evaluate(DROP, [name, text])
        page.wait_for_function("text => document.querySelector('#wrong').textContent.includes(text)", arg=about)
        idle()
        holds(f"{name} changes nothing", page.evaluate("page.drives[0].ask({ do: 'digest' })") == digest)
    plain = (heading + lines).encode()
    page.focus("#trace")
    holds("the keyboard reaches the button", page.evaluate("document.activeElement.id") == "trace")
    digests = set()
    for name, content in [
        ("chosen.csv", plain),
        ("packed.csv.gz", gzip.compress(plain)),
        ("wide.csv", plain.decode().encode("utf-16")),
    ]:
        page.set_input_files("#trace", {"name": name, "mimeType": "text/csv", "buffer": content})
        page.wait_for_function(f"page.drives.every(drive => drive.state.workload === 'trace:{name}')")
        idle()
        page.evaluate("page.busy(() => page.drives[0].fast(2000, 10000))")
        idle()
        digests.add(page.evaluate("page.drives[0].ask({ do: 'digest' })")["hash"])
    holds(f"packed or wide it is the same trace, {digests}", len(digests) == 1)
    holds("what was wrong with another is gone", not page.locator("#wrong").is_visible())
    page.evaluate("location.hash = '#ftl=page&workload=trace:elsewhere.csv'")
    page.wait_for_function("document.querySelector('#said').textContent.includes('elsewhere.csv')")
    idle()
    holds("a link without its trace opens", page.evaluate("page.drives[0].state.workload") == "uniform")
    # Partitions are told apart in the legend.
    page.evaluate("location.hash = '#ftl=last%2B%2B&workload=mixed:pages=1-32:zipf:1.2&ratio=0.6'")
    page.wait_for_function("page.drives[0].settings.ftl === 'last++'")
    idle()
    page.evaluate("page.busy(() => page.drives[0].fast(3000, 10000))")
    idle()
    page.evaluate("page.drives[0].slow(page.drives[0].state, programsOf(page.drives[0].state.flash))")
    legend = page.text_content(".legend") or ""
    for log in ("of the cold partition", "of the hot partition", "sequential log block", "block map"):
        holds(f"the legend has {log}: {legend}", log in legend)
    page.screenshot(path=folder / "last.png", full_page=True)


def lessons(page: Page, wrong: list[str]) -> int:
    """Each lesson to its end."""
    names = page.evaluate("LESSONS.map(lesson => lesson.id)")
    for name in names:
        page.select_option("#lesson", name)
        page.wait_for_function(f"page.current?.lesson.id === '{name}' && page.current.panel.dataset.at === '0'")
        while page.locator("#lesson-next").is_visible():
            at = page.get_attribute("#lesson-panel", "data-at")
            page.click("#lesson-next")
            page.wait_for_function(f"document.querySelector('#lesson-panel').dataset.at !== '{at}'")
        page.wait_for_function("document.activeElement.closest('#lesson-options')")
        if page.locator("#differ").is_visible() != (name in ("quota", "trim", "log")):
            wrong.append(f"lesson {name}: {page.text_content('#differ')}")
        page.locator("#lesson-options button").first.click()
        page.wait_for_function("document.querySelector('#lesson-panel').dataset.at === 'done'")
        said, right = page.text_content("#lesson-text") or "", page.evaluate("page.current.right")
        if "NaN" in said or "undefined" in said or not 0 <= right <= 2 or page.locator("#wrong").is_visible():
            wrong.append(f"lesson {name}: {said} {page.text_content('#wrong')}")
        if name == "miss" and "86.3 % hits" not in said:
            wrong.append(f"hits are of other requests than the programs: {said}")
        # What the drive answers does not change: requests and FTLs are the same each time.
        expected = {
            "cliff": 2,
            "quota": 1,
            "hot": 2,
            "trim": 1,
            "miss": 2,
            "gecko": 2,
            "log": 1,
            "torn": 0,
            "battery": 0,
        }.get(name)
        if expected is not None and right != expected:
            wrong.append(f"lesson {name} is answered by {right}, not {expected}: {said}")
    return len(names)


def main() -> int:
    """Looks."""
    begun = time.monotonic()
    took: list[str] = []

    def done(what: str) -> None:
        took.append(f"{what} {time.monotonic() - begun:.1f} s")

    file, folder, drives = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    url = file.as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = opened(browser, url, WINDOWS[0], "reduce", wrong)
        wrong += page.evaluate(SAME, drives)
        done("drives")
        presets, found = page.evaluate(PRESETS)
        wrong += found
        for ftl in ("geckoftl", "fast"):
            met, found = page.evaluate(FAULTS, ftl)
            wrong += found
            if len(met) != 13:
                wrong.append(f"{ftl}: {met}")
        done("presets and faults")
        told = lessons(page, wrong)
        by_hand(page, wrong)
        done("lessons")
        page.screenshot(path=folder / "lesson.png", full_page=True)
        page.context.close()
        page = opened(browser, url, WINDOWS[0], "no-preference", wrong)
        used(page, wrong)
        traces(page, folder, wrong)
        two(page, wrong)
        done("hands")
        writes, frame, in_worker = page.evaluate(SPEED)
        if writes < WRITES_A_SECOND or frame > FRAME_MS or not in_worker:
            wrong.append(f"{writes:,.0f} writes a second, a frame in {frame:.1f} ms, in a worker: {in_worker}")
        page.context.close()
        done("speed")
        handler = functools.partial(Quiet, directory=str(file.parent))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            served = f"http://127.0.0.1:{server.server_port}/{file.name}"
            for width, height, scheme in WINDOWS:
                hash = "#ftl=geckoftl&workload=zipf:0.9&b.ftl=dftl"
                page = opened(browser, served + hash, (width, height, scheme), "no-preference", wrong)
                page.evaluate(
                    "Promise.all(page.drives.map(async drive => { for (let n = 0; n < 20; n++) { await drive.fast(1000, 400); } }))"
                )
                page.wait_for_timeout(300)
                wrong += [f"{width} {scheme}: {what}" for what in page.evaluate(STICKS_OUT)]
                page.screenshot(path=folder / f"{width}-{scheme}.png", full_page=True)
                page.context.close()
            server.shutdown()
        browser.close()
    done("windows")
    print(
        "\n".join(wrong)
        or f"{presets} presets, {told} lessons; {writes:,.0f} writes a second, a frame in {frame:.1f} ms ({', '.join(took)})"
    )
    return 1 if wrong else 0


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the page, and says nothing of it."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


if __name__ == "__main__":
    sys.exit(main())
