#!/usr/bin/env python3
"""What an office worker's programs write to a PC's disk, in real time, with the pauses in which nobody does anything.

    traces/record.sh -o pc.csv.zst -f ntfs -s 3G -r 1 --command 'python3 /path/to/desktop.py --minutes 60'

It works in the current folder. One person does one thing after another: reads pages on the web, writes documents,
receives mail, imports pictures, unpacks what was downloaded. Two services write all the time: a log, and a database of
settings that is changed in place. Updates are installed about every quarter of an hour. The same seed gives the same
choices; the times are the machine's.
"""

import argparse
import os
import random
import shutil
import sqlite3
import sys
import threading
import time

KIB, MIB = 1024, 1024 * 1024


def put(path, size, chance, sync=False, chunk=64 * KIB, pause=0.0):
    """A file of `size` bytes, in pieces, as programs write."""
    with open(path, "wb") as file:
        while size > 0:
            file.write(chance.randbytes(min(size, chunk)))
            size -= chunk
            if pause:
                file.flush()
                time.sleep(pause)
        if sync:
            file.flush()
            os.fsync(file.fileno())


def size_of(chance, median, spread, most):
    """A log-normal size in bytes."""
    return max(1, min(most, int(median * chance.lognormvariate(0, spread))))


class Browser:
    """A profile: databases in which each visit is a few transactions, and a cache of files of which the oldest go."""

    CACHE = 150 * MIB

    def __init__(self, seed):
        self.chance = random.Random(seed)
        os.makedirs("browser/cache")
        self.cached, self.bytes, self.next = [], 0, 0
        self.history = sqlite3.connect("browser/history.db", isolation_level=None)
        self.cookies = sqlite3.connect("browser/cookies.db", isolation_level=None)
        self.history.execute("PRAGMA journal_mode=WAL")
        self.history.execute("CREATE TABLE visit(id INTEGER PRIMARY KEY, url TEXT, count INTEGER)")
        self.history.execute("CREATE UNIQUE INDEX visit_url ON visit(url)")
        self.cookies.execute("CREATE TABLE cookie(site INTEGER PRIMARY KEY, value BLOB)")

    def visit(self):
        site = int(self.chance.paretovariate(0.8)) % 5_000
        url = f"https://site-{site}.example/{self.chance.randrange(50)}"
        self.history.execute(
            "INSERT INTO visit(url, count) VALUES(?, 1) ON CONFLICT(url) DO UPDATE SET count = count + 1", (url,)
        )
        for _ in range(self.chance.randrange(1, 4)):
            value = self.chance.randbytes(self.chance.randrange(40, 900))
            self.cookies.execute("INSERT OR REPLACE INTO cookie VALUES(?, ?)", (site + self.chance.randrange(3), value))
        for _ in range(self.chance.randrange(4, 40)):
            path = f"browser/cache/{self.next:06x}"
            size = size_of(self.chance, 12 * KIB, 1.5, 4 * MIB)
            put(path, size, self.chance)
            self.cached.append((path, size))
            self.bytes += size
            self.next += 1
        while self.bytes > self.CACHE:
            path, size = self.cached.pop(0)
            os.remove(path)
            self.bytes -= size


class Documents:
    """A document is saved as a new file beside the old one, which it replaces."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        os.makedirs("documents")
        self.sizes = {}
        for number in range(60):
            name = f"documents/{number:03}.doc"
            self.sizes[name] = size_of(self.chance, 180 * KIB, 1.3, 12 * MIB)
            put(name, self.sizes[name], self.chance)

    def open(self):
        name = self.chance.choice(list(self.sizes))
        with open(name, "rb") as file:
            while file.read(MIB):
                pass
        return name

    def save(self, name):
        self.sizes[name] += self.chance.randrange(-2_000, 9_000)
        self.sizes[name] = max(10_000, self.sizes[name])
        put(name + ".new", self.sizes[name], self.chance, sync=True, chunk=16 * KIB)
        os.replace(name + ".new", name)


class Mail:
    """A mailbox in a database with a rollback journal."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.box = sqlite3.connect("mail.db", isolation_level=None)
        self.box.execute("CREATE TABLE mail(id INTEGER PRIMARY KEY, is_read INTEGER, body BLOB)")

    def receive(self):
        for _ in range(self.chance.randrange(0, 5)):
            body = self.chance.randbytes(size_of(self.chance, 9 * KIB, 1.6, 6 * MIB))
            self.box.execute("INSERT INTO mail(is_read, body) VALUES(0, ?)", (body,))
        self.box.execute("UPDATE mail SET is_read = 1 WHERE is_read = 0")
        if self.chance.random() < 0.2:
            self.box.execute("DELETE FROM mail WHERE id IN (SELECT id FROM mail ORDER BY random() LIMIT 3)")


