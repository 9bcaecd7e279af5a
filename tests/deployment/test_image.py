"""The Dockerfile's own steps, and what comes of them. Takes minutes: it installs and compiles."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deployment.image import LEFT_OUT, Image
from tests.learning.test_warm import COMPILED, USE_EVERYTHING
from tests.services import new_client, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("setpriv, with which root would give up its rights, is not installed")
    folder = Path(tempfile.mkdtemp(prefix="image-"))  # short, and open to other users, as pytest's folders are not
    image = Image(folder)
    try:
        image.build()
        yield image
    finally:
        image.unprotect()
        shutil.rmtree(folder)


class Container:
    """The service of an image, on a free port of this machine."""

    def __init__(self, image: Image) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        self.log = image.temporary.parent / "container.log"
        given = {"SLUICE_HOST": "127.0.0.1", "SLUICE_PORT": self.port}
        words = image.final.one("ENTRYPOINT").exec_form + image.final.one("CMD").exec_form
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(image.command(words), **image.options(given), stdout=log, stderr=log)
        self.client = new_client()
        self.url = f"http://127.0.0.1:{self.port}"

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.client.get(f"{self.url}/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(30)


@pytest.fixture(scope="module")
def container(image: Image) -> Iterator[Container]:
    container = Container(image)
    try:
        wait_until(container.is_ready, "the service of the image does not become ready", 60.0)
        yield container
    finally:
        if container.process.poll() is None:
            container.stop()
        container.client.close()


def test_only_what_would_change_this_machine_was_left_out(image: Image) -> None:
    assert image.left_out == LEFT_OUT.keys()


def test_what_builds_the_project_does_not_come_along(image: Image) -> None:
    packages = {path.name for path in (image.root / "opt/sluice/lib").glob("python*/site-packages/*")}
    assert {"app", "kernels", "numba"} <= packages
    assert not packages & {"hatchling", "pip", "pytest", "setuptools"}


def test_the_installation_really_cannot_be_written_to(image: Image) -> None:
    for place in ("opt/sluice/compiled/new", "opt/sluice/lib/new"):
        done = image.run("python", "-c", f"open({str(image.root / place)!r}, 'w')")
        assert "PermissionError" in done.stderr


def test_nothing_is_compiled_at_run_time(image: Image) -> None:
    before = image.files()
    done = image.run("python", "-c", USE_EVERYTHING + COMPILED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
    assert image.files() == before


def test_without_its_kernels_it_would_compile(image: Image) -> None:
    """So that the test before this one means something."""
    done = image.run(
        "python", "-c", "from kernels.feature_hash import key_of; key_of('a')" + COMPILED, NUMBA_CPU_FEATURES="+sse3"
    )
    assert done.returncode == 0, done.stderr
    assert "hash_name" in done.stdout.split()


def test_the_service_learns_and_writes_to_nothing_but_its_data(image: Image, container: Container) -> None:
    before = image.files()
    given = {"tenant": "acme", "url": "http://login.example.org/verify", "label": 1}
    answer = container.client.post(f"{container.url}/feedback", json=given)
    assert answer.json()["updated"], answer.text
    assert container.client.get(f"{container.url}/metrics").status_code == httpx.codes.OK
    assert image.files() == before
    assert {path.name for path in image.root.iterdir()} == {"data", "opt"}


def test_the_demo_of_the_image_plays_against_it(image: Image, container: Container) -> None:
    done = image.run("sluice", "demo", "--url", container.url, "--examples", "60", "--rate", "200")
    assert done.returncode == 0, done.stderr
    assert "They agree." in done.stdout


def test_its_health_is_asked_for_and_it_ends_when_told(image: Image, container: Container) -> None:
    check = image.final.one("HEALTHCHECK").exec_form
    assert image.run(*check, SLUICE_PORT=container.port).returncode == 0
    begin = time.monotonic()
    assert container.stop() == 0
    assert time.monotonic() - begin < 10.0
    assert image.run(*check, SLUICE_PORT=container.port).returncode == 1
