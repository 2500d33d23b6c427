#!/usr/bin/python3
"""The table of docs/errors.md lists every error code of the headers with its text, and every error has a text."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "allot"
ENUM = re.compile(r"enum class ((?:\w*_)?(?:refusal|error|violation_kind)|misuse|plan_status)\b[^{;]*\{(.*?)\n\s*\};", re.S)
TEXTS = re.compile(r"const char\* to_string\(([\w:]+) \w+\) noexcept \{(.*?)\n\}", re.S)
CASE = re.compile(r'case ([\w:]+)::(\w+):\s*return "([^"]*)";')
ERROR = re.compile(r"\nstruct ((?!no_error\b)\w*_error|\w*_violation|diagnosis) (?:: \w+ )?\{(.*?)\n\};", re.S)


def headers():
    """(namespaces, text) of each public header, without comments. The namespaces are the ones of its backend."""
    for path in sorted(HEADERS.rglob("*.hpp")):
        if "detail" not in path.parts:
            text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
            found = re.search(r"inline namespace v1 \{\nnamespace (?!detail)(\w+) \{", text)
            yield path, f"{found[1]}::" if found else "", text


def enumerators():
    """The enumerators of each enumeration of errors: {name: [enumerator]}."""
    found = {}
    for _, space, text in headers():
        for enum in ENUM.finditer(text):
            outer = re.findall(r"^(?:struct|class) (\w+) ", text[: enum.start()], re.M)
            indented = text[text.rfind("\n", 0, enum.start()) + 1 : enum.start()].isspace()
            name = space + (f"{outer[-1]}::" if indented else "") + enum[1]
            found[name] = re.findall(r"(\w+)(?:=\d+)?(?=,|$)", re.sub(r"\s", "", enum[2]))
    return found


def codes_of_headers():
    """The texts of all codes: {enumeration: {enumerator: text}}."""
    found = {}
    for _, space, text in headers():
        for function in TEXTS.finditer(text):
            cases = CASE.findall(function[2])
            if space + function[1] in enumerators():
                found[space + function[1]] = {code: words for _, code, words in cases}
    return found


def table():
    """The table of the page: {enumeration: {enumerator: text}}, and the remedies."""
    found, remedies = {}, []
    for line in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r"\| `([\w:]+)::(\w+)` \| (.+) \| (.+) \|", line)
        if row:
            found.setdefault(row[1], {})[row[2]] = row[3]
            remedies.append(row[4])
    return found, remedies


class Errors(unittest.TestCase):
    def test_every_enumerator_has_its_own_text(self):
        texts = codes_of_headers()
        self.assertGreater(len(texts), 15)
        for enum, codes in enumerators().items():
            with self.subTest(enum=enum):
                self.assertIn(enum, texts, "to_string is missing")
                self.assertEqual(list(texts[enum]), codes)
                self.assertEqual(len(set(texts[enum].values())), len(codes), "two codes have the same text")
                self.assertNotIn("unknown", texts[enum].values())

    def test_the_page_lists_every_code_with_its_text(self):
        self.maxDiff = None
        found, remedies = table()
        self.assertEqual(found, codes_of_headers())
        self.assertTrue(all(remedies))

    def test_texts_are_clauses(self):
        for enum, codes in codes_of_headers().items():
            for code, text in codes.items():
                with self.subTest(code=f"{enum}::{code}"):
                    self.assertRegex(text, r"^[a-z0-9]|^Metal ")
                    self.assertFalse(text.endswith("."))

    def test_every_error_has_a_reason_and_a_text(self):
        seen = set()
        for path, _, text in headers():
            for error in ERROR.finditer(text):
                seen.add(error[1])
                with self.subTest(error=error[1], header=path.name):
                    self.assertRegex(error[2], r"\w+ (reason|kind) = ")
                    self.assertRegex(error[2], r"const char\* what\(\) const noexcept")
        self.assertLessEqual({"diagnosis", "tensor_error", "table_error", "plan_error", "format_error", "plan_violation",
                              "moves_violation", "pages_violation"}, seen)

    def test_no_public_name_is_why(self):
        for path, _, text in headers():
            with self.subTest(header=path.name):
                self.assertIsNone(re.search(r"\bwhy\b", text))


if __name__ == "__main__":
    unittest.main()
