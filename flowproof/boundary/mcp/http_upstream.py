"""The real MCP server of a recording, spoken to over streamable HTTP.

One fixed URL, what the agent sends goes nowhere else. `http_forwarding` uses it; nothing of it is
imported at replay.
"""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import AsyncIterator, Iterable
from functools import lru_cache
from urllib.parse import SplitResult, unquote, urlsplit

import aiohttp
import yarl

from flowproof.boundary.decoding import Decoders, decoders
from flowproof.boundary.endpoint import Limits
from flowproof.boundary.forwarding import HOPS
from flowproof.boundary.http1 import Headers
from flowproof.boundary.keys import credentials, placeholder_for
from flowproof.boundary.mcp.jsonrpc import MAX_MESSAGE
from flowproof.boundary.upstream import (
    NoAnswer,
    UpstreamReply,
    decoder_of,
    proxy_for,
    translated,
)
from flowproof.dialects.credentials import without_credentials
from flowproof.dialects.sse import FrameError, FrameSplitter, read
from flowproof.model.rawtext import from_bytes

SESSION = "mcp-session-id"
_KEPT_BACK = HOPS | frozenset(
    {
        # frames are relayed as they come, so we ask for none that are compressed
        "accept-encoding",
        # of the loopback, where the agent sees the server
        "origin",
        "referer",
        # those of our own streams
        "last-event-id",
    }
)
_HARMLESS = frozenset(
    {
        "accept",
        "accept-language",
        "cache-control",
        "content-type",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "traceparent",
        "tracestate",
        "user-agent",
    }
)
_SHORTEST_SESSION = 16
_IDLE = 300.0
"""Seconds that a call may take without a byte, as long as MCP clients wait themselves."""
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
_REDIRECTS = 3
_LONGEST_RETRY = 10.0
_ENDLESS = 1 << 62
_BODY = MAX_MESSAGE + 1


def sent_on(headers: Headers) -> list[tuple[str, str]]:
    """What the real server gets of the agent's headers: all that concern it, keys as well."""
    named = ",".join(value for name, value in headers if name == "connection")
    kept_back = _KEPT_BACK | {name.strip().lower() for name in named.split(",")}
    return [
        (name, value)
        for name, value in headers
        if name not in kept_back and not _NOT_UTF8.search(value)
    ]


class HttpAnswer:
    """An answer of the real server that has begun."""

    def __init__(self, reply: UpstreamReply, session: str | None) -> None:
        self._reply = reply
        self.status = reply.status
        self.media_type = reply.media_type
        self.session = session
        # Mutable: told by the stream as it goes on; `retry` in seconds.
        self.last_event: str | None = None
        self.retry = 1.0

    async def text(self) -> str:
        """The whole body as text, bytes that are not UTF-8 as lone surrogates.

        :raises NoAnswer: if it does not come, or is too large.
        """
        return from_bytes(await self._whole())

    async def messages(self) -> AsyncIterator[bytes]:
        """The JSON texts of the answer as they arrive: of events, or one that is the whole body.

        :raises NoAnswer: if it breaks off, or one is too large.
        """
        if self.media_type != "text/event-stream":
            if body := await self._whole():
                yield body
            return
        splitter = FrameSplitter(_BODY + 1024)
        async for chunk in self._reply.chunks():
            try:
                frames = splitter.feed(chunk)
            except FrameError as error:
                raise NoAnswer(f"it sent {error}") from error
            for frame in frames:
                if data := self._noted(frame):
                    yield data

    def _noted(self, frame: bytes) -> bytes | None:
        event = read(frame)
        for name, value in event.others:
            if name == "id" and "\0" not in value:
                self.last_event = value
            elif name == "retry" and value.isascii() and value.isdigit() and len(value) < 9:
                self.retry = min(int(value) / 1000, _LONGEST_RETRY)
        if not event.data or event.name not in {None, "", "message"}:
            return None
        return self._reply.clean(event.data.encode())

    async def _whole(self) -> bytes:
        body = bytearray()
        async for chunk in self._reply.chunks():
            body += chunk
            if len(body) > _BODY:
                raise NoAnswer(f"its answer is larger than {MAX_MESSAGE >> 20} MiB")
        return self._reply.clean(bytes(body))


