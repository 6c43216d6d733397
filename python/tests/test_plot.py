"""Every picture is drawn, of what there is; where there is nothing, that is said."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np
import pytest
from conftest import SMALL

import phelsuma

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from phelsuma import plot  # noqa: E402


@pytest.fixture(scope="module")
def results() -> phelsuma.Results:
    return phelsuma.compare(
        ["page", "dftl-page", "geckoftl", "fast"],
        workload="mixed:read=30:hotcold:80/20",
        cut_at_end=True,
        distributions=True,
        interval=5000,
        **SMALL,
    )


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    matplotlib.pyplot.close("all")


def texts(axes: Any) -> list[str]:
    """What is written in a picture, without what is empty."""
    return [text.get_text() for text in axes.figure.findobj(matplotlib.text.Text) if text.get_text()]


def overlapping(axes: Any) -> list[tuple[str, str]]:
    """Texts that are drawn over each other."""
    axes.figure.canvas.draw()
    shown = [t for t in axes.figure.findobj(matplotlib.text.Text) if t.get_text().strip() and t.get_visible()]
    boxes = [(t.get_text(), t.get_window_extent().padded(-1)) for t in shown if t.axes is None or t.axes.get_visible()]
    seen = [box for box in boxes if box[1].width > 0 and axes.figure.bbox.overlaps(box[1])]
    return [(a, b) for n, (a, x) in enumerate(seen) for b, y in seen[:n] if x.overlaps(y) and a != b]


def test_bars_of_write_amplification_add_up(results: phelsuma.Results) -> None:
    axes = plot.wa(results)
    tops = {}
    for bar in axes.patches:
        place = round(bar.get_x() + bar.get_width() / 2)
        tops[place] = max(tops.get(place, 0), bar.get_y() + bar.get_height())
    assert [tops[n] for n in range(len(results))] == pytest.approx([result.wa for result in results])
    assert plot.wa(results, reads_weighted=True).get_ylim()[1] > axes.get_ylim()[1]


@pytest.mark.parametrize("draw", ["wa", "tradeoff", "latencies", "lifetimes", "series"])
def test_pictures_of_results_have_labels_and_no_text_over_another(results: phelsuma.Results, draw: str) -> None:
    axes = getattr(plot, draw)(results)
    assert axes.get_ylabel() and (axes.get_xlabel() or axes.get_xticklabels())
    assert any("geckoftl" in text for text in texts(axes))
    assert overlapping(axes) == []
    # One result alone, and an axes of somebody else's.
    _, mine = matplotlib.pyplot.subplots()
    assert getattr(plot, draw)(results[1], axes=mine) is mine


def test_pictures_of_a_drive_show_it() -> None:
    drive = phelsuma.Drive("geckoftl", **SMALL)
    rng = np.random.default_rng(1)
    samples = {}
    for n in range(1, 40):
        drive.submit("write", rng.integers(drive.logical_pages, size=1000))
        samples[1000 * n] = drive.gecko_runs() or []
    for axes in (plot.wear(drive), plot.validity(drive), plot.extents(drive), plot.gecko_runs(samples)):
        assert axes.get_xlabel() and axes.get_ylabel() and overlapping(axes) == []
    assert plot.wear([1, 2, 3]).images[0].get_array().max() == 3


def test_what_is_not_in_a_result_is_said_with_what_would_be_right() -> None:
    result = phelsuma.run("page", workload="uniform", **SMALL)
    for draw, right in [
        (plot.tradeoff, "cut_at_end=True"),
        (plot.lifetimes, "distributions=True"),
        (plot.series, "interval=N"),
    ]:
        with pytest.raises(phelsuma.InputError, match=right):
            draw(result)  # type: ignore[operator]
    with pytest.raises(phelsuma.InputError, match="no read in these runs"):
        plot.latencies(result, op="read")
    with pytest.raises(phelsuma.InputError, match="one or more would be right"):
        plot.wa([])
    with pytest.raises(phelsuma.InputError, match="Logarithmic Gecko"):
        plot.gecko_runs({})
    with pytest.raises(phelsuma.InputError, match="no extent"):
        plot.extents(phelsuma.Drive("page", fill="none", **SMALL))
