"""Tasks: all contenders on one stream at one ratio, and in the scenarios and cold starts with what was best there."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from experiments.examples import Examples
from experiments.preparation import facts_of
from experiments.quality.contenders import Contender, Options, Played
from experiments.quality.matches import Best, figures_of, loss_of, matches_of
from experiments.quality.points import Points, Verdicts, digest
from experiments.quality.rivals.forms import AS_GIVEN, BINS, forms_of
from experiments.quality.rivals.grid import contenders
from experiments.quality.rivals.libraries import batch_last_half
from experiments.quality.scenarios import ONLINE, SCRIPTS
from experiments.quality.search import Point, climb, edge_of, lattice
from experiments.quality.streams import (
    JPCERT,
    NATURAL,
    PDD,
    PHISHSTORM,
    PHISHTANK,
    RATIOS,
    TREC,
    TREC_BEGINNING,
    Stream,
    samples_of,
    streams,
)
from experiments.quality.verdicts import (
    BALANCED,
    ERROR,
    LABELS,
    OBJECTIVES,
    Curve,
    Match,
    Outcome,
    Row,
    confusion,
    curve,
    last_half,
    mean_curve,
)
from experiments.tasks import Task, code, log

STUDY = "quality"
SILENT_SECONDS = 10.0  # a contender that takes longer on a stream is logged
ONLINE_CODE = ("experiments/quality/scenarios.py",)
FINALISTS = 3  # points of a grid that play all samples
CHANGED = (PDD, TREC, "spamassassin", "a9a", "payments")  # streams of the scenarios
SECONDS = {  # about, for each ratio; others take 100
    PHISHSTORM: 600.0,
    PDD: 400.0,
    PHISHTANK: 600.0,
    JPCERT: 800.0,
    TREC: 600.0,
    TREC_BEGINNING: 250.0,
    "spamassassin": 350.0,
    "enron": 600.0,
    "lingspam": 600.0,
    "news": 400.0,
    "logs": 250.0,
}
COLD = (PHISHSTORM, PDD, PHISHTANK, JPCERT, TREC)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is played."""

    streams: tuple[str, ...]
    ratios: tuple[str, ...]
    examples: int | None  # of each stream at most
    seeds: tuple[int, ...]
    searched: int  # seeds on which points of a grid are searched
    moves: int  # of a search
    starts: int  # cold ones of each stream and ratio


WHOLE = Sizes(tuple(streams()), tuple(RATIOS), None, (1, 2, 3, 4, 5), 2, 20, 20)
QUICK = Sizes((PDD, "sms", "breast-cancer", "payments"), (NATURAL, "1:19"), 1000, (1, 2), 1, 1, 2)


def tasks(sizes: Sizes, names: Iterable[str], work: Path) -> list[Task]:
    found = []
    for name in names:
        for ratio in sizes.ratios:
            plan = {
                "seeds": list(sizes.seeds),
                "searched": sizes.searched,
                "moves": sizes.moves,
                "starts": sizes.starts,
            }
            arguments: dict[str, Any] = {
                "name": name,
                "ratio": ratio,
                "work": str(work),
                "limit": sizes.examples,
                **plan,
            }
            seconds = SECONDS.get(name, 100.0)
            found.append(Task(STUDY, f"{name} {ratio}", seconds, evaluate, arguments))
    return found


