"""What Locust is asked to do, and what it found: passed between the processes as msgpack."""

import msgspec

JSON, NDJSON = "application/json", "application/x-ndjson"
FEEDBACK, FEEDBACK_ROUTE = "feedback", "/feedback"


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """A POST. With a label, a moderator gives it by prediction id, so long after the answer."""

    name: str  # in Locust's statistics
    path: str
    tenant: str
    body: bytes
    items: int = 1  # verdicts that the answer must hold
    content_type: str = JSON
    label: int = 0  # 0: nobody looks at it
    delay_seconds: float = 0.0

    @property
    def route(self) -> str:
        """As the service counts it."""
        return self.path.partition("?")[0]

    @property
    def is_label(self) -> bool:
        """Whether it teaches; else it asks for verdicts."""
        return self.route == FEEDBACK_ROUTE

    @property
    def http(self) -> bytes:
        """The whole request, for a client that sends bytes."""
        head = f"POST {self.path} HTTP/1.1\r\nhost: sluice\r\ncontent-type: {self.content_type}\r\n"
        return f"{head}content-length: {len(self.body)}\r\n\r\n".encode() + self.body


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Users who ask in turn, one request after the other, as soon as they have their answer."""

    port: int
    asks: list[Ask]
    users: int
    seconds: float
    report: str  # where Locust's page goes


class Counted(msgspec.Struct, frozen=True):
    """Locust's statistics of one name, or of all; latencies in milliseconds, None without a request."""

    requests: int
    failures: int
    rate: float
    p50: float | None
    p99: float | None


class Found(msgspec.Struct, frozen=True):
    """What came of a plan."""

    total: Counted
    names: dict[str, Counted]
    verdicts: int  # in all good answers to predictions
    labels: int  # that were acknowledged
    waiting: int  # labels that were not yet due at the end
    errors: list[str]
    cores: float  # that Locust itself kept busy
