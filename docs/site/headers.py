"""Simplifies a header so that Doxygen 1.9.4 understands it. The order of the declarations stays the same.

- The opening comment becomes the description of the file. Its samples and diagrams become code.
- The inline namespace, the namespaces `detail`, private members and the bodies of functions are removed.
- Doxygen reads a requires clause after a parameter list as a part of the type. A sentence of the comment replaces it.
- An overload without a comment that exists only for the message of its static_assert is removed, and so is a macro
  without a comment.
"""
import re

LABELS = re.compile(r"^(When to use|When not to use|Complexity|Memory|Thread safety|Not detected):")
DIAGRAM = re.compile(r"[─│┌┐└┘├┤▼▲►◄]")
CODE = re.compile(r"[;{}]\s*(//.*)?$|^\s*#", re.M)


def escape(text):
    """Escapes characters that are commands for Doxygen, except in code spans."""
    pieces = re.split(r"(`+[^`]+`+)", text)
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            pieces[i] = re.sub(r"[@\\](?=\S)|<(?=[\w/!])|#(?=\w)", r"\\\g<0>", piece)
        elif "'" in piece:  # in Doxygen, an apostrophe ends a code span with single backquotes
            pieces[i] = f"``{piece.strip('`')}``"
    return "".join(pieces)


# ── the opening comment ──────────────────────────────────────────────────────────────────────────────────────────────


def blocks(lines):
    """Splits indented lines at blank lines into (language, lines), where the language changes."""
    found = []
    for part in "\n".join(lines).split("\n\n"):
        language = ".cpp" if CODE.search(part) and not DIAGRAM.search(part) else ".unparsed"
        if found and found[-1][0] == language:
            found[-1][1].extend(["", *part.split("\n")])
        else:
            found.append((language, part.split("\n")))
    return found


def opening(lines):
    """The lines of a header with its opening comment as the description of the file."""
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    texts = [line[3:].rstrip() for line in lines[1:end]]  # without the license
    if not texts:
        return lines
    texts[0] = re.sub(r"^[\w:]+: ", "", texts[0])
    texts[0] = texts[0][0].upper() + texts[0][1:]
    out, i = ["@file"], 0
    while i < len(texts):
        text = texts[i]
        if text.startswith("    ") and not out[-1]:
            last = i
            while last + 1 < len(texts) and re.match(" {4}|$", texts[last + 1]):
                last += 1
            for language, block in blocks([line[4:] for line in texts[i:last + 1]]):
                while block and not block[-1]:
                    block.pop()
                out += [f"@code{{{language}}}", *block, "@endcode", ""]
            i = last + 1
            continue
        if LABELS.match(text) and out[-1]:
            out.append("")
        # A line of a list item has two blanks more than its bullet.
        indent = "  " if text.startswith("    ") else ""
        text = LABELS.sub(r"**\1:**", escape(text.strip()))
        out.append(indent + re.sub(r"\bdocs/(\w+)\.md\b", r'@ref page_docs_\1 "docs/\1.md"', text))
        i += 1
    return ["/// " + line if line else "///" for line in out] + lines[end:]


# ── declarations ─────────────────────────────────────────────────────────────────────────────────────────────────────


def masked(text):
    """The text with comments, strings and characters replaced by blanks of the same length."""
    literals = r"""//[^\n]*|/\*.*?\*/|R"\w*\(.*?\)\w*"|"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\.)+'"""
    return re.sub(literals, lambda found: re.sub(r"[^\n]", " ", found.group(0)), text, flags=re.S)


