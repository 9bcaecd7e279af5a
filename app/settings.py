"""The settings of the service: environment variables, validated once at the start. docs/settings.md describes them."""

import difflib
import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, IPvAnyNetwork, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, SettingsConfigDict

from app.learning.errors import BadSetting, short_repr
from app.storage.client.durability import Durability
from kernels.registry import ALGORITHMS

PREFIX: Final = "SLUICE_"
SECRETS: Final = ("redis_url",)  # each can also come from a file: SLUICE_REDIS_URL_FILE
ELSEWHERE: Final = ("SLUICE_DATA", "SLUICE_KEY", "SLUICE_KEY_FILE")  # read by tests and by other commands
SHARE_OF_MEMORY: Final = 0.6  # the rest is for requests, snapshots in progress, Python, and the embedded Valkey
KEY_SHARE: Final = 4  # one key may hold one of so many parts of a worker's concurrent requests

KIB, MIB, GIB = 2**10, 2**20, 2**30
DECIMAL_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
BINARY_UNITS: Final = {"kib": KIB, "mib": MIB, "gib": GIB, "tib": 2**40}
SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]*)", re.ASCII)


def parse_size(text: object) -> object:
    """Parse a number of bytes such as 512MiB or 1.5GB; return anything else unchanged, for pydantic to refuse."""
    match = SIZE.fullmatch(str(text).strip().lower())
    unit = (DECIMAL_UNITS | BINARY_UNITS).get(match[2]) if match else None
    if match is None or unit is None or ("." in match[1] and unit == 1):
        return text
    return int(float(match[1]) * unit) if "." in match[1] else int(match[1]) * unit


def _split(text: object) -> object:
    return [part.strip() for part in text.split(",") if part.strip()] if isinstance(text, str) else text


Size = Annotated[int, BeforeValidator(parse_size), "size"]
Level = Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(str.lower)]
TenantName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+\S*$")]


