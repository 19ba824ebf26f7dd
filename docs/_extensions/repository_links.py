"""Lets the Markdown keep the links that GitHub follows, of which some lead out of docs/.

A link to a document outside docs/ that has a page (`PAGES`) leads to that page, which is written when a build begins, and is not in git.
A link to a folder becomes plain text. Links to other files stay, and MyST makes downloads of them. In a page that begins with
`<!-- page: ../README.md -->` that file is read in place of the line and the sentence after it, so that there is one text.
`<!-- file: ../examples/aclnn_client.cpp -->` is replaced by the file's code.
"""

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
PAGES = {
    "benchmarks": "../benchmarks/README.md",
    "changelog": "../CHANGELOG.md",
    "contributing": "../CONTRIBUTING.md",
    "security": "../SECURITY.md",
    "zh-CN/index": "../../README.zh-CN.md",
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#|<)([^)#\s]+)(#[^)]*)?\)")
_SHOWS_PAGE = re.compile(r"<!-- page: (\S+) -->(\n\nThis page of the site .*\n)?")
_SHOWS_FILE = re.compile(r"<!-- file: (\S+) -->")


def _pages() -> dict[Path, Path]:
    """Return the files outside docs/ that have a page, with the page."""
    found = {}
    for page in DOCS.rglob("*.md"):
        marked = _SHOWS_PAGE.search(page.read_text(encoding="utf-8"))
        if marked:
            found[(page.parent / marked[1]).resolve()] = page
    return found


def rebased(text: str, source: Path, page: Path, pages: dict[Path, Path]) -> str:
    """Return the text of `source` with its links as `page`, which is shown in its place, needs them."""

    def link(match: re.Match[str]) -> str:
        image, label, path, fragment = match.groups()
        target = (source.parent / path).resolve()
        target = pages.get(target, target)
        if target.is_dir():
            return label
        return f"{image}[{label}]({os.path.relpath(target, page.parent)}{fragment or ''})"

    return _LINK.sub(link, text)


def _write_pages(app: Sphinx) -> None:
    """Write the pages whose text lies outside docs/."""
    for page, source in PAGES.items():
        (DOCS / f"{page}.md").write_text(f"<!-- page: {source} -->\n", encoding="utf-8")


def _read(app: Sphinx, name: str, content: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    pages = _pages()
    text = rebased(content[0], page, page, pages)
    if marked := _SHOWS_PAGE.search(content[0]):
        source = (page.parent / marked[1]).resolve()
        app.env.note_dependency(str(source), docname=name)
        shown = rebased(source.read_text(encoding="utf-8"), source, page, pages)
        text = _SHOWS_PAGE.sub(lambda match: shown, text)
    content[0] = _SHOWS_FILE.sub(r"```{literalinclude} \1\n:language: cpp\n```", text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
