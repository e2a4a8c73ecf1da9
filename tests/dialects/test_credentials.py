"""A query loses the keys in it, and nothing else."""

from __future__ import annotations

import pytest

from flowproof.dialects.credentials import without_credentials


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        pytest.param("", "", id="none"),
        pytest.param("api-version=2026-01-01", "api-version=2026-01-01", id="innocent"),
        pytest.param("alt=sse&key=sk-1", "alt=sse", id="Google's"),
        pytest.param("key=sk-1", "", id="alone"),
        pytest.param("key=sk-1&key=sk-2&a", "a", id="twice"),
        pytest.param("API_KEY=1&api-key=2&apikey=3", "", id="in other spellings"),
        pytest.param("%6Bey=sk-1&a=%2F", "a=%2F", id="escaped"),
        pytest.param("access_token=1&subscription-key=2&id_token=3", "", id="tokens"),
        pytest.param("$access_token=1&$alt=sse", "$alt=sse", id="with a dollar sign"),
        pytest.param("keyword=a&monkey=b&pageToken=c", "keyword=a&monkey=b&pageToken=c", id="like"),
        pytest.param("v=a%2Fb+c&w=%C3%A9&&=", "v=a%2Fb+c&w=%C3%A9&&=", id="as it was written"),
        pytest.param("q=key%3Dsk", "q=key%3Dsk", id="in a value"),
    ],
)
def test_a_key_does_not_travel_in_the_query(query: str, sent: str) -> None:
    assert without_credentials(query) == sent
