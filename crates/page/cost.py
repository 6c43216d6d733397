"""What the page costs the drive that it shows: fio's writes a second with and without somebody who looks.

    python3 crates/page/cost.py [--ftl NAME] [--rounds N] [--seconds S] [--phelsuma FILE] [--browser PYTHON]

Two drives in memory are served over unix sockets, one without --http and one with it. Slices of fio (4 KiB random
writes, depth 32) take turns, in an order that changes from round to round: on the first drive, on it again (what these two
differ by is noise), on the second while nobody looks, and while a client asks for figures and map twice a second, as the
page does. With --browser, a Python that has playwright, a headless Chromium shows the page in a slice of its own; it draws on
the same cores.

Printed are thousands of writes a second, the ratio to the first slice of the same round, and CPU time of the server. Compare
ratios alone: what else the machine does is in all of them.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

POLL_S = 0.5
# For so long after the last question the drive is still looked at.
WANTED_S = 3.5
HZ = os.sysconf("SC_CLK_TCK")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
BROWSER = """
import sys, time
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(sys.argv[1])
    print("open", flush=True)
    sys.stdin.read()
    browser.close()
"""


class Drive:
    """A drive that is served."""

    def __init__(self, options, folder, name, http):
        self.socket, self.folder = folder / name, folder
        words = [options.phelsuma, "serve", "--memory", "256MiB", "--ftl", options.ftl, "--socket", self.socket]
        words += ["--http", "0"] if http else []
        self.server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.url, self.page_tasks = None, []
        for line in self.server.stdout:
            word, *rest = line.split() or [""]
            if line.startswith(" ") and word == "page":
                self.url = rest[0]
            if line.startswith(" ") and word == ("page" if http else "load"):
                break

    def load(self, *words):
        """Runs fio; its writes a second."""
        base = "fio --name=x --ioengine=nbd --rw=randwrite --bs=4k --iodepth=32 --size=176m --randrepeat=0 --output-format=json"
        uri = f"--uri=nbd+unix:///?socket={self.socket}"
        done = subprocess.run([*base.split(), uri, *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]["write"]["iops"]

    def page_cpu_s(self):
        """CPU time of the page's threads."""
        if not self.page_tasks and self.url:
            for task in pathlib.Path(f"/proc/{self.server.pid}/task").iterdir():
                with contextlib.suppress(OSError):  # nbdkit's come and go
                    if (task / "comm").read_text().startswith("page"):
                        self.page_tasks.append(task)
        return sum(int((task / "schedstat").read_text().split()[0]) for task in self.page_tasks) / 1e9

    def all_cpu_s(self):
        """CPU time of its process, threads that have ended included."""
        rest = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1]
        return sum(map(int, rest.split()[11:13])) / HZ

    def stop(self):
        self.server.terminate()
        self.server.wait()


class Asking:
    """A client that asks as the page does."""

    def __init__(self, url):
        self.end, self.answers = threading.Event(), 0
        self.thread = threading.Thread(target=self.ask, args=(url,))

    def ask(self, url):
        while not self.end.wait(POLL_S):
            for path in ["state.json", "map?cells=16384"]:
                DIRECT.open(url + path).read()
                self.answers += 1

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        assert self.answers, "nobody was answered"


class Browsing:
    """A browser that shows the page."""

    def __init__(self, python, url):
        self.words = [python, "-c", BROWSER, url]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "open\n", "the browser does not start"
        time.sleep(2)

    def __exit__(self, *_):
        self.process.communicate("")


class Nobody:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ftl", default="geckoftl")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--phelsuma", default="target/release/phelsuma")
    parser.add_argument("--browser", metavar="PYTHON")
    options = parser.parse_args()
    slices = ["without", "without again", "nobody looks", "asked"] + (["browser"] if options.browser else [])
    found = {name: [] for name in slices}
    cpu = {name: [] for name in slices}
    page_cpu = {name: [] for name in slices}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        drives = [Drive(options, folder, "without", False), Drive(options, folder, "with", True)]
        try:
            for drive in drives:
                drive.load("--loops=2")
            looked = 0
            for n in range(options.rounds):
                order = slices[n % len(slices):] + slices[: n % len(slices)]
                for name in order if n % 2 else order[::-1]:
                    drive = drives["without" not in name]
                    if "without" not in name and name == "nobody looks":
                        time.sleep(max(0, looked + WANTED_S - time.monotonic()))
                    who = {"asked": lambda: Asking(drive.url), "browser": lambda: Browsing(options.browser, drive.url)}
                    with who.get(name, Nobody)():
                        before, page_before = drive.all_cpu_s(), drive.page_cpu_s()
                        found[name].append(drive.load("--time_based", f"--runtime={options.seconds}"))
                        cpu[name].append(drive.all_cpu_s() - before)
                        page_cpu[name].append(drive.page_cpu_s() - page_before)
                    if name in ("asked", "browser"):
                        looked = time.monotonic()
        finally:
            for drive in drives:
                drive.stop()
    print(f"{options.ftl}: {options.rounds} rounds of {options.seconds} s; median (lowest to highest)")
    print(f"{'':16}{'k writes/s':>22}  {'of the first':>22}  {'CPU us/write':>12}  {'page threads, % of a core':>25}")
    for name in slices:
        shown = lambda values, digits: f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
        ratios = [mine / first for mine, first in zip(found[name], found["without"])]
        each = statistics.median(1e6 * s / (rate * options.seconds) for s, rate in zip(cpu[name], found[name]))
        page = 100 * statistics.median(page_cpu[name]) / options.seconds
        thousands = [rate / 1000 for rate in found[name]]
        print(f"{name:16}{shown(thousands, 1):>22}  {shown(ratios, 3):>22}  {each:12.2f}  {page:25.3f}")


if __name__ == "__main__":
    sys.exit(main())
