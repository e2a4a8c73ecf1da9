"""What every page holds inside: made small without changing what it does."""

from __future__ import annotations

import base64
import hashlib

import pytest

from flowproof.report.html_assets import inlined, lean_script, lean_style


@pytest.mark.parametrize(
    ("css", "lean"),
    [
        pytest.param("a {\n  b: c;\n  d: e;\n}\n", "a{b:c;d:e}", id="blanks"),
        pytest.param("/* a { } */ b { c: d } /**/", "b{c:d}", id="comments"),
        pytest.param("a :hover, b > c { d: e f }", "a :hover,b > c{d:e f}", id="selectors"),
        pytest.param('a { content: "  ; } /* x */ "; }', 'a{content:"  ; } /* x */ "}', id="text"),
        pytest.param(r'a { content: "\" {"; b: c }', r'a{content:"\" {";b:c}', id="escaped"),
        pytest.param(
            "@media (a: b) { c { d: calc(1px + 2px); } }",
            "@media (a:b){c{d:calc(1px + 2px)}}",
            id="media",
        ),
        pytest.param("a { b: var(--c,) d; }", "a{b:var(--c,) d}", id="fallback"),
    ],
)
def test_a_style_without_what_it_does_not_need(css: str, lean: str) -> None:
    assert lean_style(css) == lean
    assert lean_style(lean) == lean


def test_a_style_that_never_ends_takes_no_longer() -> None:
    assert lean_style("/*" * 50_000)
    assert lean_style('"' + "\\" * 99_999)


def test_a_script_without_comments_and_indentation() -> None:
    script = "// why\nlet a = 1;\n\n  // more\n  let b = 'x // y'; // z\n"
    assert lean_script(script) == "let a = 1;\nlet b = 'x // y'; // z"


def test_the_hashes_are_those_of_what_stands_in_the_page() -> None:
    held = inlined()
    for text, digest in ((held.style, held.style_hash), (held.script, held.script_hash)):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() == digest
    assert "</" not in held.style
    assert "</" not in held.script
    assert "url(" not in held.style
    assert "@import" not in held.style
    # Every page holds it: ten thousand pages hold it ten thousand times.
    assert len(held.style) + len(held.script) < 40_000
