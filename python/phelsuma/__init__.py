"""Phelsuma for Python: run, crash and compare flash translation layers (FTLs).

>>> import phelsuma
>>> result = phelsuma.run("geckoftl", workload="zipf:0.99", capacity="256MiB", ratio=0.8)
>>> result.write_amplification.total  # doctest: +SKIP
"""

from . import _engine
from .drives import BLOCK_KINDS, BLOCK_STATES, NOWHERE, PAGE_STATES, Blocks, Drive, Extents, Histogram
from .errors import InputError, PhelsumaError, RunFailedError
from .options import Options
from .results import Recovery, Result, Results
from .runs import compare, ftls, names, run
from .sweeps import Sweep, grid, sweep
from .traces import OPS, Requests, Trace, Workload

__version__ = _engine.version()

__all__ = [
    "__version__",
    "BLOCK_KINDS",
    "BLOCK_STATES",
    "Blocks",
    "Drive",
    "Extents",
    "Histogram",
    "InputError",
    "NOWHERE",
    "OPS",
    "Options",
    "PAGE_STATES",
    "PhelsumaError",
    "Recovery",
    "Requests",
    "Result",
    "Results",
    "RunFailedError",
    "Sweep",
    "Trace",
    "Workload",
    "compare",
    "ftls",
    "grid",
    "names",
    "run",
    "sweep",
]
