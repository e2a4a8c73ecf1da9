"""What an agent finds in its environment, and what it never finds there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowproof.flow.agent_environment import (
    PLACEHOLDER_KEY,
    Handles,
    agent_environment,
    key_remover,
    server_environment,
)
from flowproof.flow.providers import FLOWPROOF_UPSTREAMS, KEY_VARIABLES

HANDLES = Handles("http://127.0.0.1:4646/v1", {"files": "http://127.0.0.1:4700/mcp"})
KEY = "sk-real-0123456789"


def test_it_is_told_where_the_proxy_is_and_what_to_do() -> None:
    env = agent_environment({"PATH": "/bin"}, HANDLES, "Book a flight", {})
    assert env == {
        "PATH": "/bin",
        "OPENAI_BASE_URL": "http://127.0.0.1:4646/v1",
        "OPENAI_API_BASE": "http://127.0.0.1:4646/v1",
        "OPENAI_BASE": "http://127.0.0.1:4646/v1",
        "FLOWPROOF_LLM_PROXY": "http://127.0.0.1:4646/v1",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:4646",
        "ANTHROPIC_API_BASE": "http://127.0.0.1:4646",
        "ANTHROPIC_API_URL": "http://127.0.0.1:4646",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:4646",
        "GEMINI_API_BASE": "http://127.0.0.1:4646",
        "OLLAMA_HOST": "http://127.0.0.1:4646",
        "OLLAMA_API_BASE": "http://127.0.0.1:4646",
        "OLLAMA_BASE_URL": "http://127.0.0.1:4646",
        "OPENAI_API_KEY": PLACEHOLDER_KEY,
        "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
        "GEMINI_API_KEY": PLACEHOLDER_KEY,
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "FLOWPROOF_PROMPT": "Book a flight",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def test_handles() -> None:
    assert HANDLES.values() == {
        "proxy_url": "http://127.0.0.1:4646/v1",
        "proxy_url_no_v1": "http://127.0.0.1:4646",
        "mcp_url.files": "http://127.0.0.1:4700/mcp",
    }


def test_it_is_told_of_mcp_servers_and_of_no_other_runs() -> None:
    command = "python stand_in.py @x"
    handles = Handles(
        "http://p/v1",
        {},
        mcp_commands={"files": command},
        variables={"FLOWPROOF_MCP_SERVER_files": command},
    )
    inherited = {"FLOWPROOF_MCP_SERVER_web": "of a flowproof around this one"}
    env = agent_environment(inherited, handles, "", {})
    assert handles.values()["mcp_server.files"] == command
    assert {name: env[name] for name in env if name.startswith("FLOWPROOF_MCP_")} == {
        "FLOWPROOF_MCP_SERVER_files": command
    }


def test_a_real_mcp_server_has_its_agents_environment_without_flowproof() -> None:
    inherited = {
        "PATH": "/bin",
        "OPENAI_API_KEY": KEY,
        "COPY": f"x{KEY}",
        "OPENAI_BASE_URL": "https://mine",
        "FLOWPROOF_PROMPT": "of another",
        "FLOWPROOF_AGENT_UPSTREAM": "https://a",
        "FLOWPROOF_MCP_SERVER_web": "x",
    }
    assert server_environment(inherited, {"ROOT": "/data", "PATH": "/mine"}) == {
        "PATH": "/mine",
        "COPY": f"x{PLACEHOLDER_KEY}",
        "OPENAI_BASE_URL": "https://mine",
        "ROOT": "/data",
    }


@pytest.mark.parametrize("variable", KEY_VARIABLES)
def test_a_real_key_reaches_it_under_no_name(variable: str) -> None:
    inherited = {
        variable: KEY,
        "MY_KEY": KEY,
        "HEADER": f"Bearer {KEY}",
        "URL": f"https://u:{KEY}@h/?k={KEY}",
    }
    env = agent_environment(inherited, HANDLES, "", {})
    assert not [name for name, value in env.items() if KEY in value]
    assert env["HEADER"] == f"Bearer {PLACEHOLDER_KEY}"
    assert env.get(variable, PLACEHOLDER_KEY) == PLACEHOLDER_KEY


def test_our_own_variables_do_not_reach_it() -> None:
    own = {**dict.fromkeys(FLOWPROOF_UPSTREAMS, "http://h"), "FLOWPROOF_AGENT_KEY": KEY}
    env = agent_environment(own, HANDLES, "", {})
    assert not own.keys() & env.keys()


@pytest.mark.parametrize("variable", ["AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"])
def test_an_endpoint_of_azure_is_replaced_and_never_invented(variable: str) -> None:
    inherited = {variable: "https://r.openai.azure.com", "AZURE_OPENAI_API_KEY": KEY}
    env = agent_environment(inherited, HANDLES, "", {})
    assert env[variable] == "http://127.0.0.1:4646"
    assert env["AZURE_OPENAI_API_KEY"] == PLACEHOLDER_KEY
    assert not [name for name in agent_environment({}, HANDLES, "", {}) if "AZURE" in name]


def test_a_replay_of_azure_needs_nothing_of_the_user() -> None:
    env = agent_environment({}, replace(HANDLES, api_type="azure"), "", {})
    assert env["AZURE_OPENAI_ENDPOINT"] == "http://127.0.0.1:4646"
    assert env["AZURE_OPENAI_API_KEY"] == PLACEHOLDER_KEY
    declared = {"AZURE_OPENAI_ENDPOINT": "http://mine"}
    env = agent_environment({}, replace(HANDLES, api_type="azure"), "", declared)
    assert env["AZURE_OPENAI_ENDPOINT"] == "http://mine"


@pytest.mark.parametrize("variable", ["GROQ_API_KEY", "OPENROUTER_API_KEY", "OPENAI_ADMIN_KEY"])
def test_a_key_of_a_model_that_flowproof_does_not_ask_is_none_to_spend(variable: str) -> None:
    env = agent_environment({variable: KEY, "HF_TOKEN": "hf-real-012345"}, HANDLES, "", {})
    assert env[variable] == PLACEHOLDER_KEY
    assert env["HF_TOKEN"] == "hf-real-012345", "it opens more than models"
    assert variable not in agent_environment({}, HANDLES, "", {})


def test_google_is_given_its_second_key_only_where_it_had_one() -> None:
    # Its client warns where both are set, and some agents turn warnings into errors.
    assert "GOOGLE_API_KEY" not in agent_environment({}, HANDLES, "", {})
    env = agent_environment({"GOOGLE_API_KEY": KEY}, HANDLES, "", {})
    assert env["GOOGLE_API_KEY"] == PLACEHOLDER_KEY


@pytest.mark.parametrize("declares", [False, True], ids=["inherited", "declared"])
def test_what_the_user_says_about_side_traffic_counts(declares: bool) -> None:
    said = {"OPENAI_AGENTS_DISABLE_TRACING": "0", "LITELLM_LOCAL_MODEL_COST_MAP": ""}
    env = agent_environment({} if declares else said, HANDLES, "", said if declares else {})
    assert {name: env[name] for name in said} == said


def test_what_the_spec_declares_comes_last() -> None:
    declared = {"OPENAI_BASE_URL": "http://mine", "NO_PROXY": "", "OPENAI_API_KEY": "mine"}
    env = agent_environment({"NO_PROXY": "example.com"}, HANDLES, "", declared)
    assert {name: env[name] for name in declared} == declared


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "127.0.0.1,localhost", id="empty"),
        pytest.param("example.com", "example.com,127.0.0.1,localhost", id="another host"),
        pytest.param("localhost", "localhost,127.0.0.1", id="one of them"),
        pytest.param(" ,a,", "a,127.0.0.1,localhost", id="blanks"),
    ],
)
def test_no_web_proxy_is_asked_for_ours(before: str, after: str) -> None:
    env = agent_environment({"no_proxy": before}, HANDLES, "", {})
    assert env["no_proxy"] == after


@pytest.mark.parametrize(
    ("environ", "text", "expected"),
    [
        pytest.param({"OPENAI_API_KEY": f" {KEY}\n"}, KEY, PLACEHOLDER_KEY, id="blanks around it"),
        pytest.param(
            {"OPENAI_API_KEY": f"Bearer {KEY}"},
            f"token {KEY}",
            f"token {PLACEHOLDER_KEY}",
            id="set with its scheme",
        ),
        pytest.param(
            {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": f"{KEY}-longer"},
            f"{KEY}-longer {KEY}",
            f"{PLACEHOLDER_KEY} {PLACEHOLDER_KEY}",
            id="one begins like the other",
        ),
        pytest.param(
            {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": "placeholder-key"},
            f"{KEY} placeholder-key",
            f"{PLACEHOLDER_KEY} {PLACEHOLDER_KEY}",
            id="one stands in the placeholder",
        ),
        pytest.param({"OPENAI_API_KEY": "a.c-.*+?"}, "a.c-.*+?", PLACEHOLDER_KEY, id="a pattern"),
        pytest.param({"OPENAI_API_KEY": "a.c-.*+?"}, "abc-defgh", "abc-defgh", id="no pattern"),
        pytest.param({"OPENAI_API_KEY": "test"}, "a test", "a test", id="too short for a key"),
        pytest.param({"HOME": "/home/someone"}, "/home/someone", "/home/someone", id="no key"),
    ],
)
def test_key_remover(environ: dict[str, str], text: str, expected: str) -> None:
    assert key_remover({}, environ)(text) == expected
