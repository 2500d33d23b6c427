#!/usr/bin/env python3
"""Builds the documentation site with Doxygen.

    docs/site/build.py FOLDER [--check] [--planner WASM] [--plotly SCRIPT]

The result is FOLDER/html/index.html. Doxygen reads simplified copies of the headers (headers.py) and of the Markdown
pages (pages.py). A broken link in a page is an error. With --check, each warning of Doxygen is an error, for example
for an entity without a comment, and so is each public name that the reference does not contain (names.py).
The exit status is 77 if Doxygen is missing.

--planner names the module of the page that plans (planner/compile.sh), and --plotly the library of the page of plots.
Without them, the pages say that they are missing.
"""
import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from headers import simplified
from pages import Pages, label
from versions import write_versions

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]
theme = pathlib.Path("/usr/share/doxygen-awesome-css")  # Debian: doxygen-awesome-css
own_sheets = [here / name for name in ("site.css", "planner/planner.css", "plots/plots.css", "search/text_search.css")]
planner, plots = here / "planner", here / "plots"
sheets = [theme / f"doxygen-awesome{part}.css" for part in ("", "-sidebar-only", "-sidebar-only-darkmode-toggle")]
scripts = [theme / f"doxygen-awesome-{part}.js" for part in ("darkmode-toggle", "fragment-copy-button")]


def prepare(folder):
    """Writes the input of Doxygen. Returns the pages."""
    shutil.rmtree(folder, ignore_errors=True)

    def write(path, text):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")

    for header in sorted((root / "include").rglob("*.hpp")):
        if "detail" not in header.parts:
            write(header.relative_to(root), simplified(header.read_text(encoding="utf-8")))
    pages = Pages(root)
    for path in pages.texts:
        write(f"pages/{label(path)}.md", pages.convert(path))
    form = (here / "search/search.html").read_text(encoding="utf-8")
    write("pages/search_text.md", f"# Search in the text {{#search_text}}\n\n@htmlonly[block]\n{form}\n@endhtmlonly\n")
    for path, name in pages.sources.items():
        write(f"pages/{name}.md", pages.source(path))
    return pages


def write_header(folder, files):
    """Writes the begin of all pages: Doxygen's, with scripts. Returns its path."""
    header = folder / "header.html"
    subprocess.run(["doxygen", "-w", "html", header, folder / "footer.html", folder / "style.css"], check=True,
                   capture_output=True)
    lines = "".join(f'<script src="$relpath^{name}"></script>\n' for name in ["versions.js", *files])
    text = header.read_text(encoding="utf-8")
    header.write_text(text.replace("</head>", f"{lines}</head>"), encoding="utf-8")
    return header


