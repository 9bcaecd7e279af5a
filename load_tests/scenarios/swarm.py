"""Locust in a process of its own: a plan comes in by stdin, what was found goes out by stdout."""

import sys
import time
from pathlib import Path

import gevent
import msgspec
from locust.env import Environment
from locust.html import get_html_report
from locust.stats import StatsEntry, stats_history

from load_tests.scenarios.plans import Counted, Found, Plan
from load_tests.scenarios.users import Book, user_class

PATIENCE_SECONDS = 20.0  # for the last answers: a request that was cut off would be counted on one side only
ERRORS_SHOWN = 3


def play(plan: Plan) -> Found:
    """Let the users ask, wait for their last answers, and write Locust's page."""
    book = Book(plan.asks)
    environment = Environment(
        user_classes=[user_class(book)], host=f"http://127.0.0.1:{plan.port}", stop_timeout=PATIENCE_SECONDS
    )
    runner = environment.create_local_runner()
    history = gevent.spawn(stats_history, runner)
    started, worked = time.perf_counter(), time.process_time()
    runner.start(plan.users, spawn_rate=plan.users)
    gevent.sleep(plan.seconds)
    runner.stop()
    cores = (time.process_time() - worked) / (time.perf_counter() - started)
    history.kill()
    Path(plan.report).write_text(get_html_report(environment, show_download_link=False), encoding="utf-8")
    return _found(environment, book, cores)


def _found(environment: Environment, book: Book, cores: float) -> Found:
    stats = environment.stats
    failed = [f"{error.name}: {error.error} ({error.occurrences} times)" for error in stats.errors.values()]
    raised = [str(each["msg"]) for each in environment.runner.exceptions.values()]
    return Found(
        total=_counted(stats.total),
        names={entry.name: _counted(entry) for entry in stats.entries.values()},
        verdicts=book.verdicts,
        labels=book.labels,
        waiting=len(book.desk),
        errors=[*failed, *raised][:ERRORS_SHOWN],
        cores=cores,
    )


def _counted(entry: StatsEntry) -> Counted:
    asked = entry.num_requests > 0
    return Counted(
        requests=entry.num_requests,
        failures=entry.num_failures,
        rate=entry.total_rps,
        p50=entry.get_response_time_percentile(0.50) if asked else None,
        p99=entry.get_response_time_percentile(0.99) if asked else None,
    )


if __name__ == "__main__":
    given = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.msgpack.encode(play(given)))
