"""The one way out of flowproof: the model endpoint that a recording is made against.

Fixed when it is built; nothing in a request chooses another. Imported at record only, so that a
replay has no HTTP client in its process.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anyio
import yarl

from flowproof.boundary.decoding import (
    OPTIONAL,
    Decoder,
    Decoders,
    Undecodable,
    acceptable,
    decoders,
)
from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.forwarding import forwarded, passed_on
from flowproof.boundary.http1 import Headers
from flowproof.boundary.keys import credentials, placeholder_for
from flowproof.dialects.credentials import without_credentials
from flowproof.dialects.interface import Target
from flowproof.model.rawtext import from_bytes, to_bytes
from flowproof.model.visible import visible

_LONGEST_TYPE = 200
_LONGEST_CODING = 80
_PIECE = 256 * 1024
_IDENTITY = {"identity", ""}


class NoAnswer(Exception):
    """The upstream gave no complete answer; the message says what happened, without secrets."""


class NoUpstream(NoAnswer):
    """A provider's requests go nowhere; the message says what to do about it."""


class UpstreamReply:
    """An answer that has begun: its status and headers are there, its body is not yet."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        limits: Limits,
        without_key: Callable[[str], str],
        decoder: Decoder | None,
    ) -> None:
        self._response = response
        self._limits = limits
        self._decoder = decoder
        self._without_key = without_key
        self.status = response.status
        said = without_key(response.headers.get("content-type", ""))
        self.content_type = "".join(filter(str.isprintable, said))[:_LONGEST_TYPE].strip()

    @property
    def headers(self) -> Headers:
        """The headers that may be passed on to the agent."""
        items = self._response.headers.items()
        passed = [
            (name, self._without_key(value))
            for name, value in passed_on(items)
            if self._without_key(name) == name
        ]
        return [*passed, ("content-type", self.content_type)] if self.content_type else passed

    def clean(self, data: bytes) -> bytes:
        """Bytes of the body without the key that was sent: an upstream may echo it."""
        return to_bytes(self._without_key(from_bytes(data)))

    def clean_frames(self, frames: list[bytes]) -> list[bytes]:
        """Frames of the body without the key, each."""
        together = b"".join(frames)
        if self.clean(together) == together:
            return frames
        return list(map(self.clean, frames))

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
        came = went = 0
        with translated(self._limits):
            async for chunk in self._response.content.iter_any():
                # Counted on both sides: a compressed body may be as long as it likes and hold
                # nothing, or a short one hold more than memory does.
                came += len(chunk)
                for piece in self._decoded(chunk):
                    went += len(piece)
                    self._bound(max(came, went))
                    yield piece
                self._bound(came)
        if self._decoder is not None and not self._decoder.whole:
            raise NoAnswer("the answer broke off: what is compressed in it has no end")

    def _bound(self, size: int) -> None:
        if size > self._limits.max_body:
            raise NoAnswer(f"the answer is larger than {self._limits.max_body} bytes")

    def _decoded(self, chunk: bytes) -> Iterator[bytes]:
        if self._decoder is None:
            yield chunk
            return
        try:
            yield from self._decoder.feed(chunk)
        except Undecodable as error:
            coding = self._without_key(self._response.headers.get("content-encoding", ""))
            coding = visible(coding[:_LONGEST_CODING])
            raise NoAnswer(f"the answer cannot be decoded as {coding}: {error}") from error

    async def body(self) -> bytes:
        """The whole decoded body, clean."""
        return self.clean(b"".join([chunk async for chunk in self.chunks()]))


class Upstream:
    """An open HTTP client for the endpoint of each provider."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        endpoints: Mapping[str, Endpoint],
        limits: Limits,
        missing: Mapping[str, str],
        known: Decoders,
    ) -> None:
        self._session = session
        self._endpoints = endpoints
        self._limits = limits
        self._missing = missing
        self._known = known
        self._without_key = {
            provider: placeholder_for(
                key for value in endpoint.headers.values() for key in credentials(value)
            )
            for provider, endpoint in endpoints.items()
        }

    def among(self, providers: Sequence[str]) -> str:
        """The first of these providers about which anything is known, else the last."""
        known = (one for one in providers if one in self._endpoints or one in self._missing)
        return next(known, providers[-1])

    def base_url(self, provider: str) -> str:
        """Where the requests of a provider go.

        :raises NoUpstream: if nowhere.
        """
        if provider not in self._endpoints:
            raise NoUpstream(self._missing.get(provider, "no upstream is named"))
        return self._endpoints[provider].url

    @contextlib.asynccontextmanager
    async def send(
        self, provider: str, method: str, target: Target, sent: Headers, body: bytes
    ) -> AsyncIterator[UpstreamReply]:
        """Send a request to a provider's endpoint, with what may travel of the headers that the
        agent `sent`, and read its answer inside the context.

        :raises NoUpstream: if the provider has no endpoint.
        :raises NoAnswer: if no answer begins.
        """
        query = without_credentials(target.query)
        url = f"{self.base_url(provider)}{target.path}{'?' if query else ''}{query}"
        accepted = ",".join(value for name, value in sent if name == "accept-encoding")
        headers = [
            *forwarded(sent),
            *self._endpoints[provider].headers.items(),
            ("accept-encoding", acceptable(accepted, self._known)),
            ("content-length", str(len(body))),
        ]
        async with contextlib.AsyncExitStack() as stack:
            with translated(self._limits), _Patience(self._limits) as patience:
                response = await stack.enter_async_context(
                    self._session.request(
                        method,
                        yarl.URL(url, encoded=True),
                        data=_pieces(body, patience),
                        headers=headers,
                        allow_redirects=False,
                        proxy=proxy_for(url),
                    )
                )
            if not 200 <= response.status <= 599:
                raise NoAnswer(
                    f"it answered with the status {response.status}, which no answer has"
                )
            without_key = self._without_key[provider]
            decoder = decoder_of(response, self._known, without_key)
            yield UpstreamReply(response, self._limits, without_key, decoder)


