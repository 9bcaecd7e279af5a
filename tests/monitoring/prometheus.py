"""A real Prometheus on a copy of monitoring/, in which only the targets and the two intervals differ."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.monitoring.files import FOLDER
from tests.servers import free_port
from tests.services import new_client, wait_until

STOP_SECONDS = 10.0

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="prometheus is not installed"
)
Vector = list[tuple[dict[str, str], float]]


class Prometheus:
    """A client of its HTTP API."""

    def __init__(self, port: int, process: "subprocess.Popen[bytes]") -> None:
        self.url = f"http://127.0.0.1:{port}/api/v1"
        self.process = process
        self._client = new_client()

    def query(self, expression: str) -> Vector:
        """The current samples."""
        found = self._ask("query", query=expression)
        samples = [found] if (kind := found["resultType"]) == "scalar" else found["result"]
        assert kind == "vector", expression
        return [(sample["metric"], float(sample["value"][1])) for sample in samples]

    def value(self, expression: str) -> float | None:
        """The only current sample, or None."""
        samples = self.query(expression)
        assert len(samples) <= 1, samples
        return samples[0][1] if samples else None

    def by(self, expression: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The samples by their labels."""
        return {tuple(metric[label] for label in labels): value for metric, value in self.query(expression)}

    def query_range(self, expression: str, seconds: float) -> list[Any]:
        """The series of the last seconds."""
        now = time.time()
        found: list[Any] = self._ask("query_range", query=expression, start=now - seconds, end=now, step=5)["result"]
        return found

    def label_values(self, label: str, metric: str) -> list[str]:
        """What Grafana asks for label_values(metric, label)."""
        found: list[str] = self._ask(f"label/{label}/values", **{"match[]": metric})
        return found

    def is_ready(self) -> bool:
        assert self.process.poll() is None, "Prometheus ended"
        try:
            return self._client.get(self.url.removesuffix("/api/v1") + "/-/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._client.close()

    def _ask(self, what: str, **parameters: object) -> Any:  # noqa: ANN401 - Prometheus' JSON
        answer = self._client.get(f"{self.url}/{what}", params={name: str(value) for name, value in parameters.items()})
        assert answer.status_code == httpx.codes.OK, (parameters, answer.text)
        return answer.json()["data"]


@contextmanager
def prometheus(folder: Path, targets: Sequence[str]) -> Iterator[Prometheus]:
    """Start Prometheus with these targets and a scrape interval of a second."""
    program = shutil.which("prometheus")
    assert program
    configuration = copy_for(folder / "monitoring", targets)
    port = free_port()
    options = (f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn")
    with (folder / "prometheus.log").open("ab") as log:
        process = subprocess.Popen(
            [program, f"--config.file={configuration}", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    running = Prometheus(port, process)
    try:
        wait_until(running.is_ready, f"Prometheus does not become ready: {folder / 'prometheus.log'}")
        yield running
    finally:
        running.close()


def copy_for(copy: Path, targets: Sequence[str]) -> Path:
    """Copy monitoring/ with these targets and short intervals; return the configuration file."""
    shutil.copytree(FOLDER, copy)
    (copy / "targets" / "sluice.yml").write_text(f"- targets: [{', '.join(targets)}]\n")
    configuration = copy / "prometheus.yml"
    intervals = re.compile(r"^(  (?:scrape|evaluation)_interval:) 15s$", re.MULTILINE)
    text, changed = intervals.subn(r"\1 1s", configuration.read_text())
    assert changed == 2
    configuration.write_text(text)
    return configuration
