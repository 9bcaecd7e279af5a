"""`sluice demo`: an invented stream against a real service, and how balanced accuracy moves."""

import math
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Final

from app.cli.demo.asking import Client
from app.cli.demo.hosting import own_service
from app.cli.demo.panel import Display, display
from app.cli.demo.replaying import Replay
from app.cli.demo.summary import counted_by_service, told
from app.cli.signals import ENDING, handled
from app.datasets.synthetic_urls import SyntheticUrl, synthetic_urls

EXAMPLES: Final = 6000
SECONDS: Final = 40.0  # that a run takes by default, beside the start of a service
STEADY_RATE: Final = 10.0  # with --forever
STEADY_CHANGE: Final = 3000  # examples between two changes, with --forever
PATIENCE_SECONDS: Final = 15.0


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser: ArgumentParser = commands.add_parser(
        "demo",
        help="watch a service learn, within a minute",
        description="Play an invented stream of URLs against a service, label by label, and show how well it does. One "
        "in twenty is an attack; halfway the attackers change their tricks. Without --url it starts a service of its "
        "own, of which nothing is left afterwards.",
    )
    parser.add_argument("--url", help="a service that runs already, such as http://127.0.0.1:8000")
    parser.add_argument("--tenant", default="demo", help="whose model learns (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives another stream (default: %(default)s)")
    parser.add_argument("--rate", type=_rate, metavar="N", help="examples in a second (default: what makes it 40 s)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--examples", type=_count, metavar="N", help=f"how many (default: {EXAMPLES})")
    length.add_argument("--forever", action="store_true", help="go on until stopped, also while the service is away")
    parser.set_defaults(run=demo)


def demo(chosen: Namespace) -> None:
    """Run the command."""
    with _stoppable():
        if chosen.url is not None:
            _show(chosen, chosen.url)
        else:
            print("Starting a service with an embedded Valkey; both are gone afterwards.", flush=True)
            with own_service() as url:
                _show(chosen, url)


def _show(chosen: Namespace, url: str) -> None:
    examples = None if chosen.forever else chosen.examples or EXAMPLES
    screen = display(examples, sys.stdout)
    client = Client(url, patience_seconds=math.inf if chosen.forever else PATIENCE_SECONDS, say=screen.say)
    replay = Replay(client, chosen.tenant, chosen.seed)
    try:
        if examples is None:
            _play_forever(chosen, replay, screen)
        else:
            client.once("/readyz")  # a wrong address is told at once
            before = counted_by_service(client, chosen.tenant)
            _play(chosen, examples, replay, screen)
            print(f"\n{told(client, chosen.tenant, replay.tally, before)}\n\n{_next_steps(chosen.url, chosen.tenant)}")
    finally:
        client.close()


def _play(chosen: Namespace, examples: int, replay: Replay, screen: Display) -> None:
    rate = chosen.rate or examples / SECONDS
    screen.say(
        f"{examples:,} invented URLs, {rate:g} in a second; one in twenty is an attack, more than in real life.\n"
        f"A moderator's label follows each some 5 to 40 URLs later. After {examples // 2:,} the attackers change."
    )
    stream = islice(synthetic_urls(chosen.seed, max(1, examples // 2)), examples)
    replay.run(_announced(stream, screen), rate, lambda: screen.look(replay.tally))
    screen.close(replay.tally)


def _play_forever(chosen: Namespace, replay: Replay, screen: Display) -> None:
    rate = chosen.rate or STEADY_RATE
    screen.say(f"Invented URLs, {rate:g} in a second, until stopped; attackers change after every {STEADY_CHANGE:,}.")
    stream = synthetic_urls(chosen.seed, STEADY_CHANGE)
    try:
        replay.run(_announced(stream, screen), rate, lambda: screen.look(replay.tally))
    except KeyboardInterrupt:
        screen.say(f"Stopped after {replay.tally.labels:,} labels.")


def _announced(stream: Iterator[SyntheticUrl], screen: Display) -> Iterator[SyntheticUrl]:
    campaign = 0
    for item in stream:
        if item.campaign > campaign:
            campaign = item.campaign
            screen.mark()
        yield item


def _next_steps(url: str | None, tenant: str) -> str:
    """On the service that was shown, or on one that stays."""
    first = "" if url else "  make run        # in another terminal: a service that stays\n"
    address, other = url or "http://127.0.0.1:8000", f"{tenant}-fsol"
    return (
        f"To try next: another --seed, or another algorithm.\n{first}"
        f"""  curl -s -X PUT {address}/tenants/{other} --json '{{"algorithm": "cs-fsol"}}'\n"""
        f"  sluice demo --url {address} --tenant {other}"
    )


def _stoppable() -> AbstractContextManager[None]:
    """SIGTERM and a closed terminal end the demo as Ctrl-C does: with whatever it has started."""
    heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]  # nohup ignores SIGHUP
    return handled(signal.default_int_handler, heard)


def _count(written: str) -> int:
    if not written.isascii() or not written.isdecimal() or int(written) == 0:
        raise ArgumentTypeError(f"{written!r} is not a whole number of at least 1")
    return int(written)


def _rate(written: str) -> float:
    try:
        rate = float(written)
    except ValueError:
        rate = 0.0
    if not 0.0 < rate < math.inf:
        raise ArgumentTypeError(f"{written!r} is not a number above 0")
    return rate