class Person:
    """One thing after another, with time to think between."""

    def __init__(self, seed, end):
        self.chance = random.Random(seed)
        self.end = end
        self.browser, self.documents, self.mail = Browser(seed + 1), Documents(seed + 2), Mail(seed + 3)
        self.folders, self.number = [], 0

    def think(self, median):
        time.sleep(max(0.0, min(240, median * self.chance.lognormvariate(0, 0.8), self.end - time.monotonic())))

    def reads_the_web(self):
        for _ in range(self.chance.randrange(3, 15)):
            self.browser.visit()
            self.think(6)

    def writes_a_document(self):
        name = self.documents.open()
        for _ in range(self.chance.randrange(2, 8)):
            self.think(18)
            self.documents.save(name)

    def receives_mail(self):
        self.mail.receive()
        self.think(10)

    def new_folder(self):
        self.number += 1
        self.folders.append(f"folder-{self.number}")
        os.makedirs(self.folders[-1])
        while len(self.folders) > 8:
            shutil.rmtree(self.folders.pop(0))
        return self.folders[-1]

    def imports_pictures(self):
        folder = self.new_folder()
        for picture in range(self.chance.randrange(8, 40)):
            put(f"{folder}/{picture}.jpg", size_of(self.chance, 2_500 * KIB, 0.3, 8 * MIB), self.chance)
            put(f"{folder}/{picture}.thumbnail", size_of(self.chance, 7 * KIB, 0.3, 64 * KIB), self.chance)
        self.think(20)

    def unpacks_a_download(self):
        size = size_of(self.chance, 25 * MIB, 0.6, 90 * MIB)
        put("download.part", size, self.chance, pause=0.008)
        os.replace("download.part", "download.zip")
        self.think(5)
        folder = self.new_folder()
        while size > 0:
            part = size_of(self.chance, 20 * KIB, 1.6, 8 * MIB)
            put(f"{folder}/{size:x}", part, self.chance)
            size -= part
        self.think(15)
        os.remove("download.zip")

    def rests(self):
        self.think(60)

    def works(self):
        deeds = [
            (self.reads_the_web, 30),
            (self.writes_a_document, 22),
            (self.receives_mail, 25),
            (self.imports_pictures, 3),
            (self.unpacks_a_download, 5),
            (self.rests, 15),
        ]
        while time.monotonic() < self.end:
            self.chance.choices([deed for deed, _ in deeds], [weight for _, weight in deeds])[0]()


def keep_a_log(chance, over):
    """Some lines every few seconds, each time on disk; a log of 2 MB is put away, and the fourth goes."""
    while not over.wait(chance.expovariate(1 / 6)):
        with open("system.log", "ab") as log:
            log.write(chance.randbytes(size_of(chance, 400, 1.0, 16 * KIB)))
            log.flush()
            os.fsync(log.fileno())
            is_long = log.tell() > 2 * MIB
        if is_long:
            for old in (2, 1):
                if os.path.exists(f"system.log.{old}"):
                    os.replace(f"system.log.{old}", f"system.log.{old + 1}")
            os.replace("system.log", "system.log.1")


def keep_settings(chance, over):
    """Pages of 4 KiB in a file of 24 MiB, a few hot ones most of the time, behind a journal of 256 KiB."""
    put("settings", 24 * MIB, chance)
    put("settings.journal", 256 * KIB, chance)
    at = 0
    with open("settings", "r+b") as settings, open("settings.journal", "r+b") as journal:
        while not over.wait(chance.expovariate(1 / 5)):
            pages = [int(6_144 * chance.random() ** 4) for _ in range(chance.randrange(1, 12))]
            journal.seek(at % (252 * KIB))
            journal.write(chance.randbytes(512 * len(pages)))
            at += 512 * len(pages)
            journal.flush()
            os.fsync(journal.fileno())
            for page in pages:
                settings.seek(page * 4 * KIB)
                settings.write(chance.randbytes(4 * KIB))
            settings.flush()
            os.fsync(settings.fileno())


def install_updates(chance, over, minutes):
    """A tree of programs. Four times an hour a part of its files is replaced, one by one."""
    os.makedirs("programs")
    sizes = {f"programs/{number:04}": size_of(chance, 40 * KIB, 1.7, 12 * MIB) for number in range(1_500)}
    for path, size in sizes.items():
        put(path, size, chance)
    while not over.wait(chance.uniform(0.3, 0.7) * min(30, minutes / 2) * 60):
        new = chance.sample(sorted(sizes), 250)
        put("update.package", sum(sizes[path] for path in new) // 2, chance, pause=0.004)
        for path in new:
            put(path + ".new", sizes[path], chance, sync=True)
            os.replace(path + ".new", path)
        os.remove("update.package")


def end_with(failure):
    """A service that fails ends the program."""
    sys.__excepthook__(failure.exc_type, failure.exc_value, failure.exc_traceback)
    os._exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="of all choices (default 1)")
    options = parser.parse_args()
    if os.listdir():
        parser.error("the current folder is not empty")
    if not 0 < options.minutes <= 10_000:
        parser.error("--minutes is not between 0 and 10,000")
    threading.excepthook = end_with
    end = time.monotonic() + options.minutes * 60
    over = threading.Event()
    services = [
        threading.Thread(target=service, args=(random.Random(options.seed + seed), over, *more))
        for seed, (service, more) in enumerate(
            [(keep_a_log, ()), (keep_settings, ()), (install_updates, (options.minutes,))], start=10
        )
    ]
    for service in services:
        service.start()
    try:
        Person(options.seed, end).works()
    finally:
        over.set()
        for service in services:
            service.join()


if __name__ == "__main__":
    main()
