"""Reads what an upstream answered in place of a model's answer. Pure.

`record` looks here for refused keys, `judge` and `check` for what to say.
"""

from __future__ import annotations

from flowproof.model.jsonvalue import JsonValue
from flowproof.model.turn import Response
from flowproof.model.visible import compact

_REFUSED = (401, 403)
_NO_KEY = ("API_KEY_INVALID", "API key not valid", "API key expired")
"""The reason that Google gives with a status 400, and how its message begins without one."""


def said(response: Response) -> str:
    """The status and what came with it, on one line."""
    if response.text is not None:
        return f"status {response.status}, {response.content_type}: {compact(response.text)}"
    return f"status {response.status}: {compact(response.body)}"


def refuses_key(response: Response) -> bool:
    """Whether an answer says that the credentials are wrong or not enough."""
    if response.status in _REFUSED:
        return True
    return response.status == 400 and any(map(_is_about_key, _reasons(response.body)))


def is_foreign(response: Response) -> bool:
    """Whether no model API would answer so, though a web server may."""
    if response.status < 400:
        return True
    if response.text is not None:
        return response.status < 500
    return response.status == 404 and not _reasons(response.body)


def _reasons(body: JsonValue) -> list[JsonValue]:
    """What an error in the shape of a model API says of its reason; empty for no such error."""
    if isinstance(body, list) and body:
        # Google wraps the errors of its streams so.
        body = body[0]
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return [error] if error else []
    details = error.get("details")
    listed = details if isinstance(details, list) else []
    reasons = [one.get("reason") for one in listed if isinstance(one, dict)]
    return [error.get("message"), *reasons]


def _is_about_key(reason: JsonValue) -> bool:
    return isinstance(reason, str) and reason.startswith(_NO_KEY)
