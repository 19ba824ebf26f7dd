"""The pages in Chinese and in English have the same commands, code, tables and links, so that they cannot drift apart."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each page in Chinese and the one in English.
PAGES = {
    "README.zh-CN.md": "README.md",
    **{f"docs/zh-CN/{page.name}": f"docs/{page.name}" for page in (ROOT / "docs" / "zh-CN").glob("*.md") if page.stem != "index"},
}
of_each_page = pytest.mark.parametrize(("chinese", "english"), PAGES.items(), ids=PAGES)


def text(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(page: str) -> list[str]:
    """Return the blocks of code with the language and the comment before each; comments in the code, which are translated, are cut."""
    found = re.findall(r"(?:^<!-- .* -->\n)?^```.*?^```$", text(page), re.MULTILINE | re.DOTALL)
    return [re.sub(r" *(?<![\w!])#.*", "", block) for block in found]


def targets(page: str, part: str) -> list[str]:
    """Return the files to which the links of a part of the page lead, in English; headings have other names in each language."""
    links = re.findall(r"\]\(([^)]+)\)", part)
    folder = (ROOT / page).parent
    files = [link if ":" in link else (folder / link.partition("#")[0]).resolve().relative_to(ROOT).as_posix() for link in links]
    return [PAGES.get(file, file.removesuffix("/zh-CN")).replace("overview.zh-CN.svg", "overview.svg") for file in files]


def rows(page: str) -> list[tuple[int, list[str], list[str]]]:
    """Return of each row of the tables how many cells it has, and its code and links."""
    lines = [line for line in re.sub(r"```.*?```", "", text(page), flags=re.DOTALL).splitlines() if line.startswith("|")]
    return [(line.count("|"), sorted(re.findall("`[^`]*`", line)), sorted(targets(page, line))) for line in lines]


@of_each_page
def test_the_code_is_the_same(chinese, english):
    assert blocks(chinese) == blocks(english)


@of_each_page
def test_the_tables_have_the_same_rows_code_and_links(chinese, english):
    assert rows(chinese) == rows(english)


@of_each_page
def test_the_sections_and_links_are_the_same(chinese, english):
    levels = [re.findall(r"^#+ ", re.sub(r"```.*?```", "", text(page), flags=re.DOTALL), re.MULTILINE) for page in (chinese, english)]
    assert levels[0] == levels[1]
    other = {"README.md", "README.zh-CN.md"}  # each README links to the other
    assert set(targets(chinese, text(chinese))) - other == set(targets(english, text(english))) - other
