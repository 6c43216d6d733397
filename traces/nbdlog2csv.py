#!/usr/bin/env python3
"""Convert the log of nbdkit's log filter to Phelsuma's CSV trace format.

    nbdlog2csv.py [LOG] [-o OUT.csv] [--comment TEXT]... [--fua write|flush]
    nbdlog2csv.py --self-test

LOG is what `nbdkit --filter=log ... logfile=LOG` wrote ("-" or nothing: standard
input). The output starts with comment lines (`#`), then the header

    time_us,device,op,offset_bytes,size_bytes

and one line per request, in the order in which nbdkit received them.

What becomes what:

    Read              read
    Write             write
    Trim              trim
    Zero trim=1       trim   (the client allows the range to be deallocated)
    Zero trim=0       write  (the client wants the range to stay allocated)
    Flush             flush  (offset 0, size 0)
    everything else   nothing (Connect, Extents, Cache, ... move no data)

- time_us: microseconds from the first record to the request's arrival. Threads
  may log a few microseconds out of order; such a time is raised to the one
  before it, so time never decreases. A clock that goes back by more than a
  second is an error: such a log has no usable times.
- device: 0 for the first export that a client connected to, 1 for the next.
- FUA on a write, trim or zero: the request alone (`--fua write`, the default).
  FUA asks for that request's data to be durable, not for everything before it.
  `--fua flush` adds a flush record behind it, as a device without FUA would see.
- A request that failed, or that has no answer in the log, is left out, and so
  is one of size zero; each is counted in the summary on standard error.

Exit codes: 0 done, 1 the self-test failed, 2 wrong usage or input.
"""

import argparse
import collections
import datetime
import io
import os
import re
import sys
import unittest

HEADER = "time_us,device,op,offset_bytes,size_bytes"

LINE = re.compile(
    r"(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{6}) "
    r"(?:connection=(\d+) )?(\.\.\.)?([A-Z][A-Za-z]*)(?: (.*))?\Z"
)
OFFSET_COUNT = re.compile(r"offset=(0x[0-9a-fA-F]+|\d+) count=(0x[0-9a-fA-F]+|\d+)\b")
ID = re.compile(r"\bid=(\d+)\b")
RETURN = re.compile(r"\breturn=(-?\d+)")
FLAG = {name: re.compile(rf"\b{name}=([01])\b") for name in ("trim", "fua")}
EXPORT = re.compile(r'\bexport=("(?:[^"\\]|\\.)*"|\'[^\']*\'|\S*)')
SIZE = re.compile(r"\bsize=(0x[0-9a-fA-F]+|\d+)\b")

DATA = {"Read", "Write", "Trim", "Zero", "Flush"}
NO_DATA = {
    "ListExports", "Ready", "Fork", "Preconnect", "Connect",
    "Disconnect", "Extents", "Cache",
}
CLOCK_BACK_US_MAX = 1_000_000


class BadLog(Exception):
    """Malformed input: one line that says what is wrong and where."""


class Request:
    """One request, kept from its arrival until everything before it is answered."""

    __slots__ = ("time", "device", "op", "offset", "size", "fua", "state", "line")

    def __init__(self, time, device, op, offset, size, fua, line):
        self.time, self.device, self.op = time, device, op
        self.offset, self.size, self.fua = offset, size, fua
        self.line = line
        self.state = "open"  # then "done" or "failed"


