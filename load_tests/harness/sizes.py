"""How much is measured: in full, and for a trial."""

from dataclasses import dataclass

SEED = 20_250_101
CONNECTIONS = 32
BATCH_CONNECTIONS = 8
BATCH = 100  # items in a batch
EXAMPLES = 2000  # different ones; then they come again


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of every benchmark."""

    rounds: int = 5  # of loads that take turns
    load_seconds: float = 1.5
    repeats: int = 3  # of starts and snapshots
    snapshot_seconds: float = 5.0  # of traffic around a snapshot
    large_features: int = 1_000_000  # of the large tenant
    tail_events: int = 10_000  # in its log after the snapshot
    tenants: int = 10_000
    tenant_features: int = 1000
    urls: int = 10_000  # examples of the stream that peers learn
    rare_from: int = 20_000  # URLs from which the stream with 1 anomaly in 100 is drawn
    mails: int = 4000
    url_turn: int = 1000  # examples that a contender learns before the next has its turn
    mail_turn: int = 500
    taught: int = 1000  # examples that a contender has learnt before a load; a multiple of BATCH


FULL = Sizes()
QUICK = Sizes(
    rounds=1,
    load_seconds=0.5,
    repeats=1,
    snapshot_seconds=2.0,
    large_features=100_000,
    tail_events=1000,
    tenants=300,
    urls=600,
    rare_from=2000,
    mails=400,
    url_turn=600,
    mail_turn=400,
    taught=100,
)
