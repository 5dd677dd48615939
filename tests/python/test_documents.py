"""Checks the links of the documentation, and that the files named in ARCHITECTURE.md and its neighbors exist."""

import pathlib
import re
import subprocess
import unittest

from node import ROOT

# Documents that name files of the tree.
NAMING_FILES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
# Where a short name such as `hub/tick.rs` may begin.
ROOTS = ["", "src", "actors/src", "src/http/console"]
# Where a name without a folder may be: it stands for a file of the folder that the sentence is about.
CODE = ["src", "actors/src", "clients/js/src"]
# Tables and fenced blocks may be wider.
WIDTH = 120
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def documents() -> list[pathlib.Path]:
    """Every Markdown file of the tree."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).exists()]


def prose(document: pathlib.Path) -> str:
    """The text of a document without its fenced blocks."""
    return FENCE.sub("", document.read_text())


def anchors(document: pathlib.Path) -> set[str]:
    """The anchors that GitHub makes of the headings of a document."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", prose(document), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = 0
        while (unique := anchor if not number else f"{anchor}-{number}") in found:
            number += 1
        found.add(unique)
    return found


def links(document: pathlib.Path) -> list[str]:
    """The targets of a document's links and pictures that lead into the tree."""
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(document)))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def problem(document: pathlib.Path, link: str) -> str | None:
    """What is wrong with a link, if something is."""
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    if not target.exists():
        return f"{document.relative_to(ROOT)}: {link}: no such file"
    if anchor and anchor not in anchors(target):
        return f"{document.relative_to(ROOT)}: {link}: no such heading"
    return None


def named_files(document: pathlib.Path) -> list[str]:
    """The paths between backticks in a document: with a known ending, ending in a slash, or in a folder of the tree."""
    words = re.findall(r"`([\w./*-]+)`", prose(document))
    folders = {entry.name for entry in ROOT.iterdir() if entry.is_dir()}

    def is_path(word: str) -> bool:
        in_tree = "/" in word and word.split("/")[0] in folders
        return in_tree or bool(re.search(r"/$|\.(rs|py|js|ts|toml|md|jsonl|cfg|yml)$", word))

    return [word for word in words if is_path(word)]


def file_exists(name: str) -> bool:
    if any(list(ROOT.glob(f"{root}/{name}".strip("/"))) for root in ROOTS):
        return True
    return "/" not in name and any(list((ROOT / folder).rglob(name)) for folder in CODE)


class Documents(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading_that_exist(self):
        found = [problem(document, link) for document in documents() for link in links(document)]
        self.assertGreater(len(found), 100)
        self.assertEqual([one for one in found if one], [])

    def test_every_file_that_the_pages_for_contributors_name_exists(self):
        for name in NAMING_FILES:
            named = named_files(ROOT / name)
            self.assertGreater(len(named), 3, name)
            self.assertEqual([file for file in named if not file_exists(file)], [], name)

    def test_prose_is_at_most_120_columns_wide(self):
        for document in documents():
            wide = [line for line in prose(document).splitlines() if len(line) > WIDTH and not line.startswith("|")]
            self.assertEqual(wide, [], document.relative_to(ROOT))

    def test_every_page_of_docs_is_in_the_index(self):
        index = ROOT / "docs" / "README.md"
        listed = {link.partition("#")[0] for link in links(index)}
        pages = {page.name for page in index.parent.glob("*.md")} - {index.name}
        self.assertEqual(pages - listed, set())


if __name__ == "__main__":
    unittest.main()
