"""Measures the programs of this folder, and holds them to limits (sizes.json). `make firmware-size` runs it.

Text is that of a whole program but for its flash driver: vectors, start, FTL, constants. RAM is the memory that is lent,
and the handle. The stack is what a run in QEMU has used at the most, below the caller of the FTL.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NAMES = {"ram-table": "RamTable", "gecko": "Gecko", "smallest": "Smallest"}
# Above what is stored by more than this share is an error. It is for another compiler's ways.
ROOM = 1.02
BOOTS = 200


def out_of(*command: str) -> str:
    # QEMU takes semihosting for messages of its own.
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def measured(built: Path, parts: str, qemu: list[str]) -> dict[str, int]:
    """Bytes of one program, by what they are of."""
    program = str(built / f"size-{parts}")
    text = int(out_of("arm-none-eabi-size", program).splitlines()[1].split()[0])
    sizes: dict[str, int] = {"driver": 0}
    for line in out_of("arm-none-eabi-nm", "-S", "-C", program).splitlines():
        found = re.match(r"\w+ (\w+) (\w) (.+)", line)
        if not found:
            continue
        size, name = int(found[1], 16), found[3]
        if "NotCounted" in name:
            sizes["driver"] += size
        elif name in ("PHELSUMA_MEMORY", "PHELSUMA_HANDLE"):
            sizes[name.removeprefix("PHELSUMA_").lower()] = size
    run = out_of(*(word.replace("PARTS", parts) for word in qemu), "-kernel", str(built / "boots"))
    stack = int(re.search(r"stack (\d+) bytes", run)[1])  # type: ignore[index]
    return {
        "text": text - sizes["driver"],
        "memory": sizes["memory"],
        "handle": sizes["handle"],
        "ram": sizes["memory"] + sizes["handle"],
        "stack": stack,
    }


def panics(program: Path) -> list[str]:
    """Functions of a program that only a panic calls."""
    return [line for line in out_of("arm-none-eabi-nm", "-C", str(program)).splitlines() if "core::panicking" in line]


def main() -> int:
    built, update = Path(sys.argv[1]), "--update" in sys.argv
    qemu = sys.argv[2].split()
    limits = json.loads((FOLDER / "sizes.json").read_text())
    complaints = []
    print("| parts | text | of at most | memory lent | handle | RAM | of at most | stack |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for parts, name in NAMES.items():
        now = measured(built, parts, qemu)
        most, stored = limits["most"][parts], limits["measured"].setdefault(parts, {})
        cells = [now["text"], most["text"], now["memory"], now["handle"], now["ram"], most.get("ram"), now["stack"]]
        print(f"| {name} |", " | ".join("" if cell is None else f"{cell:,}" for cell in cells), "|")
        for what, bytes_now in now.items():
            if bytes_now > most.get(what, bytes_now):
                complaints.append(f"{name}: {what} is {bytes_now:,} bytes, and {most[what]:,} are the most")
            # How deep the stack is depends on which cuts come: it has an upper limit alone.
            if not update and what != "stack" and bytes_now > stored.get(what, 0) * ROOM:
                complaints.append(f"{name}: {what} is {bytes_now:,} bytes, and {stored.get(what, 0):,} are in sizes.json")
        complaints += [f"{name} can panic: {line}" for line in panics(built / f"size-{parts}")]
        limits["measured"][parts] = now
    complaints += [f"an adapter can panic: {line}" for line in panics(built / "adapters")]
    if update:
        (FOLDER / "sizes.json").write_text(json.dumps(limits, indent=2) + "\n")
    print("\n".join(complaints) or "no path of them panics")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
