"""Replaces every text of a record that may come from outside, so that none can be forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

from flowproof.model.jsonvalue import NumberText

T = TypeVar("T")

MARK = "window.pwned"
"""What each script among these texts would set."""

POISONS: Mapping[str, str] = {
    "markup": (
        f"</script><script>{MARK}=1;alert(1)</script></style></title></pre></textarea></svg>"
        f"<img src=x onerror={MARK}=1><svg onload={MARK}=1><iframe srcdoc='<script>1</script>'>"
        f'\'"><b onmouseover="{MARK}=1" style="position:fixed;inset:0">--><!--<![CDATA[ ]]>&lt;'
    ),
    "urls": f"javascript:{MARK}=1//data:text/html;base64,PHNjcmlwdD4=",
    "image": "data:image/png;base64," + "iVBORw0KGgo" * 200,
    "template": "{{ 7*7 }}{% raw %}{# #}${7*7}#{7*7}<%= 7*7 %>{{ ''.__class__ }}",
    "terminal": "\x1b[2J\x1b[31mred\x1b]0;title\x07\x00\x08\x7f\x85\x9b31m\r\n\ttab\x0b\x0c",
    "bidi": "\u202egnp.exe\u2066\u2067\u200f\u200b\u2028\u2029\ufeff\u061c" + "e" + "\u0301" * 40,
    "broken": "\ud800 \udfff\ud83d\ufffe\uffff \ufffd",
    "long": "W" * 5_000,
    "blank": " ",
    "empty": "",
}


def poisoned(value: T, text: str) -> T:
    """The same record with `text` for each of its texts but those of a closed set: verdicts,
    roles, phases. What was None stays so, as do numbers."""
    made = _poisoned(value, text)
    assert isinstance(made, type(value))
    return made


def _poisoned(value: Any, text: str) -> Any:
    match value:
        case Enum() | NumberText():
            return value
        case str():
            return text
        case tuple():
            return tuple(_poisoned(item, text) for item in value)
        case list():
            return [_poisoned(item, text) for item in value]
        case dict():
            return {
                f"{text}{at or ''}": _poisoned(item, text) for at, item in enumerate(value.values())
            }
        case _ if is_dataclass(type(value)):
            hints = get_type_hints(type(value), localns={"JsonValue": object})
            changed = {
                field.name: _poisoned(getattr(value, field.name), text)
                for field in fields(value)
                if get_origin(hints[field.name]) is not Literal
            }
            return replace(value, **changed)
        case _:
            return value
