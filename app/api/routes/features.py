"""POST /features: show the features of an input."""

from typing import Annotated

from fastapi import APIRouter, Depends
from msgspec import UNSET
from starlette.requests import Request

from app.api import examples, problems
from app.api.dependencies import Service, Tenants, backend_of, needs
from app.api.documentation import body, example, json_body, refusals
from app.api.fast_path.http import decode, read_input
from app.api.fast_path.inputs import check_tenant_name, example_from, raw_input_of
from app.api.fast_path.mails import mail_to_featurize
from app.api.fast_path.messages import Input, input_decoder
from app.api.fast_path.raw_inputs import by_name, featurize
from app.api.json_route import ApiRoute
from app.api.routes.predict import MAIL_BODY, MAIL_TENANT
from app.api.schemas.inputs import FeaturesRequest
from app.api.schemas.predictions import FeaturesResponse
from app.features.featurizer import NEWEST

router = APIRouter(route_class=ApiRoute, tags=["predict"])


async def read_input_message(request: Request) -> Input:
    """Read the input exactly as /predict does: this route shows what /predict would score."""
    read = await read_input(request, backend_of(request).limits)
    return decode(input_decoder, read) if isinstance(read, bytes) else mail_to_featurize(request, read)


@router.post(
    "/features",
    summary="Show the features of an input",
    description="The features of an input, by the newest version of the featurizers, or by that of a tenant. No model "
    "is used, and nothing is stored. `cut` says what of the input was not read.",
    dependencies=[needs("predict")],
    response_model_exclude_unset=True,
    response_description="The features.",
    responses=example(examples.FEATURES_FOUND)
    | refusals(problems.UNKNOWN_TENANT, problems.STORE_UNAVAILABLE, problems.TENANT_DAMAGED, problems.BAD_FEATURES),
    openapi_extra=body(
        json_body({"url": examples.FEATURES_OF_URL}, FeaturesRequest), MAIL_BODY, parameters=[MAIL_TENANT]
    ),
)
async def show_features(
    message: Annotated[Input, Depends(read_input_message)], backend: Service, tenants: Tenants
) -> FeaturesResponse:
    """Show the features of one input."""
    version = NEWEST
    if message.tenant is not UNSET:  # the tenant must exist; this does not create it
        version = (await tenants.hold(check_tenant_name(message.tenant), create=False)).state.config.featurizer
    if message.features and message.url is message.email is message.text is UNSET:
        limits = backend.limits
        given = example_from(message, limits.max_features_per_example, limits.max_feature_name_bytes)
        return FeaturesResponse(kind="features", featurizer=version, features=by_name(given))
    found = await featurize(backend, message, version)
    kind, _ = raw_input_of(message)
    answer = FeaturesResponse(kind=kind, featurizer=version, features=by_name(found.example))
    return answer.model_copy(update={"cut": list(found.cut)}) if found.cut else answer
