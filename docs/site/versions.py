#!/usr/bin/env python3
"""Adds the documentation of the releases to a site that build.py made, for the list of versions in each page.

    docs/site/versions.py FOLDER

A release is a tag vMAJOR.MINOR.PATCH. Each one has the site that its own tree builds, in FOLDER/html/versions/NAME:

    html/  index.html … versions.js            the working tree, "next"
           versions/0.2.0/  index.html … versions.js

versions.js names all versions and the paths from one to another, so that the site works in any folder and from files.
A site is built once for a commit: FOLDER/versions keeps it. A tag whose tree has no site is skipped with a message.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

root = pathlib.Path(__file__).resolve().parents[2]
NEXT = "next"  # the working tree


def git(*arguments, **options):
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, **options).stdout


def releases():
    """(name, commit) of all releases, the newest first."""
    tags = [tag for tag in git("tag", "--list", text=True).split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    tags.sort(key=lambda tag: [int(part) for part in tag[1:].split(".")], reverse=True)
    return [(tag[1:], git("rev-parse", f"{tag}^{{commit}}", text=True).strip()) for tag in tags]


def options(tree, folder):
    """The options that the builder of a tree accepts, for the tools that are installed here."""
    made, known = [], (tree / "docs/site/build.py").read_text(encoding="utf-8")
    compiler, module = root / "build/tools/ziglang/bin/python", folder / "planner.wasm"
    if "--planner" in known and compiler.exists():
        compile_it = [tree / "docs/site/planner/compile.sh", compiler, module]
        if subprocess.run(compile_it, capture_output=True).returncode == 0:
            made += ["--planner", module]
    plotly = root / "build/tools/plotly/plotly/package_data/plotly.min.js"
    if "--plotly" in known and plotly.exists():
        made += ["--plotly", plotly]
    return made


def build(folder, name, commit):
    """Builds the site of a commit in a folder. Returns its pages, or nothing if its tree has no site."""
    html, built = folder / "site/html", folder / "commit"
    if built.exists() and built.read_text() == commit:
        return html
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tree").mkdir(parents=True)
    archive = folder / "tree.tar"
    archive.write_bytes(git("archive", "--format=tar", commit))
    with tarfile.open(archive) as files:
        files.extractall(folder / "tree")
    archive.unlink()
    builder = folder / "tree/docs/site/build.py"
    if not builder.exists():
        print(f"skipped: version {name} has no documentation site")
        return None
    command = [sys.executable, "-B", builder, folder / "site", *options(folder / "tree", folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not (html / "index.html").exists():
        sys.exit(f"the site of version {name} cannot be built:\n{done.stdout}{done.stderr}")
    shutil.rmtree(folder / "tree")
    built.write_text(commit)
    return html


def write_versions(html, names):
    """Writes versions.js for the working tree and for each release."""
    for shown in [NEXT, *names]:
        here, top = (html, ".") if shown == NEXT else (html / "versions" / shown, "../..")
        paths = [{"name": name, "path": top if name == NEXT else f"{top}/versions/{name}"} for name in [NEXT, *names]]
        text = json.dumps({"shown": shown, "all": paths}, indent=1)
        (here / "versions.js").write_text(f"const allot_versions = {text};\n", encoding="utf-8")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    html, names = folder / "html", []
    shutil.rmtree(html / "versions", ignore_errors=True)
    for name, commit in releases():
        if made := build(folder / "versions" / name, name, commit):
            shutil.copytree(made, html / "versions" / name)
            names.append(name)
    write_versions(html, names)
    print(f"{len(names)} released versions: {', '.join(names)}" if names else "no released versions")


if __name__ == "__main__":
    main()
