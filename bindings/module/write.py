#!/usr/bin/env python3
"""Writes allot.cppm, the C++20 module: write.py [--check]

The module includes each public header that needs neither Boost nor an SDK, and exports the names of all namespaces
except `detail`. libclang finds the names, as in docs/site/names.py. --check changes nothing, and fails if allot.cppm is
not what this script writes. Needs libclang for Python (PyPI: libclang).
"""

import difflib
import importlib.util
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "allot"
MODULE = pathlib.Path(__file__).with_name("allot.cppm")
SDK = {"cuda", "gpu", "hip", "mpi", "opencl", "shmem", "vulkan"}  # folders, and their umbrellas
INLINE = {("literals",)}  # namespaces
BY_INCLUSION = {"inspect/gdb_printers.hpp"}  # a program includes it for its effect; it declares no name
OPENING = """\
// SPDX-License-Identifier: BSL-1.0
// The C++20 module allot: the public names of the headers that need neither Boost nor an SDK. docs/modules.md
//
// bindings/module/write.py writes this file from the headers. Change those, not this file.
module;

"""


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


join = load(ROOT / "bindings" / "single_header" / "join.py")
names = load(ROOT / "docs" / "site" / "names.py")
kinds = names.cindex.CursorKind
# The kinds of names that a namespace has. libclang does not expose variable templates.
NAMED = names.NAMES | {kinds.USING_DECLARATION, kinds.UNEXPOSED_DECL}


def headers(tree):
    """The public headers of the module, umbrellas first."""
    found = []
    for path in HEADERS.rglob("*.hpp"):
        path = path.relative_to(HEADERS)
        if not {"detail", *SDK} & {path.parts[0].removesuffix(".hpp"), *path.parts} and \
                path.as_posix() not in BY_INCLUSION and not tree.needs_boost(path.as_posix()):
            found.append(path.as_posix())
    return sorted(found, key=lambda path: ("/" in path, path))


def condition(tree, path):
    """The condition of a header on a system with the whole standard library."""
    parts = [part for part in tree.condition(path).split(" && ") if part and part != join.HOSTED]
    if any("<linux/" in part for part in parts):
        parts = ["defined(__linux__)", *(part for part in parts if "<linux/" in part)]
    return " && ".join(part for part in parts if "__has_include" not in part or "<linux/" in part)


def of_namespace(cursor, scope, found):
    """Collects the headers of each public name, by namespace and name."""
    for child in cursor.get_children():
        file = child.location.file
        if file is None or not pathlib.Path(file.name).is_relative_to(HEADERS) or child.kind not in NAMED:
            continue
        path = pathlib.Path(file.name).relative_to(HEADERS)
        if child.kind is kinds.NAMESPACE:
            inside = scope if child.spelling == "v1" else (*scope, child.spelling)
            if child.spelling != "detail" and inside[0] == "allot":
                of_namespace(child, inside, found)
        elif scope and names.is_named(child):
            if child.semantic_parent.kind is kinds.NAMESPACE:  # not a member that is defined after its class
                found.setdefault(scope[1:], {}).setdefault(child.spelling, []).append(path.as_posix())


def exports(tree, paths):
    """The exported names: {condition: {namespace: names}}. A name of several headers has the shortest condition."""
    done = subprocess.run(["clang++", "-print-resource-dir"], stdout=subprocess.PIPE, text=True, check=True)
    unit = names.parse("module", "".join(f"#include <allot/{path}>\n" for path in paths), done.stdout.strip())
    found, grouped = {}, {}
    of_namespace(unit.cursor, (), found)
    for scope, of_scope in sorted(found.items()):
        for name, declared in sorted(of_scope.items()):
            only = min((condition(tree, path) for path in declared), key=len)
            grouped.setdefault(only, {}).setdefault(scope, []).append(name)
    return grouped


def under(only, text):
    return f"#if {only}\n{text}#endif\n" if only else text


def include_lines(tree, paths):
    """The includes, without headers that an earlier one includes, in one group for each condition."""
    groups, done = {}, {}
    for only, path in sorted(((condition(tree, path), path) for path in paths), key=lambda each: each[0]):
        if path not in done.get("", set()) | done.get(only, set()):
            groups.setdefault(only, []).append(f"#include <allot/{path}>\n")
            done.setdefault(only, set()).update(tree.closure([path]))
    return "".join(under(only, "".join(lines)) for only, lines in sorted(groups.items()))


def export_lines(scopes):
    """The using-declarations of some namespaces."""
    text = ""
    for scope, of_scope in scopes.items():
        path = "::".join(scope)
        lines = "".join(f"using {'::'.join(('allot', *scope, name))};\n" for name in of_scope)
        inline = "inline " if scope in INLINE else ""
        text += f"{inline}namespace {path} {{\n{lines}}}  // namespace {path}\n" if scope else lines
    return f"export namespace allot {{\ninline namespace v1 {{\n{text}}}  // namespace v1\n}}  // namespace allot\n"


def module():
    """The text of allot.cppm."""
    tree = join.Tree()
    paths = headers(tree)
    exported = exports(tree, paths)
    return OPENING + include_lines(tree, paths) + "\nexport module allot;\n\n" + "\n".join(
        under(only, export_lines(scopes)) for only, scopes in sorted(exported.items()))


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    text = module()
    if not arguments:
        MODULE.write_text(text, encoding="utf-8")
        print(f"{MODULE.relative_to(ROOT)}: {text.count('using allot::')} names")
    elif MODULE.read_text(encoding="utf-8") != text:
        sys.stdout.writelines(difflib.unified_diff(MODULE.read_text(encoding="utf-8").splitlines(True),
                                                   text.splitlines(True), "allot.cppm", "headers"))
        sys.exit("allot.cppm is not the module of these headers: run bindings/module/write.py")


if __name__ == "__main__":
    main(sys.argv[1:])
