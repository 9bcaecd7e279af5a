"""A stream, played by everyone in turns: every example is scored before its label is learnt."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kernels.arrays import Floats
from load_tests.peers.client.jobs import Done
from load_tests.peers.contenders.contender import Contender, Group
from load_tests.peers.examples import Example
from load_tests.peers.field import Field
from load_tests.peers.figures import Played, judged, latency
from load_tests.peers.telling import say


@dataclass(slots=True)
class Sheet:
    """What one contender has done so far."""

    rates: list[float] = field(default_factory=list)
    predict_seconds: list[Floats] = field(default_factory=list)
    learn_seconds: list[Floats] = field(default_factory=list)
    verdicts: list[bytes] = field(default_factory=list)

    def add(self, examples: int, found: Done) -> None:
        """A turn."""
        if len(found.verdicts) != examples:
            raise RuntimeError(f"{examples} examples got {len(found.verdicts)} verdicts")
        self.rates.append(examples / found.seconds)
        self.predict_seconds.append(found.predict_seconds)
        self.learn_seconds.append(found.learn_seconds)
        self.verdicts.append(found.verdicts)

    def said(self) -> Floats:
        """1 for an anomaly, 0 for what is normal."""
        return np.frombuffer(b"".join(self.verdicts), np.uint8).astype(np.float64)


def play(
    folder: Path, contenders: Sequence[Contender], examples: Sequence[Example], turn: int
) -> tuple[dict[str, Played], dict[str, str]]:
    """What everyone did; and why some did not."""
    sheets = {contender.name: Sheet() for contender in contenders}
    starts = range(0, len(examples), turn)
    with Field(folder, contenders, connections=1) as running:
        for number, start in enumerate(starts):
            some = examples[start : start + turn]
            say(f"examples {start + 1:,} to {start + len(some):,} of {len(examples):,}, one contender after the other")
            for contender in running.turn(number):
                found = running.ask(contender, contender.played(some))
                if found is not None:
                    sheets[contender.name].add(len(some), found)
        failed = running.failed
    labels = np.array([float(example.label) for example in examples])
    ran = [contender for contender in contenders if contender.name not in failed]
    return {contender.name: _played(contender, sheets, labels) for contender in ran}, failed


def _played(contender: Contender, sheets: dict[str, Sheet], labels: Floats) -> Played:
    sheet = sheets[contender.name]
    learn = latency(np.concatenate(sheet.learn_seconds))
    assert learn is not None
    knows = contender.group is not Group.LIMIT
    verdicts = judged(labels, sheet.said(), sheets[contender.beside].said()) if knows else None
    return Played(labels.size, sheet.rates, latency(np.concatenate(sheet.predict_seconds)), learn, verdicts)
