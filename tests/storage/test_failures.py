import pytest
from redis import exceptions as raised

from app.storage.client.failures import store_error, store_errors
from app.storage.errors import StoreDamaged, StoreUnavailable, StoreUnusable


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (raised.ConnectionError("Error 111"), "cannot be reached"),
        (ConnectionRefusedError(), "cannot be reached"),
        (raised.TimeoutError(), "did not answer in time"),
        (raised.AuthenticationError("hunter2"), "refuses the user name or the password"),
        (raised.BusyLoadingError(), "is still loading"),
        (raised.ReadOnlyError(), "read-only replica"),
        (raised.OutOfMemoryError(), "no memory left"),
        (raised.ClusterDownError("CLUSTERDOWN"), "cluster that is down"),
        (raised.MasterDownError("MASTERDOWN"), "lost its primary"),
        (raised.TryAgainError(), "moving this tenant"),
        (raised.ClusterError("TTL exhausted."), "disagree"),
        (raised.SlotNotCoveredError(), "without a node for this tenant"),
        (raised.RedisClusterException("Redis Cluster cannot be connected."), "cannot be reached as a cluster"),
        (raised.ResponseError("MISCONF Errors writing to the AOF file: No space left"), "cannot write to its disk"),
        (raised.ResponseError("NOREPLICAS Not enough good replicas to write."), "too few replicas"),
        (raised.ResponseError("Error running script (call to f_1): @user_script:1: -OOM command"), "no memory left"),
        (
            raised.ResponseError("Command # 1 (EVALSHA x) of pipeline caused error: ('MISCONF Errors writing',)"),
            "cannot write to its disk",
        ),
    ],
)
def test_an_absent_or_refusing_server_is_an_unavailable_store(error: Exception, sentence: str) -> None:
    with pytest.raises(StoreUnavailable, match=f"^Redis .*{sentence}") as translated, store_errors():
        raise error
    assert translated.value.__cause__ is error
    assert "hunter2" not in str(translated.value)


@pytest.mark.parametrize(
    "error",
    [
        raised.ResponseError("BUSYGROUP Consumer Group name already exists"),
        raised.NoScriptError("NOSCRIPT"),
        raised.InvalidPipelineStack("unexpected"),
        ValueError("ours"),
    ],
)
def test_a_wrong_command_is_not_an_unavailable_store(error: Exception) -> None:
    assert store_error(error) is None
    with pytest.raises(type(error)), store_errors():
        raise error


@pytest.mark.parametrize("before", ["", "Error running script (call to f_1): @user_script:1: -"])
def test_a_key_of_the_wrong_type_is_damage_to_the_store(before: str) -> None:
    with pytest.raises(StoreDamaged, match="of the wrong type"), store_errors():
        raise raised.ResponseError(f"{before}WRONGTYPE Operation against a key holding the wrong kind of value")


def test_a_server_without_cluster_mode_is_unusable_as_a_cluster() -> None:
    error = raised.RedisClusterException("cannot be connected: Cluster mode is not enabled on this node")
    assert isinstance(store_error(error), StoreUnusable)


def test_an_error_names_the_address() -> None:
    assert str(store_error(raised.TimeoutError(), "Redis at host:1")) == "Redis at host:1 did not answer in time"
