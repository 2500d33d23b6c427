#!/usr/bin/env python3
"""Prints the public names of allot that the reference does not contain, and fails if there is one.

    docs/site/names.py XML

XML is the folder of Doxygen's XML. The list of names comes from libclang, so an entity that Doxygen does not understand
is found too: each namespace, type, alias, concept, function, variable and enumerator outside of `detail`, and each
public member. Doxygen itself reports an entity without a comment. A header of an SDK that is not installed is replaced
by an empty file: the names remain, only their types are unknown. Needs libclang for Python (PyPI: libclang).
"""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

include = pathlib.Path(__file__).resolve().parents[2] / "include"

try:
    from clang import cindex
except ImportError:
    print("skipped: libclang for Python is not installed (PyPI: libclang==18.1.1)")
    sys.exit(77)
kinds = cindex.CursorKind
SCOPES = {kinds.NAMESPACE, kinds.STRUCT_DECL, kinds.CLASS_DECL, kinds.CLASS_TEMPLATE, kinds.ENUM_DECL}
NAMES = SCOPES | {
    kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE, kinds.CXX_METHOD, kinds.CONVERSION_FUNCTION, kinds.VAR_DECL,
    kinds.FIELD_DECL, kinds.ENUM_CONSTANT_DECL, kinds.TYPE_ALIAS_DECL, kinds.TYPE_ALIAS_TEMPLATE_DECL,
    kinds.CONCEPT_DECL}
OPEN = {cindex.AccessSpecifier.PUBLIC, cindex.AccessSpecifier.INVALID, cindex.AccessSpecifier.NONE}


def units():
    """Two sources that include all headers: those of CUDA and HIP do not compile together."""
    found = {"hip": "", "other": ""}
    for header in sorted(include.rglob("*.hpp")):
        relative = header.relative_to(include)
        if "detail" not in relative.parts:
            found["hip" if relative.parts[1].startswith("hip") else "other"] += f"#include <{relative}>\n"
    return found


def parse(part, source, resource):
    """Parses a source. An empty file replaces each header that is not found."""
    name = f"{part}.cpp"
    options = cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES | cindex.TranslationUnit.PARSE_INCOMPLETE
    stand_ins = include.parent / "build/no_such_sdk"
    files = [(name, source)]
    mpi = [f"-I{folder}" for folder in pathlib.Path("/usr/lib").glob("*/openmpi/include")]
    while True:
        unit = cindex.Index.create().parse(
            name, ["-std=c++20", "-ferror-limit=0", f"-I{include}", *mpi, "-isystem", str(stand_ins),
                   "-D__HIP_PLATFORM_AMD__", "-resource-dir", resource],
            unsaved_files=files, options=options)
        found = [re.match(r"'(\S+)' file not found", diagnostic.spelling) for diagnostic in unit.diagnostics]
        missing = [error.group(1) for error in found if error]
        if not missing:
            return unit
        known = {path for path, _ in files}
        for header in missing:
            path = str(stand_ins / header)
            if path in known:
                sys.exit(f"names.py: {part}: {header} is not found")
            print(f"{header} is not installed; an empty file replaces it")
            files.append((path, ""))


def is_named(cursor):
    """False for an unnamed type and a deduction guide."""
    return cursor.spelling != "" and not cursor.spelling.startswith(("<", "("))


def names_of(cursor, scope, found):
    for child in cursor.get_children():
        file = child.location.file
        if file is None or not pathlib.Path(file.name).is_relative_to(include) or child.kind not in NAMES:
            continue
        if child.access_specifier not in OPEN or not is_named(child) or "detail" in pathlib.Path(file.name).parts:
            continue
        if child.kind is kinds.NAMESPACE and child.spelling in ("detail", "v1"):
            if child.spelling == "v1":
                names_of(child, scope, found)
            continue
        if child.kind in (kinds.STRUCT_DECL, kinds.CLASS_DECL) and not child.is_definition():
            continue
        if cursor.kind is kinds.NAMESPACE and child.semantic_parent.kind in SCOPES - {kinds.NAMESPACE}:
            continue  # a member that is defined after its class
        if scope is None and child.spelling != "allot":
            continue
        name = child.spelling if child.spelling.startswith("operator") else child.spelling.split("<")[0]
        name = name if scope is None else f"{scope}::{name}"
        found.setdefault(name, f"{pathlib.Path(file.name).relative_to(include)}:{child.location.line}")
        if child.kind in SCOPES:
            names_of(child, name, found)


def public_names():
    resource = subprocess.run(["clang++", "-print-resource-dir"], capture_output=True, text=True).stdout.strip()
    found = {}
    for part, source in units().items():
        names_of(parse(part, source, resource).cursor, None, found)
    return found


def reference_names(folder):
    """The names that have an entry in the reference, without template arguments."""
    found = set()
    for path in folder.glob("*.xml"):
        for compound in ElementTree.parse(path).iter("compounddef"):
            scope = compound.findtext("compoundname").split("<")[0].strip()
            found.add(scope)
            for member in compound.iter("memberdef"):
                name = f"{scope}::{member.findtext('name')}"
                found.add(name)
                found |= {f"{name}::{value.findtext('name')}" for value in member.iter("enumvalue")}
    return found


def main():
    names, known = public_names(), reference_names(pathlib.Path(sys.argv[1]))
    missing = sorted((place, name) for name, place in names.items() if name not in known)
    for place, name in missing:
        print(f"{place}: {name} has no entry in the reference")
    print(f"{len(names)} public names, {len(missing)} without an entry")
    return 1 if missing or not names else 0


if __name__ == "__main__":
    sys.exit(main())
