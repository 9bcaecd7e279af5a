"""POST /features: what an input is turned into. Nothing is asked of a model, and nothing is stored."""

from fastapi import APIRouter
from msgspec import UNSET
from starlette.requests import Request

from app.api import operations
from app.api.answers import Answer, encode
from app.api.bodies import decoded, read_input
from app.api.inputs import example_asked, raw_asked, tenant_name
from app.api.mails import mail_to_show
from app.api.raw import by_name, found_in
from app.api.serving import DirectRoute, Serving, serving
from app.api.wire import FeaturesIn, FeaturesOut, features_decoder
from app.features.featurizer import NEWEST

router = APIRouter(route_class=DirectRoute)


@router.post("/features", **operations.FEATURES)
async def show_features(request: Request) -> Answer:
    """Show the features of one input."""
    serve = serving(request)
    body = await read_input(request, serve.limits)
    asked = decoded(features_decoder, body) if isinstance(body, bytes) else mail_to_show(request, body)
    version = await _version(serve, asked)
    return Answer(encode(await _shown(serve, asked, version)))


async def _version(serve: Serving, asked: FeaturesIn) -> int:
    """The tenant's, which is not made for it; without a tenant the newest."""
    if asked.tenant is UNSET:
        return NEWEST
    tenant = await serve.tenants.hold(tenant_name(asked.tenant), create=False)
    return tenant.state.config.featurizer


async def _shown(serve: Serving, asked: FeaturesIn, version: int) -> FeaturesOut:
    if asked.features:
        limits = serve.limits
        example = example_asked(asked, limits.max_features_per_example, limits.max_feature_name_bytes)
        return FeaturesOut("features", version, by_name(example))
    found = await found_in(serve, asked, version)
    kind, _ = raw_asked(asked)
    return FeaturesOut(kind, version, by_name(found.example), found.cut or UNSET)
