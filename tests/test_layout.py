"""What holds the source together: sizes, docstrings, layers, declared dependencies, pipelines."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import flowproof
from flowproof.assets import asset
from flowproof.graph.load import expand, load_template
from flowproof.graph.validate import validate

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(flowproof.__file__).parent
MAX_LINES = 400

GRAPHS = sorted(path.name for path in (ROOT / "graphs").iterdir())
PAGES = ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
DRIVERS = ("command", "url", "endpoint")
SERVERS: tuple[list[str], ...] = ([], ["files"], ["files", "search"])


def sources(package: Path) -> Iterator[Path]:
    return package.rglob("*.py")


def too_long(package: Path) -> list[str]:
    """The files of more than `MAX_LINES` lines."""
    return [f.name for f in sources(package) if len(f.read_text("utf-8").splitlines()) > MAX_LINES]


def undocumented(package: Path) -> list[str]:
    """The public modules that hold something and do not say what it is for."""
    found = []
    for file in sources(package):
        module = ast.parse(file.read_text("utf-8"))
        public = file.name == "__init__.py" or not file.name.startswith("_")
        if public and module.body and not ast.get_docstring(module):
            found.append(file.name)
    return found


def rooms(package: Path) -> set[str]:
    """The modules and folders directly in a package, as their import names."""
    names = {file.stem for file in package.glob("*.py")} - {"__init__"}
    return names | {file.parent.name for file in package.glob("*/__init__.py")}


def layered(layers: Sequence[str]) -> list[str]:
    """The names in the layers of an import contract, without the package's own."""
    return [name.strip().partition(".")[2] for layer in layers for name in re.split("[|:]", layer)]


def imported(package: Path) -> set[str]:
    """The top-level names that files import from elsewhere than Python and the package itself."""
    names: set[str] = set()
    for file in sources(package):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Import(aliases):
                    names |= {alias.name.partition(".")[0] for alias in aliases}
                case ast.ImportFrom(str(module), _, 0):
                    names.add(module.partition(".")[0])
                case _:
                    pass
    return names - sys.stdlib_module_names - {package.name}


def undeclared(names: set[str], requirements: Sequence[str]) -> list[str]:
    """Those imports that no requirement brings by its own name."""
    declared = {_normal(re.split("[^A-Za-z0-9._-]", line)[0]) for line in requirements}
    known = packages_distributions()
    return [n for n in sorted(names) if not declared & set(map(_normal, known.get(n, ())))]


def missing_paths(text: str, root: Path) -> list[str]:
    """The files that a text for people names below our folders and that are not there."""
    named = re.findall(r"(?<![\w/.-])(?:docs|examples|graphs|templates|tests)/[\w/.-]+", text)
    return [path for path in named if not (root / path.rstrip(".")).exists()]


def _normal(distribution: str) -> str:
    return re.sub("[-_.]+", "-", distribution).lower()


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture
def guilty(tmp_path: Path) -> Path:
    """A package that does everything wrong."""
    package = tmp_path / "package"
    (package / "room").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "room" / "__init__.py").touch()
    (package / "long.py").write_text('"""Too much."""\n' + "x = 1\n" * MAX_LINES, "utf-8")
    (package / "mute.py").write_text(
        "from pytest import mark\nimport click.core, os.path\n", "utf-8"
    )
    (package / "_private.py").write_text("from . import long\n", "utf-8")
    return package


def test_no_file_is_too_long(guilty: Path) -> None:
    assert too_long(guilty) == ["long.py"]
    assert too_long(PACKAGE) == []


def test_every_public_module_says_what_it_is_for(guilty: Path) -> None:
    assert undocumented(guilty) == ["mute.py"]
    assert undocumented(PACKAGE) == []


def test_every_room_has_its_floor(guilty: Path, pyproject: dict[str, Any]) -> None:
    assert rooms(guilty) == {"long", "mute", "_private", "room"}
    [contract] = pyproject["tool"]["importlinter"]["contracts"]
    floors = layered(contract["layers"])
    assert len(floors) == len(set(floors))
    assert set(floors) == rooms(PACKAGE)


def test_what_is_imported_is_declared(guilty: Path, pyproject: dict[str, Any]) -> None:
    assert imported(guilty) == {"click", "pytest"}
    assert undeclared({"click", "pytest", "yaml"}, ["Click>=8", "PyYAML"]) == ["pytest"]
    project = pyproject["project"]
    extra = project["optional-dependencies"]["dask"]  # imported once it is known to be there
    assert undeclared(imported(PACKAGE), [*project["dependencies"], *extra]) == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_pages_name_files_that_exist(page: str) -> None:
    assert missing_paths("See docs/none.md, or `make lint`. Or LICENSE.", ROOT) == ["docs/none.md"]
    assert missing_paths((ROOT / page).read_text("utf-8"), ROOT) == []


@pytest.mark.parametrize("name", GRAPHS, ids=str)
@pytest.mark.parametrize("driver", DRIVERS, ids=str)
@pytest.mark.parametrize("servers", SERVERS, ids=["no server", "a server", "two servers"])
def test_every_pipeline_is_sound(name: str, driver: str, servers: list[str]) -> None:
    text = asset("graphs", name).read_text("utf-8")
    template = load_template(text, f"graphs/{name}")
    assert f"{template.name}.yaml" == name
    graph = expand(template, {"mcp": servers}, {driver})
    assert validate(graph) == []
    assert any(node.always for node in graph.tasks.values())
