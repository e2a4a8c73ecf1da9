"""The names of the dialects that flowproof speaks, for those who need not load them."""

SPOKEN = ("openai.chat",)
"""In the order of `registry.DIALECTS`, which has the dialects themselves."""
