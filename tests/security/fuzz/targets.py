"""Every parser of untrusted input: how to generate its inputs, and what must hold for each."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.security.fuzz import files, requests


class Target(NamedTuple):
    """A parser to fuzz."""

    inputs: Callable[[], st.SearchStrategy[Any]]
    check: Callable[[Any], None]


TARGETS = {
    "features": Target(requests.features, requests.read_features),
    "bodies": Target(requests.bodies, requests.answer_body),
    "lines": Target(requests.lines, requests.answer_lines),
    "settings": Target(requests.settings, requests.take_settings),
    "datasets": Target(files.dataset, files.read_dataset),
    "raw-inputs": Target(files.raw, files.featurize),
    "log": Target(files.record, files.decode_record),
    "models": Target(files.model, files.load_model),
}