def run_doxygen(folder):
    """Returns the warnings. None is expected: the simplified headers contain nothing that Doxygen misunderstands."""
    files = [file for file in [*scripts, here / "site.js"] if file.exists()]
    styles = [file for file in [*sheets, *own_sheets] if file.exists()]
    version = dict(re.findall(r"#define ALLOT_VERSION_(\w+) (\d+)", (root / "include/allot/version.hpp").read_text()))
    settings = {"SITE": here, "FOLDER": folder, "SHEETS": " ".join(map(str, styles)),
                "SCRIPTS": " ".join(map(str, files)), "HEADER": write_header(folder, [file.name for file in files]),
                "VERSION": ".".join(version[part] for part in ("MAJOR", "MINOR", "PATCH"))}
    shutil.rmtree(folder / "html", ignore_errors=True)
    shutil.rmtree(folder / "xml", ignore_errors=True)
    done = subprocess.run(["doxygen", here / "Doxyfile"], capture_output=True, text=True,
                          env={**os.environ, **{name: str(value) for name, value in settings.items()}})
    if done.returncode:
        sys.exit(f"doxygen failed:\n{done.stderr[-4000:]}")
    lines = (folder / "warnings.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace(f"{folder}/input/", "") for line in lines if line.strip()]


def correct_navigation(html):
    """Doxygen lists the functions of a namespace under the page of their file, where they have no entry."""
    anchors = {}
    for page in html.glob("*.html"):
        for anchor in re.findall(r'<a id="(a[0-9a-f]{32,})"', page.read_text(encoding="utf-8")):
            anchors.setdefault(anchor, page.name)
    for script in html.glob("*_8hpp.js"):
        text = script.read_text(encoding="utf-8")
        script.write_text(re.sub(r'"\w+\.html#(\w+)"', lambda link: f'"{anchors[link[1]]}#{link[1]}"'
                                 if link[1] in anchors else link[0], text), encoding="utf-8")


def link_includes(folder):
    """Links the include of each class and concept to the page of its header, which describes when to use it."""
    pages = {}
    for page in (folder / "xml").glob("*_8hpp.xml"):
        if found := re.findall(r'<location file="([^"]+)"/>', page.read_text(encoding="utf-8")):
            pages[found[-1].removeprefix("include/")] = page.stem

    def link(found):
        name = found[1]
        return f'#include &lt;<a class="el" href="{pages[name]}.html">{name}</a>&gt;' if name in pages else found[0]

    for page in (folder / "html").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        linked = re.sub(r"(?<=<code>)#include &lt;(\S+?)&gt;(?=</code>)", link, text)
        if linked != text:
            page.write_text(linked, encoding="utf-8")


def write_planner(html, module):
    """Writes the scripts of the page that plans. A page that was opened as a file may not fetch the module."""
    parts = None
    if module:
        parts = {"module": base64.b64encode(module.read_bytes()).decode(), "worker": (planner / "worker.js").read_text(),
                 "style": (planner / "picture.css").read_text()}
    (html / "planner_parts.js").write_text(f"const allot_planner = {json.dumps(parts)};\n", encoding="utf-8")
    shutil.copy(planner / "planner.js", html)


def write_plots(html, library):
    """Writes the scripts and the data of the page of plots."""
    results = json.loads((root / "docs/benchmarks.json").read_text(encoding="utf-8"))
    (html / "plots_data.js").write_text(f"const allot_benchmarks = {json.dumps(results)};\n", encoding="utf-8")
    shutil.copy(plots / "plots.js", html)
    if library:
        shutil.copy(library, html / "plotly.min.js")
    else:
        (html / "plotly.min.js").write_text("// Plotly was not installed.\n", encoding="utf-8")


def write_indexes(folder, pages):
    """Writes the text of all sections, and the lists of versions and pages. versions.py adds the released versions."""
    texts = [section for path in pages.texts for section in pages.sections(path)]
    text = json.dumps(texts, ensure_ascii=False)
    (folder / "html/text_index.js").write_text(f"const allot_texts = {text};\n", encoding="utf-8")
    shutil.copy(here / "search/text_search.js", folder / "html")
    write_versions(folder / "html", [])
    names = sorted(page.name for page in (folder / "html").glob("*.html"))
    (folder / "html/pages.js").write_text(f"var allot_pages = {json.dumps(names)};\n", encoding="utf-8")


def check_names(folder):
    """The status of names.py, run by the Python that has libclang."""
    tools = root / "build/tools/bin/python"
    sys.stdout.flush()
    return subprocess.run([tools if tools.exists() else sys.executable, here / "names.py", folder / "xml"]).returncode


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--planner", type=pathlib.Path)
    parser.add_argument("--plotly", type=pathlib.Path)
    chosen = parser.parse_args()
    if not shutil.which("doxygen"):
        print("skipped: doxygen is not installed")
        return 77
    folder, check = chosen.folder.resolve(), chosen.check
    pages = prepare(folder / "input")
    for error in pages.errors:
        print(error)
    warnings = run_doxygen(folder)
    correct_navigation(folder / "html")
    link_includes(folder)
    write_planner(folder / "html", chosen.planner)
    write_plots(folder / "html", chosen.plotly)
    write_indexes(folder, pages)
    for picture in pages.pictures:
        shutil.copy(root / picture, folder / "html")
    for warning in warnings:
        print(warning)
    failed = bool(pages.errors) or check and bool(warnings)
    if check:
        status = check_names(folder)
        if status == 77 and not failed:
            return 77
        failed = failed or status != 0
    print(f"{len(pages.texts)} pages, {len(warnings)} warnings: {folder / 'html/index.html'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
