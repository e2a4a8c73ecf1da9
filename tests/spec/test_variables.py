"""`${VAR}`: found, escaped, refused, resolved."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import ExitCode, UnsetVariable
from flowproof.model.flow_spec import Position, Scalar, VariableUse
from flowproof.model.jsonvalue import JsonValue, NumberText
from flowproof.spec.variables import (
    WELL_FORMED,
    handles,
    references,
    require_set,
    resolve,
    resolve_expected,
    resolve_json,
    tokens,
)

VALUES = {"A": "1", "B_2": "two ${A}", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain $5 and {A}", "plain $5 and {A}", id="nothing"),
        pytest.param("<${A}>", "<1>", id="one"),
        pytest.param("${A}${A}-${EMPTY}", "11-", id="several"),
        pytest.param("${B_2}", "two ${A}", id="a-value-is-not-resolved-again"),
        pytest.param("$${A}", "${A}", id="escaped"),
        pytest.param("$$${A}", "$${A}", id="dollar-then-escape"),
        pytest.param("$$ $ {A}", "$$ $ {A}", id="dollars"),
        pytest.param("${flowproof.proxy_url}/${A}", "${flowproof.proxy_url}/1", id="handle"),
        pytest.param("é${A}😀", "é1😀", id="unicode"),
    ],
)
def test_resolve(text: str, expected: str) -> None:
    assert resolve(text, VALUES.get) == expected


def test_references_and_handles_are_told_apart() -> None:
    text = "${A} $${B} ${C} ${A} ${flowproof.mcp_url.my-files} ${flowproof}"
    assert references(text) == ("A", "C", "flowproof")
    assert handles(text) == ("mcp_url.my-files",)


@pytest.mark.parametrize(
    "text", ["${A-B}", "${", "${}", "${1A}", "x ${A", "${A:-x}", "${flowproof.}", "${é}", "${ A }"]
)
def test_malformed(text: str) -> None:
    assert [token.malformed for token in tokens(text)] == [True]
    assert not re.fullmatch(WELL_FORMED, text)


@given(st.text(alphabet="${}A1.-", max_size=14))
def test_the_pattern_says_the_same_as_the_tokens(text: str) -> None:
    well_formed = not any(token.malformed for token in tokens(text))
    assert bool(re.fullmatch(WELL_FORMED, text)) == well_formed


@given(st.text(alphabet="${}Ab", max_size=14))
def test_an_escaped_text_resolves_to_itself(text: str) -> None:
    assert resolve(re.sub(r"\$(?=\{)", "$$", text), VALUES.get) == text or "$${" in text


def test_an_unset_variable_is_named_with_its_place() -> None:
    with pytest.raises(UnsetVariable) as caught:
        resolve("${MISSING}", VALUES.get, Position("a.flow.yaml", 3, 9))
    assert str(caught.value).splitlines()[0] == "a.flow.yaml:3:9: ${MISSING} is not set"
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


def test_require_set_names_every_variable_once() -> None:
    uses = [
        VariableUse(name, Position("f", line, 1))
        for line, name in enumerate(["A", "X", "Y", "X"], start=1)
    ]
    with pytest.raises(UnsetVariable) as caught:
        require_set(uses, VALUES.get)
    assert caught.value.missing == (("X", "f:2:1"), ("Y", "f:3:1"))
    require_set(uses[:1], VALUES.get)


def test_structures_resolve_their_texts_only() -> None:
    value: JsonValue = {"${A}": ["${A}", 1, NumberText("1.10"), None, {"x": "$${A}"}]}
    resolved = resolve_json(value, VALUES.get)
    assert resolved == {"${A}": ["1", 1, NumberText("1.10"), None, {"x": "${A}"}]}
    expected = {"a": (Scalar("${A}", quoted=True), Scalar("b", quoted=False))}
    assert resolve_expected(expected, VALUES.get) == {
        "a": (Scalar("1", quoted=True), Scalar("b", quoted=False))
    }
