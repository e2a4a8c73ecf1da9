"""A small MCP server over stdio: notes as text files in a folder. It needs nothing but Python.

It speaks the handshake versions of the protocol, one JSON-RPC message on each line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS: list[dict[str, Any]] = [
    {"name": "list_notes", "description": "The names of all notes.", "inputSchema": NOTHING},
    {"name": "read_note", "description": "The text of a note.", "inputSchema": NAME},
    {"name": "delete_note", "description": "Delete a note for ever.", "inputSchema": NAME},
    {"name": "delete_all", "description": "Delete every note for ever.", "inputSchema": NOTHING},
]


class Notes:
    """The tools. Each returns the text that it answers with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list_notes(self) -> str:
        return "\n".join(sorted(path.stem for path in self.folder.glob("*.txt")))

    def read_note(self, name: str) -> str:
        return self._path(name).read_text(encoding="utf-8").strip()

    def delete_note(self, name: str) -> str:
        self._path(name).unlink()
        return f"deleted {name}"

    def delete_all(self) -> str:
        for path in self.folder.glob("*.txt"):
            path.unlink()
        return "deleted all notes"

    def _path(self, name: str) -> Path:
        path = self.folder / f"{name}.txt"
        if path.parent != self.folder or not path.is_file():
            raise ValueError(f"there is no note {name}")
        return path


def call(notes: Notes, params: dict[str, Any]) -> dict[str, Any]:
    """Run a tool. What goes wrong in it is a result too, for the model to read."""
    tools: dict[str, Callable[..., str]]
    tools = {tool["name"]: getattr(notes, tool["name"]) for tool in TOOLS}
    failed = False
    try:
        text = tools[params["name"]](**params.get("arguments", {}))
    except (KeyError, TypeError, ValueError, OSError) as error:
        text, failed = f"{type(error).__name__}: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def answer(notes: Notes, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that there is not."""
    if method == "initialize":
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(notes, params)
    return {} if method == "ping" else None


def main() -> None:
    notes = Notes(Path(sys.argv[1]))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue  # a notification, which nobody answers
        result = answer(notes, message["method"], message.get("params", {}))
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": f"no method {message['method']}"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
