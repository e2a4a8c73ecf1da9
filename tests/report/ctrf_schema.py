"""What the Common Test Report Format allows, as far as flowproof writes it.

Written from the format's documentation: objects are closed, so that a field which the format does
not know is found.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
ANY: Schema = {"type": "object"}
UUID: Schema = {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}
STATUS: Schema = {"enum": ["passed", "failed", "skipped", "pending", "other"]}
SCALAR: Schema = {"type": ["string", "number", "boolean"]}
LABEL: Schema = {"anyOf": [SCALAR, {"type": "array", "minItems": 1, "items": SCALAR}]}


def closed(required: str, **properties: Schema) -> Schema:
    """An object with these fields and no others; the names of those that must be there."""
    return {
        "type": "object",
        "required": required.split(),
        "properties": {**properties, "extra": ANY},
        "additionalProperties": False,
    }


ATTACHMENT = closed("name contentType path", name=TEXT, contentType=TEXT, path=TEXT)
STEP = closed("name status", name=TEXT, status=STATUS)
ATTEMPT = closed(
    "attempt status",
    attempt={"type": "integer", "minimum": 1},
    status=STATUS,
    duration=WHOLE,
    message=TEXT,
    trace=TEXT,
    line=WHOLE,
    snippet=TEXT,
    stdout=TEXTS,
    stderr=TEXTS,
    start=WHOLE,
    stop=WHOLE,
    attachments={"type": "array", "items": ATTACHMENT},
)
TEST = closed(
    "name status duration",
    id=UUID,
    name=NAME,
    status=STATUS,
    duration=WHOLE,
    start=WHOLE,
    stop=WHOLE,
    suite={"type": "array", "minItems": 1, "items": TEXT},
    message=TEXT,
    trace=TEXT,
    snippet=TEXT,
    line=WHOLE,
    rawStatus=TEXT,
    tags=TEXTS,
    labels={"type": "object", "additionalProperties": LABEL},
    type=TEXT,
    filePath=TEXT,
    retries=WHOLE,
    retryAttempts={"type": "array", "items": ATTEMPT},
    flaky=FLAG,
    stdout=TEXTS,
    stderr=TEXTS,
    threadId=TEXT,
    attachments={"type": "array", "items": ATTACHMENT},
    parameters=ANY,
    steps={"type": "array", "items": STEP},
)
SUMMARY = closed(
    "tests passed failed skipped pending other start stop",
    **dict.fromkeys(("tests", "passed", "failed", "skipped", "pending", "other"), WHOLE),
    **dict.fromkeys(("flaky", "suites", "start", "stop", "duration"), WHOLE),
)
ENVIRONMENT = closed(
    "",
    **dict.fromkeys(("reportName", "appName", "appVersion", "testEnvironment"), TEXT),
    **dict.fromkeys(("buildId", "buildName", "buildUrl", "commit", "branchName"), TEXT),
    **dict.fromkeys(("repositoryName", "repositoryUrl"), TEXT),
    **dict.fromkeys(("osPlatform", "osRelease", "osVersion"), TEXT),
    buildNumber=WHOLE,
    healthy=FLAG,
)
RESULTS = closed(
    "tool summary tests",
    tool=closed("name", name=NAME, version=TEXT),
    summary=SUMMARY,
    tests={"type": "array", "items": TEST},
    environment=ENVIRONMENT,
)
CTRF = closed(
    "results reportFormat specVersion",
    reportFormat={"const": "CTRF"},
    specVersion={"type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$"},
    reportId=UUID,
    runId=NAME,
    timestamp={"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"},
    generatedBy=TEXT,
    results=RESULTS,
)
