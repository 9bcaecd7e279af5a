"""The settings of the service: environment variables, checked once at the start. docs/settings.md describes them."""

import difflib
import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, IPvAnyNetwork, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from app.learning.errors import BadSetting, short_repr

PREFIX: Final = "SLUICE_"
SECRETS: Final = ("redis_url",)  # each may also be given by a file: SLUICE_REDIS_URL_FILE
ELSEWHERE: Final = ("SLUICE_DATA", "SLUICE_KEY", "SLUICE_KEY_FILE")  # of tests and of other commands
SHARE_OF_MEMORY: Final = 0.6  # the rest is for requests, snapshots under way, Python, and the embedded Valkey

KIB, MIB, GIB = 2**10, 2**20, 2**30
UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS_OF_1024: Final = {"kib": KIB, "mib": MIB, "gib": GIB, "tib": 2**40}
SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]*)", re.ASCII)
WORDS: Final = {  # what those that are no numbers must be
    "host": "a host name or an address",
    "data_dir": "a path",
    "redis_url": "a URL of Redis",
    "auth": "required or open",
    "auto_create_tenants": "true or false",
    "log_level": "debug, info, warning, error or critical",
    "log_format": "auto, json or text",
    "log_requests": "none, failed or all",
    "log_inputs": "true or false",
    "metrics_tenant_names": "names of tenants, separated by commas",
    "traces_url": "an http:// or https:// URL",
    "trusted_proxies": "addresses or networks, separated by commas",
}
BOOLEANS: Final = {"true": True, "1": True, "yes": True, "on": True} | dict.fromkeys(("false", "0", "no", "off"), False)


def size_of(written: object) -> object:
    """A number of bytes, also as 512MiB or 1.5GB; what is not one comes back as it is, and is refused."""
    match = SIZE.fullmatch(str(written).strip().lower())
    unit = (UNITS | UNITS_OF_1024).get(match[2]) if match else None
    if match is None or unit is None or ("." in match[1] and unit == 1):
        return written
    return int(float(match[1]) * unit) if "." in match[1] else int(match[1]) * unit


def _names(written: object) -> object:
    return [name.strip() for name in written.split(",") if name.strip()] if isinstance(written, str) else written


def _boolean(written: object) -> object:
    return BOOLEANS.get(str(written).lower(), written)


Size = Annotated[int, BeforeValidator(size_of), "size"]
Flag = Annotated[bool, BeforeValidator(_boolean)]
Names = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")], ...], BeforeValidator(_names)
]
Networks = Annotated[tuple[IPvAnyNetwork, ...], BeforeValidator(_names)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+\S*$")]
Level = Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(str.lower)]


class Settings(BaseModel):
    """What the operator has chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", pattern=r"^\S+$")
    port: int = Field(8000, ge=0, le=65_535)
    workers: int = Field(1, ge=1, le=256)
    data_dir: Path = Path("data")
    redis_url: SecretStr | None = None
    auth: Literal["required", "open"] | None = None
    labels_per_moderator_per_minute: int = Field(0, ge=0, le=1_000_000)
    max_weights_moved: int = Field(20_000, ge=0, le=10_000_000)
    audit_max_entries: int = Field(1_000_000, ge=1000, le=1_000_000_000)
    auto_create_tenants: Flag = True
    max_tenants: int = Field(100_000, ge=1, le=10_000_000)
    max_features_per_tenant: int = Field(1 << 31, ge=1, le=1 << 31)
    memory_budget_bytes: Size = Field(default_factory=lambda: memory_budget(1), ge=16 * MIB)
    max_body_bytes: Size = Field(8 * MIB, ge=KIB, le=GIB)
    max_mail_bytes: Size = Field(25 * MIB, ge=KIB, le=GIB)
    max_import_bytes: Size = Field(2 * GIB, ge=KIB)
    max_batch_items: int = Field(10_000, ge=1, le=1_000_000)
    max_line_bytes: Size = Field(MIB, ge=KIB, le=GIB)
    max_features_per_example: int = Field(100_000, ge=1, le=10_000_000)
    max_feature_name_bytes: Size = Field(8 * MIB, ge=16, le=GIB)
    requests_per_second: int = Field(0, ge=0, le=1_000_000)
    wrong_keys_per_second: int = Field(10, ge=0, le=1_000_000)
    trusted_proxies: Networks = ()
    max_connections: int = Field(10_000, ge=1, le=1_000_000)
    max_concurrent_requests: int = Field(1000, ge=1, le=1_000_000)
    max_concurrent_exports: int = Field(4, ge=1, le=1000)
    max_lag_milliseconds: int = Field(1000, ge=0, le=3_600_000)
    head_seconds: float = Field(10, ge=0.1, le=3600)
    max_head_bytes: Size = Field(64 * KIB, ge=KIB, le=16 * MIB)
    idle_seconds: int = Field(75, ge=1, le=3600)
    body_idle_seconds: float = Field(30, ge=0.1, le=3600)
    pending_ttl_seconds: int = Field(86_400, ge=0, le=31_536_000)
    pending_max_per_tenant: int = Field(10_000, ge=1, le=100_000_000)
    feedback_id_ttl_seconds: int = Field(604_800, ge=60, le=31_536_000)
    snapshot_every_events: int = Field(10_000, ge=1, le=1_000_000_000)
    snapshot_every_seconds: int = Field(300, ge=1, le=31_536_000)
    snapshots_kept: int = Field(3, ge=1, le=100)
    log_retention_events: int = Field(100_000, ge=0, le=1_000_000_000_000)
    shutdown_seconds: float = Field(8, ge=0, le=3600)
    log_level: Level = "info"
    log_format: Literal["auto", "json", "text"] = "auto"
    log_requests: Literal["none", "failed", "all"] = "failed"
    log_inputs: Flag = False
    metrics_tenants: int = Field(100, ge=0, le=10_000)
    metrics_tenant_names: Names = ()
    traces_url: Url | None = None

    @property
    def access(self) -> str:
        """Who needs a key: `open` nobody, `required` everybody, `auto` everybody as soon as there is one."""
        return self.auth or ("auto" if is_loopback(self.host) else "required")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read SLUICE_*; BadSetting names a variable that does not exist or has a wrong value. Empty means not set."""
        given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value != ""}
        values = {name: _value(given, name) for name in cls.model_fields if _is_given(given, name)}
        _refuse_unknown(set(given) - set(ELSEWHERE))
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            raise _bad_value(str(error.errors()[0]["loc"][0]), values) from None
        if "memory_budget_bytes" in values:
            return settings
        return settings.model_copy(update={"memory_budget_bytes": memory_budget(settings.workers)})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
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
    """What a setting must be, in words."""
    field = Settings.model_fields[name]
    if name in WORDS:
        return WORDS[name]
    if "size" in field.metadata:
        return f"a number of bytes, such as 512MiB, {_span(field, _spelled)}"
    return f"a {'whole ' if field.annotation is int else ''}number {_span(field, '{:,}'.format)}"


