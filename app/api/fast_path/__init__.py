"""How /predict, /feedback and their batch forms read and write bytes.

FastAPI's own handling of a request (dependencies, `json.loads`, Pydantic, a response model) costs several times what a
prediction does. So these routes decode a body with msgspec, leave the features as JSON for a kernel, and answer bytes.
Nothing else does: every other route is a plain FastAPI route. The Pydantic models in `app.api.schemas` document the hot
routes, and tests/api/fast_path/test_models.py proves that models and decoders accept, refuse and read the same bodies.
"""
