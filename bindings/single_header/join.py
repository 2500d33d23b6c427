#!/usr/bin/python3
"""Joins the headers of allot into single headers, which need no include path: join.py FOLDER

    allot.hpp              strategies, arenas, address models, host devices, compositions, owners, containers
    allot_plan.hpp         the planner, and what it needs of the others
    allot_tensor.hpp       tensors, the same
    allot_page_cache.hpp   page caches, the same
    allot_inspect.hpp      traces, event logs, snapshots and reports, the same
    allot_boost.hpp        hardened arenas and recorded allocators, the same: the only one that needs Boost

A section is the text of one header under a guard of its own, so that a program can include several of the files, in any
order. The includes of the standard library are at the top, once. A section that needs an operating system, threads or a
hosted library has a condition. The opening comment of a header is shortened to its first sentence.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "allot"

# The subject of each file, and patterns of its headers. A pattern with an asterisk leaves out what needs Boost.
FILES = {
    "allot.hpp": ("allocators for host memory", ("allot.hpp", "core/*", "address/*", "strategy/*", "arena/*", "host/*",
                                                 "windows.hpp", "windows/*", "compose/*", "object.hpp", "object/*", "adapt/*")),
    "allot_plan.hpp": ("the planner", ("plan.hpp", "plan/*")),
    "allot_tensor.hpp": ("tensors", ("tensor.hpp", "tensor/*")),
    "allot_page_cache.hpp": ("page caches", ("page_cache.hpp", "page_cache/*")),
    "allot_inspect.hpp": ("traces, event logs, snapshots and reports", ("inspect/*",)),
    "allot_boost.hpp": ("hardened arenas and recorded allocators, which need Boost",
                        ("allot.hpp", "arena/hardening.hpp", "compose/recorded.hpp")),
}
# What compiles without a hosted library (tests/targets/bare_metal/headers.cmake): these folders, and these headers.
BARE_FOLDERS = {"core", "address", "strategy", "arena", "compose", "object", "page_cache", "plan", "tensor"}
BARE_HEADERS = {"host/buffer.hpp", "host/heap.hpp", "host/static_storage.hpp", "host/tightly_coupled.hpp",
                "host/process_barrier.hpp"}
HOSTED = "__STDC_HOSTED__"
POSIX = "(defined(__unix__) || defined(__APPLE__))"
WINDOWS = "defined(_WIN32)"
THREADS = "defined(__cpp_lib_atomic_wait) && defined(__cpp_lib_scoped_lock)"  # newlib without threads has neither
THREADED = {"host/job_queue.hpp"}
THREAD_LOCALS = f"(!ALLOT_IS_MICROCONTROLLER || {THREADS})"  # without threads, a board has no thread-local storage
THREAD_LOCAL = {"compose/thread_local_caches.hpp"}


def exists(name):
    return f"__has_include(<{name}>)"


def is_of_system(name):
    """Whether a name is a header of an operating system, and not of the standard library or of Boost."""
    return name.endswith(".h")


class Header:
    """One header: its summary, the names that it includes under no condition, and the rest of its text."""

    def __init__(self, path):
        self.path = path
        opening, text = (HEADERS / path).read_text(encoding="utf-8").split("#pragma once\n", 1)
        self.summary = opening.split("\n//\n")[0].split("\n", 1)[1]
        self.ours, self.others, kept, depth = [], [], [], 0
        for line in text.splitlines():
            directive = re.match(r" *# *(if|ifdef|ifndef|endif)\b", line)
            if directive:
                depth += -1 if directive[1] == "endif" else 1
            include = re.match(r" *# *include *<(allot/)?([^>]+)>", line)
            if include and depth == 0:
                (self.ours if include[1] else self.others).append(include[2])
            elif include and include[1] and "/" not in path:
                self.ours.append(include[2])  # an umbrella includes either definitions or declarations: both stay
            elif include and include[1]:
                sys.exit(f"{path}: <allot/{include[2]}> is included under a condition, which a single header cannot keep")
            else:
                kept.append(line)
        self.text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")

    def conditions(self):
        """What a program needs to compile this header, without those that it includes."""
        folder = self.path.split("/")[0]
        needed = []
        if "/" in self.path and folder not in BARE_FOLDERS and self.path not in BARE_HEADERS:
            needed.append(HOSTED)
        if folder == "windows":
            needed.append(WINDOWS)
        if self.path in THREADED:
            needed.append(THREADS)
        if self.path in THREAD_LOCAL:
            needed.append(THREAD_LOCALS)
        system = [name for name in self.others if is_of_system(name)]
        return needed + ([HOSTED, POSIX] + [exists(name) for name in system] if system else [])


class Tree:
    """All headers that are read so far."""

    def __init__(self):
        self.headers = {}

    def closure(self, paths):
        """These headers and all that they include, each after those that it includes."""
        ordered = {}

        def add(path):
            if path not in self.headers:
                self.headers[path] = Header(path)
            for included in self.headers[path].ours:
                add(included)
            ordered.setdefault(path)

        for path in paths:
            add(path)
        return list(ordered)

    def needs_boost(self, path):
        return any(name.startswith("boost/") for each in self.closure([path]) for name in self.headers[each].others)

    def chosen(self, patterns):
        """The headers of some patterns, and those that they include."""
        found = []
        for pattern in patterns:
            paths = sorted(str(path.relative_to(HEADERS)) for path in HEADERS.glob(pattern) if path.is_file())
            found += [path for path in paths if "*" not in pattern or not self.needs_boost(path)]
        return self.closure(["version.hpp", *found])

    def condition(self, path):
        """The condition of a section: that of its header, and of all headers which that includes."""
        found = {}
        for each in self.closure([path]):
            found.update(dict.fromkeys(self.headers[each].conditions()))
        return " && ".join(found)

    def includes(self, paths):
        """The includes of other projects. Those that only some sections need have a condition."""
        conditions = {}
        for path in paths:
            for name in self.headers[path].others:
                conditions.setdefault(name, set()).add(self.condition(path))
        groups = {"": []}
        for name, of_sections in sorted(conditions.items()):
            only = f"{HOSTED} && {POSIX} && {exists(name)}" if is_of_system(name) else "" if "" in of_sections else HOSTED
            groups.setdefault(only, []).append(f"#include <{name}>\n")
        return "".join("".join(names) if not only else f"#if {only}\n{''.join(names)}#endif\n"
                       for only, names in groups.items())

    def section(self, path):
        """The text of one header under its guard."""
        guard = "ALLOT_SINGLE_" + re.sub(r"\W", "_", path.removesuffix(".hpp")).upper()
        only = self.condition(path)
        test = f"#if !defined({guard}) && {only}" if only else f"#ifndef {guard}"
        return f"{test}\n#define {guard}\n{self.headers[path].text}\n#endif\n"

    def body(self, paths):
        """The includes and the sections of some headers, of which the first is version.hpp."""
        sections = (f"// ==== allot/{path}\n{self.headers[path].summary}\n{self.section(path)}"
                    for path in paths[1:] if self.headers[path].text)
        return "\n".join((self.section(paths[0]), self.includes(paths), *sections))

    def joined(self, name):
        """The text of one single header."""
        subject, patterns = FILES[name]
        paths = self.chosen(patterns)
        version = ".".join(re.findall(r"define ALLOT_VERSION_\w+ (\d+)", self.headers["version.hpp"].text))
        legal = "\n".join(f"// {line}".rstrip() for line in (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines())
        guard = "ALLOT_SINGLE_FILE_" + name.removesuffix(".hpp").upper()
        return f"""// SPDX-License-Identifier: BSL-1.0
// allot {version}: {subject}, in one header.
//
// ./dev single makes this file from the headers of include/allot. Change those, not this file.
//
{legal}

#ifndef {guard}
#define {guard}

#if defined(ALLOT_VERSION) && !defined(ALLOT_SINGLE_VERSION)
#error "allot: the program includes the headers of include/allot and a single header: include only one of them"
#endif

{self.body(paths)}
#endif  // {guard}
"""


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    folder, tree = pathlib.Path(arguments[0]), Tree()
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        text = tree.joined(name)
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{folder / name}: {len(text.splitlines())} lines, {len(text.encode()) // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
