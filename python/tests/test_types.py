"""The stubs say what the engine has, and the package is typed throughout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


def mypy(*words: str) -> None:
    pytest.importorskip("mypy")
    # What it remembers stays where it is installed.
    environment = {**os.environ, "MYPY_CACHE_DIR": str(Path(sys.prefix) / "mypy-cache")}
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT / "python" / "tests",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_agree_with_the_engine() -> None:
    mypy("mypy.stubtest", "phelsuma._engine")


def test_the_package_is_typed() -> None:
    mypy("mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p", "phelsuma")
