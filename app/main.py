"""The composition root: builds the service from its settings. Nothing else constructs collaborators."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from fastapi import FastAPI

from app.api.app import create_app
from app.api.backend import Backend, RequestLimits
from app.api.middleware.event_streams import EventStreams
from app.api.middleware.key_share import KeyShare
from app.api.middleware.overload import Overload
from app.api.middleware.rate_limit import MAX_CALLERS, RateLimiter
from app.api.middleware.request_log import RequestLog
from app.auth.audit import Audit
from app.auth.authenticator import Authenticator
from app.auth.key_file import KeyFile
from app.auth.keyring import Keyring
from app.auth.label_rate import MAX_MODERATORS, LabelRates
from app.auth.rate_windows import rate_windows
from app.auth.sessions import Sessions
from app.console.pages import Console
from app.features.featurizer import features_of
from app.learning.first_settings import settings_of_new_tenants
from app.review.live import LiveStates
from app.review.overview import Overview
from app.review.queue import ReviewQueue
from app.review.second import SecondReviews
from app.settings import Settings
from app.storage.access.api_keys import ApiKeyStore
from app.storage.access.audit_log import AuditLog
from app.storage.access.sessions import SessionStore
from app.storage.change_feed import ChangeFeeds
from app.storage.client import Connection, connect
from app.storage.client.monitor import StoreMonitor
from app.storage.deleted_tenants import DeletedTenants
from app.storage.errors import StoreUnavailable
from app.storage.event_log import EventLog
from app.storage.memory import read_memory
from app.storage.outcomes import OutcomeStore
from app.storage.predictions import PredictionStore
from app.storage.review.inputs import InputStore
from app.storage.review.opinions import OpinionStore
from app.storage.review.queue import QueueLimits, ReviewQueueStore
from app.storage.snapshots import SnapshotStore
from app.storage.stored_tenant import TenantStore
from app.telemetry.counters import Telemetry, TenantCounters
from app.telemetry.exposition import Exposition
from app.telemetry.logs import configure
from app.telemetry.traces import RequestTracer
from app.telemetry.workers import WorkerGroup, exit_with_parent
from app.tenants.cache import EndedIncarnations, RecentEntries, TenantCache
from app.tenants.feedback import FeedbackHistory
from app.tenants.labels.replacement import Replacements
from app.tenants.labels.retraction import Retractions
from app.tenants.labels.similarity import SimilarInputs
from app.tenants.labels.what_if import WhatIfs
from app.tenants.log_follower import LogFollower, Replayer
from app.tenants.log_writer import LogWriter
from app.tenants.loss.lost_entries import LostEntries
from app.tenants.loss.repair import Repair
from app.tenants.measurements import Measurements
from app.tenants.predictions.kept_predictions import KeptPredictions
from app.tenants.predictions.prediction_budget import PredictionBudget
from app.tenants.recovery import Recovery, TenantLoader
from app.tenants.registry import Tenants, cancel_all
from app.tenants.rules import FeatureLimit, Rules
from app.tenants.snapshotter import SnapshotPolicy, Snapshotter
from app.tenants.transfer.deletion import Deletions
from app.tenants.transfer.exports import Exports
from app.tenants.transfer.imports import Imports
from app.tenants.warm_up import warm_up

logger = logging.getLogger("sluice")

# How long requests wait for a thread that rebuilds or encodes a model; Python's default is 5 ms.
SWITCH_SECONDS = 0.0005


def create() -> FastAPI:
    """Return the application of one worker, configured by the environment; uvicorn calls this."""
    return application(Settings.from_environment(os.environ))


def application(settings: Settings) -> FastAPI:
    """Return the application of one worker."""
    configure(settings.log_level, settings.log_format)  # one of several workers starts without it
    workers = WorkerGroup.of_environment(settings.workers)
    telemetry = Telemetry(TenantCounters(settings.metrics_tenants, settings.metrics_tenant_names))
    tracing = RequestTracer(settings.traces_url) if settings.traces_url else None
    overload = Overload(
        telemetry.requests, settings.max_concurrent_requests, max_lag_seconds=settings.max_lag_milliseconds / 1000
    )
    rate_limiter = _rate_limiter(settings.requests_per_second, "rate", telemetry, workers)
    wrong_key_limiter = _rate_limiter(settings.wrong_keys_per_second, "wrong_key", telemetry, workers)
    moderators = rate_windows(workers.folder, "labels", MAX_MODERATORS)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        sys.setswitchinterval(SWITCH_SECONDS)
        await asyncio.to_thread(warm_up)
        assert settings.redis_url is not None  # the server sets it if the operator has not
        connection = connect(
            settings.redis_url.get_secret_value(),
            observe=telemetry.commands.count,
            durability=settings.required_durability,
        )
        tenants = build_tenants(connection, _rules(settings), telemetry)
        limits = _queue_limits(settings)
        review = ReviewQueueStore(connection, limits)
        store = PredictionStore(
            connection,
            settings.pending_ttl_seconds,
            settings.pending_max_per_tenant,
            settings.pending_max_bytes_per_tenant,
            limits,
        )
        enabled, inputs = settings.pending_ttl_seconds > 0, InputStore(connection)
        kept = KeptPredictions(store, tenants.follower, enabled=enabled, telemetry=telemetry, inputs=inputs)
        budget = PredictionBudget(store, kept, partial(read_memory, connection), settings.pending_max_bytes)
        measurements = Measurements(
            tenants.cache, tenants.loader, tenants.follower, kept, budget, telemetry.tenants, connection.status, review
        )
        exposition = Exposition(telemetry, workers, measurements.read)
        audit = Audit(AuditLog(connection, settings.audit_max_entries))
        keyring = Keyring(ApiKeyStore(connection), KeyFile(settings.data_dir), audit, telemetry)
        authenticator = Authenticator(keyring, settings.access)
        queue = ReviewQueue(review, telemetry.tenants, limits, settings.review_lease_seconds)
        app.state.backend = Backend(
            tenants,
            kept,
            request_limits(settings),
            featurize=features_of,
            metrics=exposition.whole_page,
            authenticator=authenticator,
            sessions=Sessions(authenticator, SessionStore(connection), settings.session_seconds),
            audit=audit,
            label_rates=LabelRates(settings.labels_per_moderator_per_minute, windows=moderators),
            review=queue,
            second_reviews=SecondReviews(
                OpinionStore(connection), tenants, settings.second_review_share, settings.review_lease_seconds
            ),
            live=LiveStates(queue),
            overview=Overview(
                tenants.cache,
                tenants.loader.damaged,
                partial(tenants.hold, create=False),
                EventLog(connection, settings.feedback_id_ttl_seconds),
                review,
                room_bytes=settings.memory_budget_bytes // 2,
            ),
            event_streams=EventStreams(settings.max_event_streams, telemetry.requests),
            rate_limiter=rate_limiter,
            wrong_key_limiter=wrong_key_limiter,
            key_share=KeyShare(settings.max_concurrent_per_key, telemetry.requests),
        )
        await _first_contact(connection, authenticator)
        tenants.start()
        await workers.listen(exposition.own_page)
        background = [
            asyncio.create_task(work)
            for work in (
                kept.run(),
                budget.run(),
                authenticator.follow(),
                overload.probe(),
                StoreMonitor(connection).run(),
                exit_with_parent(),
            )
        ]
        yield
        await cancel_all(background)
        with suppress(StoreUnavailable):
            await kept.write()
        await tenants.stop(settings.shutdown_seconds / 2)
        await connection.aclose()
        workers.close()
        if tracing is not None:
            await asyncio.to_thread(tracing.close)

    request_log = RequestLog(settings.log_requests, with_inputs=settings.log_inputs, tracing=tracing)
    return create_app(
        requests=telemetry.requests,
        overload=overload,
        request_log=request_log,
        lifespan=lifespan,
        pages=Console().router(),
    )


def request_limits(settings: Settings) -> RequestLimits:
    """Return the limits on a request."""
    return RequestLimits(
        max_body_bytes=settings.max_body_bytes,
        max_mail_bytes=settings.max_mail_bytes,
        max_import_bytes=settings.max_import_bytes,
        max_batch_items=settings.max_batch_items,
        max_line_bytes=settings.max_line_bytes,
        max_features_per_example=settings.max_features_per_example,
        max_feature_name_bytes=settings.max_feature_name_bytes,
        body_idle_seconds=settings.body_idle_seconds,
        body_seconds=settings.body_seconds,
    )


def build_tenants(connection: Connection, rules: Rules, telemetry: Telemetry) -> Tenants:
    """Build the tenants of one worker, from the store up."""
    log = EventLog(connection, rules.feedback_id_ttl_seconds)
    snapshots = SnapshotStore(connection)
    store = TenantStore(connection, log, rules.feedback_id_ttl_seconds)
    recent, ended = RecentEntries(), EndedIncarnations()
    recovery = Recovery(log, snapshots)
    cache = TenantCache(rules.memory_budget_bytes, recent, telemetry)
    replayer = Replayer(log, recovery, recent, cache)
    repair = Repair(
        log, snapshots, recovery, recent, LostEntries(log, recent), ended, rules.rescued, cache.drop, telemetry
    )
    writer = LogWriter(log, replayer, cache, repair.repair)
    snapshotter = Snapshotter(snapshots, rules.snapshots, cache.unsaved, telemetry)
    retractions = Retractions(log, snapshots, replayer, snapshotter, telemetry)
    replacements = Replacements(log, replayer, retractions, telemetry)
    outcomes = OutcomeStore(connection, rules.feedback_id_ttl_seconds)
    history = FeedbackHistory(recovery, replacements, outcomes, telemetry)
    loader = TenantLoader(repair.load, cache, writer, history, telemetry, max_weights_moved=rules.max_weights_moved)
    return Tenants(
        rules,
        log=log,
        snapshots=snapshots,
        cache=cache,
        loader=loader,
        writer=writer,
        history=history,
        follower=LogFollower(
            ChangeFeeds(connection), log, replayer, repair, cache.tenants, loader.load, loader.damaged
        ),
        repair=repair,
        snapshotter=snapshotter,
        retractions=retractions,
        what_ifs=WhatIfs(recovery, rules.features, rules.memory_budget_bytes),
        similar_inputs=SimilarInputs(log),
        deletions=Deletions(log, DeletedTenants(connection), store, snapshots, repair, rules.deleted_tenant_seconds),
        exports=Exports(rules.max_concurrent_exports, log),
        imports=Imports(log, snapshots, store, rules.features, ended),
        telemetry=telemetry,
        store=connection.status,
    )


def _queue_limits(settings: Settings) -> QueueLimits:
    return QueueLimits(settings.review_max_per_tenant, settings.review_max_bytes_per_tenant, settings.review_max_leases)


def _rate_limiter(per_second: int, reason: str, telemetry: Telemetry, workers: WorkerGroup) -> RateLimiter | None:
    if per_second == 0:
        return None
    callers = rate_windows(workers.folder, reason, MAX_CALLERS)
    return RateLimiter(per_second, telemetry.requests, callers, reason=reason)


async def _first_contact(connection: Connection, authenticator: Authenticator) -> None:
    """Start without Redis if it is not reachable: /readyz can then say why the service is not ready."""
    try:
        await connection.ping()
        await authenticator.read()
    except StoreUnavailable as error:
        logger.error("%s; this worker is not ready until the store is reachable", error)  # noqa: TRY400 - the message has it all


def _rules(settings: Settings) -> Rules:
    return Rules(
        auto_create=settings.auto_create_tenants,
        first_settings=settings_of_new_tenants(settings.default_algorithm),
        max_weights_moved=settings.max_weights_moved,
        max_concurrent_exports=settings.max_concurrent_exports,
        features=FeatureLimit(settings.max_features_per_tenant),
        max_tenants=settings.max_tenants,
        memory_budget_bytes=settings.memory_budget_bytes,
        feedback_id_ttl_seconds=settings.feedback_id_ttl_seconds,
        deleted_tenant_seconds=settings.deleted_tenant_seconds,
        rescued=settings.data_dir / "rescued",
        snapshots=SnapshotPolicy(
            settings.snapshot_every_events,
            settings.snapshot_every_seconds,
            settings.snapshots_kept,
            settings.log_retention_events,
            settings.log_max_bytes,
        ),
    )
