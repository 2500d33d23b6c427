#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Runs Debian's programs with several mallocs in turn, and prints processor time and resident memory as ratios to glibc's.

    malloc.py LIBRARY [--programs FILE] [--rounds N] [--json FILE] [--only NAME,...]

LIBRARY is liballot_malloc.so. FILE is malloc_programs (malloc_programs.cpp). The peers are Debian's libmimalloc2.0 and
libjemalloc2, as far as they are installed. In each round, every program runs once with each malloc, and the order of the
mallocs rotates. The tables have the least processor time of all rounds, and the median of the largest resident memory. A
program that is not installed is skipped with a reason.
"""

import argparse
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import geometric_mean, median

ROOT = Path(__file__).resolve().parents[1]
PEERS = {"mimalloc": "libmimalloc.so.2.0", "jemalloc": "libjemalloc.so.2"}
FOLDERS = [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib/aarch64-linux-gnu"), Path("/usr/lib")]

PYTHON = """
import json, re
words = [str(i * 7919 % 100003) for i in range(300000)]
counts = {}
for word in words:
    counts[word[:4]] = counts.get(word[:4], []) + [word]
text = json.dumps(counts)
assert json.loads(text) == counts
print(len(re.findall(r'[0-9]+7', text)), len(sorted(words, key=lambda w: w[::-1])))
"""
PERL = r"""
my %h; my @l;
for my $i (1 .. 400000) { my $k = "key" . ($i * 7919 % 100003); $h{$k} .= "x$i,"; push @l, [$i, $k] if $i % 3 == 0; }
my @s = sort { $a->[1] cmp $b->[1] } @l; my $n = 0;
for my $v (values %h) { my @p = split /,/, $v; $n += @p; }
print scalar(@s), " $n\n";
"""
SQL = """
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 250000)
insert into t select i, 'text ' || (i * 7919 % 100003), i % 1000 from n;
create index tb on t(b); create index tc on t(c);
select count(*), sum(length(b)) from t x where exists (select 1 from t y where y.c = x.c and y.a < x.a);
select c, group_concat(substr(b, 1, 8)) from t where c < 50 group by c order by 2 limit 3;
"""


def prepare(folder):
    """Writes the inputs, and returns the programs: name, command, and the file of standard input."""
    (folder / "lines").write_text("".join(f"{i * 7919 % 1000003} {i * 104729 % 999983:x} line\n" for i in range(400_000)))
    (folder / "data").write_bytes(b"".join((i * i * 2654435761 % 2**64).to_bytes(8, "little") + b"header of a record %d" % (i % 977)
                                           for i in range(400_000)))
    (folder / "all.cpp").write_text("#include <allot/allot.hpp>\n#include <iostream>\n#include <map>\n#include <regex>\n")
    (folder / "sql").write_text(SQL)
    (folder / "cmake").mkdir()
    (folder / "cmake/CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(p NONE)\nset(l \"\")\nforeach(i RANGE 20000)\n  list(APPEND l \"item ${i}\")\n"
        "  string(REGEX REPLACE \"[0-9]+\" \"<&>\" r${i} \"a${i}b\")\nendforeach()\nlist(SORT l)\nlist(LENGTH l n)\nmessage(STATUS ${n})\n")
    git = folder / "repository"
    script = ("git init -q . && for i in $(seq 120); do for j in $(seq 40); do seq $((i * j)) $((i * j + 400)) >f$j; done; git add . && "
              "git -c user.name=n -c user.email=e commit -q -m $i; done")
    if shutil.which("git"):
        git.mkdir()
        subprocess.run(["sh", "-c", script], cwd=git, check=True, stdout=subprocess.DEVNULL)
    compile_ = ["-std=c++20", f"-I{ROOT}/include", "-fsyntax-only", str(folder / "all.cpp")]
    return {
        "g++": (["g++", *compile_], None),
        "clang++": (["clang++", *compile_], None),
        "python": (["python3", "-c", PYTHON], None),
        "sqlite": (["sqlite3", ":memory:"], folder / "sql"),
        "sort": (["sort", "--parallel=2", "-k2", "-o", "/dev/null", str(folder / "lines")], None),
        "cmake": (["cmake", "-S", str(folder / "cmake"), "-B", str(folder / "cmake/build")], None),
        "perl": (["perl", "-e", PERL], None),
        "xz -T2": (["xz", "-T2", "-2", "--block-size=1MiB", "-c", str(folder / "data")], None),
        "git": (["git", "-C", str(git), "repack", "-q", "-a", "-d", "-f", "--threads=2"], None),
        "redis": (None, None),
        "postgres": (None, None),
    }


def own_programs(binary):
    """The programs of malloc_programs.cpp: name, command, and no input."""
    return {name: ([str(binary), name], None) for name in ("cfrac", "larson", "xmalloc", "mstress", "sh6", "sh8")}


def environment(library):
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    fixed = {"LC_ALL": "C", "PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0"}  # the same calls in each run
    return {**variables, **fixed, **({"LD_PRELOAD": str(library)} if library else {})}


def run(command, source, library, folder):
    """Returns the processor time in seconds and the largest resident memory of a process in KiB. GNU time measures the memory,
    because that which Linux reports for a process includes the memory of the process that started it."""
    report = folder / "report"
    variables = [f"LD_PRELOAD={library}"] if library else []
    with open(source or os.devnull) as given, open(folder / "errors", "w+") as errors:
        child = subprocess.Popen(["/usr/bin/time", "-q", "-f", "%M", "-o", str(report), "env", *variables, *command], stdin=given,
                                 stdout=subprocess.DEVNULL, stderr=errors, env=environment(None), cwd=folder)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            raise RuntimeError(f"{command[0]} failed with {library or 'glibc'}: {child.returncode} {errors.read()[-400:]}")
    return used.ru_utime + used.ru_stime, int(report.read_text())


def run_redis(library, folder):
    """The processor time and resident memory of the server alone. Its client has no preloaded library. Debian links the server
    to jemalloc, so that the C library is preloaded for its malloc."""
    library = library or find("libc.so.6")
    address = folder / "redis.sock"
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", str(address), "--save", "", "--appendonly", "no"],
                              stdout=subprocess.DEVNULL, env=environment(library), cwd=folder)
    try:
        for _ in range(100):
            if address.exists():
                break
            time.sleep(0.05)
        subprocess.run(["redis-benchmark", "-s", str(address), "-q", "-n", "60000", "-r", "40000", "-d", "100", "-P", "16", "-t",
                        "set,get,lpush,lpop,sadd,hset,zadd,spop"], check=True, stdout=subprocess.DEVNULL, env=environment(None))
        peak = next(int(line.split()[1]) for line in Path(f"/proc/{server.pid}/status").read_text().splitlines()
                    if line.startswith("VmHWM"))
    finally:
        server.send_signal(signal.SIGTERM)
        _, status, used = os.wait4(server.pid, 0)
        server.returncode = os.waitstatus_to_exitcode(status)
        address.unlink(missing_ok=True)
    if server.returncode != 0:
        raise RuntimeError(f"redis-server failed with {library or 'glibc'}: {server.returncode}")
    return used.ru_utime + used.ru_stime, peak


def postgres_programs():
    """The folder of PostgreSQL's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return found[-1].parent if found and shutil.which("pgbench") else None


