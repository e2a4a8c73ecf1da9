"""A query loses the keys in it, and nothing else."""

from __future__ import annotations

import pytest

from flowproof.dialects.credentials import of_list, without_credentials


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
        pytest.param("key[]=1&key%5B%5D=2&a[]=3", "a[]=3", id="in a list"),
        pytest.param("limit=3;key=S&a=1;b=2", "a=1;b=2", id="behind a semicolon"),
        pytest.param("x-api-key=1&x-goog-api-key=2&client_secret=3", "", id="as in headers"),
        pytest.param("sig=1&code=2&design=a&codec=b", "design=a&codec=b", id="signatures"),
        pytest.param("keyword=a&monkey=b&pageToken=c", "keyword=a&monkey=b&pageToken=c", id="like"),
        pytest.param("v=a%2Fb+c&w=%C3%A9&&=", "v=a%2Fb+c&w=%C3%A9&&=", id="as it was written"),
        pytest.param("q=key%3Dsk", "q=key%3Dsk", id="in a value"),
    ],
)
def test_a_key_does_not_travel_in_the_query(query: str, sent: str) -> None:
    assert without_credentials(query) == sent


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        pytest.param("", "", id="none"),
        pytest.param("limit=3&after_id=a%2Fb", "limit=3&after_id=a%2Fb", id="a page"),
        pytest.param(
            "pageSize=3&pageToken=t&$alt=json", "pageSize=3&pageToken=t&$alt=json", id="G"
        ),
        pytest.param(
            "api-version=2026-01-01&beta=true", "api-version=2026-01-01&beta=true", id="v"
        ),
        pytest.param("limit=3;key=S", "limit=3", id="behind a semicolon"),
        pytest.param("whatever=S&limit=3", "limit=3", id="unknown"),
        pytest.param("x-api-key=1&sig=2&code=3&key[]=4&limit[]=5", "", id="keys"),
    ],
)
def test_a_list_is_asked_for_with_what_is_known_alone(query: str, sent: str) -> None:
    assert of_list(query) == sent
