#!/bin/bash
# Prints instructions per operation of a trace's replay, counted by callgrind, minus those of the empty replay, and the
# ratio to the first row of each table. Covers every allocator of a group (bump, pool or best_fit) that can replay the
# trace, in parallel on all processors.
# usage: replay_instructions.sh REPLAY GROUP TRACE...
set -euo pipefail
program=$1 group=$2 counts=$(mktemp -d)
trap 'rm -r "$counts"' EXIT

count() { # PROGRAM TRACE DIRECTORY ALLOCATOR: operations, instructions and group; nothing when it cannot replay the trace
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no '--toggle-collect=*benchmarks::replay<*' \
        "$1" --count "$4" "$2" 2>&1 |
        awk '/ operations: / { n = $1; sub(/.* operations: /, ""); group = $0 } /Collected/ { if (n) print n, $NF, group }' >"$3/$4"
}
export -f count

echo
echo "instructions of a replayed operation"
for trace in "${@:3}"; do
    { echo empty && "$program" --list "$group"; } |
        xargs -P "$(nproc)" -I ALLOCATOR bash -c 'count "$@"' count "$program" "$trace" "$counts" ALLOCATOR
    for name in empty $("$program" --list "$group"); do sed "s/^/$name /" "$counts/$name"; done |
        awk -v trace="$(basename "${trace%%.altr*}")" '{
            net = $3 - empty
            if ($1 == "empty") { empty = $3; next }
            name = $1; operations = $2; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "")
            if (!($0 in first)) { first[$0] = net; groups[++count] = $0 }
            rows[$0] = rows[$0] sprintf("| %s | %.1f | %.2fx |\n", name, net / operations, first[$0] > 0 ? net / first[$0] : 1)
        } END {
            for (i = 1; i <= count; ++i)
                printf "\n| %s: %s | instructions an operation | to the first |\n|---|--:|--:|\n%s", trace, groups[i], rows[groups[i]]
        }'
done
