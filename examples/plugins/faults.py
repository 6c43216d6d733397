"""Tries FTLs with one fault at a time, and prints a table in Markdown: fault by FTL.

    python3 faults.py COMMAND FTL... [-- OPTION...]

COMMAND runs phelsuma. An FTL is a preset, or the file of a plugin. The options are those of `phelsuma crash`; `--faults`
names those that are tried.
"""

import json
import shlex
import subprocess
import sys

KINDS = ("lost", "corrupt", "stuck", "panics")


def output_of(command):
    """What a command prints; it may report failures of FTLs."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(done.stderr.strip() or f"{shlex.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def cell(report):
    """What came of one FTL with one fault, in a few words."""
    kinds = [f"{report[kind]:,} {kind}" for kind in KINDS if report[kind]]
    if report["not_promised"]:
        kinds.append(f"{report['not_promised']:,} not promised")
    return ", ".join(kinds) or "-"


def main():
    """Runs all of them."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    (command, *ftls), options = words[:split], words[split + 1 :]
    command = shlex.split(command)
    faults = [fault["name"] for fault in output_of([*command, "list", "--json"])["faults"] if fault["name"] != "announced"]
    # Faults of programs and of erases may have one name; it stands for both.
    faults = list(dict.fromkeys(faults))
    if "--faults" in options:
        at = options.index("--faults")
        faults = options[at + 1].split(",")
        del options[at : at + 2]
    columns = {}
    for ftl in ftls:
        subject = ["--plugin", ftl] if ftl.endswith(".so") else ["--ftl", ftl]
        for fault in faults:
            report = output_of([*command, "crash", *subject, "--faults", fault, "--json", *options])[0]
            columns.setdefault(report["ftl"], []).append(report)
    print("| fault |" + "".join(f" {name} |" for name in columns))
    print("| --- |" + " ---: |" * len(columns))
    for number, fault in enumerate(faults):
        print(f"| `{fault}` |" + "".join(f" {cell(reports[number])} |" for reports in columns.values()))
    cuts = [f"{sum(report['cuts'] for report in reports):,}" for reports in columns.values()]
    print("| cuts |" + "".join(f" {count} |" for count in cuts))


if __name__ == "__main__":
    main()
