#!/bin/bash
# Instructions an operation of a trace's replay takes, counted by callgrind, less those of the empty replay; and the ratio to
# the first allocator of allot that takes it in each table of replay. For every allocator that can replay the trace.
# usage: replay_instructions.sh REPLAY TRACE...
set -euo pipefail
program=$1

count() { # ALLOCATOR TRACE: operations and instructions; nothing when it cannot replay the trace
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no '--toggle-collect=*benchmarks::replay<*' \
        "$program" --count "$1" "$2" 2>&1 | awk '/ operations$/ { n = $1 } /Collected/ { if (n) print n, $NF }'
}

for trace in "${@:2}"; do
    read -r operations empty < <(count empty "$trace")
    printf '\n| %s | instructions an operation |\n|---|--:|\n' "$(basename "${trace%%.altr*}")"
    for name in $("$program" --list); do
        if read -r operations all < <(count "$name" "$trace"); then
            awk -v name="$name" -v n="$operations" -v net=$((all - empty)) 'BEGIN { printf "| %s | %.1f |\n", name, net / n }'
        fi
    done
done
