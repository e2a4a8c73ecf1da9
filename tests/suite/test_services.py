"""What services that run flowproof say of a run, and what is made of hostile values."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.suite.origin import distribution_digest, origin
from flowproof.suite.services import branch_of

GITHUB = {
    "CI": "true",
    "GITHUB_ACTIONS": "true",
    "GITHUB_ACTOR": "casey",
    "GITHUB_EVENT_NAME": "push",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "acme/bot",
    "GITHUB_RUN_ID": "42",
    "GITHUB_REF_NAME": "main",
}
GITLAB = {
    "CI": "true",
    "GITLAB_CI": "true",
    "GITLAB_USER_LOGIN": "casey",
    "CI_PIPELINE_SOURCE": "schedule",
    "CI_PIPELINE_URL": "https://gitlab.example/acme/bot/-/pipelines/42",
    "CI_COMMIT_REF_NAME": "main",
}
JENKINS = {
    "JENKINS_URL": "https://ci.example/",
    "BUILD_USER_ID": "casey",
    "BUILD_URL": "https://ci.example/job/bot/42/",
    "BRANCH_NAME": "main",
}
AZURE = {
    "TF_BUILD": "True",
    "BUILD_REQUESTEDFOR": "Casey Doe",
    "BUILD_REASON": "IndividualCI",
    "SYSTEM_COLLECTIONURI": "https://dev.azure.com/acme/",
    "SYSTEM_TEAMPROJECT": "My Bot",
    "BUILD_BUILDID": "42",
    "BUILD_SOURCEBRANCH": "refs/heads/main",
}
CIRCLE = {
    "CI": "true",
    "CIRCLECI": "true",
    "CIRCLE_USERNAME": "casey",
    "CIRCLE_BUILD_URL": "https://circleci.com/gh/acme/bot/42",
    "CIRCLE_BRANCH": "main",
}
BUILDKITE = {
    "CI": "true",
    "BUILDKITE": "true",
    "BUILDKITE_BUILD_CREATOR": "Casey Doe",
    "BUILDKITE_SOURCE": "webhook",
    "BUILDKITE_BUILD_URL": "https://buildkite.com/acme/bot/builds/42",
    "BUILDKITE_BRANCH": "main",
}
BITBUCKET = {
    "CI": "true",
    "BITBUCKET_BUILD_NUMBER": "42",
    "BITBUCKET_REPO_FULL_NAME": "acme/bot",
    "BITBUCKET_STEP_TRIGGERER_UUID": "{1f}",
    "BITBUCKET_BRANCH": "main",
}


@pytest.mark.parametrize(
    ("environ", "ci", "actor", "trigger", "url"),
    [
        pytest.param(
            GITHUB,
            "GitHub Actions",
            "casey",
            "push",
            "https://github.com/acme/bot/actions/runs/42",
            id="github",
        ),
        pytest.param(
            GITLAB,
            "GitLab CI",
            "casey",
            "schedule",
            "https://gitlab.example/acme/bot/-/pipelines/42",
            id="gitlab",
        ),
        pytest.param(
            JENKINS, "Jenkins", "casey", "", "https://ci.example/job/bot/42/", id="jenkins"
        ),
        pytest.param(
            AZURE,
            "Azure Pipelines",
            "Casey Doe",
            "IndividualCI",
            "https://dev.azure.com/acme/My%20Bot/_build/results?buildId=42",
            id="azure",
        ),
        pytest.param(
            CIRCLE, "CircleCI", "casey", "", "https://circleci.com/gh/acme/bot/42", id="circle"
        ),
        pytest.param(
            BUILDKITE,
            "Buildkite",
            "Casey Doe",
            "webhook",
            "https://buildkite.com/acme/bot/builds/42",
            id="buildkite",
        ),
        pytest.param(
            BITBUCKET,
            "Bitbucket Pipelines",
            "{1f}",
            "",
            "https://bitbucket.org/acme/bot/pipelines/results/42",
            id="bitbucket",
        ),
    ],
)
def test_each_service(environ: dict[str, str], ci: str, actor: str, trigger: str, url: str) -> None:
    found = origin(environ)
    assert (found.ci, found.actor, found.trigger, found.url) == (ci, actor, trigger, url)
    assert branch_of(environ) == "main"


@pytest.mark.parametrize(
    ("environ", "ci"),
    [
        pytest.param({"CI": "1"}, "CI", id="one without a name"),
        pytest.param({"CI": "false"}, "", id="none, it says"),
        pytest.param({"GITHUB_ACTIONS": ""}, "", id="empty"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_other_places(environ: dict[str, str], ci: str) -> None:
    found = origin(environ)
    assert (found.ci, found.trigger, found.url, branch_of(environ)) == (ci, "", "", "")
    assert found.actor, "the user of the system"
    assert found.system and found.kernel


def test_who_ran_it_again_counts_before_who_began_it() -> None:
    assert origin({**GITHUB, "GITHUB_TRIGGERING_ACTOR": "robin"}).actor == "robin"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://user:secret@ci.example/1",
        "https://ci.example/\n1",
        "https://ci.example/ 1",
        "https://ci.example/\u202e1",
        "https://[::1",
        "https:///1",
        "https://ci.example/" + "1" * 2000,
    ],
    ids=["script", "file", "password", "line", "blank", "bidi", "broken", "no host", "long"],
)
def test_no_reader_is_led_to_a_hostile_address(url: str) -> None:
    assert origin({**GITLAB, "CI_PIPELINE_URL": url}).url == ""


def test_a_hostile_name_is_one_line_of_bounded_length() -> None:
    found = origin({**GITHUB, "GITHUB_ACTOR": "a\nb\x1b[31m" + "c" * 9000})
    assert len(found.actor) < 300 and "\n" not in found.actor and "\x1b" not in found.actor


def test_half_of_an_address_is_none() -> None:
    environ = {name: text for name, text in GITHUB.items() if name != "GITHUB_RUN_ID"}
    assert origin(environ).url == ""


def package(folder: Path) -> Path:
    (folder / "in/__pycache__").mkdir(parents=True)
    (folder / "a.py").write_bytes(b"a = 1\n")
    (folder / "in/b.py").write_bytes(b"b = 1\n")
    return folder


def test_the_same_files_have_one_digest_wherever_they_lie(tmp_path: Path) -> None:
    one, other = package(tmp_path / "x"), package(tmp_path / "deep/down")
    (one / "in/__pycache__/b.cpython-311.pyc").write_bytes(b"1")
    (one / "in/__pycache__/c.py").write_bytes(b"1")
    (one / "notes.txt").write_bytes(b"1")
    digest = distribution_digest(one)
    assert len(digest) == 64
    assert distribution_digest(other) == digest


@pytest.mark.parametrize("change", ["bytes", "name", "more"])
def test_another_file_has_another_digest(tmp_path: Path, change: str) -> None:
    folder = package(tmp_path / "x")
    before = distribution_digest(folder)
    match change:
        case "bytes":
            (folder / "in/b.py").write_bytes(b"b = 2\n")
        case "name":
            (folder / "in/b.py").rename(folder / "in/c.py")
        case _:
            (folder / "c.py").write_bytes(b"")
    assert distribution_digest(folder) != before


def test_our_own_digest() -> None:
    assert origin({}).distribution == distribution_digest()
