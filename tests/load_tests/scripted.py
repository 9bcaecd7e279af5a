"""A service with scripted answers."""

from load_tests.harness.client import Pool, Response


class ScriptedPool(Pool):
    """Gives the answers of a script, the last one again and again; an error instead of an answer is raised."""

    def __init__(self, *script: tuple[int, str] | type[Exception]) -> None:
        super().__init__(port=0)
        self.bodies: list[str] = []
        self._script = list(script)

    async def send(self, method: str, path: str, body: bytes = b"") -> Response:  # noqa: ARG002 - whatever is asked
        self.bodies.append(body.decode())
        answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(answer, type):
            raise answer
        return Response(answer[0], answer[1].encode())
