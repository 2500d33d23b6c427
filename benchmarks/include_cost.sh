#!/bin/bash
# Measures the cost of including allot: the time to parse <allot/allot.hpp> divided by that of <memory_resource> and
# <map>, as a ratio of medians of user time. The two are timed in alternation, so that a busy machine affects both.
# usage: include_cost.sh [RUNS]
set -euo pipefail
runs=${1:-9}
include=$(cd "$(dirname "$0")/../include" && pwd)
TIMEFORMAT=%U

seconds() { # COMPILER SOURCE
    { time "$1" -std=c++20 -fsyntax-only -I "$include" -x c++ - <<<"$2"; } 2>&1
}
median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }

echo 'time to parse the headers'
echo
printf '| %-8s | %19s | %27s | %5s |\n|---|--:|--:|--:|\n' compiler '<allot/allot.hpp>, s' '<memory_resource>, <map>, s' ratio
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    ours=() theirs=()
    for ((run = 0; run < runs; ++run)); do
        ours+=("$(seconds "$compiler" '#include <allot/allot.hpp>')")
        theirs+=("$(seconds "$compiler" $'#include <memory_resource>\n#include <map>')")
    done
    allot=$(printf '%s\n' "${ours[@]}" | median)
    standard=$(printf '%s\n' "${theirs[@]}" | median)
    awk -v c="$compiler" -v a="$allot" -v s="$standard" 'BEGIN {
        printf "| %-8s | %19.2f | %27.2f | %5.2f |\n", c, a, s, a / s }'
done
