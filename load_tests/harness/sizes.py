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
    newest_labels: int = 1000  # of that tail, which are taken back
    hour_events: int = 50_000  # of a log, of whose last fifth every second label is taken back
    tenants: int = 10_000
    tenant_features: int = 1000
    urls: int = 10_000  # examples of the stream that peers learn
    rare_from: int = 20_000  # URLs from which the stream with 1 anomaly in 100 is drawn
    mails: int = 4000
    url_turn: int = 1000  # examples that a contender learns before the next has its turn
    mail_turn: int = 500
    taught: int = 1000  # examples that a contender has learnt before a load; a multiple of BATCH
    idle_seconds: float = 3.0  # of what services use without requests

    scale_rounds: int = 3
    wrk_seconds: float = 2.0  # of each load in each round; wrk counts whole seconds
    model_sizes: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000, 10_000_000)  # features
    example_sizes: tuple[int, ...] = (10, 100, 1000, 10_000)  # features
    tenant_counts: tuple[int, ...] = (1, 10, 100, 1000, 10_000, 100_000)  # in one worker
    residents: tuple[tuple[int, int], ...] = ((100, 2000), (1000, 2000), (10_000, 200))  # features, tenants
    tails: tuple[int, ...] = (0, 1000, 10_000, 100_000)  # events in the log after the snapshot
    kept: int = 4000  # predictions, of one tenant and then of as many tenants
    store_seconds: float = 2.0  # of writes of each kind
    followed_tenants: int = 1000

    cluster_tenants: int = 2000
    first_labels: int = 8  # of each tenant of the cluster
    traffic_seconds: float = 3.0  # before and after a disturbance
    hot_labels: int = 200
    sample: int = 100  # tenants that are compared at the end


FULL = Sizes()
QUICK = Sizes(
    rounds=1,
    load_seconds=0.5,
    repeats=1,
    snapshot_seconds=2.0,
    large_features=100_000,
    tail_events=1000,
    newest_labels=100,
    hour_events=5000,
    tenants=300,
    urls=600,
    rare_from=2000,
    mails=400,
    url_turn=600,
    mail_turn=400,
    taught=100,
    idle_seconds=1.0,
    scale_rounds=1,
    wrk_seconds=1.0,
    model_sizes=(1000, 10_000),
    example_sizes=(10, 100),
    tenant_counts=(1, 100),
    residents=((100, 50), (1000, 50)),
    tails=(0, 1000),
    kept=300,
    store_seconds=0.5,
    followed_tenants=50,
    cluster_tenants=200,
    first_labels=4,
    traffic_seconds=0.5,
    hot_labels=20,
    sample=40,
)
