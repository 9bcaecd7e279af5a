"""Parsing of SLUICE_REDIS_URL: the kind of Redis, its addresses and its options. No message shows a password."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NoReturn
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from redis.asyncio.connection import URL_QUERY_ARGUMENT_PARSERS

from app.learning.errors import BadSetting, short_repr

Kind = Literal["server", "socket", "sentinel", "cluster"]
KINDS: Final[Mapping[str, tuple[Kind, bool]]] = {  # kind, and whether it is encrypted
    "redis": ("server", False),
    "rediss": ("server", True),
    "unix": ("socket", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
REDIS_PORT: Final = 6379
SENTINEL_PORT: Final = 26379
HIGHEST_PORT: Final = 65535

GENERAL_OPTIONS: Final = (
    "client_name", "db", "health_check_interval", "max_connections", "password", "socket_connect_timeout",
    "socket_timeout", "username",
)  # fmt: skip
TLS_OPTIONS: Final = (
    "ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_ciphers", "ssl_keyfile",
    "ssl_password",
)  # fmt: skip
SENTINEL_OPTIONS: Final = ("sentinel_password", "sentinel_username")
FILE_OPTIONS: Final = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
CERTIFICATE_RULES: Final = ("none", "optional", "required")


@dataclass(frozen=True)
class Address:
    """The address of Redis. `shown` may be printed; the options may contain passwords."""

    kind: Kind
    encrypted: bool
    shown: str
    nodes: tuple[tuple[str, int], ...] = ()
    primary: str = ""  # its name in Sentinel
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    sentinel_options: Mapping[str, Any] = field(default_factory=dict, repr=False)


def address_of(url: str) -> Address:
    """Parse SLUICE_REDIS_URL; raise BadSetting if it is invalid."""
    scheme = url.partition("://")[0].lower()
    if "://" not in url or scheme not in KINDS:
        _refuse("must begin with " + ", ".join(f"{known}://" for known in KINDS))
    kind, encrypted = KINDS[scheme]
    # Without its servers: some versions of Python take a list of them for one host, and refuse brackets within it.
    servers, rest = re.fullmatch("([^/?#]*)(.*)", url.partition("://")[2], re.DOTALL).groups()  # type: ignore[union-attr]
    parts = urlsplit(f"{scheme}://{rest}")._replace(netloc=servers)
    options = _credentials(parts) | _query(parts.query, kind, encrypted=encrypted)
    sentinel = {name.removeprefix("sentinel_"): options.pop(name) for name in SENTINEL_OPTIONS if name in options}
    if kind == "socket":
        return _socket(parts, options)
    nodes = _nodes(parts, SENTINEL_PORT if kind == "sentinel" else REDIS_PORT)
    where = ",".join(f"{host}:{port}" for host, port in nodes)
    if kind == "server" and len(nodes) > 1:
        _refuse("names several servers; write redis+cluster:// or redis+sentinel:// in front of them")
    if kind == "sentinel":
        primary, db = _primary(parts.path)
        return Address(kind, encrypted, f"{primary} of {where}", nodes, primary, {"db": db} | options, sentinel)
    db = _database(parts.path.removeprefix("/"))
    if kind == "cluster" and (db or options.pop("db", 0)):
        _refuse("names a database, but a cluster has only database 0")
    given = options if kind == "cluster" else {"db": db} | options
    return Address(kind, encrypted, where, nodes, options=given)


def _socket(parts: SplitResult, options: dict[str, Any]) -> Address:
    if parts.netloc.rpartition("@")[2] or not parts.path.startswith("/"):
        _refuse("needs an absolute path, such as unix:///run/redis.sock")
    path = unquote(parts.path)
    return Address("socket", encrypted=False, shown=path, options={"path": path} | options)


def _credentials(parts: SplitResult) -> dict[str, Any]:
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    given = {"username": unquote(user), "password": unquote(password)}
    return {name: value for name, value in given.items() if value}


def _nodes(parts: SplitResult, default_port: int) -> tuple[tuple[str, int], ...]:
    return tuple(_node(node, default_port) for node in parts.netloc.rpartition("@")[2].split(","))


def _node(node: str, default_port: int) -> tuple[str, int]:
    # This may be part of a password with a character that should have been escaped: do not show it.
    try:
        parts = urlsplit(f"//{node}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port == 0:
        _refuse(
            f"must name its servers as host or host:port (1 to {HIGHEST_PORT}); "
            "characters such as / # ? @ in a password must be escaped, as in %2F"
        )
    return host, port or default_port


def _primary(path: str) -> tuple[str, int]:
    name, _, db = path.removeprefix("/").partition("/")
    if not name:
        _refuse("needs the name of the primary that Sentinel watches, as in redis+sentinel://host:26379/mymaster")
    return unquote(name), _database(db)


def _database(written: str) -> int:
    if not written:
        return 0
    if not (written.isascii() and written.isdigit()):
        _refuse("must end with the number of a database, as in redis://host:6379/0")
    return int(written)


def _query(query: str, kind: Kind, *, encrypted: bool) -> dict[str, Any]:
    known = (*GENERAL_OPTIONS, *(TLS_OPTIONS if encrypted else ()), *(SENTINEL_OPTIONS if kind == "sentinel" else ()))
    return {name: _option(name, value, known) for name, value in parse_qsl(query, keep_blank_values=True)}


def _option(name: str, value: str, known: tuple[str, ...]) -> Any:  # noqa: ANN401 - redis-py's options have many types
    if name in TLS_OPTIONS and name not in known:
        _refuse(f"has the option {name}, which needs rediss:// (with two s) at the beginning")
    if name not in known:
        _refuse(f"has the unknown option {short_repr(name)}; it may have {', '.join(known)}")
    if name in FILE_OPTIONS and not Path(value).exists():
        _refuse(f"names the file {short_repr(value)} as {name}, which does not exist")
    if name == "ssl_cert_reqs" and value not in CERTIFICATE_RULES:
        _refuse(f"has the option ssl_cert_reqs, which must be one of {', '.join(CERTIFICATE_RULES)}")
    try:
        return URL_QUERY_ARGUMENT_PARSERS.get(name, str)(value)
    except ValueError:
        _refuse(f"has the option {name}, whose value must be a number")


def _refuse(sentence: str) -> NoReturn:
    raise BadSetting(f"SLUICE_REDIS_URL {sentence}") from None
