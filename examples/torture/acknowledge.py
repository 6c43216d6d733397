"""Marks from Python: what came before one was acknowledged to a user."""

import os
import socket

_stream = None


def mark(text: str) -> None:
    """Returns when the mark is recorded."""
    global _stream
    if _stream is None:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(os.environ["PHELSUMA_MARK_SOCKET"])
        _stream = connection.makefile("rw")
    _stream.write(text + "\n")
    _stream.flush()
    if _stream.readline() != "ok\n":
        raise SystemExit("the mark was not recorded")


def passed() -> list[str]:
    """The marks that were passed before the power cut, for a check."""
    with open(os.environ["PHELSUMA_MARKS"]) as marks:
        return marks.read().splitlines()
