"""All contenders on one stream at one ratio, and in the scenarios and cold starts with what was best there."""

import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from experiments.examples import Examples
from experiments.preparation import facts_of
from experiments.quality.contenders import FEWEST_ERRORS, OURS, Contender, Options, Played
from experiments.quality.matches import Best, figures_of, forms_of_best, loss_of, matches_of
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
    TREC,
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
from experiments.tasks import code, log
from kernels.arrays import Floats

SILENT_SECONDS = 10.0  # a contender that takes longer on a stream is logged
ONLINE_CODE = ("experiments/quality/scenarios.py",)
FINALISTS = 2  # points of a grid that play all samples, for each objective
CLIMBED = 3  # moves of a search on whole streams
CHANGED = (PDD, TREC, "spamassassin", "a9a", "payments")  # streams of the scenarios
CHANGED_OURS = (OURS, FEWEST_ERRORS, f"{OURS}, cs-ssol", f"{OURS}, ftrl")
COLD = (PHISHSTORM, PDD, PHISHTANK, JPCERT, TREC)


def has_scenarios(name: str, ratio: str) -> bool:
    return ratio == NATURAL and name in CHANGED


def has_cold_starts(name: str, ratio: str) -> bool:
    return ratio in LABELS and name in COLD


def evaluate(  # noqa: PLR0913, PLR0917 - the arguments of a task
    name: str, ratio: str, work: str, limit: int | None, seeds: list[int], searched: int, moves: int
) -> Outcome:
    digest.cache_clear()  # it would keep the streams of earlier tasks in memory
    cell = Cell(streams()[name], ratio, Path(work), limit, seeds, searched, moves)
    facts = facts_of(name, cell.whole)
    if not cell.samples:
        return Outcome(name, ratio, facts)
    bests = cell.bests()
    batch = None
    if ratio == NATURAL and BINS in (forms := cell.forms[0]):
        half = len(cell.whole) // 2
        batch = confusion(cell.whole.labels[half:], batch_last_half(forms[BINS])).balanced_accuracy
    return Outcome(name, ratio, facts, [best.row for best in bests], matches_of("", bests, cell.samples), [], batch)


def change(  # noqa: PLR0913, PLR0917 - the arguments of a task
    name: str, ratio: str, work: str, limit: int | None, seeds: list[int], searched: int, moves: int, starts: int
) -> Outcome:
    """The points of the search are known: only scenarios and cold starts are played."""
    digest.cache_clear()
    cell = Cell(streams()[name], ratio, Path(work), limit, seeds, searched, moves)
    found = Outcome(name, ratio, facts_of(name, cell.whole))
    if not cell.samples:
        return found
    bests = [best for best in cell.bests() if _is_changed(best)]
    matches: list[Match] = []
    curves: list[Curve] = []
    if has_scenarios(name, ratio):
        matches = [match for scenario in (*SCRIPTS, *ONLINE) for match in cell.changed(scenario, bests)]
    if has_cold_starts(name, ratio):
        curves = [
            cell.cold(each, starts) for each in bests if each.row.objective == BALANCED and _is_first(each, bests)
        ]
    return msgspec.structs.replace(found, matches=matches, curves=curves)


Seen = dict[Point, dict[str, float]]  # the figures of points
Lines = list[tuple[Examples, Floats]]  # to play, with their right labels


