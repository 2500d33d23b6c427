#!/usr/bin/python3
"""Prose in documents and in comments of headers avoids patterns that make it hard to read. See CONTRIBUTING.md.

    prose_test.py                  runs the test
    prose_test.py --write FOLDER   writes the prose of each file into FOLDER, line by line, for proselint

Each pattern comes with a reason. Code in backquotes, indented samples and tables are left out.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = {
    r"\bwho(ever|m)?\b": "name the caller, the user, or the owner",
    r"\bnobody\b|\bsomebody\b|\banybody\b": "name the subject",
    r"\bhas not\b(?! (been|yet))|\bhave not\b(?! (been|yet))|\bhad not\b(?! been)": "say 'does not have' or 'lacks'",
    r"(?:^|[.:;] )what (?:is|are|was|were|has|have|can|may|must|does|do|it|the|a|an|this|that|they|each|no|needs)\b":
        "a clause is the subject: name the thing",
    r"\b(?:of|for|from|by|with|than|as|to|in|on|is|are|gives?|knows?|holds?|takes?|keeps?|needs?) what\b":
        "a clause is the object: name the thing",
    r"\bwhatever\b|\bwhichever\b": "say 'any' or name the thing",
    r"\bfor a person\b": "say 'human-readable'",
    r"\bis none\b|\bare none\b": "say what is there, or 'no'",
    r"\bby itself\b": "say 'alone' or 'separately'",
    r"\bto be had\b": "say 'available'",
    r"\bnothing but\b": "say 'only'",
    r"\bhonou?rs?\b": "say 'satisfies' or 'supports'",
    r"\bhomeless\b": "say 'unplaced'",
    r"\bticket\b": "say 'metadata'",
}


def files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    for name in names:
        if re.match(r"(README|CONTRIBUTING|CHANGELOG)\.md$|docs/.*\.md$|examples/.*\.md$|bindings/.*\.md$|include/.*\.hpp$", name):
            if (ROOT / name).exists():
                yield ROOT / name


def prose(path):
    """(line number, text) of each line of prose, without code."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if path.suffix == ".md":
            if line.lstrip().startswith("```"):
                fenced = not fenced
                continue
            if fenced or line.startswith(("    ", "|", "<")):
                continue
            text = line + "." if line.startswith("#") else line
        else:
            found = re.search(r"(?:^|\s)///?<? ?(.*)$", line)
            if not found or '"' in line[: found.start()] and "//" in line.split('"')[1]:
                continue
            if re.match(r"^// {4,}", line.strip()):  # a sample or a diagram
                continue
            text = found.group(1) + ("" if line.lstrip().startswith("//") else ".")
        yield number, re.sub(r"`[^`]*`|\"[^\"]*\"", lambda code: f"x{code.start()}", text)


def findings():
    for path in files():
        for number, text in prose(path):
            for pattern, advice in PATTERNS.items():
                for found in re.finditer(pattern, text, re.I):
                    yield f"{path.relative_to(ROOT)}:{number}: '{found.group(0).strip()}': {advice}"


class Prose(unittest.TestCase):
    def test_no_pattern_that_is_hard_to_read(self):
        found = list(findings())
        if found:
            self.fail("\n".join([f"{len(found)} findings", *found]))

    def test_lines_of_headers_have_at_most_120_columns(self):  # clang-format leaves comments as they are
        long = [f"{path.relative_to(ROOT)}:{number}" for path in files() if path.suffix == ".hpp"
                for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if len(line) > 120]
        self.assertEqual(long, [])

    def test_lines_of_documents_have_at_most_120_columns(self):  # a link or an image cannot be wrapped
        long = []
        for path in files():
            if path.suffix == ".md":
                lines = path.read_text(encoding="utf-8").splitlines()
                long += [f"{path.relative_to(ROOT)}:{number}" for number, _ in prose(path)
                         if len(lines[number - 1]) > 120 and not lines[number - 1].startswith(("#", "[", "!["))]
        self.assertEqual(long, [])

    def test_patterns_find_their_examples(self):
        for text in ("who asks", "it has not a base", "What is freed comes back", "the size of what is left", "there is none"):
            with self.subTest(text=text):
                self.assertTrue(any(re.search(pattern, text, re.I) for pattern in PATTERNS))


def write(folder):
    for path in files():
        lines = dict(prose(path))
        target = folder / path.relative_to(ROOT).with_suffix(path.suffix + ".txt")
        target.parent.mkdir(parents=True, exist_ok=True)
        last = max(lines, default=0)
        target.write_text("\n".join(lines.get(number, "") for number in range(1, last + 1)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]))
    else:
        unittest.main()
