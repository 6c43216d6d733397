"""Every picture is drawn, of what there is; where there is nothing, that is said."""

from __future__ import annotations

import json
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


def outline(text: Any) -> Any:
    """What a text covers, turned as it is."""
    box = text.get_window_extent()
    turned = np.radians(text.get_rotation())
    cos, sin = abs(np.cos(turned)), abs(np.sin(turned))
    # The box around a rectangle that is turned by less than 45 degrees or by 90 gives its sides.
    by = cos**2 - sin**2
    width, height = (box.width * cos - box.height * sin) / by, (box.height * cos - box.width * sin) / by
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) * (width / 2 - 1, height / 2 - 1)
    turn = np.array([(np.cos(turned), np.sin(turned)), (-np.sin(turned), np.cos(turned))])
    return matplotlib.path.Path(corners @ turn + ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))


def drawn(axes: Any) -> list[Any]:
    """Every text that the picture has once it is drawn, wherever it is."""
    found: dict[int, Any] = {}
    draw = matplotlib.text.Text.draw

    def noted(text: Any, *more: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            found[id(text)] = text
        draw(text, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib.text.Text, "draw", noted)
        axes.figure.canvas.draw()
    return list(found.values())


def overlapping(axes: Any) -> list[tuple[str, str]]:
    """Texts that are drawn over each other or, with nothing, not in the figure as a whole; and axes without height."""
    seen = drawn(axes)
    boxes = [(text.get_text(), outline(text)) for text in seen]
    pairs = [(a, b) for n, (a, x) in enumerate(boxes) for b, y in boxes[:n] if x.intersects_path(y, filled=True)]
    outside, bbox = [], axes.figure.bbox.padded(1)
    for text in seen:
        box = text.get_window_extent()
        if not (bbox.contains(box.x0, box.y0) and bbox.contains(box.x1, box.y1)):
            outside.append((text.get_text(), ""))
    inside = axes.get_window_extent()
    small = [] if inside.width > 200 and inside.height > 150 else [(f"{inside.width} x {inside.height}", "")]
    return pairs + outside + small


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


def changed(result: phelsuma.Result, **parts: Any) -> phelsuma.Result:
    """A result with other values at these paths, such as ram_bytes__papers__total."""
    value = json.loads(result.to_json())
    for path, new in parts.items():
        *way, last = path.split("__")
        of = value
        for key in way:
            of = of[key]
        of[last] = new
    return phelsuma.Result.of(value)


LONG = ["ftl-mm:superblock", "dftl-timeout", "cost-benefit", "static-quota", "mu-ftl-pvb", "ftl-mm:block"]


def many(result: phelsuma.Result, count: int, workloads: int = 1) -> list[phelsuma.Result]:
    """Results of so many FTLs with long names, RAM and recovery from next to nothing to very much."""
    each = []
    for n in range(count):
        of = {"ftl": LONG[n % 6] + (str(n // 6) if n >= 6 else ""), "oracle": n == 3}
        of.update(ram_bytes__papers__total=2 ** (2 * n + 3), recovery__simulated_us=10.0 ** (n % 9))
        each.extend(changed(result, workload=f"mixed:read=30:hotcold:{n}/20", **of) for n in range(workloads))
    return each


def test_an_ftl_that_writes_on_a_battery_at_the_cut_is_called_so(results: phelsuma.Results) -> None:
    each = [results[0], changed(results[1], recovery__battery_programs=7)]
    names = [text.get_text() for text in plot.tradeoff(each).get_legend().get_texts()]
    assert [name.endswith(", with a battery") for name in names] == [False, True]


@pytest.mark.parametrize("draw", ["wa", "tradeoff", "latencies", "lifetimes", "series"])
@pytest.mark.parametrize(("count", "workloads"), [(12, 1), (1, 5), (4, 3), (20, 1)])
def test_many_results_with_long_names_fit(results: phelsuma.Results, draw: str, count: int, workloads: int) -> None:
    each = many(results["geckoftl"], count, workloads)
    axes = getattr(plot, draw)(each)
    assert overlapping(axes) == []
    names = [text.get_text() for text in (axes.get_xticklabels() if draw == "wa" else axes.get_legend().get_texts())]
    assert len(set(names)) == len(names) == count * workloads
    if draw == "tradeoff":
        marks = [(m.get_paths()[0].vertices.tobytes(), m.get_edgecolor().tobytes()) for m in axes.collections]
        assert len(set(marks)) == len(marks), "marks are told apart by shape and edge"


@pytest.mark.parametrize("spread", [1.0, 1.01, 1.5, 8.0, 60.0, 3e3, 1e6, 1e9])
def test_ticks_have_room_however_far_an_axis_reaches(results: phelsuma.Results, spread: float) -> None:
    low, high = 3000, int(3000 * spread)
    each = [
        changed(results[0], ram_bytes__papers__total=low, recovery__simulated_us=50.0),
        changed(results[1], ram_bytes__papers__total=high, recovery__simulated_us=50.0 * spread),
    ]
    axes = plot.tradeoff(each)
    assert overlapping(axes) == []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        assert sum(low <= place <= high for place in axis.get_majorticklocs()) >= 2


def test_names_that_repeat_say_what_differs(results: phelsuma.Results) -> None:
    one = results["page"]

    def labels(*each: phelsuma.Result) -> list[str]:
        return [plot._line(label) for label in plot._labels(each)]

    zipf = changed(one, workload="zipf:0.9")
    assert labels(one, results["fast"]) == ["page", "fast"]
    assert labels(one, zipf, results["fast"]) == [f"page, {one.workload}", "page, zipf:0.9", "fast"]
    tight = changed(zipf, geometry__ratio=0.9)
    assert labels(zipf, tight) == ["page, ratio 0.8", "page, ratio 0.9"]
    assert labels(one, zipf, tight)[1:] == ["page, zipf:0.9, ratio 0.8", "page, zipf:0.9, ratio 0.9"]
    assert labels(one, changed(one, composition__victim="fifo")) == ["page, victim=greedy", "page, victim=fifo"]
    assert labels(one, changed(one, seed=7)) == ["page, seed 1", "page, seed 7"]
    assert labels(one, one) == ["page, no. 1", "page, no. 2"]
    assert labels(changed(one, oracle=True), one) == ["page (oracle)", "page"]


def test_a_run_without_writes_has_its_place_among_the_others(results: phelsuma.Results) -> None:
    idle = changed(results["page"], ftl="idle", write_amplification=None)
    axes = plot.tradeoff([idle, results["fast"]])
    axes.figure.canvas.draw()
    assert any(text == "idle: no writes" for text in texts(axes))
    plot.tradeoff(idle).figure.canvas.draw()


def test_a_legend_fits_axes_of_somebody_elses(results: phelsuma.Results) -> None:
    for layout in (None, "constrained"):
        figure, (mine, _) = matplotlib.pyplot.subplots(1, 2, figsize=(9, 6), layout=layout)
        plot.series(many(results["geckoftl"], 12), axes=mine)
        figure.canvas.draw()
        box = mine.get_legend().get_window_extent()
        assert figure.bbox.padded(1).contains(box.x0, box.y0) and figure.bbox.padded(1).contains(box.x1, box.y1)


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
    with pytest.raises(phelsuma.InputError, match="give one or more"):
        plot.wa([])
    with pytest.raises(phelsuma.InputError, match="Logarithmic Gecko"):
        plot.gecko_runs({})
    with pytest.raises(phelsuma.InputError, match="no extent"):
        plot.extents(phelsuma.Drive("page", fill="none", **SMALL))
