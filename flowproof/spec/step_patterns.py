"""The prose of assertions as regular expressions, for the JSON Schema.

Counterpart: `step_grammar` reads the same language and explains what is wrong with a phrase.
"""

from __future__ import annotations

TOOL = "[A-Za-z0-9_.:/-]+"
"""The name of a tool."""

# No wildcard and no index from the end: either would match nothing, and a guard always pass.
_PATH_PART = r"(?!-\d+(?:[.\s]|$))[^\s.\[\]*]+"
PATH = rf"{_PATH_PART}(?:\.{_PATH_PART})*"
"""A dotted path into arguments: `passengers.0.name`."""

# One blank before a word and a bounded path keep the search for these linear.
_WORDS = r"(?:and|AND|or|OR|but|&&|\|\|)"
_BY_WORD = rf"\s{_WORDS}\s+"
_JOINED = rf"(?:[,;]\s*(?:{_WORDS}\s+)?|{_BY_WORD})"
_SEARCH = "(?:contains?|equals?|match(?:es)?)"
_LOOKS_FOR = rf"(?:{_SEARCH}|does(?:\s+not|n't)\s+{_SEARCH})"
_REPLY = r"(?:the\s+)?reply\s+"
_PLACE = r"\S{1,100}\s+"

SECOND_REPLY = rf"(?:{_BY_WORD}is|{_JOINED}(?:{_REPLY}is|(?:{_REPLY})?{_LOOKS_FOR}))(?!\S)"
"""Where an unquoted text of a reply goes on as if a step could look for a second one."""

SECOND_CLAUSE = (
    rf"(?:[,;]\s+and|{_BY_WORD}is"
    rf"|{_JOINED}(?:{_PLACE}is|(?:{_PLACE})?(?:equals|contains|matches|exists)))(?!\S)"
)
"""Where an unquoted value goes on as if something else than ` and ` joined clauses."""

_JOINT = r"\s+and(?!\S)"
_QUOTED = r""""(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'"""
_SOME = r"""\s+(?!(?:""|'')(?!\S))"""
_IS = r"is(?!\s+not(?!\S))"
_UNTIL_AND = rf"""(?!['"])\S(?:(?!{_JOINT}|{SECOND_CLAUSE})[\s\S])*"""
_CLAUSE_VALUE = rf"(?:(?:{_QUOTED})(?={_JOINT}|\s*(?![\s\S]))|{_UNTIL_AND})"
_CLAUSE = (
    rf"{PATH}\s+(?:(?:exists|is\s+(?:absent|missing))(?={_JOINT}|\s*(?![\s\S]))"
    rf"|(?:equals|{_IS})(?!{_JOINT})\s+{_CLAUSE_VALUE}"
    rf"|(?:contains|matches)(?!{_JOINT}){_SOME}{_CLAUSE_VALUE})"
)
_REPLY_VALUE = rf"""(?:(?:{_QUOTED})|(?!['"])\S(?:(?!{SECOND_REPLY})[\s\S])*)"""

TOOL_PHRASE = rf"\s*{TOOL}(?:\s+where\s+{_CLAUSE}(?:{_JOINT}\s+{_CLAUSE})*)?\s*"
"""What `parse_tool_phrase` takes, as a regular expression for all of a text."""

REPLY_PHRASE = (
    rf"\s*reply\s+(?:(?:equals|does\s+not\s+equal)\s+{_REPLY_VALUE}"
    rf"|(?:contains|{_IS}|matches|does\s+not\s+(?:contain|match)){_SOME}{_REPLY_VALUE})\s*"
)
"""What `parse_reply_phrase` takes, as a regular expression for all of a text."""
