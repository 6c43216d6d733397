#!/usr/bin/env python3
"""Count what is in a trace of Phelsuma's CSV format (plain, .gz or .zst).

    trace_stats.py TRACE [TRACE ...]

Footprint: distinct pages of 4 KiB touched, per device. Overwrite ratio: bytes
written / bytes of the write footprint. .zst is read through the zstd program.
"""

import collections
import gzip
import subprocess
import sys

HEADER = "time_us,device,op,offset_bytes,size_bytes"
PAGE = 4096
MIB = 1024 * 1024


def open_lines(path):
    if path.endswith(".zst"):
        done = subprocess.run(["zstd", "-dcq", "--", path], stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().splitlines()
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def statistics(path):
    requests, size_sum = collections.Counter(), collections.Counter()
    pages = {"read": set(), "write": set(), "trim": set()}
    live = set()  # pages written and not trimmed since
    aligned, trimmed_live, header, last = 0, 0, False, 0
    for number, line in enumerate(open_lines(path), 1):
        if line.startswith("#") and not header:
            continue
        if not header:
            if line != HEADER:
                raise ValueError(f"{path}:{number}: header is {line[:60]!r}, expected {HEADER!r}")
            header = True
            continue
        try:
            time, device, op, offset, size = line.split(",")
            time, device, offset, size = int(time), int(device), int(offset), int(size)
            if op not in ("read", "write", "trim", "flush") or time < last or size < 0:
                raise ValueError
        except ValueError:
            raise ValueError(f"{path}:{number}: bad record {line[:60]!r}") from None
        last = time
        requests[op] += 1
        size_sum[op] += size
        if op == "flush":
            continue
        touched = [(device, page) for page in range(offset // PAGE, -(-(offset + size) // PAGE))]
        if op == "write":
            live.update(touched)
        if op == "trim":
            whole = range(-(-offset // PAGE), (offset + size) // PAGE)
            gone = live.intersection((device, page) for page in whole)
            trimmed_live += len(gone)
            live -= gone
        aligned += op == "write" and offset % PAGE == 0 and size % PAGE == 0
        pages[op].update(touched)
    if not header:
        raise ValueError(f"{path}: no header")
    print(path)
    for op in ("read", "write", "trim", "flush"):
        print(f"  {op:6} {requests[op]:8} requests {size_sum[op] / MIB:10.1f} MiB")
    print(f"  all    {sum(requests.values()):8} requests in {last / 1e6:.1f} s")
    write, read = len(pages["write"]), len(pages["read"] | pages["write"])
    print(f"  footprint: written {write * PAGE / MIB:.1f} MiB, written or read "
          f"{read * PAGE / MIB:.1f} MiB, with trims {len(set().union(*pages.values())) * PAGE / MIB:.1f} MiB")
    if write:
        print(f"  overwrite ratio {size_sum['write'] / (write * PAGE):.2f}; "
              f"mean write {size_sum['write'] / requests['write'] / 1024:.1f} KiB; "
              f"writes in whole 4 KiB pages {100 * aligned / requests['write']:.1f} %")
        print(f"  trims ended the life of {trimmed_live * PAGE / MIB:.1f} MiB of written pages; "
              f"{len(live) * PAGE / MIB:.1f} MiB live at the end")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("usage: trace_stats.py TRACE [TRACE ...]", file=sys.stderr)
        return 2
    try:
        for path in sys.argv[1:]:
            statistics(path)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"trace_stats: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
