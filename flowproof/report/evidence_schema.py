"""The JSON Schema of `evidence.json`: what `evidence` writes, told once more as data.

Fields are never optional: one that is not known is null, and `absent` or its description says why.
"""

from __future__ import annotations

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.outcome import Verdict
from flowproof.report.evidence import FIRST, SCHEMA

_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "integer"}
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
_FLAG: JsonObject = {"type": "boolean"}
_PHASE: JsonObject = {"enum": ["record", "replay"]}
_VERDICT: JsonObject = {"enum": [verdict.value for verdict in Verdict]}
_DIGEST: JsonObject = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_MOMENT: JsonObject = {"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"}


def _list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def _maybe(schema: JsonObject, why: str) -> JsonObject:
    """Null where the reason in `why` holds."""
    return {"anyOf": [schema, {"type": "null"}], "description": f"null: {why}"}


def _object(properties: JsonObject, description: str = "") -> JsonObject:
    said: JsonObject = {"description": description} if description else {}
    return {
        "type": "object",
        **said,
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


_FILE = _object({"path": _TEXT, "sha256": _TEXT}, "a path relative to where the run began")
_VERDICTS = _object({verdict.value: _COUNT for verdict in Verdict})
_UNASKED = "`absent` says why"
_CONTROL: JsonObject = {
    "description": _maybe(_TEXT, "the spec gives none"),
    "id": _TEXT,
    "owner": _maybe(_TEXT, "the spec names none"),
    "references": _list(_TEXT),
    "title": _maybe(_TEXT, "the spec gives none"),
}

_LANE = _object(
    {
        "calls": _COUNT,
        "connections": _COUNT,
        "contacted": _FLAG,
        "failed": {**_COUNT, "description": "of the first 2,000: those without a usable result"},
        "mocked": _COUNT,
        "notifications": _COUNT,
        "problems": _list(_TEXT),
        "requests": _COUNT,
        "server": _TEXT,
        "transport": {"enum": ["http", "stdio"]},
    },
    "what crossed the boundary to an MCP server",
)
_FLOW = _object(
    {
        "agent": _maybe(
            _object(
                {
                    "error": _TEXT,
                    "status": _maybe(_NUMBER, "the agent never started, as `error` says"),
                    "survivors": _list(_TEXT),
                    "timed_out": _FLAG,
                }
            ),
            "no agent was launched",
        ),
        "assertions": _list(
            _object(
                {
                    "closest": _TEXT,
                    "expected": _TEXT,
                    "line": _NUMBER,
                    "message": _TEXT,
                    "outcome": {"enum": ["passed", "failed", "unjudged", "uncertifiable"]},
                    "source": _TEXT,
                }
            )
        ),
        "attempts": _list(
            _object(
                {
                    "attempt": {"type": "integer", "minimum": 1},
                    "duration_ms": _NUMBER,
                    "exit_code": _NUMBER,
                    "reason": _TEXT,
                    "verdict": _VERDICT,
                }
            )
        ),
        "chain": _DIGEST,
        "command": _TEXT,
        "containment": {**_TEXT, "description": "what was enforced, not what was asked for"},
        "control": _maybe(_object(_CONTROL), "the flow names no control"),
        "description": _TEXT,
        "divergence": _maybe(
            _object(
                {
                    "kind": _TEXT,
                    "message": _TEXT,
                    "path": _maybe(_TEXT, "it is at no one place of the request"),
                    "request": _NUMBER,
                    "server": _maybe(_TEXT, "it is at the model boundary, not at an MCP server's"),
                    "turn": _maybe(_NUMBER, "the recording holds no turn to compare"),
                }
            ),
            "the agent sent what was recorded",
        ),
        "driver": _TEXT,
        "duration_ms": _NUMBER,
        "environment": {
            **_list(_TEXT),
            "description": "names of all variables that the agent was started with, never values",
        },
        "exit_code": _NUMBER,
        "host": _TEXT,
        "id": _TEXT,
        "inputs": _list(_FILE),
        "line": _NUMBER,
        "mcp": _list(_LANE),
        "name": _TEXT,
        "path": _TEXT,
        "phase": _PHASE,
        "reason": _TEXT,
        "recording": _maybe(
            _object(
                {
                    "flowproof": _maybe(_TEXT, "no trace was kept that tells"),
                    "models": {
                        **_list(_TEXT),
                        "description": "the names that models gave themselves in their answers",
                    },
                    "recorded": _maybe(_TEXT, "no trace was kept that tells"),
                }
            ),
            "the flow did not come to read a trace or to ask a model",
        ),
        "spec": _maybe(_FILE, "the flow did not come to run, as `reason` says"),
        "started": _maybe(_TEXT, "the flow did not begin, as `reason` says"),
        "tags": _list(_TEXT),
        "trace": _maybe(_FILE, "there was no trace, or the flow did not come to read or write it"),
        "traffic": _object(
            {
                "recorded": _COUNT,
                "requests": _COUNT,
                "retries_dropped": _COUNT,
                "served": _COUNT,
                "side_calls": _COUNT,
            }
        ),
        "verdict": _VERDICT,
        "warnings": _list(_TEXT),
    }
)

_POPULATION = _object(
    {
        "attempts": _COUNT,
        "began": _COUNT,
        "deselected": _maybe(_COUNT, _UNASKED),
        "discovered": _maybe(_COUNT, _UNASKED),
        "entries": {**_COUNT, "description": "of `flows`; one for each time a flow was to run"},
        "flows": {**_COUNT, "description": "different ones among the entries"},
        "left_out": {
            **_list(_TEXT),
            "description": "paths of flows that were found and not selected; of many the first",
        },
        "not_begun": _COUNT,
        "retried": _COUNT,
        "selected": _maybe(_COUNT, _UNASKED),
        "selection": {
            **_list({"type": "array", "prefixItems": [_TEXT, _TEXT], "minItems": 2, "maxItems": 2}),
            "description": "the paths and options of the command line that chose flows",
        },
        "verdicts": _VERDICTS,
    }
)

_RUN = _object(
    {
        "command": _TEXT,
        "controls": _list(_object({**_CONTROL, "flows": _COUNT, "verdicts": _VERDICTS})),
        "exit_code": _NUMBER,
        "exit_means": _TEXT,
        "id": _TEXT,
        "partial": _FLAG,
        "phase": _PHASE,
        "result": _TEXT,
        "suite": _TEXT,
    }
)

_WHO: JsonObject = {
    key: _maybe(_TEXT, _UNASKED)
    for key in ("actor", "ci", "distribution_sha256", "kernel", "system", "trigger", "url")
}
_WHAT: JsonObject = {
    "branch": _maybe(_TEXT, _UNASKED),
    "changed": _maybe(_FLAG, f"{_UNASKED}, or could not tell without running a filter"),
    "changes_sha256": _maybe(_TEXT, "nothing was changed, or it was too large to digest"),
    "commit": _maybe(_TEXT, _UNASKED),
    "inputs": _list(_FILE),
    "repository": _maybe(_TEXT, _UNASKED),
}
_TASK = _object(
    {
        "cause": _TEXT,
        "id": _TEXT,
        "state": {"enum": ["done", "failed", "cancelled", "not-run"]},
    }
)


def evidence_schema() -> JsonObject:
    """The JSON Schema (2020-12) of an `evidence.json`."""
    blocks: JsonObject = {
        "absent": {
            "type": "object",
            "description": "blocks that are not known, with the reason",
            "additionalProperties": _TEXT,
        },
        "errors": _list(_TEXT),
        "exceptions": {"type": "array", "maxItems": 0, "description": "this version has none"},
        "flows": _list(_FLOW),
        "integrity": _object(
            {
                "algorithm": {"const": "sha256"},
                "first": {"const": FIRST},
                "head": _DIGEST,
                "last": _DIGEST,
                "note": _TEXT,
                "run_json_sha256": _DIGEST,
            }
        ),
        "population": _POPULATION,
        "proves": _list(_TEXT),
        "proves_not": _list(_TEXT),
        "run": _RUN,
        "schema": {"const": SCHEMA},
        "tasks": _list(_TASK),
        "warnings": _list(_TEXT),
        "what": _object(_WHAT),
        "when": _object(
            {
                "duration_ms": _NUMBER,
                "end": _maybe(_MOMENT, "the record tells no usable start"),
                "start": _TEXT,
                "timezone": {"const": "UTC"},
            }
        ),
        "who": _object(
            {
                **_WHO,
                "flowproof": _TEXT,
                "host": _TEXT,
                "platform": _TEXT,
                "python": _TEXT,
                "slots": _COUNT,
            }
        ),
    }
    declared: dict[str, JsonValue] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**declared, "title": "flowproof evidence", **_object(blocks)}
