"""Decodes what is compressed as it arrives, in pieces of bounded size.

`upstream` does so with answers, `content_coding` with requests. Decoders beyond the standard
library are looked for only where something is recorded.
"""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Protocol, TypeAlias

PIECE = 64 * 1024
"""How many bytes a decoder yields at once."""
_MOST_MEMBERS = 1000
"""How many streams one answer may consist of; each of them could be empty."""
_BROTLI = ("brotlicffi", "brotli")
_ZSTD = ("compression.zstd",) if sys.version_info >= (3, 14) else ("backports.zstd",)

OPTIONAL = frozenset({"br", "zstd"})
"""The codings that are decodable only where a package is installed."""

Importer: TypeAlias = Callable[[str], ModuleType]
"""Finds a module by its name, or raises `ImportError`."""


class Undecodable(Exception):
    """The bytes are not in the coding that they are said to be in."""


class Decoder(Protocol):
    """Decodes one answer."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes decode to, at most `PIECE` bytes at once.

        :raises Undecodable: if they are not of this coding.
        """

    @property
    def whole(self) -> bool:
        """Whether what was fed is complete, or was nothing at all."""


Decoders: TypeAlias = Mapping[str, Callable[[], Decoder]]
"""What makes a decoder, by the name of its coding."""


def decoders(found: Importer = importlib.import_module) -> Decoders:
    """The decoders that this process has."""
    made = dict(STANDARD)
    if (brotli := _first(_BROTLI, found)) is not None and _is_bounded(brotli):
        made["br"] = lambda: _Brotli(brotli)
    if (zstd := _first(_ZSTD, found)) is not None:
        made["zstd"] = lambda: _Members(lambda first: _Zstd(zstd))
    return made


def acceptable(accepted: str, known: Decoders) -> str:
    """The Accept-Encoding to send for a client's own: what both it and we can decode."""
    refused: set[str] = set()
    named: list[str] = []
    for one in accepted.lower().split(","):
        coding, _, parameter = one.partition(";")
        weight = parameter.replace(" ", "").removeprefix("q=")
        if weight.startswith("0") and not weight.strip("0."):
            refused.add(coding.strip())
        else:
            named.append(coding.strip())
    if "*" in named:
        named += ["gzip", "deflate", *sorted(OPTIONAL)]
    wanted = [one for one in dict.fromkeys(named) if one in known and one not in refused]
    return ", ".join(wanted) or "identity"


def _first(names: tuple[str, ...], found: Importer) -> Any:
    for name in names:
        try:
            return found(name)
        except ImportError:
            continue
    return None


def _is_bounded(brotli: Any) -> bool:
    """Whether the package can stop in the middle of what a few bytes decode to."""
    try:
        brotli.Decompressor().process(b"", output_buffer_limit=1)
    except TypeError:
        return False
    return True


class _Stream(Protocol):
    """One self-contained stream of a coding."""

    def decode(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def rest(self) -> bytes | None:
        """The bytes after its end, None while it has not ended."""


class _Members:
    """Decodes one stream after another: such codings may be concatenated."""

    def __init__(self, begin: Callable[[bytes], _Stream]) -> None:
        self._begin = begin
        # Mutable: the stream that has not ended yet, and how many there were.
        self._stream: _Stream | None = None
        self._count = 0

    @property
    def whole(self) -> bool:
        return self._stream is None

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream is None:
                # Some servers pad what they stored, and the tools that read it do not mind.
                if self._count and not (data := data.lstrip(b"\0")):
                    return
                self._count += 1
                if self._count > _MOST_MEMBERS:
                    raise Undecodable(f"it consists of more than {_MOST_MEMBERS} streams")
                self._stream = self._begin(data)
            yield from self._stream.decode(data)
            rest = self._stream.rest
            if rest is None:
                return
            self._stream, data = None, rest


def _gzip() -> Decoder:
    return _Members(lambda first: _Zlib(31))


def _deflate() -> Decoder:
    # Some servers leave out the zlib header, which starts with its method.
    return _Members(lambda first: _Zlib(15 if first[0] & 0x0F == 8 else -15))


STANDARD: Decoders = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate}
"""The decoders that every process has."""


class _Zlib:
    def __init__(self, wbits: int) -> None:
        self._inflater = zlib.decompressobj(wbits)

    @property
    def rest(self) -> bytes | None:
        return self._inflater.unused_data if self._inflater.eof else None

    def decode(self, data: bytes) -> Iterator[bytes]:
        more = True
        while more:
            try:
                piece = self._inflater.decompress(data, PIECE)
            except zlib.error as error:
                raise Undecodable("it is not in that coding") from error
            data = self._inflater.unconsumed_tail
            more = not self._inflater.eof and (bool(data) or len(piece) == PIECE)
            if piece:
                yield piece


class _Zstd:
    def __init__(self, module: Any) -> None:
        self._error: type[Exception] = module.ZstdError
        self._decompressor = module.ZstdDecompressor()

    @property
    def rest(self) -> bytes | None:
        return self._decompressor.unused_data if self._decompressor.eof else None

    def decode(self, data: bytes) -> Iterator[bytes]:
        more = True
        while more:
            try:
                piece = self._decompressor.decompress(data, PIECE)
            except self._error as error:
                raise Undecodable("it is not in that coding") from error
            data = b""
            more = not self._decompressor.eof and not self._decompressor.needs_input
            if piece:
                yield piece


class _Brotli:
    """A brotli stream, which is never concatenated."""

    def __init__(self, module: Any) -> None:
        self._error: type[Exception] = module.error
        self._decompressor = module.Decompressor()
        # Mutable: whether any byte came.
        self._begun = False

    @property
    def whole(self) -> bool:
        return not self._begun or bool(self._decompressor.is_finished())

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(data)
        more = bool(data)
        while more:
            try:
                piece = self._decompressor.process(data, output_buffer_limit=PIECE)
            except self._error as error:
                raise Undecodable("it is not in that coding") from error
            data = b""
            full = len(piece) >= PIECE and not self._decompressor.is_finished()
            more = full or not self._decompressor.can_accept_more_data()
            if piece:
                yield piece
