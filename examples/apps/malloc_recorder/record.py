#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Records the malloc calls of a program and of its child processes: ./dev record runs it.

    record.py [--out FILE] PROGRAM [ARGUMENT...]

The recorder and the converter are in the folder that the environment variable ALLOT_RECORDER names. The trace of the
program is FILE (default: PROGRAM.altr). Those of other processes are in the folder FILE.children. The exit status is that
of the program, or 2 if it cannot be recorded, or 1 if nothing was recorded.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TRACE_OF_CHILD = re.compile(r"\d+-\d+-.*\.altr")
SHOWN = 8  # traces of child processes in the summary
INTERPRETER = 3  # the type of the program header that names the dynamic loader


class Refused(Exception):
    """The reason for which a program cannot be recorded."""


def loader_of(path):
    """Returns the class and machine of an ELF file and the path of its loader, or None if it is not an ELF file."""
    with open(path, "rb") as file:
        start = file.read(64)
        if start[:4] != b"\x7fELF" or len(start) < 52:
            return None
        wide = start[4] == 2
        order = "<" if start[5] == 1 else ">"
        machine = struct.unpack_from(order + "H", start, 18)[0]
        if wide and len(start) < 64:
            return None
        table, = struct.unpack_from(order + ("Q" if wide else "I"), start, 32 if wide else 28)
        size, count = struct.unpack_from(order + "HH", start, 54 if wide else 42)
        for number in range(count):
            file.seek(table + number * size)
            entry = file.read(size)
            if len(entry) < (40 if wide else 20) or struct.unpack_from(order + "I", entry)[0] != INTERPRETER:
                continue
            at, = struct.unpack_from(order + ("Q" if wide else "I"), entry, 8 if wide else 4)
            length, = struct.unpack_from(order + ("Q" if wide else "I"), entry, 32 if wide else 16)
            file.seek(at)
            return wide, machine, file.read(min(length, 4096)).rstrip(b"\0").decode(errors="replace")
        return wide, machine, ""


def interpreter_of(path):
    """Returns the interpreter of a script."""
    with open(path, "rb") as file:
        line = file.readline(4096)
    words = line[2:].split() if line[:2] == b"#!" else []
    return os.fsdecode(words[0]) if words else ""


def check(name, path, library):
    """Refuses a program into which the recorder cannot be loaded."""
    for _ in range(4):  # a script of a script
        script = interpreter_of(path)
        if not script:
            break
        path = script
    mode = os.stat(path)
    if mode.st_mode & stat.S_ISUID and mode.st_uid != os.geteuid() or mode.st_mode & stat.S_ISGID and mode.st_gid != os.getegid():
        raise Refused(f"{name} is a setuid or setgid program, into which the system loads no other libraries")
    elf = loader_of(path)
    if elf is None:
        raise Refused(f"{name} is neither a program for Linux nor a script with an interpreter")
    wide, machine, loader = elf
    if not loader:
        raise Refused(f"{name} is a static program: it has no dynamic loader that could load the recorder. Link it without -static")
    if (wide, machine) != loader_of(library)[:2]:
        raise Refused(f"{name} is for another processor than the recorder, or has another size of pointers")
    if "musl" in loader:
        raise Refused(f"{name} uses musl, and the recorder uses glibc")


def find(program):
    path = shutil.which(program)
    if path is None:
        raise Refused(f"{program}: no such program")
    return path


def prepare(out):
    """Checks before the run that the traces can be written, and removes those of an earlier recording."""
    folder = Path(out).absolute().parent
    if not folder.is_dir():
        raise Refused(f"{out}: there is no folder {folder}")
    if Path(out).is_dir():
        raise Refused(f"{out} is a folder: pass the name of a file with --out")
    children = Path(out + ".children")
    if os.path.lexists(children):
        foreign = not children.is_dir() or [each for each in children.iterdir() if not TRACE_OF_CHILD.fullmatch(each.name)]
        if foreign:
            raise Refused(f"{children} exists and is not of an earlier recording: remove it, or choose another file with --out")
        shutil.rmtree(children)
    if not os.access(folder, os.W_OK) or (os.path.exists(out) and not os.access(out, os.W_OK)):
        raise Refused(f"{out} cannot be written")


def preloaded(library, scratch):
    """Returns LD_PRELOAD with the recorder in front. Its separators are spaces and colons."""
    if re.search("[ :]", library):
        library = shutil.copy(library, tempfile.mkdtemp(dir=None if re.search("[ :]", scratch) else scratch))
    return ":".join(each for each in (library, os.environ.get("LD_PRELOAD", "")) if each)


def run(path, arguments, library, scratch):
    """Returns the process identifier and the exit status of the program."""
    environment = {**os.environ, "LD_PRELOAD": preloaded(library, scratch), "ALLOT_RECORD": scratch + "/r"}
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts the program, and its calls are kept
    try:
        process = subprocess.Popen(arguments, executable=path, env=environment,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, handler))
        process.wait()
    except OSError as error:
        raise Refused(f"{arguments[0]}: {error.strerror}") from error
    finally:
        signal.signal(signal.SIGINT, handler)
    return process.pid, process.returncode


