"""The router in front of the services: each tenant goes to its home, and to the next one while that is away."""

from collections.abc import Mapping

from load_tests.cluster.connections import NO_ANSWER, Answer, Connections
from load_tests.cluster.rendezvous import home, order


class Router:
    """Knows which services there are, and which of them do not answer."""

    def __init__(self, connections: Mapping[str, Connections]) -> None:
        self._connections = connections
        self.up: set[str] = set()
        self.sent_on = 0  # requests that went to the next service, because one gave no answer

    def home(self, tenant: str) -> str:
        """Whom a tenant's requests go to now."""
        return home(tenant, self.up)

    async def ask(self, tenant: str, method: str, path: str, body: bytes = b"") -> Answer:
        """Ask the tenant's home; one that gives no answer is taken out, and the next one is asked.

        Only for requests that may arrive twice: predictions, and labels with a feedback_id.
        """
        answer = Answer("nobody", NO_ANSWER, b"", 0.0, 0.0)
        for service in order(tenant, self.up):
            answer = await self._connections[service].ask(method, path, body)
            if answer.status != NO_ANSWER:
                return answer
            self.up.discard(service)
            self.sent_on += 1
        return answer
