"""Errors: each has the clear line that the command prints."""

from __future__ import annotations


class PhelsumaError(Exception):
    """Something was not done; the message says what is wrong, where, and what would be right."""


class InputError(PhelsumaError, ValueError):
    """What was asked for cannot be: wrong usage or input. The command ends with 2."""


class RunFailedError(PhelsumaError, RuntimeError):
    """It was begun and not completed as asked: a failure of the FTL or the drive. The command ends with 1."""
