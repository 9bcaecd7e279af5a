"""The image built by the steps of the Dockerfile. Slow: it installs and compiles."""

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
from tests.learning.test_compilation import COMPILED, USE_EVERYTHING
from tests.services import new_client, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("setpriv, which root needs to drop its privileges, is not installed")
    folder = Path(tempfile.mkdtemp(prefix="image-"))  # short and accessible to other users, unlike pytest's folders
    image = Image(folder)
    try:
        image.build()
        yield image
    finally:
        image.unprotect()
        shutil.rmtree(folder)


class Container:
    """The service of an image on a free port."""

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
        wait_until(container.is_ready, "the service of the image is not ready", 60.0)
        yield container
    finally:
        if container.process.poll() is None:
            container.stop()
        container.client.close()


def test_only_steps_that_would_change_the_machine_are_skipped(image: Image) -> None:
    assert image.left_out == LEFT_OUT.keys()


def test_build_tools_are_not_in_the_image(image: Image) -> None:
    packages = {path.name for path in (image.root / "opt/sluice/lib").glob("python*/site-packages/*")}
    assert {"app", "kernels", "numba"} <= packages
    assert not packages & {"hatchling", "pip", "pytest", "setuptools"}


def test_the_installation_is_read_only(image: Image) -> None:
    for place in ("opt/sluice/compiled/new", "opt/sluice/lib/new"):
        done = image.run("python", "-c", f"open({str(image.root / place)!r}, 'w')")
        assert "PermissionError" in done.stderr


def test_nothing_is_compiled_at_run_time(image: Image) -> None:
    before = image.files()
    done = image.run("python", "-c", USE_EVERYTHING + COMPILED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
    assert image.files() == before


def test_without_its_cache_it_would_compile(image: Image) -> None:
    """Validates the test above."""
    done = image.run(
        "python", "-c", "from kernels.feature_hash import key_of; key_of('a')" + COMPILED, NUMBA_CPU_FEATURES="+sse3"
    )
    assert done.returncode == 0, done.stderr
    assert "hash_name" in done.stdout.split()


def test_the_service_writes_only_to_its_data(image: Image, container: Container) -> None:
    before = image.files()
    given = {"tenant": "acme", "url": "http://login.example.org/verify", "label": 1}
    answer = container.client.post(f"{container.url}/feedback", json=given)
    assert answer.json()["updated"], answer.text
    assert container.client.get(f"{container.url}/metrics").status_code == httpx.codes.OK
    assert image.files() == before
    assert {path.name for path in image.root.iterdir()} == {"data", "opt"}


def test_the_demo_of_the_image_runs_against_it(image: Image, container: Container) -> None:
    done = image.run("sluice", "demo", "--url", container.url, "--examples", "60", "--rate", "200")
    assert done.returncode == 0, done.stderr
    assert "They agree." in done.stdout


def test_the_health_check_works_and_the_service_stops_on_sigterm(image: Image, container: Container) -> None:
    check = image.final.one("HEALTHCHECK").exec_form
    assert image.run(*check, SLUICE_PORT=container.port).returncode == 0
    begin = time.monotonic()
    assert container.stop() == 0
    assert time.monotonic() - begin < 10.0
    assert image.run(*check, SLUICE_PORT=container.port).returncode == 1