class Converter:
    """Reads log lines, hands out records in order of arrival."""

    def __init__(self, name, fua="write"):
        self.name = name
        self.fua = fua
        self.line_number = 0
        self.queue = collections.deque()
        self.waiting = {}       # (connection, id) -> Request
        self.connections = {}   # connection -> (device, size of the disk)
        self.devices = {}       # export name -> device number
        self.second = (None, None)
        self.start_us = None
        self.last_us = None
        self.counts = collections.Counter()

    def fail(self, what, line_number=None):
        raise BadLog(f"{self.name}:{line_number or self.line_number}: {what}")

    def microseconds(self, stamp):
        """Microseconds since some fixed moment; a second's prefix is parsed once."""
        prefix, fraction = stamp[:19], int(stamp[20:])
        if self.second[0] != prefix:
            try:
                moment = datetime.datetime.fromisoformat(prefix)
            except ValueError:
                self.fail(f"no such date and time: {stamp}")
            since = moment - datetime.datetime(1970, 1, 1)
            self.second = (prefix, (since.days * 86400 + since.seconds) * 1_000_000)
        return self.second[1] + fraction

    def records(self, lines):
        for self.line_number, line in enumerate(lines, 1):
            line = line.rstrip("\r\n")
            if not line:
                continue
            self.take(line)
            while self.queue and self.queue[0].state != "open":
                yield from self.emit(self.queue.popleft())
        for request in self.queue:
            if request.state == "open":
                self.counts["unanswered"] += 1
            else:
                yield from self.emit(request)
        self.queue.clear()

    def take(self, line):
        match = LINE.match(line)
        if not match:
            self.fail(
                "not a line of nbdkit's log filter "
                f"(date, time, [connection=N], action): {line[:60]!r}"
            )
        stamp, connection, answer, action, rest = match.groups()
        rest = rest or ""
        if action == "Connect":
            return self.connect(connection, rest) if not answer else None
        if action in NO_DATA:
            return None
        if action not in DATA:
            self.fail(f"unknown action {action!r}; known: {', '.join(sorted(DATA | NO_DATA))}")
        if connection is None:
            self.fail(f"{action} without connection=N")
        number = ID.search(rest)
        if not number:
            self.fail(f"{action} without id=N")
        key = (connection, number[1])
        if answer:
            return self.answer(key, action, rest)
        if connection not in self.connections:
            self.fail(f"{action} on connection {connection}, which never connected")
        if key in self.waiting:
            self.fail(
                f"{action} id={key[1]} on connection {connection} is still open "
                f"from line {self.waiting[key].line}"
            )
        request = self.request(stamp, connection, action, rest)
        self.waiting[key] = request
        self.queue.append(request)
        return None

    def connect(self, connection, rest):
        export, size = EXPORT.search(rest), SIZE.search(rest)
        if connection is None or not export or not size:
            self.fail("Connect without connection=, export= or size=")
        device = self.devices.setdefault(export[1], len(self.devices))
        self.connections[connection] = (device, int(size[1], 0))

    def request(self, stamp, connection, action, rest):
        device, disk_size = self.connections[connection]
        offset = size = 0
        if action != "Flush":
            found = OFFSET_COUNT.search(rest)
            if not found:
                self.fail(f"{action} without offset=N count=N")
            offset, size = int(found[1], 0), int(found[2], 0)
            if offset + size > disk_size:
                self.fail(
                    f"{action} of {size} bytes at {offset} is past the end of a "
                    f"disk of {disk_size} bytes"
                )
        op = action.lower()
        if action == "Zero":
            op = "trim" if self.flag("trim", action, rest) else "write"
        fua = action in ("Write", "Trim", "Zero") and self.flag("fua", action, rest)
        time = self.microseconds(stamp)
        if self.last_us is not None and time < self.last_us:
            if self.last_us - time > CLOCK_BACK_US_MAX:
                self.fail(
                    f"the clock goes back by {(self.last_us - time) / 1e6:.3f} s; "
                    "a log across a change of the clock has no usable times"
                )
            self.counts["late"] += 1
            time = self.last_us
        self.last_us = time
        if action == "Zero":
            self.counts["zero as " + op] += 1
        return Request(time, device, op, offset, size, fua, self.line_number)

    def flag(self, name, action, rest):
        found = FLAG[name].search(rest)
        if not found:
            self.fail(f"{action} without {name}=0 or {name}=1")
        return found[1] == "1"

    def answer(self, key, action, rest):
        request = self.waiting.pop(key, None)
        if request is None:
            self.fail(f"answer to {action} id={key[1]} on connection {key[0]}, never asked")
        code = RETURN.search(rest)
        if not code:
            self.fail(f"answer to {action} id={key[1]} without return=N")
        request.state = "done" if code[1] == "0" else "failed"

    def emit(self, request):
        if request.state == "failed":
            self.counts["failed"] += 1
            return
        if request.size == 0 and request.op != "flush":
            self.counts["of size zero"] += 1
            return
        if self.start_us is None:
            self.start_us = request.time
        at = request.time - self.start_us
        self.counts[request.op] += 1
        yield f"{at},{request.device},{request.op},{request.offset},{request.size}"
        if request.fua:
            self.counts["with FUA"] += 1
            if self.fua == "flush":
                self.counts["flush"] += 1
                yield f"{at},{request.device},flush,0,0"

    def summary(self):
        c = self.counts
        ops = ("read", "write", "trim", "flush")
        text = f"{sum(c[op] for op in ops)} records: " + ", ".join(f"{c[op]} {op}" for op in ops)
        text += f"; {c['zero as trim']} zero as trim, {c['zero as write']} zero as write"
        text += f", {c['with FUA']} with FUA"
        for what in ("failed", "unanswered", "of size zero"):
            if c[what]:
                text += f"; left out: {c[what]} {what}"
        if c["late"]:
            text += f"; {c['late']} times raised to the one before"
        return text