def evaluate(  # noqa: PLR0913, PLR0917 - the arguments of a task
    name: str, ratio: str, work: str, limit: int | None, seeds: list[int], searched: int, moves: int, starts: int
) -> Outcome:
    digest.cache_clear()  # it would keep the streams of earlier tasks in memory
    cell = Cell(streams()[name], ratio, Path(work), limit, seeds, searched, moves)
    facts = facts_of(name, cell.whole)
    if not cell.samples:
        return Outcome(name, ratio, facts)
    bests: list[Best] = []
    for number, contender in enumerate(cell.contenders, 1):
        before, start = cell.points.computed, time.perf_counter()
        bests += cell.best(contender)
        taken, new = time.perf_counter() - start, cell.points.computed - before
        if taken > SILENT_SECONDS:
            text = f"{contender.name} ({number} of {len(cell.contenders)})"
            log(f"{name} {ratio}: {text}: {new} runs in {taken:.0f} s")
    matches = matches_of("", bests, cell.samples)
    curves: list[Curve] = []
    batch = None
    if ratio == NATURAL and name in CHANGED:
        matches += [match for scenario in (*SCRIPTS, *ONLINE) for match in cell.changed(scenario, bests)]
    if name in COLD and ratio in LABELS:
        curves = [
            cell.cold(best, starts) for best in bests if best.row.objective == BALANCED and _is_first(best, bests)
        ]
    if ratio == NATURAL and BINS in (forms := cell.forms[0]):
        half = len(cell.whole) // 2
        batch = confusion(cell.whole.labels[half:], batch_last_half(forms[BINS])).balanced_accuracy
    return Outcome(name, ratio, facts, [best.row for best in bests], matches, curves, batch)


