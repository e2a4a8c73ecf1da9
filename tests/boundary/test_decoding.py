"""Decoding as answers arrive: cut anywhere, bounded, and only with what is installed."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.boundary import content_coding
from flowproof.boundary.decoding import PIECE, Undecodable, acceptable, decoders

Compress = Callable[[bytes], bytes]
ALL = decoders()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def brotli(data: bytes) -> bytes:
    packed: bytes = importlib.import_module("brotli").compress(data)
    return packed


def zstd(data: bytes) -> bytes:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            packed: bytes = importlib.import_module(name).compress(data)
        except ImportError:
            continue
        return packed
    raise ImportError("no zstd")


CODINGS = [
    pytest.param("gzip", gzip.compress, id="gzip"),
    pytest.param("x-gzip", gzip.compress, id="x-gzip"),
    pytest.param("deflate", zlib.compress, id="deflate"),
    pytest.param("deflate", raw_deflate, id="deflate without a header"),
    pytest.param("br", brotli, id="br"),
    pytest.param("zstd", zstd, id="zstd"),
]


def decoded(coding: str, *chunks: bytes) -> tuple[bytes, bool]:
    decoder = ALL[coding]()
    pieces = [piece for chunk in chunks for piece in decoder.feed(chunk)]
    assert all(len(piece) <= 2 * PIECE for piece in pieces)
    return b"".join(pieces), decoder.whole


@pytest.mark.parametrize(("coding", "compress"), CODINGS)
@given(data=st.binary(max_size=300), cut=st.integers(0, 300))
def test_wherever_it_is_cut(coding: str, compress: Compress, data: bytes, cut: int) -> None:
    packed = compress(data)
    assert decoded(coding, packed[:cut], packed[cut:]) == (data, True)
    assert decoded(coding, *(packed[at : at + 1] for at in range(len(packed)))) == (data, True)


@pytest.mark.parametrize(("coding", "compress"), CODINGS)
def test_a_bomb_comes_in_pieces(coding: str, compress: Compress) -> None:
    bomb = compress(b"\0" * 3_000_000)
    assert len(bomb) < 10_000
    decoder = ALL[coding]()
    pieces = decoder.feed(bomb)
    assert 0 < len(next(pieces)) <= 2 * PIECE
    assert not decoder.whole
    assert sum(map(len, pieces)) > 2_500_000
    assert decoder.whole


@pytest.mark.parametrize(("coding", "compress"), CODINGS)
def test_an_end_that_is_missing_is_noticed(coding: str, compress: Compress) -> None:
    packed = compress(b"hello, hello, hello")
    said, whole = decoded(coding, packed[:-1])
    assert not whole
    assert b"hello, hello, hello".startswith(said)
    assert decoded(coding) == (b"", True), "nothing at all is whole"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_is_not_in_that_coding(coding: str) -> None:
    with pytest.raises(Undecodable):
        decoded(coding, b'\xff{"a": 1} and more that is plain' * 10)


@pytest.mark.parametrize(
    ("coding", "compress"), [c for c in CODINGS if c.values[0] not in ("br", "deflate")]
)
def test_several_streams_are_one_answer(coding: str, compress: Compress) -> None:
    assert decoded(coding, compress(b"one ") + compress(b"two")) == (b"one two", True)
    with pytest.raises(Undecodable, match="more than 1000"):
        decoded(coding, compress(b"") * 1001)


def importer(*missing: str) -> Callable[[str], ModuleType]:
    def found(name: str) -> ModuleType:
        if name.partition(".")[0] in missing:
            raise ImportError(name)
        return importlib.import_module(name)

    return found


ALWAYS = {"gzip", "x-gzip", "deflate"}


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        pytest.param((), {"br", "zstd"}, id="all there"),
        pytest.param(("brotli", "brotlicffi"), {"zstd"}, id="no brotli"),
        pytest.param(("backports", "compression"), {"br"}, id="no zstd"),
        pytest.param(("brotli", "brotlicffi", "backports", "compression"), set(), id="neither"),
    ],
)
def test_what_can_be_decoded(missing: tuple[str, ...], expected: set[str]) -> None:
    assert set(decoders(importer(*missing))) == ALWAYS | expected


class _OldDecompressor:
    def process(self, data: bytes) -> bytes:
        return data


def test_a_brotli_that_cannot_stop_is_not_used() -> None:
    old: Any = ModuleType("brotli")
    old.Decompressor = _OldDecompressor

    def found(name: str) -> ModuleType:
        if name != "brotli":
            raise ImportError(name)
        return old  # type: ignore[no-any-return]

    assert set(decoders(found)) == ALWAYS


@pytest.mark.parametrize(
    ("accepted", "sent"),
    [
        pytest.param("", "identity", id="nothing said"),
        pytest.param("identity", "identity", id="only plain"),
        pytest.param("gzip, deflate", "gzip, deflate", id="what SDKs send"),
        pytest.param("gzip, deflate, br, zstd", "gzip, deflate, br, zstd", id="everything"),
        pytest.param("zstd,gzip", "zstd, gzip", id="in its order"),
        pytest.param("snappy, GZIP", "gzip", id="one that nobody knows"),
        pytest.param("gzip;q=0", "identity", id="refused"),
        pytest.param("gzip; q=0.0, br;q=0.5", "br", id="weighed"),
        pytest.param("*", "gzip, deflate, br, zstd", id="any"),
        pytest.param("br;q=0, *;q=0.1", "gzip, deflate, zstd", id="any but one"),
        pytest.param("*;q=0", "identity", id="none"),
        pytest.param(",;=,q", "identity", id="nonsense"),
    ],
)
def test_what_is_asked_for(accepted: str, sent: str) -> None:
    assert acceptable(accepted, ALL) == sent


def test_nothing_is_asked_for_that_cannot_be_decoded() -> None:
    without = decoders(importer("brotli", "brotlicffi", "backports", "compression"))
    assert acceptable("gzip, br, zstd, *", without) == "gzip, deflate"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_padding_behind_what_is_compressed_is_passed_over(coding: str) -> None:
    compressed: Compress = {"gzip": gzip.compress, "zstd": zstd}[coding]
    decoder = ALL[coding]()
    fed = [compressed(b"Hello"), b"\0" * 5, b"\0", compressed(b", you")]
    assert b"".join(piece for data in fed for piece in decoder.feed(data)) == b"Hello, you"
    assert decoder.whole


def test_padding_alone_is_not_compressed() -> None:
    with pytest.raises(Undecodable):
        list(ALL["gzip"]().feed(b"\0\0\0\0"))


def test_a_request_of_many_streams_is_refused_at_once() -> None:
    body = gzip.compress(b"") * 100_000
    found = content_coding.decoded(body, [("content-encoding", "gzip")], 1_000_000)
    assert isinstance(found, content_coding.Fault) and found.status == 400
    few = gzip.compress(b"a") * 9
    assert content_coding.decoded(few, [("content-encoding", "gzip")], 1_000_000) == b"a" * 9
