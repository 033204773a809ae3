"""The socket between a page and its kernel; ``voila.json`` names this class, no page loads it."""

from __future__ import annotations

import asyncio

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection


class PromptConnection(ZMQChannelsWebsocketConnection):
    """A kernel's messages, each sent as soon as it is there.

    One choice makes several small messages (busy, the new values, idle). With Nagle's algorithm,
    which tornado leaves on, the second waits until the page has acknowledged the first, which a
    browser may put off for 40 ms (RFC 1122, 4.2.3.2 and 4.2.3.4).
    """

    def connect(self) -> asyncio.Future[None] | None:  # type: ignore[override]
        """Connect the page to its kernel, as the base class does."""
        self.websocket_handler.set_nodelay(True)
        return super().connect()