class HttpUpstream:
    """An open HTTP client for the URL of one real server."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, limits: Limits, known: Decoders
    ) -> None:
        parts = urlsplit(url)
        self._session = session
        self._limits = limits
        self._known = known
        self._host = parts.netloc.rpartition("@")[2]
        self._url = parts._replace(netloc=self._host, fragment="").geturl()
        self._authorization = _basic(parts)
        self._own = tuple(_secrets_of(parts))
        self._placeholder = lru_cache(maxsize=64)(placeholder_for)
        self.origin = f"{parts.scheme}://{self._host}"

    @contextlib.asynccontextmanager
    async def send(
        self, method: str, headers: Headers, body: bytes = b"", *, waits: bool = True
    ) -> AsyncIterator[HttpAnswer]:
        """Send a request and read its answer inside the context. One that does not wait for an
        answer of its own (not `waits`) may stay silent for as long as it likes.

        :raises NoAnswer: if no answer begins.
        """
        sent = list(headers)
        if self._authorization and not any(name == "authorization" for name, _ in sent):
            sent.append(("authorization", self._authorization))
        clean = self._placeholder((*self._own, *_secrets_in(sent)))
        url = self._url
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(_REDIRECTS + 1):
                response = await stack.enter_async_context(
                    self._request(method, url, sent, body, waits)
                )
                onward = self._onward(method, url, response)
                if onward is None:
                    break
                response.release()
                url = onward
            session = response.headers.get(SESSION)
            limits = Limits(self._limits.connect_timeout, _IDLE, _ENDLESS)
            decoder = decoder_of(response, self._known, clean)
            yield HttpAnswer(UpstreamReply(response, limits, clean, decoder), session)

    @contextlib.asynccontextmanager
    async def _request(
        self, method: str, url: str, headers: Headers, body: bytes, waits: bool
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self._limits.connect_timeout,
            sock_read=_IDLE if waits else None,
        )
        async with contextlib.AsyncExitStack() as stack:
            with translated(Limits(self._limits.connect_timeout, _IDLE)):
                response = await stack.enter_async_context(
                    self._session.request(
                        method,
                        yarl.URL(url, encoded=True),
                        data=body or None,
                        headers=[*headers, ("accept-encoding", "identity")],
                        allow_redirects=False,
                        proxy=proxy_for(url),
                        timeout=timeout,
                    )
                )
            yield response

    def _onward(self, method: str, url: str, response: aiohttp.ClientResponse) -> str | None:
        """Where a redirect leads that stays with this server and keeps the method."""
        if response.status not in ({307, 308} if method != "GET" else {301, 302, 303, 307, 308}):
            return None
        try:
            target = yarl.URL(url, encoded=True).join(yarl.URL(response.headers["location"]))
        except (KeyError, ValueError):
            return None
        if target.user or target.origin() != yarl.URL(self.origin).origin():
            return None
        return str(target)


def _basic(parts: SplitResult) -> str:
    """What a URL that names a user asks to be sent."""
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _secrets_of(parts: SplitResult) -> Iterable[str]:
    """What is secret in a URL."""
    if parts.password:
        yield from (parts.password, unquote(parts.password))
    kept = set(without_credentials(parts.query).split("&"))
    for part in parts.query.split("&"):
        if part not in kept and (value := part.partition("=")[2]):
            yield from (value, unquote(value))


def _secrets_in(headers: Headers) -> Iterable[str]:
    """What is secret in headers: the value of any that is not known to be harmless."""
    for name, value in headers:
        if name == SESSION:
            if len(value) >= _SHORTEST_SESSION:
                yield value
        elif name not in _HARMLESS and not name.startswith("mcp-param-"):
            yield from credentials(value)


@contextlib.asynccontextmanager
async def open_http_upstream(
    url: str, limits: Limits, known: Decoders | None = None
) -> AsyncIterator[HttpUpstream]:
    """An `HttpUpstream` that closes its connections at the end; TLS is verified."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("user-agent", "accept", "content-type"),
        max_field_size=64 * 1024,
    ) as session:
        yield HttpUpstream(session, url, limits, known or decoders())
