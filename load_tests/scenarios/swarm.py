"""Locust in a process of its own, since it patches sockets: a plan on stdin, the result on stdout."""

import sys
import time
from pathlib import Path

import gevent
import msgspec
from locust import FastHttpUser  # measured: 4.5 times the requests of HttpUser
from locust.env import Environment
from locust.html import get_html_report
from locust.stats import StatsEntry, stats_history

from load_tests.scenarios.plans import Book, Counted, Found, Plan

PATIENCE_SECONDS = 20.0  # for the last answers: a request that is cut off would be counted on one side only
ERRORS_SHOWN = 3
VERDICT, LABEL = b'"needs_review":', b'"duplicate":'  # in an answer once for each item


def user_class(book: Book) -> type[FastHttpUser]:
    """Users who send, read the answer, and send again. A good answer holds an item for each item sent."""

    def ask(user: FastHttpUser) -> None:
        given = book.next(time.monotonic())
        headers = {"content-type": given.content_type}
        with user.client.post(
            given.path, data=given.body, headers=headers, name=given.name, catch_response=True
        ) as answer:
            content = answer.content or b""
            if answer.status_code == 200 and content.count(LABEL if given.is_label else VERDICT) == given.items:
                book.enter(given, content, time.monotonic())
            else:
                answer.failure(f"{answer.status_code}: {content[:300].decode(errors='replace')}")

    return type("SluiceUser", (FastHttpUser,), {"tasks": [ask]})


def play(plan: Plan) -> Found:
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
    stats = environment.stats
    failed = [f"{error.name}: {error.error} ({error.occurrences} times)" for error in stats.errors.values()]
    raised = [str(each["msg"]) for each in runner.exceptions.values()]
    return Found(
        total=_counted(stats.total),
        names={entry.name: _counted(entry) for entry in stats.entries.values()},
        verdicts=book.verdicts,
        labels=book.labels,
        waiting=book.waiting,
        errors=[*failed, *raised][:ERRORS_SHOWN],
        cores=cores,
    )


def _counted(entry: StatsEntry) -> Counted:
    p50, p99 = (entry.get_response_time_percentile(p) if entry.num_requests else None for p in (0.50, 0.99))
    return Counted(entry.num_requests, entry.num_failures, entry.total_rps, p50, p99)


if __name__ == "__main__":
    given = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.msgpack.encode(play(given)))
