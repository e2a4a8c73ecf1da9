"""The JSON Schemas accept what the parser accepts: held together by generated documents.

What no schema can say is listed in `SEMANTIC`, with the reason. Generated numbers keep clear of
the one place where JSON knows less than YAML, the writing of a number: `1.0` is an integer to JSON
Schema and none to us, and a pattern of ours sees the digits of an unquoted number, not its value.
Documents hold neither NUL nor `null` as a bare `~`: both end before a shape is looked at.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.errors import Problem, SpecError
from flowproof.spec.flow import load_flow
from flowproof.spec.schema import flow_schema, suite_schema
from flowproof.spec.suite import load_suite

SEMANTIC = {
    "this pattern cannot be used": "whether RE2 can compile an expression",
    "matches every text": "what RE2 finds in an empty text",
    "is shell syntax": "the command is read as a shell reads quotes, and `shell` decides",
    "a quote of this command": "the same",
    "nothing follows the backslash": "the same",
    "names no program": "the same",
    "was declared already": "uniqueness of one key across the items of a list",
    "differ only in `-` and `_`": "the same, after replacing characters",
    "cannot be kept from leaking": "compares steps with the content of other keys",
    "is greater than": "compares two numbers",
    "holds for every run": "one key's value depends on the absence of another",
    "in the suite's folder": "whether a file exists",
    "is no flow: a flow's file name ends in": "the same rule as for discovery",
    "which is neither a flow": "whether a file exists, or another key names it",
    "flows wait for each other": "follows needs through other keys",
    "whose flows run before all others": "compares two keys",
    "more than once": "names the repeated entry; paths are compared as texts",
}

FLOW = jsonschema.Draft202012Validator(flow_schema())
SUITE = jsonschema.Draft202012Validator(suite_schema())

Document = Any


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("schema")


def written(value: Document, plain: bool) -> str:
    """A document as YAML: quoted as JSON is, or plain wherever a text may stand unquoted."""
    if isinstance(value, dict):
        inner = (f"{written(k, plain)}: {written(v, plain)}" for k, v in value.items())
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(written(item, plain) for item in value)}]"
    simple = isinstance(value, str) and re.fullmatch(r"[A-Za-z$/^(][\w ./()$=^|-]*(?<! )", value)
    if plain and simple and value not in {"true", "false", "null"}:
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def problems(kind: str, document: Document, folder: Path, plain: bool) -> tuple[Problem, ...]:
    file = folder / f"{kind}.yaml"
    file.write_text(written(document, plain), encoding="utf-8")
    try:
        if kind == "flow":
            load_flow(file, shown="f")
        else:
            load_suite(file, shown="f")
    except SpecError as error:
        return error.problems
    return ()


def agree(kind: str, document: Document, folder: Path, plain: bool) -> None:
    validator = FLOW if kind == "flow" else SUITE
    valid = validator.is_valid(document)
    found = [
        problem
        for problem in problems(kind, document, folder, plain)
        if not any(part in problem.message for part in SEMANTIC)
    ]
    assert valid == (not found), f"schema: {valid}, parser: {[str(p) for p in found]}"


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")), max_size=6)
WORD = st.sampled_from(
    [
        *("a", "b-c", "a_b", "A.b", "x y", "", " ", "yes", "true", "1", "1.5", "-1", "5m", "0s"),
        *(
            "${A}",
            "$${",
            "${A-B}",
            "${A:-x}",
            "${",
            "a ${A} b",
            "${flowproof.proxy_url}",
            "http://x",
            "~",
        ),
        *("auto", "50%", "stdin", "agent", "POST", "$.a", "2027-01-31", "2026-01-01T09:00:00Z"),
        *("assert_no_egress", "assert_no_secret_leak", "prompt", "a | b", "a.0.b", "(", "é", "/a"),
    ]
)
NUMBER = st.sampled_from([0, 1, 2, 99, 255, 256, -1, 1.5, 0.5])
PHRASE_WORD = (
    "t where a b.0 is not equals exists contains absent and 'x y' \"z\" '' reply does match or , x,"
)
PHRASE = st.lists(st.sampled_from([*PHRASE_WORD.split(), "matches", "contain", "${A}"]), max_size=9)
PROSE = st.one_of(
    PHRASE.map(" ".join),
    PHRASE.map(lambda words: " ".join(["t", "where", "a", *words])),
    PHRASE.map(lambda words: " ".join(["reply", *words])),
    st.sampled_from(["reply contains x", "reply is not x", "t where a is 1 and b exists"]),
)
SCALAR = st.one_of(TEXT, WORD, NUMBER, st.booleans(), st.none(), PROSE)
KEY = st.one_of(WORD.filter(bool), TEXT.filter(bool)).filter(lambda key: key != "<<")
VALUE = st.recursive(
    SCALAR,
    lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(KEY, v, max_size=3)),
    max_leaves=5,
)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={k.rstrip("_"): v for k, v in fields.items()})


TOOL = record(
    name=WORD, result=VALUE, results=st.lists(VALUE, max_size=2), repeat_last=st.booleans()
)
MCP_TOOL = record(
    name=WORD,
    result=VALUE,
    error=record(message=WORD, code=NUMBER),
    schema=st.one_of(VALUE, st.dictionaries(KEY, VALUE, max_size=2)),
)
SERVER = record(
    name=WORD, command=WORD, url=WORD, port=NUMBER, tools=st.lists(MCP_TOOL, max_size=2)
)
CALL = record(
    tool=WORD,
    args=st.dictionaries(KEY, VALUE, max_size=2),
    args_exact=st.dictionaries(KEY, VALUE, max_size=2),
    times=st.one_of(NUMBER, record(min=NUMBER, max=NUMBER)),
)
STEP = st.one_of(
    WORD,
    record(prompt=SCALAR),
    st.fixed_dictionaries({"prompt": WORD}),
    st.fixed_dictionaries({"assert_tool_call": st.one_of(PROSE, CALL, SCALAR)}),
    st.fixed_dictionaries({"assert_no_tool_call": st.one_of(PROSE, CALL, SCALAR)}),
    st.fixed_dictionaries({"assert_tool_calls": st.lists(WORD, max_size=3)}),
    st.fixed_dictionaries({"assert": st.one_of(PROSE, SCALAR)}),
    st.fixed_dictionaries({"assert_no_secret_leak": st.one_of(WORD, st.lists(WORD, max_size=2))}),
    st.fixed_dictionaries({"user": WORD}),
    VALUE,
)
AGENT = record(
    command=WORD,
    url=WORD,
    endpoint=WORD,
    shell=st.booleans(),
    cwd=SCALAR,
    env=st.dictionaries(KEY, SCALAR, max_size=2),
    headers=st.dictionaries(KEY, SCALAR, max_size=2),
    timeout=SCALAR,
    expect_exit=SCALAR,
    keep_retries=SCALAR,
    allow_egress=st.lists(SCALAR, max_size=2),
    proxy_port=NUMBER,
    method=SCALAR,
    body=VALUE,
    client=SCALAR,
    conversation=st.one_of(SCALAR, record(id_field=SCALAR)),
    version=SCALAR,
    fixture=SCALAR,
    warm=st.one_of(SCALAR, record(preload=st.one_of(SCALAR, st.lists(SCALAR, max_size=2)))),
)
VALID_FLOW: Document = {
    "name": "n",
    "agent": {"command": "python a.py"},
    "steps": [{"prompt": "x"}, {"assert": "reply is x"}, "assert_no_egress"],
}
FLOW_PART = record(
    name=SCALAR,
    description=SCALAR,
    app=SCALAR,
    tags=st.lists(SCALAR, max_size=2),
    expected_behavior=SCALAR,
    control=record(id=SCALAR, title=SCALAR, references=st.lists(SCALAR, max_size=2), owner=SCALAR),
    skip_unless_env=st.lists(SCALAR, max_size=2),
    strict=SCALAR,
    agent=AGENT,
    tools=st.lists(TOOL, max_size=2),
    mcp=st.lists(SERVER, max_size=2),
    volatile=st.lists(record(path=WORD, pattern=WORD, in_=WORD, reason=WORD), max_size=2),
    redact=st.lists(SCALAR, max_size=2),
    allow_sensitive=st.lists(record(pattern=WORD, reason=WORD, expires=WORD), max_size=2),
    freeze=record(time=WORD, tz=WORD),
    steps=st.lists(STEP, max_size=3),
)
SERVICE = record(
    command=WORD,
    cwd=WORD,
    env=st.dictionaries(KEY, SCALAR, max_size=2),
    ready=record(http=WORD, port=NUMBER, log=WORD),
    timeout=SCALAR,
)
SETTINGS = record(
    needs=st.lists(SCALAR, max_size=2),
    resources=st.lists(SCALAR, max_size=2),
    timeout=SCALAR,
    retries=SCALAR,
    tags=st.lists(SCALAR, max_size=2),
)
SUITE_PART = record(
    name=SCALAR,
    min_version=SCALAR,
    env=st.dictionaries(KEY, SCALAR, max_size=2),
    env_from=SCALAR,
    secrets=st.lists(SCALAR, max_size=2),
    before_all=SCALAR,
    after_each=SCALAR,
    order=st.lists(SCALAR, max_size=2),
    jobs=SCALAR,
    timeout=SCALAR,
    retries=SCALAR,
    strict=SCALAR,
    tags=st.lists(SCALAR, max_size=2),
    services=st.dictionaries(KEY, SERVICE, max_size=2),
    flows=st.dictionaries(KEY, SETTINGS, max_size=2),
)


@st.composite
def mutated(draw: st.DrawFn, base: Document, part: st.SearchStrategy[Any]) -> Document:
    """A valid document with a few keys set anew, and sometimes one removed, added or replaced."""
    document = json.loads(json.dumps(base))
    fresh = draw(part)
    for key in draw(st.lists(st.sampled_from(sorted(fresh)), max_size=2)) if fresh else []:
        document[key] = fresh[key]
    if draw(st.integers(0, 5)) == 0:
        places = [document, *(v for v in document.values() if isinstance(v, dict))]
        place = draw(st.sampled_from(places))
        if place and draw(st.booleans()):
            place.pop(draw(st.sampled_from(sorted(place))))
        else:
            place[draw(KEY)] = draw(VALUE)
    return document


@settings(max_examples=600, deadline=None)
@given(document=mutated(VALID_FLOW, FLOW_PART), plain=st.booleans())
def test_flows(folder: Path, document: Document, plain: bool) -> None:
    agree("flow", document, folder, plain)


@settings(max_examples=300, deadline=None)
@given(step=STEP, plain=st.booleans())
def test_steps(folder: Path, step: Document, plain: bool) -> None:
    agree("flow", VALID_FLOW | {"steps": [{"prompt": "x"}, step]}, folder, plain)


AGENTS = st.sampled_from(
    [
        {"command": "a"},
        {"url": "http://x", "proxy_port": 1},
        {"endpoint": "http://x", "version": "1"},
    ]
).flatmap(lambda base: mutated(base, AGENT))


@settings(max_examples=400, deadline=None)
@given(agent=AGENTS, plain=st.booleans())
def test_agents(folder: Path, agent: Document, plain: bool) -> None:
    agree("flow", VALID_FLOW | {"agent": agent}, folder, plain)


@settings(max_examples=300, deadline=None)
@given(document=mutated({"name": "s", "jobs": 2}, SUITE_PART), plain=st.booleans())
def test_suites(folder: Path, document: Document, plain: bool) -> None:
    agree("suite", document, folder, plain)


@settings(max_examples=100, deadline=None)
@given(document=VALUE, plain=st.booleans())
def test_anything(folder: Path, document: Document, plain: bool) -> None:
    agree("flow", document, folder, plain)


def test_a_disagreement_is_found(folder: Path) -> None:
    """The one that the module's first lines name: `1.0` is an integer to JSON Schema alone."""
    document = VALID_FLOW | {"agent": {"command": "a", "expect_exit": 1.0}}
    with pytest.raises(AssertionError, match="schema: True"):
        agree("flow", document, folder, plain=True)


def test_the_generators_reach_both_sides(folder: Path) -> None:
    """A property that only ever saw refused documents would hold for nothing."""
    assert problems("flow", VALID_FLOW, folder, plain=True) == ()
    assert FLOW.is_valid(VALID_FLOW)
    assert not FLOW.is_valid(VALID_FLOW | {"steps": []})
    assert problems("flow", VALID_FLOW | {"steps": []}, folder, plain=True)


def properties(schema: Any) -> list[tuple[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in properties(item)]
    if not isinstance(schema, dict):
        return []
    named = schema.get("properties", {})
    return [*named.items(), *(found for value in schema.values() for found in properties(value))]


@pytest.mark.parametrize("schema", [flow_schema(), suite_schema()], ids=["flow", "suite"])
def test_schemas_are_valid_and_say_what_each_key_is_for(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert schema["description"]
    missing = [name for name, content in properties(schema) if not content.get("description")]
    assert missing == []
    assert json.loads(json.dumps(schema)) == schema
