"""What Python costs a run: CPU time of the command and of the package in turn, and of the command beside itself.

python3 python/overhead.py --phelsuma target/release/phelsuma [--ftl page] [--pairs 15]

Whole processes are compared, the start of Python and of NumPy included, and the call of `run` alone with the whole process
of the command.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from typing import List

LOGICAL_PAGES = 734_003  # of 4 GiB at ratio 0.70
WRITES = 10_000_000

CALL = """
import time, phelsuma
began = time.process_time()
result = phelsuma.run({ftl!r}, workload="uniform", fill="none", warmup=0, passes={passes})
print(time.process_time() - began, result.host.write_pages)
"""


def cpu_seconds(words: List[str]) -> tuple[float, str]:
    """CPU time of a child, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> None:
    """Measures, and prints medians of ratios with the noise floor beside them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--phelsuma", required=True)
    parser.add_argument("--ftl", default="page")
    parser.add_argument("--pairs", type=int, default=15)
    args = parser.parse_args()
    passes = repr(WRITES / LOGICAL_PAGES)
    words = [args.phelsuma, "run", "--ftl", args.ftl, "--workload", "uniform", "--fill", "none", "--warmup", "0"]
    command = [*words, "--passes", passes, "--json"]
    package = [sys.executable, "-c", CALL.format(ftl=args.ftl, passes=passes)]
    whole, call, itself, seconds = [], [], [], []
    for pair in range(args.pairs):
        # In turn first and last.
        first, second = (cpu_seconds(command)[0], None) if pair % 2 else (None, cpu_seconds(package))
        ours = second or cpu_seconds(package)
        theirs = first or cpu_seconds(command)[0]
        again = cpu_seconds(command)[0]
        of_call, written = ours[1].split()
        assert abs(int(written) - WRITES) <= 2, written
        whole.append(ours[0] / theirs - 1)
        call.append(float(of_call) / theirs - 1)
        itself.append(again / theirs - 1)
        seconds.append(theirs)
    print(f"{args.ftl}, {WRITES:,} page writes: the command takes {statistics.median(seconds):.2f} s of CPU")
    for name, ratios in [("run() alone", call), ("the whole of Python", whole), ("the command again", itself)]:
        off = statistics.median(abs(ratio) for ratio in ratios)
        print(
            f"{name}: {100 * statistics.median(ratios):+.1f} % (median of {len(ratios)}; median distance from 0: {100 * off:.1f} %)"
        )


if __name__ == "__main__":
    main()
