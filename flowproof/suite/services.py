"""The services that run flowproof unattended, and what each says of a run in its environment.

`origin` asks who and what, `source` which branch; `report.ci` has what their logs understand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from flowproof.report.text import one_line

WORDS = 200
"""Characters of a name that are kept."""

Environ = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Service:
    """A service that runs commands unattended. It is there where the variable `mark` says so. Of
    the variables `actor`, `trigger` and `branch` the first that is set counts; `url` makes the
    address of the run's page."""

    name: str
    mark: str
    actor: tuple[str, ...]
    trigger: tuple[str, ...]
    branch: tuple[str, ...]
    url: Callable[[Environ], str]

    def there(self, environ: Environ) -> bool:
        """Whether this service runs us."""
        return environ.get(self.mark, "").casefold() not in ("", "0", "false")


def _variable(name: str) -> Callable[[Environ], str]:
    return lambda environ: environ.get(name, "")


def _github(environ: Environ) -> str:
    server, repository, run = _all(
        environ, "GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"
    )
    return f"{server}/{repository}/actions/runs/{run}" if run else ""


def _azure(environ: Environ) -> str:
    server, project, build = _all(
        environ, "SYSTEM_COLLECTIONURI", "SYSTEM_TEAMPROJECT", "BUILD_BUILDID"
    )
    page = f"{quote(project)}/_build/results?buildId={quote(build)}"
    return f"{server.rstrip('/')}/{page}" if build else ""


def _bitbucket(environ: Environ) -> str:
    name, number = _all(environ, "BITBUCKET_REPO_FULL_NAME", "BITBUCKET_BUILD_NUMBER")
    return f"https://bitbucket.org/{name}/pipelines/results/{number}" if number else ""


def _all(environ: Environ, *names: str) -> list[str]:
    """The values of these variables; nothing but empty ones if one is not set."""
    found = [environ.get(name, "") for name in names]
    return found if all(found) else [""] * len(names)


_UNNAMED = Service("CI", "CI", (), (), (), lambda environ: "")
NONE = Service("", "", (), (), (), lambda environ: "")
"""Stands for no service."""

SERVICES = (
    Service(
        "GitHub Actions",
        "GITHUB_ACTIONS",
        ("GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR"),
        ("GITHUB_EVENT_NAME",),
        ("GITHUB_HEAD_REF", "GITHUB_REF_NAME"),
        _github,
    ),
    Service(
        "GitLab CI",
        "GITLAB_CI",
        ("GITLAB_USER_LOGIN",),
        ("CI_PIPELINE_SOURCE",),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"),
        _variable("CI_PIPELINE_URL"),
    ),
    Service(
        "Jenkins",
        "JENKINS_URL",
        ("BUILD_USER_ID",),
        (),
        ("CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"),
        _variable("BUILD_URL"),
    ),
    Service(
        "Azure Pipelines",
        "TF_BUILD",
        ("BUILD_REQUESTEDFOR",),
        ("BUILD_REASON",),
        ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH"),
        _azure,
    ),
    Service(
        "CircleCI",
        "CIRCLECI",
        ("CIRCLE_USERNAME",),
        (),
        ("CIRCLE_BRANCH",),
        _variable("CIRCLE_BUILD_URL"),
    ),
    Service(
        "Buildkite",
        "BUILDKITE",
        ("BUILDKITE_BUILD_CREATOR",),
        ("BUILDKITE_SOURCE",),
        ("BUILDKITE_BRANCH",),
        _variable("BUILDKITE_BUILD_URL"),
    ),
    Service(
        "Bitbucket Pipelines",
        "BITBUCKET_BUILD_NUMBER",
        ("BITBUCKET_STEP_TRIGGERER_UUID",),
        (),
        ("BITBUCKET_BRANCH",),
        _bitbucket,
    ),
    _UNNAMED,
)
"""Those that are told apart; of several that seem to run us the first counts."""


def service_of(environ: Environ) -> Service | None:
    """The service that runs us, if one says so."""
    return next((one for one in SERVICES if one.there(environ)), None)


def branch_of(environ: Environ) -> str:
    """The branch that a service says it runs: what it checks out may be on none."""
    service = service_of(environ)
    return "" if service is None else first_set(environ, service.branch).removeprefix("refs/heads/")


def first_set(environ: Environ, names: tuple[str, ...]) -> str:
    return next((one_line(environ[name], WORDS) for name in names if environ.get(name)), "")
