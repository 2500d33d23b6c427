#!/usr/bin/python3
"""Links that open programs in Compiler Explorer, which includes the single headers from the address of a release.

    explore.py --link PROGRAM.cpp [ADDRESS]    prints the link of a program, with the single headers in the folder ADDRESS
                                               (default: this version in the folder of .release/address)
    explore.py --pages                         writes the links of README.md and of the pages of docs/

A page refers to a link as [text][compiler-explorer], the link of its first sample, or as [text][PROGRAM.cpp], a file of
the repository. The definitions of these references are lines at the end of the page, which --pages writes. The site has
a link below each sample (docs/site/pages.py).
"""

import base64
import functools
import json
import pathlib
import re
import sys
import zlib

import join

ROOT = join.ROOT
EXPLORER = "https://godbolt.org/clientstate/"
REFERENCE = re.compile(r"\]\[(compiler-explorer|[\w./-]+\.cpp)\]")
DEFINITION = re.compile(r"^\[(compiler-explorer|[\w./-]+\.cpp)\]: (\S+)\n", re.M)
SAMPLE = re.compile(r"^```(?:cpp|c\+\+)\n(.*?)^```", re.S | re.M)


def program(sample):
    """The program of a sample. Without a main function, its includes and using-directives stay at the top, and the rest
    becomes the body of main."""
    if "int main(" in sample:
        return sample
    on_top = re.compile(r"#include\b|using namespace\b")
    top = [line for line in sample.splitlines() if on_top.match(line)]
    body = [line for line in sample.splitlines() if not on_top.match(line)]
    return "\n".join([*top, "int main() {", *body, "}", ""])


@functools.lru_cache
def address_of_release():
    """The folder of the single headers of this version."""
    version = re.findall(r"define ALLOT_VERSION_\w+ (\d+)", (join.HEADERS / "version.hpp").read_text(encoding="utf-8"))
    return (ROOT / ".release" / "address").read_text(encoding="utf-8").strip() + "/" + ".".join(version)


@functools.lru_cache
def files_of_headers():
    """The single header for each header of include/. One that is in several files is in the first of them."""
    tree = join.Tree()
    return {path: name for name, (_, patterns) in reversed(join.FILES.items()) for path in tree.chosen(patterns)}


def obstacle(text):
    """The reason why a program has no link, or None."""
    included = re.findall(r"^#include <allot/(.+)>", text, re.M)
    if not included:
        return "the program includes no header of allot"
    if any(path.startswith("windows") for path in included):
        return "Compiler Explorer runs programs on Linux"
    return next((f"no single header contains <allot/{path}>" for path in included if path not in files_of_headers()), None)


def source(text, address):
    """The text of a program with the includes of allot replaced, and the names of the single headers."""
    used = list(dict.fromkeys(files_of_headers()[path] for path in re.findall(r"^#include <allot/(.+)>", text, re.M)))
    includes = "".join(f"#include <{address.rstrip('/')}/{name}>\n" for name in used)
    rest = re.sub(r"^#include <allot/.+>\n", "", text, flags=re.M)
    opening = re.match(r"(//.*\n)*", rest)[0]
    return opening + includes + rest[len(opening):], used


def link(text, address):
    """The link of a program. All its headers of allot are in single headers."""
    shown, used = source(text, address)
    libraries = [{"id": "boost", "version": "174"}] if "allot_boost.hpp" in used else []
    compiler = {"id": "g122", "options": "-std=c++20 -O2", "libs": libraries}
    state = {"sessions": [{"id": 1, "language": "c++", "source": shown, "compilers": [compiler],
                           "executors": [{"compiler": compiler}]}]}
    packed = zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)
    return EXPLORER + base64.urlsafe_b64encode(packed).decode()


def state(address):
    """What a link contains. Other versions of zlib make other links with the same contents."""
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(address.removeprefix(EXPLORER))))


def with_links(page):
    """The text of a page with the links to which it refers. Links with right contents stay as they are."""
    text = page.read_text(encoding="utf-8")
    old, lines = dict(DEFINITION.findall(text)), []
    for name in dict.fromkeys(REFERENCE.findall(text)):
        if name == "compiler-explorer":
            sample = program(SAMPLE.search(text)[1])
        else:
            sample = (ROOT / name).read_text(encoding="utf-8")
        if reason := obstacle(sample):
            sys.exit(f"{page}: {name}: {reason}")
        made = link(sample, address_of_release())
        is_right = name in old and old[name].startswith(EXPLORER) and state(old[name]) == state(made)
        lines.append(f"[{name}]: {old[name] if is_right else made}\n")
    if not lines and not old:
        return text
    return DEFINITION.sub("", text).rstrip("\n") + "\n" + "".join(["\n", *lines] if lines else [])


def pages():
    """The pages that may have links."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(arguments):
    if arguments == ["--pages"]:
        for page in pages():
            text = with_links(page)
            if text != page.read_text(encoding="utf-8"):
                page.write_text(text, encoding="utf-8")
                print(page.relative_to(ROOT))
        return
    if arguments[:1] != ["--link"] or len(arguments) not in (2, 3):
        sys.exit(__doc__)
    text = pathlib.Path(arguments[1]).read_text(encoding="utf-8")
    if reason := obstacle(text):
        sys.exit(f"{arguments[1]}: {reason}")
    print(link(text, arguments[2] if len(arguments) == 3 else address_of_release()))


if __name__ == "__main__":
    main(sys.argv[1:])
