"""How much is played, in earnest and for a trial."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Examples of each stream, how they are dealt out in turns, and how long loads last."""

    urls: int
    rare_from: int  # URLs from which all normal ones are taken, with 1 anomaly to 99 of them
    mails: int
    url_turn: int  # examples that a contender plays before the next has its turn
    mail_turn: int
    taught: int  # examples that everyone has learnt before a load; a multiple of BATCH
    rounds: int  # of loads
    load_seconds: float


CONNECTIONS = 16  # of a load; a stream is played over one
BATCH = 100
SEED = 1  # of the sample at 1:99

WHOLE = Sizes(10_000, 20_000, 4000, 1000, 500, 1000, rounds=3, load_seconds=2.0)
QUICK = Sizes(600, 2000, 400, 600, 400, 100, rounds=1, load_seconds=0.4)
