#!/bin/bash
# Counts the instructions of allot's operations and compares them with the recorded counts of the compiler. The
# comparison is exact: a slower operation is an error, and a faster one is recorded. The flags are those of ./dev bench.
# usage: check.sh COMPILER                  compare
#        check.sh --renew [COMPILER...]     record; by default for g++ and clang++
set -euo pipefail
directory=$(cd "$(dirname "$0")" && pwd)
root=$directory/../../..

skip() {
    echo "skipped: $*"
    exit 77
}

record_of() { # COMPILER: the file of counts for its version
    local name=${1##*/}
    echo "$directory/${name%-[0-9]*}-$("$1" -E -P -x c++ - <<<__VERSION__ | tr -dc 0-9.)-$(uname -m).txt"
}

count() { # COMPILER
    "$1" -std=c++20 -O3 -DNDEBUG -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -I "$root/include" \
        "$root"/benchmarks/instructions*.cpp -o "$program"
    "$root/benchmarks/count_instructions.sh" "$program" /allot
}

compare() { # RECORD COUNTED
    awk '
        /^#/ { next }
        { cost = $2 " (worst " $3 ")" }
        FILENAME == ARGV[1] { expected[$1] = cost; next }
        !($1 in expected) { expected[$1] = "nothing" }
        expected[$1] != cost { print $1 ": expected " expected[$1] ", counted " cost; differ = 1 }
        { delete expected[$1] }
        END {
            for (name in expected) { print name ": expected " expected[name] ", counted nothing"; differ = 1 }
            exit differ
        }' "$@"
}

(($#)) || { sed -n '/^# usage/,/^set/s/^# //p' "$0" >&2 && exit 2; }
command -v valgrind >/dev/null || skip "no valgrind"
program=$(mktemp)
trap 'rm -f "$program" "$program.counts"' EXIT

if [[ $1 == --renew ]]; then
    shift
    (($#)) || set -- g++ clang++
    for compiler; do
        count "$compiler" >"$program.counts"
        {
            echo "# Instructions per operation and of the worst one; recorded by: tests/integration/instructions/check.sh --renew"
            cat "$program.counts"
        } >"$(record_of "$compiler")"
    done
    exit
fi

command -v "$1" >/dev/null || skip "no $1"
record=$(record_of "$1")
[[ -e $record ]] || skip "no instructions are recorded for $(basename "$record" .txt)"
count "$1" >"$program.counts"
compare "$record" "$program.counts" || {
    echo "If the change is intended, record it: tests/integration/instructions/check.sh --renew"
    exit 1
}
