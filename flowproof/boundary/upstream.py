"""The one way out of flowproof: the model endpoint that a recording is made against.

Fixed when it is built; nothing in a request chooses another. Imported at record only, so that a
replay has no HTTP client in its process.
"""

from __future__ import annotations

import contextlib
import os
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anyio
import yarl

from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.http1 import Headers
from flowproof.boundary.keys import credentials, placeholder_for
from flowproof.dialects.interface import Target
from flowproof.model.rawtext import from_bytes, to_bytes

_KEPT_BACK = frozenset(
    {
        # hop by hop (RFC 9110 §7.6.1) and framing, which the client sets itself
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "content-encoding",
        "expect",
        # answers are stored decoded, so we ask only for what we can decode
        "accept-encoding",
        # credentials: the agent holds placeholders
        "authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
    }
)
_NOT_PASSED_ON = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "content-encoding",
        "set-cookie",
        # a client that followed it would leave flowproof, and at replay the network
        "location",
        # put back cleaned
        "content-type",
    }
)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header value may hold; clients and servers differ in what they do with it."""
_LONGEST_TYPE = 200
_PIECE = 256 * 1024
_READABLE = {"identity", "", "gzip", "deflate"}


class NoAnswer(Exception):
    """The upstream gave no complete answer; the message says what happened, without secrets."""


class UpstreamReply:
    """An answer that has begun: its status and headers are there, its body is not yet."""

    def __init__(
        self, response: aiohttp.ClientResponse, limits: Limits, without_key: Callable[[str], str]
    ) -> None:
        self._response = response
        self._limits = limits
        self._without_key = without_key
        self.status = response.status
        said = without_key(response.headers.get("content-type", ""))
        self.content_type = "".join(filter(str.isprintable, said))[:_LONGEST_TYPE].strip()

    @property
    def headers(self) -> Headers:
        """The headers that may be passed on to the agent."""
        passed = [
            (name.lower(), self._without_key(value))
            for name, value in self._response.headers.items()
            if name.lower() not in _NOT_PASSED_ON and name.isascii() and not _CONTROL.search(value)
        ]
        return [*passed, ("content-type", self.content_type)] if self.content_type else passed

    def clean(self, data: bytes) -> bytes:
        """Bytes of the body without the key that was sent: an upstream may echo it."""
        return to_bytes(self._without_key(from_bytes(data)))

    @property
    def is_json(self) -> bool:
        """Whether the body says of itself that it is JSON."""
        return self.media_type == "application/json" or self.media_type.endswith("+json")

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
        return self.content_type.partition(";")[0].strip().lower()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The decoded body as it arrives, not clean yet.

        :raises NoAnswer: if it breaks off, stalls, or grows beyond its bound.
        """
        total = 0
        with _translated(self._limits):
            async for chunk in self._response.content.iter_any():
                total += len(chunk)
                if total > self._limits.max_body:
                    raise NoAnswer(f"the answer is larger than {self._limits.max_body} bytes")
                yield chunk

    async def body(self) -> bytes:
        """The whole decoded body, clean."""
        return self.clean(b"".join([chunk async for chunk in self.chunks()]))


