"""Converts Markdown pages for Doxygen: labels of headings, links between pages, pictures, and escaped characters. Adds a
link to Compiler Explorer below each sample that the single headers suffice for."""
import os
import pathlib
import re
import sys

from headers import escape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "single_header"))
import explore  # noqa: E402

INDEXES = ["docs/decisions/README.md", "docs/README.md", "README.md"]  # they list their pages; the first that does wins
# What the site shows instead of such a line.
FORMS = {"<!-- planner -->": "planner/form.html", "<!-- plots -->": "plots/plots.html"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def label(path):
    """The label of a page, which is the name of its HTML file."""
    if path == "README.md":
        return "index"
    name = re.sub(r"/?README\.md$|\.md$", "", path)
    return "page_" + re.sub(r"\W+", "_", name)  # names such as examples.html belong to Doxygen


def anchor(heading):
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def outside_of_code(text):
    """Yields (line, whether it is in a fenced block)."""
    fence = None
    for line in text.split("\n"):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence is None and mark:
            fence = mark.group(1)
            yield line, True
        elif fence is not None:
            if line.strip() == fence:
                fence = None
            yield line, True
        else:
            yield line, False


def join_links(text):
    """The text with each link on one line: Markdown lets the text of a link continue on the next line."""
    lines, open_link = [], False
    for line, code in outside_of_code(text):
        if open_link and not code and line.strip():
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
        last = re.sub(r"`[^`]*`", "", lines[-1])
        open_link = not code and re.search(r"\[[^\[\]]*$", last) is not None
    return "\n".join(lines)


def explore_link(block):
    """The lines after a fenced block: a link that opens the sample in Compiler Explorer, or none."""
    sample = explore.program("".join(f"{line}\n" for line in block[1:-1]))
    if block[0].strip() not in ("```cpp", "```c++") or explore.obstacle(sample):
        return []
    address = explore.link(sample, explore.address_of_release())
    return ["", f'@htmlonly<div class="explore"><a href="{address}">Open in Compiler Explorer</a></div>@endhtmlonly', ""]


def plain(line):
    """A line of Markdown without marks."""
    if re.match(r"\s*(\|[-:| ]+\||<!--.*-->|```.*)$", line):
        return ""
    line = LINK.sub(lambda found: found.group(2), line)
    return re.sub(r"[`|]|\*\*|^\s*[-*] ", " ", line)


class Pages:
    """All Markdown pages that the site shows, by their paths in the repository."""

    def __init__(self, root):
        self.root = root
        self.texts, self.sources, self.pictures, self.errors = {}, {}, [], []
        todo = ["README.md", *(str(p.relative_to(root)) for p in sorted((root / "docs").rglob("*.md")))]
        while todo:
            path = todo.pop(0)
            if path not in self.texts and (root / path).exists():
                self.texts[path] = join_links((root / path).read_text(encoding="utf-8"))
                todo += [target for target in self.targets(path) if target.endswith(".md")]
        self.anchors = {path: self.anchors_of(path) for path in self.texts}
        self.parents = {}
        for index in INDEXES:
            for target in self.targets(index):
                if target.endswith(".md") and target not in ("README.md", index):
                    self.parents.setdefault(target, index)

    def resolve(self, path, link):
        """The path in the repository to which a link of a page leads; a page if the link is a folder with one."""
        if link.startswith("#"):
            return path
        target = os.path.normpath(os.path.join(os.path.dirname(path), link.partition("#")[0]))
        if (self.root / target / "README.md").exists():
            return os.path.normpath(f"{target}/README.md")
        return target

    def links(self, path):
        for line, code in outside_of_code(self.texts[path]):
            if not code:
                for found in LINK.finditer(re.sub(r"`[^`]*`", lambda span: "x" * len(span.group(0)), line)):
                    if not re.match(r"\w+:", found.group(3)):
                        yield found.group(3)

    def targets(self, path):
        return [self.resolve(path, link) for link in self.links(path)]

    def anchors_of(self, path):
        return {anchor(line.lstrip("# ")) for line, code in outside_of_code(self.texts[path])
                if not code and line.startswith("#")}

    def convert(self, path):
        """The page for Doxygen."""
        listed, out, first, block = set(), [], True, []
        self.references = dict(explore.DEFINITION.findall(self.texts[path]))
        headings = sum(not code and line.startswith("## ") for line, code in outside_of_code(self.texts[path]))
        for line, code in outside_of_code(self.texts[path]):
            if code:
                out.append(line)
                block.append(line)
                if len(block) > 1 and line.strip() == re.match(r"\s*([`~]+)", block[0])[1]:
                    out += explore_link(block)
                    block = []
                continue
            if explore.DEFINITION.fullmatch(line + "\n"):
                continue
            if found := re.match(r"(#+) (.*)$", line):
                name = "mainpage" if path == "README.md" else label(path)
                if not first:
                    name = f"{label(path)}_{anchor(found.group(2)).replace('-', '_')}"
                out.append(f"{found.group(1)} {escape(found.group(2))} {{#{name}}}")
                if first and headings > 3 and path != "README.md":
                    out += ["", "[TOC]"]
                first = False
                continue
            if line in FORMS:
                form = (pathlib.Path(__file__).parent / FORMS[line]).read_text(encoding="utf-8")
                out += ["@htmlonly[block]", form, "@endhtmlonly"]
                continue
            out.append(self.line(path, line, listed))
        return "\n".join(out)

    def sections(self, path):
        """Yields (page, heading, address, text) for each section of a page, for the search."""
        page = heading = None
        text = []
        address = f"{label(path)}.html"

        def section():
            return page, heading, address, re.sub(r"\s+", " ", " ".join(text)).strip()

        for line, code in outside_of_code(self.texts[path]):
            found = None if code else re.match(r"#+ (.*)$", line)
            if not found:
                text.append(plain(line) if not code or re.match(r"\s*(```|~~~)", line) else line)
                continue
            if page is not None:
                yield section()
                address = f"{label(path)}.html#{label(path)}_{anchor(found.group(1)).replace('-', '_')}"
            heading, text = plain(found.group(1)), []
            page = page or heading
        yield section()

    def line(self, path, line, listed):
        """Replaces the links of a line and escapes the rest."""
        spans = []

        def keep(text):
            spans.append(text)
            return f"\x00{len(spans) - 1}\x00"

        line = re.sub(r"`[^`]*`", lambda span: keep(escape(span.group(0))), line)
        line = explore.REFERENCE.sub(lambda found: f"]({self.references.get(found[1], '#')})", line)
        line = LINK.sub(lambda found: keep(self.link(path, *found.groups(), listed)), line)
        line = escape(line)
        while "\x00" in line:
            line = re.sub("\x00(\\d+)\x00", lambda span: spans[int(span.group(1))], line)
        return line

    def link(self, path, picture, text, link, listed):
        if re.match(r"\w+:", link):
            return f"[{text}]({link})"
        target = self.resolve(path, link)
        if not (self.root / target).exists():
            self.errors.append(f"{path}: the link {link} leads nowhere")
            return text
        if picture:
            self.pictures.append(target)
            return f'<img src="{os.path.basename(target)}" alt="{text}"/>'
        if target in self.texts:
            name, part = label(target), link.partition("#")[2]
            if part and part not in self.anchors[target]:
                self.errors.append(f"{path}: the link {link} names a heading that does not exist")
            if part:
                name += "_" + part.replace("-", "_")
            if self.parents.get(target) == path and target not in listed and not part:
                listed.add(target)
                return f'@subpage {name} "{text}"'
            return f'@ref {name} "{text}"'
        if target.startswith("include/") and target.endswith(".hpp"):
            return f'@ref {target.removeprefix("include/")} "{text}"'
        command = "@ref" if target in self.sources else "@subpage"
        self.sources[target] = "source_" + label(target).removeprefix("page_")
        return f'{command} {self.sources[target]} "{text}"'

    def source(self, path):
        """A page that shows a file of the repository, or each file of a folder."""
        place = self.root / path
        files = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
        out = [f"# {path} {{#{self.sources[path]}}}", ""]
        for file in files:
            language = ".cpp" if file.suffix in (".hpp", ".cpp") else ".unparsed"
            if len(files) > 1:
                out += [f"## {file.name}", ""]
            out += [f"@code{{{language}}}", file.read_text(encoding="utf-8").rstrip("\n"), "@endcode", ""]
        return "\n".join(out)
