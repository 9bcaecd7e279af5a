"""The limit: a FastAPI route that reads its body and answers a constant, served as Sluice is served."""

import sys

import uvicorn
from fastapi import FastAPI, Request, Response

CONSTANT = (
    b'{"prediction_id":"0123456789ab-123-45","tenant":"asked","label":-1,"score":-0.12345678901234567,'
    b'"version":12345,"algorithm":"cs-ssol","needs_review":false,"explanation":[]}'
)
app = FastAPI()


@app.post("/predict")
async def limit(request: Request) -> Response:
    """As little as a route can do."""
    await request.body()
    return Response(CONSTANT, media_type="application/json")


def serve(application: FastAPI, port: int) -> None:
    """Serve with Sluice's own settings: one worker, uvloop, httptools, no access log."""
    uvicorn.run(
        application,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_config=None,
        lifespan="on",
        server_header=False,
    )


if __name__ == "__main__":
    serve(app, int(sys.argv[1]))
