"""A hostile agent and a hostile model, recorded and replayed by the real command line; then the
report is opened.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.opened import LOOKS, Look, opened
from tests.browser.poison import MARK, POISONS
from tests.browser.test_hostile import FOREIGN, own_elements
from tests.e2e.model import call, calling, model, saying
from tests.e2e.project import Project, flow

SAID = "".join(POISONS[name] for name in ("markup", "template", "terminal", "bidi", "broken"))
LONG = 1_000_000
BYTES = b"\xff\xfe\xc3( \xed\xa0\x80 \x00\x1b[2J\x1b]8;;javascript:1\x07 \xf0\x9f\x92 </script>\n"
AGENT = """\
import json, os, sys, urllib.request
said = json.load(open("said.json"))
messages = [{"role": "user", "content": said}]
while True:
    body = json.dumps({"model": "m", "messages": messages}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    asked = urllib.request.Request(url, body, {"content-type": "application/json"})
    answer = json.load(urllib.request.urlopen(asked))["choices"][0]["message"]
    messages.append(answer)
    if not answer.get("tool_calls"):
        break
    for one in answer["tool_calls"]:
        messages.append({"role": "tool", "tool_call_id": one["id"], "content": said})
for stream in (sys.stdout.buffer, sys.stderr.buffer):
    stream.write(BYTES * 3 + b"x" * LONG + b"\\n")
sys.exit(int(os.environ.get("FAILS", "0")))
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of a suite of two flows, of which one fails at its assertion."""
    project = Project(tmp_path_factory.mktemp("hostile"))
    # Escapes of JSON carry what UTF-8 cannot: half of a surrogate pair.
    escaped = "".join(f"\\u{ord(char):04x}" for char in SAID if ord(char) < 0x10000)
    project.write("said.json", f'"{escaped}"')
    project.write("agent.py", AGENT.replace("BYTES", repr(BYTES)).replace("LONG", str(LONG)))
    command = shlex.join([sys.executable, "-S", "agent.py"])
    for name in ("good", "bad"):
        spec = f"{name}.flow.yaml"
        holds = {"assert": "reply contains done"}
        project.write(spec, flow(command, holds, name=f"{name} {POISONS['markup']}"))
        tool = call("</script>{{ 7*7 }}", '{"</script>": "\\ud800\\u202e"}')
        with model(calling(tool), saying(f"done {POISONS['markup']}\u2028")) as upstream:
            recorded = project.record(spec, upstream.url)
        assert recorded.code == 0, recorded.stderr
    changed = flow(command, {"assert": "reply contains {{ 7*7 }}{% raw %}"}, name="bad </script>")
    project.write("bad.flow.yaml", changed)
    ran = project.flowproof("suite", "run")
    assert ran.code == 1, ran.stderr
    return project.folder / "reports"


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_its_report_is_harmless(browser: Browser, reports: Path, look: Look) -> None:
    found = [reports / "index.html", *sorted(reports.glob("flows/*.html"))]
    assert len(found) == 3
    for path in found:
        with opened(browser, path, look) as one:
            assert one.sideways() == []
            one.unfold()
            assert one.sideways() == []
            one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert own_elements(one) == (1, []), path.name
            assert one.page.evaluate(f"typeof {MARK}") == "undefined"
            assert one.page.locator(FOREIGN).count() == 1
            assert one.complaints == []


def test_its_report_shows_what_was_said(browser: Browser, reports: Path) -> None:
    [page] = reports.glob("flows/bad*.html")
    with opened(browser, page) as one:
        text = one.page.locator("main").text_content() or ""
    # What is no text at all, half a pair, what would steer a terminal, and what would turn text.
    for shown in ("\ufffd\ufffd\ufffd(", POISONS["markup"], "{{ 7*7 }}", "⟨U+202E⟩gnp", "␛[2J"):
        assert shown in text
    assert "\u202e" not in text