class Settings(BaseSettings):
    """All settings with their defaults and limits; `description` says what a value that is not a number must be."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", pattern=r"^\S+$", description="a host name or an address")
    port: int = Field(8000, ge=0, le=65_535)
    workers: int = Field(1, ge=1, le=256)
    data_dir: Path = Field(Path("data"), description="a path")
    redis_url: SecretStr | None = Field(None, description="a Redis URL")
    allow_unsafe_redis: bool = Field(default=False, description="true or false")
    durability: Literal["local", "replicated"] = Field("local", description="local or replicated")
    replication_timeout_milliseconds: int = Field(2000, ge=100, le=60_000)
    auth: Literal["required", "open"] | None = Field(None, description="required or open")
    session_seconds: int = Field(43_200, ge=60, le=31_536_000)
    labels_per_moderator_per_minute: int = Field(0, ge=0, le=1_000_000)
    max_weights_moved: int = Field(20_000, ge=0, le=10_000_000)
    audit_max_entries: int = Field(1_000_000, ge=1000, le=1_000_000_000)
    auto_create_tenants: bool = Field(default=True, description="true or false")
    default_algorithm: Literal[tuple(ALGORITHMS)] = Field("cs-sol", description="an algorithm")  # type: ignore[valid-type]
    max_tenants: int = Field(100_000, ge=1, le=10_000_000)
    max_features_per_tenant: int = Field(1 << 31, ge=1, le=1 << 31)
    memory_budget_bytes: Size = Field(default_factory=lambda given: memory_budget(given["workers"]), ge=16 * MIB)
    max_body_bytes: Size = Field(8 * MIB, ge=KIB, le=GIB)
    max_mail_bytes: Size = Field(25 * MIB, ge=KIB, le=GIB)
    max_import_bytes: Size = Field(2 * GIB, ge=KIB)
    max_batch_items: int = Field(10_000, ge=1, le=1_000_000)
    max_line_bytes: Size = Field(MIB, ge=KIB, le=GIB)
    max_features_per_example: int = Field(100_000, ge=1, le=10_000_000)
    max_feature_name_bytes: Size = Field(8 * MIB, ge=16, le=GIB)
    requests_per_second: int = Field(0, ge=0, le=1_000_000)
    wrong_keys_per_second: int = Field(10, ge=0, le=1_000_000)
    trusted_proxies: Annotated[tuple[IPvAnyNetwork, ...], NoDecode, BeforeValidator(_split)] = Field(
        (), description="addresses or networks, separated by commas"
    )
    max_connections: int = Field(10_000, ge=1, le=1_000_000)
    max_concurrent_requests: int = Field(1000, ge=1, le=1_000_000)
    max_concurrent_per_key: int = Field(
        default_factory=lambda given: max(given["max_concurrent_requests"] // KEY_SHARE, 1), ge=1, le=1_000_000
    )
    max_event_streams: int = Field(200, ge=0, le=100_000)
    max_concurrent_exports: int = Field(4, ge=1, le=1000)
    max_lag_milliseconds: int = Field(1000, ge=0, le=3_600_000)
    head_seconds: float = Field(10, ge=0.1, le=3600)
    max_head_bytes: Size = Field(64 * KIB, ge=KIB, le=16 * MIB)
    idle_seconds: int = Field(75, ge=1, le=3600)
    body_idle_seconds: float = Field(30, ge=0.1, le=3600)
    body_seconds: float = Field(60, ge=0.1, le=86_400)
    pending_ttl_seconds: int = Field(86_400, ge=0, le=31_536_000)
    pending_max_per_tenant: int = Field(10_000, ge=1, le=100_000_000)
    pending_max_bytes_per_tenant: Size = Field(64 * MIB, ge=64 * KIB)
    pending_max_bytes: Size = Field(GIB, ge=MIB)
    review_max_per_tenant: int = Field(10_000, ge=1, le=1_000_000)
    review_max_bytes_per_tenant: Size = Field(4 * MIB, ge=64 * KIB)
    review_max_leases: int = Field(100, ge=1, le=10_000)
    review_lease_seconds: int = Field(300, ge=1, le=86_400)
    feedback_id_ttl_seconds: int = Field(604_800, ge=60, le=31_536_000)
    deleted_tenant_seconds: int = Field(604_800, ge=0, le=31_536_000)
    snapshot_every_events: int = Field(10_000, ge=1, le=1_000_000_000)
    snapshot_every_seconds: int = Field(300, ge=1, le=31_536_000)
    snapshots_kept: int = Field(3, ge=1, le=100)
    log_retention_events: int = Field(100_000, ge=0, le=1_000_000_000_000)
    log_max_bytes: Size = Field(256 * MIB, ge=MIB)
    shutdown_seconds: float = Field(8, ge=0, le=3600)
    log_level: Level = Field("info", description="debug, info, warning, error or critical")
    log_format: Literal["auto", "json", "text"] = Field("auto", description="auto, json or text")
    log_requests: Literal["none", "failed", "all"] = Field("failed", description="none, failed or all")
    log_inputs: bool = Field(default=False, description="true or false")
    metrics_tenants: int = Field(100, ge=0, le=10_000)
    metrics_tenant_names: Annotated[tuple[TenantName, ...], NoDecode, BeforeValidator(_split)] = Field(
        (), description="tenant names, separated by commas"
    )
    traces_url: Url | None = Field(None, description="an http:// or https:// URL")

    @property
    def access(self) -> str:
        """When a request needs a key: `open` never, `required` always, `auto` as soon as a key exists."""
        return self.auth or ("auto" if is_loopback(self.host) else "required")

    @property
    def required_durability(self) -> Durability:
        """What an acknowledged write must survive."""
        return Durability(
            self.durability == "replicated", self.replication_timeout_milliseconds, self.allow_unsafe_redis
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read SLUICE_*; raise BadSetting, which names the variable that is unknown or has a wrong value."""
        given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value}
        _refuse_unknown(given)
        source = _Environment(cls, _with_secret_files(given))
        only_source: dict[str, Any] = {"_build_sources": ((source,), {})}  # a parameter that mypy does not see
        try:
            return cls(**only_source)
        except ValidationError as error:
            name = str(error.errors()[0]["loc"][0])
            value = "" if name in SECRETS else f"is {short_repr(source.env_vars[variable(name).lower()])}, but "
            raise BadSetting(f"{variable(name)} {value}must be {rule(name)}") from None


