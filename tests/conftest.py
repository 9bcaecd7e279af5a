import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from app.storage.client import Connection, connect
from tests.servers import Server, redis_binary, redis_server, valkey_server

# The same examples on every run; compiling on first use makes deadlines meaningless.
settings.register_profile("sluice", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sluice")


@pytest.fixture(scope="session", autouse=True)
def _signals_are_handled() -> None:
    """Restore signals that a shell ignores for background jobs; processes that tests start would inherit that."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", params=["valkey", pytest.param("redis", marks=pytest.mark.redis)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real server; every test begins with an empty one."""
    if request.param == "redis" and redis_binary() is None:
        pytest.skip("redis-server is not installed")
    start = valkey_server if request.param == "valkey" else redis_server
    with start(tmp_path_factory.mktemp(request.param), port=0) as server:
        yield server


@pytest.fixture
async def connection(store: Server, anyio_backend: str) -> AsyncIterator[Connection]:
    assert anyio_backend
    store.flush_all()
    connection = connect(store.url)
    yield connection
    await connection.aclose()