class Cell:
    """One stream at one ratio: its samples in all forms, and the verdicts on them."""

    def __init__(  # noqa: PLR0913, PLR0917 - those of a task
        self, stream: Stream, ratio: str, work: Path, limit: int | None, seeds: list[int], searched: int, moves: int
    ) -> None:
        self._ratio, self._searched, self._moves = ratio, searched, moves
        self.contenders = contenders(with_raws=stream.kind == "mails")
        with_raws = any(each.takes_raw for each in self.contenders)
        self.whole = stream.read(work, limit, with_raws=with_raws)
        self.samples = samples_of(self.whole, ratio, seeds)
        self.points = Points(work / "points" / f"{stream.name}-{ratio.replace(':', '-')}.sqlite")

    @cached_property
    def forms(self) -> list[dict[str, Examples]]:
        return [forms_of(sample.lines) for sample in self.samples]

    def best(self, contender: Contender) -> list[Best]:
        """Return the best point for each objective, over all forms: those with the least mean loss on all samples."""
        finals: list[tuple[str, Point, list[Verdicts]]] = []
        tried = 0
        for form in self._forms(contender):
            seen: dict[Point, dict[str, float]] = {}
            for objective in OBJECTIVES:
                losses = climb(
                    contender, self._firsts(contender, objective),
                    lambda points, of=objective, form=form, seen=seen: self._losses(contender, form, points, of, seen),  # type: ignore[misc]
                    self._moves,
                )  # fmt: skip
                best = sorted(losses, key=losses.__getitem__)[:FINALISTS]
                finals += [(form, point, self._verdicts(contender, form, point)) for point in best]
            tried += len(seen)
        return [self._chosen(contender, finals, objective, tried) for objective in OBJECTIVES]

    def changed(self, scenario: str, bests: Sequence[Best]) -> list[Match]:
        """Play a scenario with the points that were best without it."""
        script = SCRIPTS[scenario](self.whole) if scenario in SCRIPTS else self.samples[0]
        forms = forms_of(script.lines)
        found = []
        for best in bests:
            lines = script.lines if best.contender.is_ours else forms.get(best.form, forms[AS_GIVEN])
            settings = [best.contender.options(best.point)]
            if scenario in SCRIPTS:
                (verdicts,) = self.points.play(best.contender, lines, settings)
            elif best.contender.online is None:
                continue
            else:
                online, run = best.contender.online, ONLINE[scenario]

                def play(lines: Examples, options: Options, online: Any = online, run: Any = run) -> Played:  # noqa: ANN401
                    return Played(run(lines, online(lines, options)))

                (verdicts,) = self.points.play_online(
                    best.contender, lines, settings, f"{scenario} {code(ONLINE_CODE)}", play
                )
            said = verdicts.said[script.tested]
            figures = figures_of(script.truth, said)
            row = msgspec.structs.replace(best.row, error=figures[ERROR], balanced=figures[BALANCED])
            found.append(msgspec.structs.replace(best, said=[said], row=row))
        return matches_of(scenario, found, [script])

    def cold(self, best: Best, starts: int) -> Curve:
        """Start empty at random places, the same for all contenders."""
        points, found = LABELS[self._ratio], []
        for number in range(starts):
            lines = self._of(best.contender, best.form, number % len(self.samples))
            room = max(len(lines) - points[-1], 0) + 1
            first = int(np.random.default_rng(number).integers(room))
            window = lines.select(np.arange(first, min(first + points[-1], len(lines))))
            (played,) = self.points.play(best.contender, window, [best.contender.options(best.point)])
            found.append(curve(window.labels, np.where(played.said, 1.0, -1.0), points))
        return Curve(best.contender.name, mean_curve(found))

    def _forms(self, contender: Contender) -> list[str]:
        return [AS_GIVEN] if contender.is_ours or contender.takes_raw else list(self.forms[0])

    def _firsts(self, contender: Contender, objective: str) -> list[Point]:
        """Begin without weights, or with one that makes both classes about equal; and all over the grid."""
        positives = max(float((self.samples[0].truth > 0.0).mean()), 1e-3)
        wanted = (1.0 - positives) / positives if objective == BALANCED else 1.0
        first = contender.start, int(np.argmin([abs(np.log(weight / wanted)) for weight in contender.weights]))
        return list(dict.fromkeys([first, *(lattice(contender) if self._moves > 1 else ())]))  # a trial has one start

    def _losses(
        self,
        contender: Contender,
        form: str,
        points: Sequence[Point],
        objective: str,
        seen: dict[Point, dict[str, float]],
    ) -> list[float]:
        new = [point for point in points if point not in seen]
        if new:
            runs = [
                self.points.play(
                    contender, self._of(contender, form, number), [contender.options(point) for point in new]
                )
                for number in range(min(self._searched, len(self.samples)))
            ]
            for place, point in enumerate(new):
                each = [figures_of(s.truth, run[place].said) for s, run in zip(self.samples, runs, strict=False)]
                seen[point] = {name: fmean(figures[name] for figures in each) for name in OBJECTIVES}
        return [loss_of(seen[point], objective) for point in points]

    def _verdicts(self, contender: Contender, form: str, point: Point) -> list[Verdicts]:
        options = [contender.options(point)]
        return [self.points.play(contender, self._of(contender, form, k), options)[0] for k in range(len(self.samples))]

    def _of(self, contender: Contender, form: str, number: int) -> Examples:
        """Ours get the values as given and scale them on their own."""
        return self.samples[number].lines if contender.is_ours else self.forms[number][form]

    def _chosen(
        self, contender: Contender, finals: Sequence[tuple[str, Point, list[Verdicts]]], objective: str, tried: int
    ) -> Best:
        def figures(verdicts: Sequence[Verdicts]) -> list[dict[str, float]]:
            return [figures_of(s.truth, each.said) for s, each in zip(self.samples, verdicts, strict=True)]

        form, point, verdicts = min(
            finals, key=lambda final: fmean(loss_of(each, objective) for each in figures(final[2]))
        )
        each = figures(verdicts)
        halves = [last_half(s.truth, np.where(v.said, 1.0, -1.0)) for s, v in zip(self.samples, verdicts, strict=True)]
        known = [half for half in halves if half is not None]
        row = Row(
            contender=contender.name,
            form=form if len(self._forms(contender)) > 1 else "",
            objective=objective,
            setting=contender.options(point),
            edge=edge_of(contender, point),
            points=tried,
            error=fmean(one[ERROR] for one in each),
            balanced=fmean(one[BALANCED] for one in each),
            last_half=fmean(known) if known else None,
            sparsity=verdicts[0].sparsity,
        )
        return Best(contender, form, point, [each.said for each in verdicts], row)


def _is_first(best: Best, bests: Sequence[Best]) -> bool:
    """Cold starts are those of our default and of each rival's best point."""
    return best.contender.name == bests[0].contender.name or not best.contender.is_ours
