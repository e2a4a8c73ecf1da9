"""How long each flow took when the whole suite last ran: the input of sharding.

A complete run writes `.flowproof/durations.json` in the folder of the suite; sharding reads only a
file that it is given, since shards that see different ones would leave flows out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from flowproof.errors import UsageError
from flowproof.files import read_regular, shortened, write_atomic
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, NumberText, parse, write

FILE = "durations.json"
_LARGEST = 16 * 1024 * 1024
_LONGEST = 7 * 24 * 3600.0


def read_durations(path: Path, kept: str = f".flowproof/{FILE}") -> dict[str, float]:
    """Seconds by the path of a flow relative to its suite. `kept` is where a run leaves them.

    :raises UsageError: if the file cannot be read or is of another shape.
    """
    shown = shortened(str(path))
    try:
        if (data := read_regular(path, _LARGEST)) is None:
            raise UsageError(f"{shown}: larger than {_LARGEST >> 20} MiB")
        value = parse(data)
    except FileNotFoundError:
        raise UsageError(
            f"{shown}: there is no such file; a run of the whole suite leaves one to copy: "
            f"cp {quote(shortened(kept))} {FILE}"
        ) from None
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror}") from error
    except JsonError as error:
        raise UsageError(f"{shown}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{shown}: expected an object with the seconds of each flow by its path")
    return {name: _seconds(found, name, shown) for name, found in value.items()}


def _seconds(value: JsonValue, name: str, shown: str) -> float:
    match value:
        case NumberText(text):
            seconds = float(text)
        case int() | float() if not isinstance(value, bool) and value <= _LONGEST:
            seconds = float(value)
        case _:
            seconds = -1.0
    if not 0 <= seconds <= _LONGEST:
        raise UsageError(f"{shown}: `{shortened(name)}` has no number of seconds")
    return seconds


def write_durations(path: Path, seconds: Mapping[str, float]) -> None:
    """Write the file whole; milliseconds are enough, and keep it small.

    :raises OSError: if it cannot be written.
    """
    value: JsonObject = {name: round(seconds[name], 3) for name in sorted(seconds)}
    write_atomic(path, (write(value, indent=1) + "\n").encode())
