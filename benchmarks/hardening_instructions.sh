#!/bin/bash
# Prints the instructions of a pair of allocate and deallocate with each hardening, counted by callgrind, net of the loop.
# usage: hardening_instructions.sh PROGRAM
set -euo pipefail
program=$1

count() { # STRATEGY CASE: operations and instructions
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no '--toggle-collect=*benchmarks::replay<*' \
        "$program" --count "$1" "$2" 2>&1 | awk '/^operations: / { n = $2 } /Collected/ { print n, $NF }'
}

printf '\ninstructions of a pair of calls\n\n| %-24s | %8s | %8s | %8s |\n|---|--:|--:|--:|\n' strategy none checked debug
for strategy in "pool in band" "pool, index stack" "deferred" "best_fit in band" "best_fit, side table"; do
    for case in 0 1 2 3; do count "$strategy" $case; done | awk -v strategy="$strategy" '
        NR == 1 { empty = $2 }
        { pair[NR] = 2 * ($2 - empty) / $1 }
        END { printf "| %-24s | %8.0f | %8.0f | %8.0f |\n", strategy, pair[2], pair[3], pair[4] }'
done