class Upstream:
    """An open HTTP client for the endpoint of each provider."""

    def __init__(
        self, session: aiohttp.ClientSession, endpoints: Mapping[str, Endpoint], limits: Limits
    ) -> None:
        self._session = session
        self._endpoints = endpoints
        self._limits = limits
        self._without_key = {
            provider: placeholder_for(
                key for value in endpoint.headers.values() for key in credentials(value)
            )
            for provider, endpoint in endpoints.items()
        }

    @contextlib.asynccontextmanager
    async def send(
        self, provider: str, method: str, target: Target, sent: Headers, body: bytes
    ) -> AsyncIterator[UpstreamReply]:
        """Send a request to a provider's endpoint, with what may travel of the headers that the
        agent `sent`, and read its answer inside the context.

        :raises NoAnswer: if no answer begins.
        """
        endpoint = self._endpoints[provider]
        url = f"{endpoint.url}{target.path}{'?' if target.query else ''}{target.query}"
        headers = [
            *_forwarded(sent),
            *endpoint.headers.items(),
            ("content-length", str(len(body))),
        ]
        async with contextlib.AsyncExitStack() as stack:
            with _translated(self._limits), _Patience(self._limits) as patience:
                response = await stack.enter_async_context(
                    self._session.request(
                        method,
                        yarl.URL(url, encoded=True),
                        data=_pieces(body, patience),
                        headers=headers,
                        allow_redirects=False,
                        proxy=_proxy_for(url),
                    )
                )
            if not 200 <= response.status <= 599:
                raise NoAnswer(
                    f"it answered with the status {response.status}, which no answer has"
                )
            coding = response.headers.get("content-encoding", "identity").strip().lower()
            if coding not in _READABLE:
                raise NoAnswer("it answered in a content-encoding that was not asked for")
            yield UpstreamReply(response, self._limits, self._without_key[provider])


class _Patience:
    """Ends the wait for an answer to begin. The HTTP library bounds connecting and reading, but
    not writing: an upstream that stops reading would hold a large request for ever."""

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.connect_timeout + 2 * limits.idle_timeout
        self._scope = anyio.CancelScope()

    def renew(self) -> None:
        """Something moved."""
        self._scope.deadline = anyio.current_time() + self._seconds

    def __enter__(self) -> Self:
        self.renew()
        self._scope.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        caught = self._scope.__exit__(kind, error, trace)
        if self._scope.cancelled_caught:
            raise NoAnswer(f"it took nothing of the request for {self._seconds:g} s")
        return caught


async def _pieces(body: bytes, patience: _Patience) -> AsyncIterator[bytes]:
    for at in range(0, len(body), _PIECE):
        patience.renew()
        yield body[at : at + _PIECE]


def _forwarded(headers: Headers) -> Iterator[tuple[str, str]]:
    """The agent's headers without credentials and without what concerns one connection only."""
    named = ",".join(value for name, value in headers if name == "connection")
    kept_back = _KEPT_BACK | {name.strip().lower() for name in named.split(",")}
    return ((name, value) for name, value in headers if name not in kept_back)


@contextlib.asynccontextmanager
async def open_upstream(
    endpoints: Mapping[str, Endpoint], limits: Limits
) -> AsyncIterator[Upstream]:
    """An `Upstream` that closes its connections at the end; `endpoints` by provider."""
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=limits.connect_timeout, sock_read=limits.idle_timeout
    )
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"accept-encoding": "gzip, deflate"},
        skip_auto_headers=("user-agent",),
    ) as session:
        yield Upstream(session, endpoints, limits)


def _proxy_for(url: str) -> str | None:
    """The web proxy that the environment asks for, as other HTTP clients understand it."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


@contextlib.contextmanager
def _translated(limits: Limits) -> Iterator[None]:
    """Turn what the HTTP library raises into `NoAnswer` with words of our own."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise NoAnswer(f"no connection within {limits.connect_timeout:g} s") from error
    except aiohttp.SocketTimeoutError as error:
        raise NoAnswer(f"it sent nothing for {limits.idle_timeout:g} s") from error
    except aiohttp.ClientConnectorError as error:
        raise NoAnswer(f"cannot connect: {_reason(error.os_error)}") from error
    except aiohttp.ServerDisconnectedError as error:
        raise NoAnswer("the connection was dropped before an answer") from error
    except aiohttp.ClientPayloadError as error:
        raise NoAnswer("the answer broke off") from error
    except (aiohttp.ClientError, OSError) as error:
        told = error.strerror if isinstance(error, OSError) else None
        raise NoAnswer(f"the connection failed: {told or type(error).__name__}") from error


def _reason(error: OSError) -> str:
    """What the system says; asyncio puts addresses in its place for a refused connection."""
    if error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return error.strerror or str(error)
