"""What the manual says about the routes that tell of the service itself."""

from app.api import examples, problems
from app.api.documenting import Body, documented, json_body, parameter
from app.api.schemas import reference

LIVE = documented(
    "is_alive",
    "Is the process alive?",
    "Depends on nothing else.",
    tag="health",
    role=None,
    answers={200: ("It is.", [json_body("AliveOut", alive={"status": "alive"})])},
)
READY = documented(
    "is_ready",
    "Is the service ready?",
    "Every part that is needed, by name.",
    tag="health",
    role=None,
    answers={
        200: ("It is.", [json_body("ReadyOut", ready=examples.READY)]),
        503: ("It is not.", [json_body("ReadyOut", not_ready=examples.NOT_READY)]),
    },
)
METRICS = documented(
    "show_metrics",
    "Show the metrics",
    "For Prometheus, of all workers of this service; docs/metrics.md says what each of them means.",
    tag="health",
    role="metrics",
    answers={
        200: ("The metrics.", [Body({"type": "string"}, {"metrics": examples.METRICS}, "text/plain")]),
    },
)
KIND = {
    "type": problems.TOO_LARGE.type,
    "title": problems.TOO_LARGE.title,
    "status": problems.TOO_LARGE.status,
    "remedy": problems.TOO_LARGE.remedy,
}
LIST_PROBLEMS = documented(
    "list_problems",
    "List the kinds of problems",
    "Every `type` that an error can have.",
    tag="problems",
    role=None,
    answers={
        200: ("All kinds.", [Body({"type": "array", "items": reference("ProblemKindOut")}, {"kinds": [KIND]})]),
    },
)
SHOW_PROBLEM = documented(
    "show_problem",
    "Explain a kind of problem",
    "What the `type` of an error leads to.",
    tag="problems",
    role=None,
    parameters=[parameter("name", {"type": "string"}, "The end of the type.", where="path", example="too-large")],
    answers={200: ("The kind.", [json_body("ProblemKindOut", kind=KIND)])},
    refusals=(problems.UNKNOWN_ROUTE,),
)
