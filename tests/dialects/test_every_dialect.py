"""What holds for every dialect: no value raises, cuts change nothing, its client reads errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects import registry
from flowproof.dialects.names import SPOKEN
from flowproof.model.jsonvalue import JsonValue, parse, same, write
from flowproof.model.trajectory import Message, ToolCall
from tests.dialects.samples import SAMPLES, STREAMS, Sample, Stream
from tests.dialects.sdk import CLIENTS, served, served_stream
from tests.dialects.strategies import broken
from tests.dialects.tools import WITHOUT_USAGE, assembled, cut, split

each = pytest.mark.parametrize("sample", SAMPLES.values(), ids=lambda sample: sample.name)
each_stream = pytest.mark.parametrize(
    ("name", "stream", "end"),
    [
        pytest.param(name, stream, end, id=f"{name} {number} {end!r}")
        for name, streams in STREAMS.items()
        for number, stream in enumerate(streams)
        for end in stream.ends
    ],
)


def test_every_dialect_is_tested_here() -> None:
    assert list(STREAMS) == list(SPOKEN)
    assert set(CLIENTS) == set(SPOKEN)


@each
def test_its_own_requests_are_found_and_say_something(sample: Sample) -> None:
    found = registry.find("POST", sample.target.path)
    assert found is not None
    assert found[0] is sample.dialect
    asked = sample.dialect.asked(sample.request, sample.target)
    assert sample.dialect.forwarded(asked.pinned, asked).keys() >= sample.request.keys()
    assert sample.dialect.message_list(asked.pinned)
    (first, *_) = sample.dialect.envelope(asked.pinned).parts
    assert first.value is not None
    answer = sample.dialect.answer(sample.body)
    assert answer.messages
    assert answer.tokens is not None


def paths(sample: Sample, value: JsonValue) -> Iterator[str]:
    """The JSON paths of all places in a request, and of some that are not there."""
    places = [("$", value)]
    while places:
        path, inner = places.pop()
        yield from (path, f"{path}[7].x", f"{path}.x[0]")
        if isinstance(inner, dict):
            places += [(f"{path}.{key}", one) for key, one in inner.items()]
        elif isinstance(inner, list):
            places += [(f"{path}[{at}]", one) for at, one in enumerate(inner)]


@each
@given(data=st.data())
def test_nothing_in_a_request_raises(sample: Sample, data: st.DataObject) -> None:
    dialect, values = sample.dialect, sample.odd()
    pinned = data.draw(broken(sample.request, values) | values)
    assert dialect.said(pinned).tools is not None
    for part in dialect.envelope(pinned).parts:
        assert dialect.part_kind(part.name, part.path)
    names: dict[str, str] = {}
    for raw in dialect.message_list(pinned):
        assert isinstance(dialect.message(raw, names), Message)
    for path in paths(sample, pinned):
        assert dialect.message_kind(pinned, path)
        assert dialect.part_kind("tools", path)
    if isinstance(pinned, dict):
        before = write(pinned)
        earlier = {"e1": ToolCall("e1", "f", "{}", {})}
        changed, tools = dialect.substitute(pinned, lambda *_call: "mock", earlier)
        assert write(pinned) == before
        assert bool(tools) is (changed is not pinned)
        asked = dialect.asked(pinned, sample.target)
        dialect.forwarded(asked.pinned, asked)


@each
@given(data=st.data())
def test_nothing_in_an_answer_raises(sample: Sample, data: st.DataObject) -> None:
    dialect, values = sample.dialect, sample.odd()
    body = data.draw(broken(sample.body, values) | values)
    dialect.answer(body)
    for asked in (sample.stream.asked, WITHOUT_USAGE):
        told = assembled(dialect, dialect.stream(body, asked), asked, all_passed=False)
        dialect.answer(told.body)


def framed(frame: bytes, value: JsonValue) -> bytes:
    """The frame with another JSON value in it."""
    return frame[: frame.index(b"{")] + write(value).encode() + frame[frame.rindex(b"}") + 1 :]


def value_in(frame: bytes) -> JsonValue:
    return parse(frame[frame.index(b"{") : frame.rindex(b"}") + 1])


@each
@given(data=st.data())
def test_nothing_in_a_stream_raises(sample: Sample, data: st.DataObject) -> None:
    dialect, asked, values = sample.dialect, sample.stream.asked, sample.odd()
    told = [*sample.also, sample.body]
    frames = [frame for value in told for frame in dialect.stream(value, asked)]
    frames = [frame for frame in (*frames, *sample.stream.frames) if b"{" in frame]
    assembler = dialect.assembler(asked)
    for frame in data.draw(st.lists(st.sampled_from(frames), max_size=6)):
        whole = value_in(frame)
        assembler.feed(framed(frame, data.draw(st.just(whole) | broken(whole, values))))
    first = assembler.result()
    assert same(first.body, assembler.result().body)
    assert not (first.lossless and not first.complete)
    dialect.answer(first.body)


PIECES = [b"data: ", b"event: error\n", b"\n", b"\r\n", b"[", b"{", b"}", b"]", b'"', b"\\", b","]


@pytest.mark.parametrize("name", SPOKEN)
@given(data=st.data())
def test_no_bytes_raise_and_none_are_lost(name: str, data: st.DataObject) -> None:
    dialect = registry.by_name(name)
    stream = data.draw(st.sampled_from(STREAMS[name]))
    chunks = data.draw(
        st.lists(st.binary(max_size=20) | st.sampled_from([*PIECES, *stream.frames]))
    )
    framing = dialect.framing(stream.asked)
    frames, rest = split(chunks, framing)
    assert b"".join([*frames, rest]) == b"".join(chunks)
    assert split([b"".join(chunks)], framing) == (frames, rest)
    assembled(dialect, [*frames, rest], stream.asked, all_passed=False)
    stored = [frame.decode("utf-8", "surrogateescape") for frame in frames]
    for other in STREAMS[name]:
        list(dialect.replayed(stored, other.asked))


@each_stream
def test_a_cut_at_any_byte_changes_nothing(name: str, stream: Stream, end: bytes) -> None:
    dialect = registry.by_name(name)
    framing = dialect.framing(stream.asked)
    data = b"".join(stream.frames).replace(stream.end, end)
    whole, rest = split([data], framing)
    assert rest == b""
    assert all(split(cut(data, [place]), framing) == (whole, b"") for place in range(len(data)))
    told = assembled(dialect, whole, stream.asked)
    assert told.complete
    assert same(told.body, stream.body)


@each_stream
def test_what_ends_before_the_last_text_is_not_complete(
    name: str, stream: Stream, end: bytes
) -> None:
    dialect = registry.by_name(name)
    data = b"".join(stream.frames).replace(stream.end, end)
    for place in range(data.rindex("👋".encode())):
        frames, rest = split([data[:place]], dialect.framing(stream.asked))
        told = assembled(dialect, [*frames, rest], stream.asked)
        assert not told.complete
        assert not told.lossless


MESSAGE = "flowproof: the model differs, at the path"


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streaming"])
@pytest.mark.parametrize("name", SPOKEN)
def test_a_refusal_is_an_error_with_our_message(name: str, stream: bool) -> None:
    dialect, client = registry.by_name(name), CLIENTS[name]
    error = dialect.error(400, MESSAGE, "flowproof_divergence")
    with pytest.raises(client.error, match="the model differs, at the path") as raised:
        client.call(served(dialect, error, 400, client.http), stream)
    assert client.code(raised.value) in ("flowproof_divergence", None)


@each
def test_an_error_told_as_a_stream_is_an_error(sample: Sample) -> None:
    dialect, client, asked = sample.dialect, CLIENTS[sample.name], sample.stream.asked
    frames = dialect.stream(dialect.error(500, "it broke", "code"), asked)
    with pytest.raises(client.broken, match="it broke"):
        client.call(served_stream(dialect, frames, asked, client.http), True)
