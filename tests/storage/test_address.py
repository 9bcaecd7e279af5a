import pytest

from app.learning.errors import BadSetting
from app.storage.client.address import address_of


@pytest.mark.parametrize(
    ("url", "kind", "nodes", "shown"),
    [
        ("redis://localhost", "server", (("localhost", 6379),), "localhost:6379"),
        ("rediss://u:p@cache:7000/3", "server", (("cache", 7000),), "cache:7000"),
        ("redis://[::1]:7000", "server", (("::1", 7000),), "::1:7000"),
        ("unix:///run/my%20redis.sock?db=2", "socket", (), "/run/my redis.sock"),
        ("redis+sentinel://:p@a,b:1/main", "sentinel", (("a", 26379), ("b", 1)), "main of a:26379,b:1"),
        ("rediss+cluster://a:1,b,[::1]:3", "cluster", (("a", 1), ("b", 6379), ("::1", 3)), "a:1,b:6379,::1:3"),
    ],
)
def test_every_kind_of_url_is_parsed(url: str, kind: str, nodes: tuple[tuple[str, int], ...], shown: str) -> None:
    address = address_of(url)
    assert (address.kind, address.nodes, address.shown) == (kind, nodes, shown)
    assert address.encrypted == url.startswith("rediss")


def test_user_password_and_database_are_unescaped() -> None:
    options = address_of("redis://us%2Fer:p%40ss%3A@host/4?client_name=a%20b").options
    assert options == {"username": "us/er", "password": "p@ss:", "db": 4, "client_name": "a b"}


def test_sentinel_has_a_primary_a_database_and_a_password_of_its_own() -> None:
    address = address_of("redis+sentinel://:data@a/main/2?sentinel_password=watch")
    assert (address.primary, address.options) == ("main", {"password": "data", "db": 2})
    assert address.sentinel_options == {"password": "watch"}


def test_options_have_types() -> None:
    options = address_of("rediss://a?ssl_check_hostname=no&socket_timeout=1.5&ssl_cert_reqs=none").options
    assert options == {"db": 0, "ssl_check_hostname": False, "socket_timeout": 1.5, "ssl_cert_reqs": "none"}


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("localhost:6379", "must begin with redis://"),
        ("http://:hunter2@localhost", "must begin with redis://"),
        ("redis://", "must name its servers"),
        ("redis://:hunter2@", "must name its servers"),
        ("redis://:hun/ter2@host", "must be escaped"),
        ("redis://:hun#ter2@host", "must be escaped"),
        ("redis://:hunter2@host:99999", "must name its servers"),
        ("redis://:hunter2@host:0", "must name its servers"),
        ("redis://:hunter2@[::1", "must name its servers"),
        ("redis://:hunter2@a,b", "names several servers"),
        ("redis://:hunter2@host/first", "must end with the number of a database"),
        ("redis://:hunter2@host/-1", "must end with the number of a database"),
        ("redis://:hunter2@host?colour=red", "unknown option 'colour'"),
        ("redis://:hunter2@host?protocol=3", "unknown option 'protocol'"),
        ("redis://:hunter2@host?db=x", "option db, whose value must be a number"),
        ("redis://:hunter2@host?ssl_cert_reqs=none", "needs rediss://"),
        ("redis://:hunter2@host?sentinel_password=hunter2", "unknown option 'sentinel_password'"),
        ("rediss://:hunter2@host?ssl_cert_reqs=never", "must be one of none, optional, required"),
        ("rediss://:hunter2@host?ssl_ca_certs=/no/such/file", "'/no/such/file' as ssl_ca_certs, which does not exist"),
        ("unix://:hunter2@run/redis.sock", "needs an absolute path"),
        ("unix://", "needs an absolute path"),
        ("redis+sentinel://:hunter2@host", "needs the name of the primary"),
        ("redis+sentinel://:hunter2@host/main/x", "must end with the number of a database"),
        ("redis+cluster://:hunter2@host/1", "a cluster has only database 0"),
        ("redis+cluster://:hunter2@host?db=1", "a cluster has only database 0"),
        ("redis+cluster://:hunter2@host,", "must name its servers"),
    ],
)
def test_a_wrong_url_is_refused_without_its_password(url: str, sentence: str) -> None:
    with pytest.raises(BadSetting, match=r"^SLUICE_REDIS_URL ") as refused:
        address_of(url)
    assert sentence in str(refused.value)
    assert "hun" not in str(refused.value)


def test_a_printed_address_has_no_password() -> None:
    assert "hunter2" not in repr(address_of("redis+sentinel://:hunter2@a/main?sentinel_password=hunter2"))