def end_of(code, start):
    """The place after the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(code)):
        depth += (code[i] in "({[") - (code[i] in ")}]")
        if depth == 0:
            return i + 1
    raise ValueError(f"a bracket is not closed: {code[start:start + 60]}")


def end_of_angles(code, start):
    """The place after the `>` that closes the `<` at `start`."""
    depth, i = 0, start
    while True:
        if code[i] in "([{":
            i = end_of(code, i)
            continue
        depth += (code[i] == "<") - (code[i] == ">" and code[i - 1] != "-")
        i += 1
        if depth == 0:
            return i


def blank(code, i):
    return re.compile(r"\s*").match(code, i).end()


def end_of_constraint(code, start):
    """The place after a constraint: terms between && and ||."""
    i = start
    while True:
        i = blank(code, i)
        if code[i] == "!":
            i += 1
        elif re.compile(r"requires\b").match(code, i):
            i = blank(code, i + len("requires"))
            i = end_of(code, blank(code, end_of(code, i)) if code[i] == "(" else i)
        elif code[i] == "(":
            i = end_of(code, i)
        else:
            while term := re.compile(r"(::)?\s*(\w+)").match(code, i):
                i = term.end()
                if code[i] == "<":
                    i = end_of_angles(code, i)
                if code[i:i + 2] != "::":
                    break
        if code[i - 1] == "!":
            continue
        after = blank(code, i)
        if code[after:after + 2] not in ("&&", "||"):
            return i
        i = after + 2


def end_of_template(code, start):
    """The place after `template <…> requires …`, if it is there."""
    i = start
    while found := re.compile(r"template\s*(?=<)").match(code, i):
        i = blank(code, end_of_angles(code, found.end()))
        if re.compile(r"requires\b").match(code, i):
            i = blank(code, end_of_constraint(code, i + len("requires")))
    return i


class Simplifier:
    """Copies declarations and leaves out bodies."""

    def __init__(self, text):
        self.text, self.code, self.out = text, masked(text), []

    def result(self):
        self.declarations(0, len(self.text))
        return "".join(self.out)

    def copy(self, start, end):
        self.out.append(self.text[start:end])

    def declarations(self, start, end, public=True):
        """Handles declarations. Those of a private section are left out."""
        while start < end:
            if label := re.compile(r"\s*(public|protected|private)\s*:").match(self.code, start, end):
                self.copy(start if public else label.start(1), label.end())
                public = label.group(1) != "private"
                start = label.end()
                continue
            written = len(self.out)
            start = self.declaration(start, end)
            if not public:
                del self.out[written:]

    def declaration(self, start, end):
        """Handles one declaration, and the comments before it. Returns the place after it."""
        code = self.code
        begin = min(blank(code, start), end)
        if directive := re.compile(r"#(\\\n|[^\n])*").match(code, begin, end):
            if not directive.group(0).startswith("#define") or "///" in self.text[start:begin]:
                self.copy(start, directive.end())
            return directive.end()
        i = first = end_of_template(code, begin)
        clause = None
        while i < end:
            head = code[first:i]
            if code[i] in "([":
                i = end_of(code, i)
            elif code[i] == ";":
                self.finish(start, begin, i + 1, clause)
                return i + 1
            elif code[i] == "{":
                if re.match(r"(inline )?namespace\b", head):
                    return self.namespace(start, i, head)
                if re.match(r"(class|struct|union)\b", head):
                    self.copy(start, i + 1)
                    after = end_of(code, i)
                    self.declarations(i + 1, after - 1, public=not head.startswith("class"))
                    self.copy(after - 1, after)
                    start = begin = i = after
                elif self.is_body(head):
                    self.finish(start, begin, i, clause, end_of(code, i))
                    return end_of(code, i)
                elif "=" in head and "requires" in head and not head.startswith("concept"):
                    self.copy(start, i)
                    self.out.append("{}")  # the initializer of a constant
                    start = begin = i = end_of(code, i)
                else:
                    i = end_of(code, i)
            elif re.compile(r"\brequires\b").match(code, i) and "(" in head and not self.has_initializer(head):
                clause = (i, end_of_constraint(code, i + len("requires")))
                i = clause[1]
            else:
                i += 1
        self.copy(start, end)
        return end

    @staticmethod
    def has_initializer(head):
        while (fewer := re.sub(r"\([^()]*\)", "", head)) != head:
            head = fewer
        return "=" in re.sub(r"operator\s*[^\s\w(]+", "", head)

    def is_body(self, head):
        """Whether the brace after these words begins the body of a function, and not an initializer."""
        return "(" in head and head[-1].isspace() and not head.startswith(("concept", "enum")) and \
            not self.has_initializer(head)

    def namespace(self, start, brace, head):
        after = end_of(self.code, brace)
        name = head.split()[-1]
        if name == "v1":
            self.declarations(brace + 1, after - 1)
        elif name != "detail":
            self.copy(start, brace + 1)
            self.declarations(brace + 1, after - 1)
            self.copy(after - 1, after)
        return after

    def finish(self, start, begin, end, clause, after_body=None):
        """Writes a declaration: its comment, its text without the clause, and its braces if it has a body."""
        comment = self.text[start:begin]
        at = comment.rfind("///")
        only_message = after_body and re.match(r"\{\s*static_assert\(!sizeof", self.code[end:after_body])
        if at < 0 and only_message:
            return
        if clause and at >= 0:
            constraint = " ".join(re.sub(r"//[^\n]*", "", self.text[clause[0] + len("requires"):clause[1]]).split())
            line_end = comment.index("\n", at)
            indent = comment[comment.rfind("\n", 0, at) + 1:at]
            comment = f"{comment[:line_end]}\n{indent}/// Requires `{constraint}`.{comment[line_end:]}"
        self.out.append(comment)
        self.copy(begin, clause[0] if clause else end)
        if clause:
            self.copy(clause[1], end)
        if after_body:
            self.out.append("{}")


def simplified(text):
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if found := re.match(r'((?:[^"/]|"[^"]*"|/(?!/))*///<?)( .*)$', line):
            lines[i] = found.group(1) + escape(found.group(2))
    return Simplifier("\n".join(opening(lines))).result()
