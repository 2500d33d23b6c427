#!/bin/bash
# Measures the cost of including allot: the time to parse <allot/allot.hpp> divided by that of <memory_resource> and
# <map>, as a ratio of medians of user time. The two are timed in alternation, so that a busy machine affects both. Then
# the time to parse <allot/plan.hpp>, and to compile a call of `plan` with and without the library of the planners.
# usage: include_cost.sh [RUNS]
set -euo pipefail
runs=${1:-9}
include=$(cd "$(dirname "$0")/../include" && pwd)
TIMEFORMAT=%U

seconds() { # COMPILER SOURCE
    { time "$1" -std=c++20 "${@:3}" -I "$include" -x c++ - -o /dev/null <<<"$2"; } 2>&1
}
median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }

echo 'time to parse the headers'
echo
printf '| %-8s | %19s | %27s | %5s |\n|---|--:|--:|--:|\n' compiler '<allot/allot.hpp>, s' '<memory_resource>, <map>, s' ratio
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    ours=() theirs=()
    for ((run = 0; run < runs; ++run)); do
        ours+=("$(seconds "$compiler" '#include <allot/allot.hpp>' -fsyntax-only)")
        theirs+=("$(seconds "$compiler" $'#include <memory_resource>\n#include <map>' -fsyntax-only)")
    done
    allot=$(printf '%s\n' "${ours[@]}" | median)
    standard=$(printf '%s\n' "${theirs[@]}" | median)
    awk -v c="$compiler" -v a="$allot" -v s="$standard" 'BEGIN {
        printf "| %-8s | %19.2f | %27.2f | %5.2f |\n", c, a, s, a / s }'
done

echo
echo 'time to compile a call of a planner'
echo
printf '| %-8s | %18s | %7s | %26s | %12s |\n|---|--:|--:|--:|--:|\n' \
    compiler '<allot/plan.hpp>, s' 'plan, s' 'plan, allot::planner, s' '<vector>, s'
call=$'#include <allot/plan.hpp>\nauto made(const allot::plan_problem& problem) { return allot::plan(problem); }'
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    header=() own=() once=() vector=()
    for ((run = 0; run < runs; ++run)); do
        header+=("$(seconds "$compiler" '#include <allot/plan.hpp>' -fsyntax-only)")
        own+=("$(seconds "$compiler" "$call" -c)")
        once+=("$(seconds "$compiler" "$call" -c -DALLOT_PLAN_COMPILED)")
        vector+=("$(seconds "$compiler" '#include <vector>' -fsyntax-only)")
    done
    printf '| %-8s | %18.2f | %7.2f | %26.2f | %12.2f |\n' "$compiler" "$(printf '%s\n' "${header[@]}" | median)" \
        "$(printf '%s\n' "${own[@]}" | median)" "$(printf '%s\n' "${once[@]}" | median)" \
        "$(printf '%s\n' "${vector[@]}" | median)"
done
