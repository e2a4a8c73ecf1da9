"""Compares what evidence, statement and CTRF report tell with the record, whichever flowproof wrote
them: verdicts, exit codes, digests, names, numbers. Sentences are another flowproof's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from flowproof.files import read_regular
from flowproof.model.jsonvalue import JsonError, JsonValue, parse, write
from flowproof.model.run_record import RunRecord
from flowproof.report import ctrf, evidence, run_json, statement
from flowproof.report.evidence_flow import entry, text
from flowproof.report.evidence_population import Count
from flowproof.report.text import one_line
from flowproof.report.verify_files import MISSING, NEVER_SAID, Finding, Unchecked, cannot_be_shown
from flowproof.report.words import headline

MOST = 20
"""So many differences of one file are told."""
_DEPTH = 30
_SENTENCES = frozenset(
    {
        *("absent", "exit_means", "note", "proves", "proves_not", "result"),
        *("chain", "integrity"),  # computed over the sentences too
    }
)
_CTRF_SENTENCES = frozenset({"generatedBy", "message", "result", "stderr", "stdout", "trace"})
"""Keys of what is put in flowproof's words, or cut as it likes."""
_TEXTS = frozenset(
    {
        *("cause", "closest", "description", "error", "errors", "expected", "message", "reason"),
        *("source", "title", "warnings"),
    }
)
"""Keys of texts that somebody else wrote, which are shortened and made visible."""
_LONGEST = 500


def fact_problems(record: RunRecord, found: Mapping[str, str], folder: Path) -> Iterator[Finding]:
    """What the files that are there say against the record. `found` has their digests by name."""
    about = found.get(evidence.FILE_NAME, "")
    if about and statement.FILE_NAME not in found:
        yield Finding(statement.FILE_NAME, f"{MISSING}, and {evidence.FILE_NAME} comes with it")
    makes: Mapping[str, Callable[[JsonValue], Iterator[str]]] = {
        evidence.FILE_NAME: lambda value: _evidence(record, value),
        statement.FILE_NAME: lambda value: _whole(
            statement.pieces(record, evidence.FILE_NAME, about), value, frozenset()
        ),
        ctrf.FILE_NAME: lambda value: _whole(_ctrf(record), value, _CTRF_SENTENCES),
    }
    for name, problems in makes.items():
        if name not in found or (name == statement.FILE_NAME and not about):
            continue
        try:
            value = _read(folder / name)
            told = [Finding(name, problem) for problem in islice(problems(value), MOST + 1)]
        except (JsonError, OSError) as error:
            yield Finding(name, f"cannot be compared: {error}")
        except NEVER_SAID as error:
            yield cannot_be_shown(name, error)
        else:
            yield from told[:MOST]
            if len(told) > MOST:
                yield Finding(name, f"says more that {run_json.FILE_NAME} does not")


def other_words(record: RunRecord, found: Mapping[str, str], folder: Path) -> Iterator[Unchecked]:
    """The result that the evidence tells in a sentence, if it is not in this flowproof's words."""
    name = evidence.FILE_NAME
    if name not in found:
        return
    try:
        run = _at(_read(folder / name), "run")
    except (JsonError, OSError):
        return  # which is told
    says, result = _at(run, "result"), text(headline(record))
    if says != result:
        shown = one_line(write(says), 200)
        yield Unchecked((name,), f'its result is {shown}, where this flowproof writes "{result}"')


def _read(path: Path) -> JsonValue:
    data = read_regular(path, run_json.MAX_CHARACTERS)
    if data is None:
        raise OSError(f"larger than {run_json.MAX_CHARACTERS >> 20} MiB")
    return parse(data, max_depth=_DEPTH)


def _evidence(record: RunRecord, value: JsonValue) -> Iterator[str]:
    """Flow by flow: all of it at once would be many times larger than the record."""
    count = Count()
    told = _at(value, "flows")
    flows = told if isinstance(told, list) else []
    if len(flows) != len(record.flows):
        yield f"tells of {len(flows)} flows, and {run_json.FILE_NAME} of {len(record.flows)}"
    for number, flow in enumerate(record.flows):
        count.add(flow)
        if number < len(flows):
            made = entry(flow, record.host)
            yield from _differences(made, flows[number], f"flows[{number}]", _SENTENCES)
    yield from _differences(evidence.around(record, count), value, "", _SENTENCES)


def _ctrf(record: RunRecord) -> Iterator[str]:
    for _, content in ctrf.render(record):
        yield from [content] if isinstance(content, str) else map(str, content)


def _whole(pieces: Iterable[str], value: JsonValue, left_out: frozenset[str]) -> Iterator[str]:
    made = parse("".join(pieces), max_depth=_DEPTH)
    return _differences(made, value, "", left_out)


def _at(value: JsonValue, key: str) -> JsonValue:
    return value.get(key) if isinstance(value, dict) else None


def _differences(
    made: JsonValue,
    told: JsonValue,
    at: str,
    left_out: frozenset[str],
    *,
    loose: bool = False,
) -> Iterator[str]:
    """Where a value differs from the one that is made. What is not there says as much as what is
    empty, so that a flowproof that does not know of it contradicts nobody."""
    if made in (None, "", [], {}) and told in (None, "", [], {}):
        return
    match made:
        case dict() if isinstance(told, dict):
            for key, item in made.items():
                if key not in left_out:
                    place = f"{at}.{key}" if at else key
                    inner = loose or key in _TEXTS
                    yield from _differences(item, told.get(key), place, left_out, loose=inner)
        case list() if isinstance(told, list) and len(made) == len(told):
            for number, (item, other) in enumerate(zip(made, told, strict=True)):
                yield from _differences(item, other, f"{at}[{number}]", left_out, loose=loose)
        case str() if loose and isinstance(told, str) and not _plain(made):
            return
        case _ if type(made) is not type(told) or made != told:
            yield (
                f"says {_shown(told)} at {one_line(at, 200)}, and {run_json.FILE_NAME} makes "
                f"{_shown(made)} of it"
            )


def _plain(text: str) -> bool:
    """Whether any flowproof shows a text as it is."""
    return len(text) <= _LONGEST and text.isascii() and text.isprintable()


def _shown(value: JsonValue) -> str:
    match value:
        case None:
            return "nothing"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
        case _:
            return one_line(write(value), 100)
