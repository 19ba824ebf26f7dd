"""The workflows run what noxfile.py lists."""

import re
from typing import Any

import yaml

from support.scripts import DOCS

ROOT = DOCS.parent
RELEASES = re.findall(r'"(\d+\.\d+\.\d+(?:\.post\d+)?)"', (ROOT / "noxfile.py").read_text())


def matrix(workflow: str, job: str) -> dict[str, Any]:
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text()
    return yaml.safe_load(text)["jobs"][job]["strategy"]["matrix"]


def test_wheels_are_made_for_each_minor_version():
    assert matrix("wheels", "wheels")["torch"] == list(dict.fromkeys(".".join(release.split(".")[:2]) for release in RELEASES))


def test_a_smoke_run_is_of_a_release_that_is_listed():
    assert set(matrix("versions", "smoke")["torch_npu"]) <= set(RELEASES)
