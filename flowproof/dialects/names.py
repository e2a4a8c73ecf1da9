"""The names of the dialects that flowproof speaks, for those who need not load them."""

SPOKEN = (
    "openai.chat",
    "openai.responses",
    "openai.completions",
    "anthropic.messages",
    "google.generate",
    "ollama.chat",
    "ollama.generate",
)
"""In the order of `registry.DIALECTS`, which has the dialects themselves."""