def memory_budget(workers: int) -> int:
    """A worker's share of the memory that this machine, or this container, has."""
    return max(int(memory_limit() * SHARE_OF_MEMORY / workers), 16 * MIB)


def memory_limit(root: Path = Path("/")) -> int:
    """The memory of the machine, or what the control groups of this process leave of it."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _limit_files(root):
        written = file.read_text().strip() if file.is_file() else ""
        limits += [int(written)] if written.isdigit() else []  # `max`: no limit at this level
    return min(limits)


def _limit_files(root: Path) -> list[Path]:
    """Files that may hold a limit: those of our own group and of all above it, of both versions of control groups."""
    membership = root / "proc/self/cgroup"
    lines = membership.read_text().splitlines() if membership.is_file() else []
    files: list[Path] = []
    for _, controllers, group in (line.split(":", 2) for line in lines):
        if controllers not in {"", "memory"}:
            continue
        base, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        place = Path(group.lstrip("/"))
        # Inside a container the group's path may be that of the host: then only the top level is there.
        files += [root / "sys/fs/cgroup" / base / level / name for level in (place, *place.parents)]
    return files


def _is_given(given: Mapping[str, str], name: str) -> bool:
    return variable(name) in given or (name in SECRETS and f"{variable(name)}_FILE" in given)


def _value(given: Mapping[str, str], name: str) -> str:
    file = given.get(f"{variable(name)}_FILE") if name in SECRETS else None
    if file is None:
        return given[variable(name)]
    if variable(name) in given:
        raise BadSetting(f"{variable(name)} and {variable(name)}_FILE are both set; set one of them")
    try:
        content = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadSetting(f"{variable(name)}_FILE names {short_repr(file)}, which cannot be read: {reason}") from None
    if not content:
        raise BadSetting(f"{variable(name)}_FILE names {short_repr(file)}, which is empty")
    return content


def _refuse_unknown(given: set[str]) -> None:
    for name in sorted(given - set(variables())):
        known = [variable.removeprefix(PREFIX) for variable in variables()]  # what all begin with makes all look alike
        near = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
        hint = f"did you mean {PREFIX}{near[0]}?" if near else "docs/settings.md lists those that exist"
        raise BadSetting(f"{name} is not a setting; {hint}")


def _bad_value(name: str, values: Mapping[str, Any]) -> BadSetting:
    told = "" if name in SECRETS else f"is {short_repr(values[name])}, but "
    return BadSetting(f"{variable(name)} {told}must be {rule(name)}")


def _span(field: FieldInfo, spell: Callable[[Any], str]) -> str:
    low = next(limit.ge for limit in field.metadata if hasattr(limit, "ge"))
    high = next((limit.le for limit in field.metadata if hasattr(limit, "le")), None)
    return f"of at least {spell(low)}" if high is None else f"from {spell(low)} to {spell(high)}"


def _spelled(size: int) -> str:
    name, unit = next(
        (name, unit) for name, unit in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("B", 1)) if size >= unit
    )
    return f"{size // unit}{name}"