def convert(converter, recording, trace):
    """Returns the summary of a recording, or the reason for which there is none."""
    done = subprocess.run([converter, recording, trace], capture_output=True, text=True, errors="replace")
    return json.loads(done.stdout) if done.returncode in (0, 1) else done.stderr.strip()


def plural(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def report(trace, seen):
    """Writes one line for a trace, and one for each thing that it lacks."""
    print(f"{trace}: {plural(seen['allocations'], 'allocation')}, {plural(seen['deallocations'], 'deallocation')} and "
          f"{plural(seen['resizes'], 'resize')} by {plural(seen['threads'], 'thread')} of {Path(seen['program']).name}; "
          f"{seen['bytes']} bytes in total, at most {seen['peak']} live; {plural(seen['live'], 'block')} live at the end",
          file=sys.stderr)
    for name, text in [
            ("inherited", "blocks of the parent process are at the start of the trace"),
            ("failed", "allocations failed; they are not in the trace"),
            ("unknown", "calls are not in the trace: their blocks were allocated before the recording"),
            ("lost", "calls are not in the trace: they came from signal handlers, or the recording could not be written"),
            ("conflicts", "blocks were freed without a call of free before their addresses were used again")]:
        if seen[name]:
            print(f"    {seen[name]} {text}", file=sys.stderr)
    if seen["damage"]:
        print(f"    the recording is damaged: {seen['damage']}; the other events are in the trace", file=sys.stderr)


def write_traces(converter, scratch, pid, out):
    """Converts all recordings. Returns whether the program has a trace."""
    def number(path):
        _, process, image = path.name.rsplit(".", 2)
        return int(process), int(image)
    recordings = sorted(Path(scratch).glob("r.*.*"), key=number)
    own = [each for each in recordings if number(each)[0] == pid][-1:]  # the last program that the process executed
    children = Path(out + ".children")
    others = []
    for each in recordings:
        if each in own:
            continue
        children.mkdir(exist_ok=True)
        trace = children / ("%d-%d.altr" % number(each))
        seen = convert(converter, each, trace)
        if isinstance(seen, str):
            print(f"dev: {seen}", file=sys.stderr)
            continue
        named = trace.with_name(f"{trace.stem}-{Path(seen['program']).name or 'unknown'}.altr")
        others.append((trace.rename(named), seen))
    others.sort(key=lambda one: -one[1]["allocations"])
    for trace, seen in others[:SHOWN]:
        report(os.path.relpath(trace), seen)
    if others[SHOWN:]:
        count = len(others) - SHOWN
        print(f"{children}: traces of {count} more process{'' if count == 1 else 'es'}", file=sys.stderr)
    for each in own:
        seen = convert(converter, each, out)
        if isinstance(seen, str):
            print(f"dev: {seen}", file=sys.stderr)
            return False
        report(out, seen)
    return bool(own)


def options_in(given):
    """Returns the number of arguments before the program."""
    count = 0
    while count < len(given) and given[count].startswith("-"):
        if given[count] == "--":
            return count + 1
        count += 2 if given[count] == "--out" else 1
    return min(count, len(given))


def main():
    parser = argparse.ArgumentParser(prog="./dev record", allow_abbrev=False)
    parser.add_argument("--out", metavar="FILE", help="the trace (default: PROGRAM.altr)")
    parser.add_argument("program", metavar="PROGRAM")
    given = sys.argv[1:]
    count = options_in(given)  # argparse would remove a "--" from the arguments of the program
    asked = parser.parse_args(given[:count + 1])
    asked.arguments = given[count + 1:]
    built = Path(os.environ["ALLOT_RECORDER"])
    library, converter = str(built / "libmalloc_recorder.so"), str(built / "recording_to_trace")
    out = asked.out or Path(asked.program).name + ".altr"
    try:
        path = find(asked.program)
        check(asked.program, path, library)
        prepare(out)
        with tempfile.TemporaryDirectory(prefix=".recording-", dir=os.path.dirname(os.path.abspath(out))) as scratch:
            pid, status = run(path, [asked.program, *asked.arguments], library, scratch)
            recorded = write_traces(converter, scratch, pid, out)
    except (Refused, OSError) as error:
        print(f"dev: {error}", file=sys.stderr)
        return 2
    if status != 0:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with {status}"
        print(f"dev: {asked.program} {how}", file=sys.stderr)
    if not recorded:
        print(f"dev: {asked.program} made no call of malloc that can be recorded. A program that contains its own allocator "
              "does not call that of the system", file=sys.stderr)
        return status or 1
    print(f"dev: now run ./dev replay {shlex.quote(str(out))}", file=sys.stderr)
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
