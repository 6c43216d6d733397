"""Errors, each with the line that the command prints."""

from __future__ import annotations


class PhelsumaError(Exception):
    """The base of all errors. The message says what is wrong, where, and what to do."""


class InputError(PhelsumaError, ValueError):
    """The usage or the input is wrong. The command exits with code 2."""


class RunFailedError(PhelsumaError, RuntimeError):
    """A run began but was not completed: the FTL or the drive failed. The command exits with code 1."""
