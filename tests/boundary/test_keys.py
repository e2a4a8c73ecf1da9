"""Keys that come back from an upstream, in whatever spelling, and what stands in their place."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from urllib.parse import quote

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.keys import PLACEHOLDER_KEY, placeholder_for
from flowproof.boundary.upstream import open_upstream
from flowproof.dialects.interface import Target
from flowproof.model.jsonvalue import write
from tests.boundary.tools import SECRET, chat_request, recording, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script

KEY = "sk-Ab+cd/ef=gh&ij<kl>01"
ESCAPED = "".join(f"\\u{ord(char):04X}" if char in "-+/=&<>" else char for char in SECRET)


def units(text: str) -> str:
    """A text with each character escaped as JSON may escape it."""
    return "".join(f"\\u{ord(char):04x}" for char in text)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON of .NET": lambda key: key.replace("+", "\\u002B").replace("&", "\\u0026"),
    "JSON of Gson": lambda key: key.replace("=", "\\u003d").replace("<", "\\u003c"),
    "JSON of PHP": lambda key: key.replace("/", "\\/"),
    "each character": units,
    "JSON inside JSON": lambda key: json.dumps(json.dumps({"k": units(key)})),
    "a URL": lambda key: quote(key, safe=""),
    "a URL in lower case": lambda key: quote(key, safe="").replace("%2B", "%2b"),
    "a URL inside a URL": lambda key: quote(quote(key, safe=""), safe=""),
    "HTML": lambda key: key.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
    "HTML by number": lambda key: "".join(f"&#{ord(char)};" for char in key),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of a pair": lambda key: base64.b64encode(f"user:{key}!".encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"a{key}".encode()).decode(),
    "UTF-16": lambda key: key.encode("utf-16-le").decode(),
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_a_key_is_found_in_each_spelling(spell: Callable[[str], str]) -> None:
    clean = placeholder_for([KEY])
    assert PLACEHOLDER_KEY in clean(f'"{spell(KEY)}"')
    other = f'"{spell("sk-Zz+cd/ef=gh&ij<kl>02")}"'
    assert clean(other) == other


LINES = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=30)


# A backslash at the end of a key could not be told from one that escapes what follows it.
WRITTEN = LINES.filter(lambda key: not key.isalpha() and not key.endswith("\\"))


@given(WRITTEN, st.lists(st.booleans(), min_size=30), st.data())
def test_no_escapes_hide_a_key_from_json(
    key: str, escaped: Sequence[bool], data: st.DataObject
) -> None:
    said = "".join(
        units(char) if hidden else json.dumps(char)[1:-1]
        for char, hidden in zip(key, escaped, strict=False)
    )
    before = data.draw(st.sampled_from(["", "x", "\\\\", '\\"', "\\n"]))
    for depth in (1, 2):
        text = f'"{before}{said}"'
        for _ in range(depth - 1):
            text = json.dumps(text)
        value = json.loads(placeholder_for([key])(text))
        for _ in range(depth - 1):
            value = json.loads(value)
        assert key not in value.removeprefix(json.loads(f'"{before}"'))
        assert PLACEHOLDER_KEY in value


@pytest.mark.parametrize("unit", ["\\", "s", "\\u0073", "%25", "&#0", "%", '\\"'])
@pytest.mark.timeout(20)
def test_no_text_makes_it_slow(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    assert placeholder_for([SECRET])(text) == text


BODIES: dict[str, bytes] = {
    "a text": b'{"id": "a", "said": "you sent %s"}' % ESCAPED.encode(),
    "a key of an object": b'{"id": "a", "%s": 1}' % ESCAPED.encode(),
    "JSON in a text": json.dumps({"id": "a", "raw": f'{{"k": "{ESCAPED}"}}'}).encode(),
    "base64": b'{"id": "a", "h": "%s"}' % base64.b64encode(b"u:" + SECRET.encode()),
}


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_escaped_key_reaches_neither_the_trace_nor_the_agent(
    body: bytes, path: str, status: int
) -> None:
    script = up.plain(body, status)
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, chat_request(), path=path)
        kept = [turn.response for turn in boundary.finish().turns]
        kept += [call.response for call in boundary.finish_beside().calls]
    (response,) = kept
    assert answer.status == response.status == status
    for said in (answer.json(), response.body):
        text = write(said)
        assert SECRET not in text
        assert SECRET not in text.encode().decode("unicode_escape")
        assert PLACEHOLDER_KEY in text


def test_a_body_with_escapes_and_no_key_is_passed_on_as_it_is() -> None:
    body = b'{"id": "\\u002B\\/\\u0026 %2B &amp; c2stdXBzdHJlYW0="}'
    script = up.plain(body)
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert answer.body == body
    assert turn.response.body == json.loads(body)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("content-encoding", id="the coding"),
        pytest.param("x-echo", id="a value"),
    ],
)
def test_a_key_in_a_header_is_not_told(header: str) -> None:
    script: Script = up.answer({"id": "a"}, headers=[(header, SECRET.upper()), (header, SECRET)])
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, chat_request())
        recorded = boundary.finish()
    assert SECRET not in str(recorded) + str(dict(answer.headers)) + answer.body.decode()
    assert (PLACEHOLDER_KEY in str(recorded)) is (header == "content-encoding")


def test_a_header_that_is_named_as_the_key_is_dropped() -> None:
    script = up.answer({}, headers=[(SECRET, "1"), ("x-fine", "1")])
    endpoint = {"authorization": f"Bearer {SECRET}"}

    async def ask(url: str) -> list[str]:
        async with open_upstream({"openai": Endpoint(url, endpoint)}, Limits()) as client:
            target = Target("/chat/completions")
            async with client.send("openai", "POST", target, [], b"{}") as answer:
                await answer.body()
                return [name for name, _ in answer.headers]

    with FakeUpstream(up.scripted(script)) as upstream:
        names = anyio.run(ask, upstream.url)
    assert "x-fine" in names
    assert SECRET not in names
