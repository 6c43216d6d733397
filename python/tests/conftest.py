"""What tests have in common: a command to compare with, the demo trace, a drive small enough to be quick."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "traces" / "sqlite-postgres-ext4.csv.zst"
SMALL: Dict[str, Any] = {"capacity": "64MiB", "ratio": 0.8, "pages_per_block": 32}


def _command() -> str:
    return os.environ.get("PHELSUMA_COMMAND", "")


def command(*words: str) -> Any:
    """What the command prints for these words, which is JSON."""
    if not _command():
        pytest.skip("PHELSUMA_COMMAND does not name the command, which `make test-python` builds")
    done = subprocess.run([_command(), *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def complaint(*words: str) -> str:
    """The line that the command says of these words, which are wrong."""
    if not _command():
        pytest.skip("PHELSUMA_COMMAND does not name the command, which `make test-python` builds")
    done = subprocess.run([_command(), *words], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2), done
    return done.stderr.strip().removeprefix("phelsuma: ")


def without_machine(value: Any) -> Any:
    """A result, or several, without the part that differs from run to run."""
    if isinstance(value, list):
        return [without_machine(one) for one in value]
    return {key: part for key, part in value.items() if key != "machine"}


def documented_keys(schema: str) -> List[str]:
    """The keys of a schema as the first column of its table in docs/JSON.md has them."""
    text = (ROOT / "docs" / "JSON.md").read_text()
    part = text.split(f"## `{schema}`", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    return [row.split("|")[1].strip().strip("`") for row in rows]
