"""Checks a base URL that a variable holds, and brings it into the form that requests are added to.

Pure; `upstream` decides which variable counts.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from flowproof.errors import UsageError
from flowproof.files import shortened
from flowproof.flow.providers import AZURE, KEY_VARIABLE, Provider, owner_of

# A host in any other spelling could be one name here and another one where it is connected to.
_PLAIN_HOST = re.compile(r"[a-z0-9._:%-]+", re.ASCII)
_PLAIN_PATH = re.compile(r"[!-~]*")
_OLLAMA_PORT = 11434
_ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""Where a server listens on, and what a client that is given the same variable connects to."""


def base_url(provider: Provider, value: str, variable: str) -> str:
    """The base URL for one provider's requests, without a slash at its end.

    A version segment that the provider's dialects add themselves is cut off; for OpenAI, where
    the base URL holds it, a bare host gets the usual one. For Azure the value is an endpoint, to
    which its clients add `/openai`.

    :raises UsageError: if the value cannot be used; the message starts with `variable`.
    """
    if variable == "OLLAMA_HOST":
        value = _of_ollama_host(value)
    root, path = checked_url(value, variable)
    if provider is AZURE:
        return root + _azures(root, path)
    if not provider.versions:
        return root + (path or ("/openai" if owner_of(root) is AZURE else "/v1"))
    above, slash, last = path.rpartition("/")
    return root + (above if slash and last in provider.versions else path)


def _azures(root: str, path: str) -> str:
    """The path below which Azure's clients ask: they add `/openai` to any endpoint."""
    ends = ("/openai/v1", "/v1", *(("/openai",) if owner_of(root) is AZURE else ()))
    end = next((one for one in ends if path.endswith(one)), "")
    return path.removesuffix(end) + "/openai"


def checked_url(value: str, variable: str) -> tuple[str, str]:
    """The scheme and host of a base URL, and its path without a slash at the end.

    :raises UsageError: if it is none, or not one that a key may be sent to.
    """
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and parts.port != 0
        host = parts.hostname or ""
    except ValueError:
        usable = False
    if not usable or not host:
        shown = "" if "@" in value else f", but {shortened(value)}"
        raise UsageError(f"{variable} is not an http or https URL{shown}")
    if "@" in parts.netloc:
        raise UsageError(f"{variable} holds credentials; put the key into {KEY_VARIABLE}")
    if parts.query or parts.fragment:
        raise UsageError(f"{variable} must be a base URL, without a query or fragment")
    if not _PLAIN_HOST.fullmatch(host) or ("%" in host and ":" not in host):
        raise UsageError(
            f"{variable} names its host in letters beyond ASCII or with escapes; write it in "
            "plain ASCII, an international name as `xn--…`"
        )
    if not _is_host(host):
        raise UsageError(f"{variable} names a host that cannot be one: {host[:80]}")
    if not _PLAIN_PATH.fullmatch(parts.path):
        raise UsageError(f"{variable} has a path with blanks or letters beyond ASCII; escape them")
    if parts.scheme == "http" and owner_of(value) is not None:
        raise UsageError(
            f"{variable} names a public endpoint over http, where the key would travel in clear "
            "text; use https"
        )
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _of_ollama_host(value: str) -> str:
    """OLLAMA_HOST as a URL. Servers and clients share it: it may be no URL, lack the port, or
    name every address of the machine."""
    scheme, marked, rest = value.partition("://")
    if not marked:
        scheme, rest = "http", value
    place, slash, path = rest.partition("/")
    if place.startswith("["):
        inside, bracket, after = place.partition("]")
        host, port = inside + bracket, after.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    host = _ANY_ADDRESS.get(host, host)
    if not port and not marked:
        port = str(_OLLAMA_PORT)
    return f"{scheme}://{host}{':' if port else ''}{port}{slash}{path}"


def _is_host(host: str) -> bool:
    """Whether a name is one that DNS and HTTP clients take, or an address with colons is one."""
    if ":" in host:
        import ipaddress

        try:
            return ipaddress.ip_address(host).version == 6
        except ValueError:
            return False
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or not all(0 < len(label) <= 63 for label in labels):
        return False
    return not any(label.startswith("xn--") for label in labels) or _is_international(host)


def _is_international(host: str) -> bool:
    # Asked of what the HTTP client asks, which would fail in the middle of a recording.
    import yarl

    try:
        return bool(yarl.URL(f"http://{host}", encoded=True).host)
    except ValueError:
        return False
