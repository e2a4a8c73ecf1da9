"""What is kept from a service that searches its log for commands, and GitLab's sections."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from flowproof.report.ci import (
    defused,
    defused_json,
    gitlab_section,
    gitlab_section_end,
    obeys_its_log,
)


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        pytest.param("::error::x", ": :error::x", id="at the beginning"),
        pytest.param("a\n \t::add-mask::x", "a\n \t: :add-mask::x", id="after blanks"),
        pytest.param("\u3000::x::", "\u3000: :x::", id="after a blank of Unicode"),
        pytest.param("  | ::x::", "  | : :x::", id="after a mark"),
        pytest.param("std::vector", "std::vector", id="inside a line"),
        pytest.param("a ##[add-mask]b", "a # #[add-mask]b", id="the old form"),
        pytest.param("###[x]", "## #[x]", id="one sign more"),
        pytest.param("a ##vso[task.x]b", "a # #vso[task.x]b", id="azure"),
        pytest.param("##teamcity[x]", "# #teamcity[x]", id="teamcity"),
        pytest.param("## Title", "## Title", id="a title"),
        pytest.param("nothing", "nothing", id="nothing"),
    ],
)
def test_commands_are_broken_up_and_nothing_else(text: str, harmless: str) -> None:
    assert defused(text) == harmless


@pytest.mark.parametrize("text", ["-" * 1_000_000, "##" * 500_000, ":" * 1_000_000], ids=len)
def test_a_long_text_takes_linear_time(text: str) -> None:
    assert len(defused(text)) >= len(text)


def test_a_json_value_stays_what_it_is() -> None:
    value = {"a": "##[add-mask]x", "b": "\\##vso[x]", "c###": 1}
    text = defused_json(json.dumps(value, indent=1))
    assert "##" not in text.replace("\\u0023#", "")
    assert "##[" not in text and "##vso[" not in text
    assert json.loads(text) == value


@pytest.mark.parametrize(
    ("environ", "obeys"),
    [
        pytest.param({"GITHUB_ACTIONS": "true"}, True, id="github"),
        pytest.param({"GITHUB_ACTIONS": "false"}, False, id="not github"),
        pytest.param({"TF_BUILD": "True"}, True, id="azure"),
        pytest.param({"TEAMCITY_VERSION": "2026.1"}, True, id="teamcity"),
        pytest.param({"GITLAB_CI": "true", "CI": "true"}, False, id="gitlab"),
        pytest.param({}, False, id="none"),
    ],
)
def test_who_obeys(environ: dict[str, str], obeys: bool) -> None:
    assert obeys_its_log(environ) is obeys


def test_a_section_is_named_the_same_where_it_ends() -> None:
    now = datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert gitlab_section("a", "3 flows", now) == (
        "\x1b[0Ksection_start:1796029200:a\r\x1b[0K3 flows"
    )
    assert gitlab_section_end("a", now) == "\x1b[0Ksection_end:1796029200:a\r\x1b[0K"
