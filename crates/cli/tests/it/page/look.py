"""Looks at the page of a drive that is being served, and worked on, with a headless Chromium.

    python look.py URL FOLDER NAME PANEL... [--every-window] [--assets FOLDER]

The page has to load, to move (figures and map differ between two moments), to say nothing on the console, to ask nobody
else, to have these panels and no others, and to fit its window: wide and light, narrow and dark, or with --every-window
each wide and narrow, light and dark. FOLDER gets the
screenshots. With --assets the page's own files come from there instead of from the server, for who works on them.
"""

import functools
import hashlib
import pathlib
import sys

from playwright.sync_api import sync_playwright

PATIENCE_MS = 20_000
PANELS = ["map", "wa", "requests", "gecko", "cache", "free", "wear"]
WINDOWS = [("wide", 1280, 800, "light"), ("wide", 1280, 800, "dark"), ("phone", 390, 844, "light"), ("phone", 390, 844, "dark")]
FIGURES = ["t-requests", "t-wa", "t-gc", "t-free"]

# What is drawn, as a number; and what sticks out of its box, or lies over something else.
CANVAS = "() => document.getElementById('map').toDataURL()"
STICKS_OUT = """() => {
  const out = [];
  if (document.documentElement.scrollWidth > innerWidth) { out.push(`the page is ${document.documentElement.scrollWidth} wide`); }
  for (const e of document.querySelectorAll('.tile p, .tile h2, .panel h2, td, th, .note, #about, .pill, button')) {
    if (e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline') {
      out.push(`${e.id || e.tagName}: '${e.textContent}' does not fit`);
    }
  }
  const boxes = [...document.querySelectorAll('.tile, .panel')].filter(e => e.checkVisibility());
  const rects = boxes.map(e => e.getBoundingClientRect());
  boxes.forEach((a, i) => boxes.forEach((b, j) => {
    const [r, s] = [rects[i], rects[j]];
    if (i < j && r.left < s.right && s.left < r.right && r.top < s.bottom && s.top < r.bottom) { out.push(`${a.id} lies over ${b.id}`); }
  }));
  for (const e of document.querySelectorAll('.panel > *, .plot canvas')) {
    const panel = e.closest('.panel').getBoundingClientRect(), own = e.getBoundingClientRect();
    if (e.checkVisibility() && (own.bottom > panel.bottom + 1 || own.right > panel.right + 1)) {
      out.push(`${e.closest('.panel').id}: ${e.id || e.className} sticks out`);
    }
  }
  return out;
}"""


def fulfil(file, route):
    route.fulfill(path=file)


def look(browser, url, folder, name, panels, assets, every_window):
    wrong = []
    for window, width, height, scheme in WINDOWS if every_window else WINDOWS[::3]:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        where = f"{name} {window} {scheme}"
        page.on("console", lambda message: wrong.append(f"{where}: console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"{where}: {error}"))
        page.on("requestfailed", lambda request: wrong.append(f"{where}: {request.url} failed"))
        page.on("request", lambda request: request.url.startswith((url, "data:")) or wrong.append(f"{where}: {request.url}"))
        page.on("response", lambda answer: answer.ok or wrong.append(f"{where}: {answer.url}: {answer.status}"))
        if assets:
            for file in assets.iterdir():
                path = "" if file.name == "index.html" else file.name.replace(".iife.min", "").replace(".min", "")
                page.route(url + path, functools.partial(fulfil, file))
        page.goto(url)
        page.wait_for_function("() => Number(document.body.dataset.looks) >= 6", timeout=PATIENCE_MS)
        moments = []
        for moment in range(2):
            has_map = page.locator("#map").is_visible()
            drawn = hashlib.sha256(page.evaluate(CANVAS).encode()).hexdigest() if has_map else ""
            moments.append((drawn, [page.locator(f"#{figure}").text_content() for figure in FIGURES]))
            if moment == 0:
                looks = int(page.evaluate("() => document.body.dataset.looks"))
                page.wait_for_function(f"() => Number(document.body.dataset.looks) >= {looks + 3}", timeout=PATIENCE_MS)
        (drawn, figures), (drawn_later, figures_later) = moments
        if "map" in panels and drawn == drawn_later:
            wrong.append(f"{where}: the map does not move")
        if figures == figures_later:
            wrong.append(f"{where}: the figures do not move: {figures}")
        if "–" in figures_later:
            wrong.append(f"{where}: some figure is missing: {figures_later}")
        shown = [panel for panel in PANELS if page.locator(f"#panel-{panel}").is_visible()]
        if sorted(shown) != sorted(panels):
            wrong.append(f"{where}: panels {shown}, not {panels}")
        if page.locator("#state").text_content() != "serving":
            wrong.append(f"{where}: state {page.locator('#state').text_content()}")
        wrong += [f"{where}: {what}" for what in page.evaluate(STICKS_OUT)]
        page.screenshot(path=folder / f"{name}-{window}-{scheme}.png", full_page=True)
        if "map" in panels:
            before = page.evaluate(CANVAS)
            page.locator("#by-erases").click()
            if page.evaluate(CANVAS) == before:
                wrong.append(f"{where}: the map by erases is the map by content")
            page.locator("#map").hover()
            if not page.locator("#tip").is_visible() or "erased" not in page.locator("#tip").text_content():
                wrong.append(f"{where}: no block says what it is")
            if window == "wide":
                page.screenshot(path=folder / f"{name}-{window}-{scheme}-erases.png")
        context.close()
    return wrong


def main():
    args = sys.argv[1:]
    every_window = "--every-window" in args
    args = [arg for arg in args if arg != "--every-window"]
    assets = None
    if "--assets" in args:
        at = args.index("--assets")
        assets = pathlib.Path(args[at + 1])
        del args[at : at + 2]
    url, folder, name, *panels = args
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        wrong = look(browser, url, folder, name, panels, assets, every_window)
        browser.close()
    print("\n".join(wrong) or f"{name}: as it should be; screenshots in {folder}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