def run_postgres(library, folder):
    """The processor time of the server and its processes, and the largest resident memory of one. Its client, pgbench, has no
    preloaded library. The server does not run as root."""
    programs, data, report = postgres_programs(), folder / "postgres/data", folder / "postgres/report"
    account = pwd.getpwnam("postgres") if os.getuid() == 0 else None
    identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    if not data.exists():
        folder.chmod(0o755)
        data.parent.mkdir()
        if account:
            os.chown(data.parent, account.pw_uid, account.pw_gid)
        subprocess.run([programs / "initdb", "-D", data, "-A", "trust", "-U", "user", "--no-sync", "--locale=C"], check=True,
                       stdout=subprocess.DEVNULL, cwd=data.parent, **identity)
    server = subprocess.Popen(
        ["/usr/bin/time", "-q", "-f", "%M", "-o", report, "env", *([f"LD_PRELOAD={library}"] if library else []), programs / "postgres",
         "-D", data, "-k", data.parent, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(None), cwd=data.parent, **identity)
    client = ["pgbench", "-h", data.parent, "-U", "user"]
    try:
        for _ in range(200):
            if subprocess.run([programs / "pg_isready", "-q", "-h", data.parent]).returncode == 0:
                break
            time.sleep(0.05)
        for command in (["-i", "-q", "-s", "2"], ["-c", "2", "-t", "1500"], ["-c", "2", "-t", "6000", "-S"]):
            subprocess.run([*client, *command, "postgres"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=environment(None), cwd=data.parent)
    finally:
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGINT)
        _, status, used = os.wait4(server.pid, 0)
        server.returncode = os.waitstatus_to_exitcode(status)
    if server.returncode != 0:
        raise RuntimeError(f"postgres failed with {library or 'glibc'}: {server.returncode}")
    return used.ru_utime + used.ru_stime, int(report.read_text())


SERVERS = {"redis": run_redis, "postgres": run_postgres}


def find(file):
    """The path of a library of Debian, or None."""
    return next((folder / file for folder in FOLDERS if (folder / file).exists()), None)


def missing(name, command):
    """The program that is not installed, or None."""
    if name == "postgres":
        return None if postgres_programs() else "postgres or pgbench"
    return next((each for each in ([command[0]] if command else ["redis-server", "redis-benchmark"]) if not shutil.which(each)), None)


def measure(programs, mallocs, rounds, folder):
    results = {}
    names = list(mallocs)
    for turn in range(rounds):
        for program, (command, source) in programs.items():
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                library = mallocs[name]
                found = run(command, source, library, folder) if command else SERVERS[program](library, folder)
                results.setdefault(program, {}).setdefault(name, []).append(found)
    return results


def table(results, names):
    """The least processor time and the median memory of each malloc but glibc's, as ratios to those of glibc."""
    columns = [(kind, name) for kind in ("time", "memory") for name in names if name != "glibc"]
    lines = ["| program | " + " | ".join(f"{kind}: {name}" for kind, name in columns) + " |", "|---|" + "--:|" * len(columns)]
    rows = {}
    for program, found in results.items():
        taken = {("time", name): min(t for t, _ in found[name]) for name in names}
        taken |= {("memory", name): median(m for _, m in found[name]) for name in names}
        rows[program] = [taken[kind, name] / taken[kind, "glibc"] for kind, name in columns]
    rows["geometric mean"] = list(map(geometric_mean, zip(*rows.values())))
    return "\n".join(lines + [f"| {program} | " + " | ".join(f"{ratio:.2f}" for ratio in row) + " |" for program, row in rows.items()])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("library", type=Path)
    arguments.add_argument("--programs", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--only", default="")
    arguments = arguments.parse_args()
    mallocs = {"glibc": None, "allot": arguments.library.resolve()}
    for name, file in PEERS.items():
        if found := find(file):
            mallocs[name] = found
        else:
            print(f"skipped: {name}: {file} is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        programs = prepare(folder)
        own = own_programs(arguments.programs.resolve()) if arguments.programs else {}
        for name, (command, _) in list(programs.items()):
            if absent := missing(name, command):
                print(f"skipped: {name}: {absent} is not installed")
                del programs[name]
        wanted = arguments.only.split(",") if arguments.only else [*programs, *own]
        results = measure({name: how for name, how in (programs | own).items() if name in wanted}, mallocs, arguments.rounds, folder)
    if arguments.json:
        arguments.json.write_text(json.dumps(results))
    for title, names in (("programs of Debian, ratios to glibc", programs), ("programs after known benchmarks, ratios to glibc", own)):
        if shown := {name: results[name] for name in names if name in results}:
            print(f"{title}\n\n{table(shown, list(mallocs))}\n")


if __name__ == "__main__":
    sys.exit(main())