class _Environment(EnvSettingsSource):
    """Reads a mapping instead of os.environ."""

    def __init__(self, settings: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.env_vars = {name.lower(): value for name, value in environ.items()}


def is_loopback(host: str) -> bool:
    """Whether an address can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def variables() -> list[str]:
    """Every variable that the service reads."""
    files = [f"{variable(name)}_FILE" for name in SECRETS]
    return [*(variable(name) for name in Settings.model_fields), *files]


def rule(name: str) -> str:
    """What the value of a setting must be, in words."""
    field = Settings.model_fields[name]
    if field.description:
        return field.description
    if "size" in field.metadata:
        return f"a number of bytes, such as 512MiB, {_range(field, _format_size)}"
    return f"a {'whole ' if field.annotation is int else ''}number {_range(field, '{:,}'.format)}"


def memory_budget(workers: int) -> int:
    """One worker's share of the memory of this machine or container."""
    return max(int(memory_limit() * SHARE_OF_MEMORY / workers), 16 * MIB)


def memory_limit(root: Path = Path("/")) -> int:
    """The memory of the machine, or the lowest limit of this process's control groups."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _limit_files(root):
        text = file.read_text().strip() if file.is_file() else ""
        limits += [int(text)] if text.isdigit() else []  # `max`: no limit at this level
    return min(limits)


def _limit_files(root: Path) -> list[Path]:
    """Files that may hold a limit: of our own control group and of all above it, for cgroups v1 and v2."""
    membership = root / "proc/self/cgroup"
    lines = membership.read_text().splitlines() if membership.is_file() else []
    files: list[Path] = []
    for _, controllers, group in (line.split(":", 2) for line in lines):
        if controllers not in {"", "memory"}:
            continue
        base, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        place = Path(group.lstrip("/"))
        # Inside a container the group's path may be the host's: then only the top level exists.
        files += [root / "sys/fs/cgroup" / base / level / name for level in (place, *place.parents)]
    return files


def _refuse_unknown(given: Mapping[str, str]) -> None:
    for name in sorted(given.keys() - {*variables(), *ELSEWHERE}):
        known = [variable.removeprefix(PREFIX) for variable in variables()]  # the prefix would make all look alike
        near = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
        hint = f"did you mean {PREFIX}{near[0]}?" if near else "docs/settings.md lists all settings"
        raise BadSetting(f"{name} is not a setting; {hint}")


def _with_secret_files(given: Mapping[str, str]) -> dict[str, str]:
    """Replace each SLUICE_*_FILE by the content of its file, as the value of SLUICE_*."""
    values = dict(given)
    for name in map(variable, SECRETS):
        file = values.pop(f"{name}_FILE", None)
        if file is None:
            continue
        if name in values:
            raise BadSetting(f"{name} and {name}_FILE are both set; set one of them")
        try:
            values[name] = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise BadSetting(f"{name}_FILE names {short_repr(file)}, which cannot be read: {reason}") from None
        if not values[name]:
            raise BadSetting(f"{name}_FILE names {short_repr(file)}, which is empty")
    return values


def _range(field: FieldInfo, format_limit: Callable[[Any], str]) -> str:
    low = next(limit.ge for limit in field.metadata if hasattr(limit, "ge"))
    high = next((limit.le for limit in field.metadata if hasattr(limit, "le")), None)
    return f"of at least {format_limit(low)}" if high is None else f"from {format_limit(low)} to {format_limit(high)}"


def _format_size(size: int) -> str:
    name, unit = next(
        (name, unit) for name, unit in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("B", 1)) if size >= unit
    )
    return f"{size // unit}{name}"