class Cell:
    """One stream at one ratio: its samples in all forms, and the verdicts on them."""

    def __init__(  # noqa: PLR0913, PLR0917 - those of a task
        self, stream: Stream, ratio: str, work: Path, limit: int | None, seeds: list[int], searched: int, moves: int
    ) -> None:
        self._name, self._ratio, self._searched, self._moves = stream.name, ratio, searched, moves
        self.objectives = OBJECTIVES if ratio == NATURAL else (BALANCED,)
        self.contenders = contenders(with_raws=stream.kind == "mails")
        with_raws = any(each.takes_raw for each in self.contenders)
        self.whole = stream.read(work, limit, with_raws=with_raws)
        self.samples = samples_of(self.whole, ratio, seeds)
        longest = max((sample.lines.starts[-1] for sample in self.samples), default=0)
        self.contenders = [each for each in self.contenders if longest <= each.longest]
        self._beginnings: dict[tuple[str, int], Examples] = {}
        self.points = Points(work / "points" / f"{stream.name}-{ratio.replace(':', '-')}.sqlite")

    @cached_property
    def forms(self) -> list[dict[str, Examples]]:
        return [forms_of(sample.lines) for sample in self.samples]

    def bests(self) -> list[Best]:
        """Return the best points of all contenders that play a stream of this size."""
        found: list[Best] = []
        for number, contender in enumerate(self.contenders, 1):
            before, start = self.points.computed, time.perf_counter()
            found += self.best(contender, forms_of_best(found))
            taken, new = time.perf_counter() - start, self.points.computed - before
            if taken > SILENT_SECONDS:
                text = f"{contender.name} ({number} of {len(self.contenders)})"
                log(f"{self._name} {self._ratio}: {text}: {new} runs in {taken:.0f} s")
        return found

    def best(self, contender: Contender, forms: Sequence[str] = ()) -> list[Best]:
        """Return the best point for each objective, over all forms: those with the least mean loss on all samples.

        A contender that does not climb plays only those forms that were best for others, if there are some.

        The grid is searched on the beginning of the first sample. The best points then play whole samples, and some
        contenders search on among their neighbours.
        """
        finals: list[tuple[str, Point, list[Verdicts]]] = []
        begun: dict[str, Seen] = {form: {} for form in self._forms(contender, forms)}
        whole: dict[str, Seen] = {form: {} for form in begun}
        for objective in self.objectives:
            losses: dict[tuple[str, Point], float] = {}
            for form, seen in begun.items():
                found = self._climb(contender, self._beginning(contender, form), objective, seen)
                losses |= {(form, point): loss for point, loss in found.items()}
            best = sorted(losses, key=losses.__getitem__)[:FINALISTS]
            if contender.climbs:
                form = best[0][0]
                firsts = [point for each, point in best if each == form]
                samples = self._searched_samples(contender, form)
                found = self._climb(contender, samples, objective, whole[form], firsts)
                best = [(form, point) for point in sorted(found, key=found.__getitem__)[:FINALISTS]]
            finals += [(form, point, self._verdicts(contender, form, point)) for form, point in best]
        tried = sum(len({*begun[form], *whole[form]}) for form in begun)
        return [self._chosen(contender, finals, objective, tried) for objective in self.objectives]

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

    def _forms(self, contender: Contender, best: Sequence[str] = ()) -> list[str]:
        if contender.is_ours or contender.takes_raw:
            return [AS_GIVEN]
        return list(self.forms[0] if contender.climbs or not best else best)

    def _firsts(self, contender: Contender, objective: str) -> list[Point]:
        """Begin without weights, or with one that makes both classes about equal; and all over the grid."""
        positives = max(float((self.samples[0].truth > 0.0).mean()), 1e-3)
        wanted = (1.0 - positives) / positives if objective == BALANCED else 1.0
        first = contender.start, int(np.argmin([abs(np.log(weight / wanted)) for weight in contender.weights]))
        return list(dict.fromkeys([first, *(lattice(contender) if self._moves > 1 else ())]))  # a trial has one start

    def _climb(
        self, contender: Contender, samples: Lines, objective: str, seen: Seen, firsts: Sequence[Point] = ()
    ) -> dict[Point, float]:
        """Search from all over the grid, or from some points with few moves."""
        moves = min(self._moves, CLIMBED) if firsts else self._moves
        firsts = firsts or self._firsts(contender, objective)
        return climb(contender, firsts, lambda some: self._losses(contender, samples, some, objective, seen), moves)

    def _beginning(self, contender: Contender, form: str) -> Lines:
        lines = self._of(contender, form, 0)
        count = min(int(np.searchsorted(lines.starts, contender.nonzeros, side="right")) - 1, contender.beginning)
        if count >= len(lines):
            return [(lines, self.samples[0].truth)]
        key = form, count
        if key not in self._beginnings:  # the same object for all contenders: what is derived from it is kept
            self._beginnings[key] = lines.first(count)
        return [(self._beginnings[key], self.samples[0].truth[:count])]

    def _searched_samples(self, contender: Contender, form: str) -> Lines:
        count = min(self._searched, len(self.samples))
        return [(self._of(contender, form, number), self.samples[number].truth) for number in range(count)]

    def _losses(
        self, contender: Contender, samples: Lines, points: Sequence[Point], objective: str, seen: Seen
    ) -> list[float]:
        new = [point for point in points if point not in seen]
        if new:
            settings = [contender.options(point) for point in new]
            runs = [self.points.play(contender, lines, settings) for lines, _ in samples]
            for place, point in enumerate(new):
                each = [figures_of(truth, run[place].said) for (_, truth), run in zip(samples, runs, strict=True)]
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


def _is_changed(best: Best) -> bool:
    """What plays in scenarios and cold starts: some of ours, and the rivals that are ever best."""
    return best.contender.name in CHANGED_OURS if best.contender.is_ours else best.contender.climbs


def _is_first(best: Best, bests: Sequence[Best]) -> bool:
    """Cold starts are those of our default and of each rival's best point."""
    return best.contender.name == bests[0].contender.name or not best.contender.is_ours