def convert(lines, name, out, comments=(), fua="write"):
    """Write the whole CSV to `out`; returns the converter for its counts."""
    converter = Converter(name, fua)
    for comment in comments:
        for line in comment.splitlines():
            out.write(f"# {line}\n")
    out.write(HEADER + "\n")
    for record in converter.records(lines):
        out.write(record + "\n")
    if converter.start_us is None:
        raise BadLog(f"{name}: no request in the whole log")
    return converter


# ---------------------------------------------------------------- self-test

DAY = "2024-02-29 23:59:59."
CONNECT = (
    DAY + '000000 connection=1 Connect export="" tls=0 size=0x100000 minsize=0x0 '
    "prefsize=0x0 maxsize=0x0 write=1 flush=1 rotational=0 trim=1 zero=2 fua=2\n"
)


class SelfTest(unittest.TestCase):
    def run_log(self, text, **options):
        out = io.StringIO()
        converter = convert(io.StringIO(text), "log", out, **options)
        return out.getvalue().splitlines(), converter

    def refuses(self, text, message):
        with self.assertRaises(BadLog) as caught:
            self.run_log(text)
        self.assertNotIn("\n", str(caught.exception))
        self.assertIn(message, str(caught.exception))

    def test_every_action(self):
        lines, converter = self.run_log(
            DAY + "000000 Ready thread_model=3\n" + DAY + "000000 Fork\n"
            + DAY + "000000 Preconnect id=1 readonly=0 ...\n"
            + DAY + "000000 ...Preconnect id=1 return=0\n" + CONNECT
            + DAY + "999999 connection=1 Write id=1 offset=0x1000 count=0x2000 fua=0 ...\n"
            + DAY + "999999 connection=1 ...Write id=1 return=0\n"
            + "2024-03-01 00:00:00.000001 connection=1 Read id=2 offset=0x0 count=0x200 ...\n"
            + "2024-03-01 00:00:00.000001 connection=1 ...Read id=2 return=0 (Success)\n"
            + "2024-03-01 00:00:00.000002 connection=1 Trim id=3 offset=0x400 count=0x400 fua=0 ...\n"
            + "2024-03-01 00:00:00.000002 connection=1 ...Trim id=3 return=0\n"
            + "2024-03-01 00:00:00.000003 connection=1 Zero id=4 offset=0x0 count=0x1000 trim=1 fua=0 fast=0 ...\n"
            + "2024-03-01 00:00:00.000003 connection=1 ...Zero id=4 return=0\n"
            + "2024-03-01 00:00:00.000004 connection=1 Zero id=5 offset=0x0 count=0x1000 trim=0 fua=0 fast=0 ...\n"
            + "2024-03-01 00:00:00.000004 connection=1 ...Zero id=5 return=0\n"
            + "2024-03-01 00:00:00.000005 connection=1 Flush id=6 ...\n"
            + "2024-03-01 00:00:00.000005 connection=1 ...Flush id=6 return=0\n"
            + "2024-03-01 00:00:00.000005 connection=1 Extents id=7 offset=0x0 count=0x1000 req_one=0 ...\n"
            + "2024-03-01 00:00:00.000006 connection=1 Disconnect transactions=6\n",
            comments=["made up\nin two lines"],
        )
        self.assertEqual(lines, [
            "# made up", "# in two lines", HEADER,
            "0,0,write,4096,8192", "2,0,read,0,512", "3,0,trim,1024,1024",
            "4,0,trim,0,4096", "5,0,write,0,4096", "6,0,flush,0,0",
        ])
        self.assertEqual(converter.counts["zero as trim"], 1)

    def test_arrival_order_failures_and_late_stamps(self):
        lines, converter = self.run_log(
            CONNECT
            + DAY + "000100 connection=1 Write id=1 offset=0x0 count=0x200 fua=0 ...\n"
            + DAY + "000120 connection=1 Write id=2 offset=0x200 count=0x200 fua=0 ...\n"
            + DAY + "000110 connection=1 Write id=3 offset=0x400 count=0x200 fua=0 ...\n"
            + DAY + "000130 connection=1 ...Write id=3 return=0\n"
            + DAY + "000130 connection=1 ...Write id=2 return=-1 error=EIO\n"
            + DAY + "000140 connection=1 ...Write id=1 return=0\n"
            + DAY + "000150 connection=1 Read id=1 offset=0x0 count=0x0 ...\n"
            + DAY + "000150 connection=1 ...Read id=1 return=0\n"
            + DAY + "000160 connection=1 Flush id=9 ...\n"
        )
        self.assertEqual(lines[1:], ["0,0,write,0,512", "20,0,write,1024,512"])
        for what in ("failed", "unanswered", "of size zero", "late"):
            self.assertEqual(converter.counts[what], 1, what)

    def test_fua_and_two_exports(self):
        text = (
            CONNECT + CONNECT.replace("connection=1", "connection=2").replace('""', '"b c"')
            + DAY + "000100 connection=2 Write id=1 offset=0x0 count=0x200 fua=1 ...\n"
            + DAY + "000101 connection=2 ...Write id=1 return=0\n"
        )
        self.assertEqual(self.run_log(text)[0][1:], ["0,1,write,0,512"])
        self.assertEqual(
            self.run_log(text, fua="flush")[0][1:], ["0,1,write,0,512", "0,1,flush,0,0"]
        )

    def test_refusals_name_the_line(self):
        write = DAY + "000100 connection=1 Write id=1 offset=0x0 count=0x200 fua=0 ...\n"
        self.refuses("", "log: no request")
        self.refuses(CONNECT + "hello\n", "log:2: not a line of nbdkit's log filter")
        self.refuses(CONNECT + write[:30] + "\n", "log:2: not a line")
        self.refuses(write, "log:1: Write on connection 1, which never connected")
        self.refuses(CONNECT + write + write, "log:3: Write id=1 on connection 1 is still open from line 2")
        self.refuses(CONNECT + write.replace("0x200", "0x100001"), "log:2: Write of 1048577 bytes at 0 is past")
        self.refuses(CONNECT + write.replace(" count=0x200", ""), "log:2: Write without offset=N count=N")
        self.refuses(CONNECT + write.replace(" fua=0", ""), "log:2: Write without fua=")
        self.refuses(CONNECT + write.replace("Write", "Copy"), "log:2: unknown action 'Copy'")
        self.refuses(CONNECT + write.replace("02-29", "02-30"), "log:2: no such date")
        self.refuses(CONNECT + write.replace(" ...", "").replace("Write", "...Write"), "log:2: answer to Write id=1")
        self.refuses(
            CONNECT + write + write.replace("23:59:59", "23:59:57").replace("id=1", "id=2"),
            "log:3: the clock goes back by 2.000 s",
        )


