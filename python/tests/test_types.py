"""The stubs say what the engine has, and the package is typed throughout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import phelsuma


def mypy(*words: str) -> None:
    pytest.importorskip("mypy")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-m", *words], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_agree_with_the_engine() -> None:
    mypy("mypy.stubtest", "phelsuma._engine")


def test_the_package_is_typed() -> None:
    mypy("mypy", "--config-file", "pyproject.toml", str(Path(phelsuma.__file__).parent))
