"""`sluice demo`: a synthetic stream against a real service, and how balanced accuracy develops."""

import math
import signal
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from app.cli.argument_types import count, rate
from app.cli.client import Client
from app.cli.demo.display import Display, display
from app.cli.demo.local_service import local_service
from app.cli.demo.moderation import URLS, fill, go_on
from app.cli.demo.replay import Replay
from app.cli.demo.summary import counted_by_service, print_summary
from app.cli.output import console
from app.datasets.synthetic_urls import SyntheticUrl, synthetic_urls
from app.storage.embedded.signals import ENDING, handled

EXAMPLES: Final = 6000
SECONDS: Final = 40.0  # duration of a run by default, without the start of a service
STEADY_RATE: Final = 10.0  # with --forever
CONSOLE_RATE: Final = 0.5  # with --console, once the service is full
STEADY_CHANGE: Final = 3000  # examples between two changes, with --forever
TIMEOUT_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 15.0


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = (
        "Send a synthetic stream of URLs to a service, label by label, and show how accurate it is. One in twenty is "
        "an attack; halfway the attackers change their tricks. Without --url, start a service for the demo and "
        "remove it afterwards. With --console, several pretend moderators label URLs and e-mails, and the console of "
        "the service can be tried."
    )
    parser.add_argument("--url", help="a running service, such as http://127.0.0.1:8000")
    parser.add_argument("--tenant", default="demo", help="the tenant that learns (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the stream (default: %(default)s)")
    parser.add_argument("--rate", type=rate, metavar="N", help="examples per second (default: so that it takes 40 s)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--examples", type=count, metavar="N", help=f"number of examples (default: {EXAMPLES})")
    length.add_argument("--forever", action="store_true", help="run until stopped, through outages of the service")
    parser.add_argument(
        "--console",
        action="store_true",
        help="fill a service with pretend moderation, and show its console until stopped",
    )
    parser.set_defaults(run=demo)


def demo(chosen: Namespace) -> None:
    """Run the command."""
    # SIGTERM and a closed terminal end the demo as Ctrl-C does, and its service with it. nohup ignores SIGHUP.
    ending = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    with handled(signal.default_int_handler, ending):
        if chosen.url is not None:
            _run(chosen, chosen.url)
        else:
            print("Starting a service with an embedded Valkey, for this demo only.", flush=True)
            with local_service() as url:
                _run(chosen, url)


def _run(chosen: Namespace, url: str) -> None:
    if chosen.console:
        _serve_console(chosen, url)
        return
    examples = None if chosen.forever else chosen.examples or EXAMPLES
    retry_seconds = math.inf if chosen.forever else RETRY_SECONDS
    with (
        display(examples, console()) as screen,
        Client(url, timeout_seconds=TIMEOUT_SECONDS, retry_seconds=retry_seconds, report=screen.say) as client,
    ):
        replay = Replay(client, chosen.tenant, chosen.seed)
        if examples is None:
            _play_forever(chosen, replay, screen)
            return
        client.get_once("/readyz")  # report a wrong address at once
        before = counted_by_service(client, chosen.tenant)
        _play(chosen, examples, replay, screen)
        print_summary(client, chosen.tenant, replay.tally, before)
    print(f"\n{_next_steps(chosen.url, chosen.tenant)}")


def _serve_console(chosen: Namespace, url: str) -> None:
    with Client(url, timeout_seconds=TIMEOUT_SECONDS, retry_seconds=RETRY_SECONDS) as client:
        client.get_once("/readyz")  # report a wrong address at once
        moderation = fill(client, chosen.tenant, chosen.examples or URLS, chosen.seed, partial(print, flush=True))
        print(f"\nThe console: {url}/console\nCtrl-C stops it.", flush=True)
        try:
            go_on(moderation, 1.0 / (chosen.rate or CONSOLE_RATE))
        except KeyboardInterrupt:
            print(f"\nStopped after {moderation.labels:,} labels.")


def _play(chosen: Namespace, examples: int, replay: Replay, screen: Display) -> None:
    per_second = chosen.rate or examples / SECONDS
    screen.say(
        f"{examples:,} synthetic URLs, {per_second:g} per second; one in twenty is an attack, more than in reality.\n"
        f"A moderator labels each URL 5 to 40 URLs later. After {examples // 2:,} the attackers change their tricks."
    )
    stream = islice(synthetic_urls(chosen.seed, max(1, examples // 2)), examples)
    replay.run(_with_marks(stream, screen), per_second, lambda: screen.update(replay.tally))
    screen.finish(replay.tally)


def _play_forever(chosen: Namespace, replay: Replay, screen: Display) -> None:
    per_second = chosen.rate or STEADY_RATE
    screen.say(
        f"Synthetic URLs, {per_second:g} per second, until stopped; the attackers change after every {STEADY_CHANGE:,}."
    )
    stream = synthetic_urls(chosen.seed, STEADY_CHANGE)
    try:
        replay.run(_with_marks(stream, screen), per_second, lambda: screen.update(replay.tally))
    except KeyboardInterrupt:
        screen.say(f"Stopped after {replay.tally.labels:,} labels.")


def _with_marks(stream: Iterator[SyntheticUrl], screen: Display) -> Iterator[SyntheticUrl]:
    campaign = 0
    for item in stream:
        if item.campaign > campaign:
            campaign = item.campaign
            screen.mark_change()
        yield item


def _next_steps(url: str | None, tenant: str) -> str:
    """Commands for the service that was shown, or for one that stays."""
    first = "" if url else "  make run        # in another terminal: a service that stays\n"
    address, other = url or "http://127.0.0.1:8000", f"{tenant}-fsol"
    return (
        f"Next, try another --seed, or another algorithm:\n{first}"
        f"""  curl -s -X PUT {address}/tenants/{other} --json '{{"algorithm": "cs-fsol"}}'\n"""
        f"  sluice demo --url {address} --tenant {other}"
    )