def self_test():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(SelfTest)
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


def main():
    parser = argparse.ArgumentParser(
        description="Convert the log of nbdkit's log filter to Phelsuma's CSV trace format."
    )
    parser.add_argument("log", nargs="?", default="-", help="the log (default: standard input)")
    parser.add_argument("-o", "--output", default="-", help="the CSV (default: standard output)")
    parser.add_argument("--comment", action="append", default=[], help="a comment line for the top; repeatable")
    parser.add_argument("--fua", choices=("write", "flush"), default="write", help="FUA: the request alone, or followed by a flush")
    parser.add_argument("--self-test", action="store_true", help="test this program and exit")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    name = "standard input" if options.log == "-" else options.log
    partial = None if options.output == "-" else options.output + ".partial"
    try:
        source = sys.stdin if options.log == "-" else open(options.log, encoding="utf-8", errors="replace")
        target = open(partial, "w", encoding="utf-8") if partial else sys.stdout
        with source, target:
            converter = convert(source, name, target, options.comment, options.fua)
        if partial:
            os.replace(partial, options.output)
    except BrokenPipeError:
        sys.stderr.close()
        return 2
    except (BadLog, OSError) as error:
        if partial and os.path.exists(partial):
            os.remove(partial)
        print(f"nbdlog2csv: {error}", file=sys.stderr)
        return 2
    print(f"nbdlog2csv: {converter.summary()}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