def decoder_of(
    response: aiohttp.ClientResponse, known: Decoders, without_key: Callable[[str], str]
) -> Decoder | None:
    """What decodes an answer, also in a coding that was not asked for; None if it is plain.

    :raises NoAnswer: if nothing here can.
    """
    said = ", ".join(response.headers.getall("content-encoding", ())).strip()
    coding = said.lower()
    if coding in _IDENTITY:
        return None
    if coding in known:
        return known[coding]()
    if coding in OPTIONAL:
        raise NoAnswer(
            f"it answered in the content-encoding {coding}, for which no decoder is installed "
            "here: pip install 'flowproof-py[compression]'"
        )
    # As it was sent: in lower case a key would no longer be known as one.
    shown = visible(without_key(said)[:_LONGEST_CODING])
    raise NoAnswer(
        f"it answered in the content-encoding `{shown}`, which was not asked for and cannot "
        "be decoded"
    )


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


@contextlib.asynccontextmanager
async def open_upstream(
    endpoints: Mapping[str, Endpoint],
    limits: Limits,
    missing: Mapping[str, str] | None = None,
    known: Decoders | None = None,
) -> AsyncIterator[Upstream]:
    """An `Upstream` that closes its connections at the end; `endpoints` by provider.

    `missing` says what to do about a provider that has no endpoint, `known` is what decodes
    answers, by default all that this process has.
    """
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=limits.connect_timeout, sock_read=limits.idle_timeout
    )
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("user-agent",),
    ) as session:
        yield Upstream(session, endpoints, limits, missing or {}, known or decoders())


def proxy_for(url: str) -> str | None:
    """The web proxy that the environment asks for, as other HTTP clients understand it."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


@contextlib.contextmanager
def translated(limits: Limits) -> Iterator[None]:
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
