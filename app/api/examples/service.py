"""Examples of what concerns the whole service: deleted tenants, health, keys, the audit."""

from app.api.examples.inputs import TENANT

DELETED = {
    "tenant": TENANT,
    "deleted": [
        {
            "id": "1f0c9a7be2d41f0c9a7be2d41f0c9a7b",
            "version": 1235,
            "at": 1_794_880_000_000,
            "until": 1_795_484_800_000,
        }
    ],
}
SNAPSHOT = {
    "tenant": TENANT,
    "version": 1235,
    "digest": "b0a1c2d3e4f5061728394a5b6c7d8e9f",
    "chunks": 9,
    "written": 2,
    "bytes": 98304,
}
READY = {"status": "ready", "parts": {"redis": {"ok": True, "detail": "in contact"}}}
NOT_READY = {"status": "not ready", "parts": {"redis": {"ok": False, "detail": "Connection refused"}}}
METRICS = """\
# HELP sluice_labels_total Labels given, and what the model said just before.
# TYPE sluice_labels_total counter
sluice_labels_total{label="anomaly",predicted="anomaly",tenant="acme",worker="0"} 41.0
"""
KEY_WANTED = {"name": "moderation page", "roles": ["predict", "feedback"], "tenants": ["acme", "acme-*"]}
KEY_WANTED_NAMED = {"name": "kim's own", "roles": ["feedback"], "tenants": ["acme"], "moderator": "kim"}
KEY = {
    "id": "1f0c9a7be2d4",
    "name": "moderation page",
    "roles": ["predict", "feedback"],
    "tenants": ["acme", "acme-*"],
    "created_at": 1_794_880_000_000,
    "expires_at": None,
    "made_by": "7eefaec9f8ab",
    "moderator": None,
    "speaks_for_others": False,
}
KEY_MADE = {"secret": "sluice_1f0c9a7be2d4_...", "key": KEY}
KEYS = {"keys": [KEY]}
AUDIT = {
    "entries": [
        {
            "id": "1794880900000-0",
            "at": 1_794_880_900_000,
            "action": "retract_labels",
            "key_id": "7eefaec9f8ab",
            "tenant": TENANT,
            "request_id": "9f2c41d07a6b-2a",
            "detail": None,
        }
    ],
    "next": None,
}
ROTATION = {"overlap_seconds": 3600}
SESSION = {
    "key_id": "1f0c9a7be2d4",
    "name": "kim's own",
    "roles": ["feedback", "review"],
    "tenants": ["acme"],
    "moderator": "kim",
    "speaks_for_others": False,
    "expires_at": None,
}
