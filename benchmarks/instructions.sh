#!/bin/bash
# Prints instructions per operation, counted by callgrind. The ratio compares a pair of allocate and deallocate with
# that of the first case of its group (by hand, or malloc). worst: the maximum of a single operation, including the
# first on fresh memory.
# usage: instructions.sh PROGRAM [CASES]
set -euo pipefail
"$(dirname "$0")/count_instructions.sh" "$@" | awk '
    {
        name = operation = $1
        sub(/\/[^\/]*$/, "", name)
        sub(/.*\//, "", operation)
        if (!(name in worst)) order[++names] = name
        if ($3 > worst[name]) worst[name] = $3
        if (operation != "first") mean[name, operation] = $2
    }
    END {
        print "instructions of a call\n"
        printf "| %-40s | %8s | %10s | %7s | %5s |\n|---|--:|--:|--:|--:|\n", "case", "allocate", "deallocate", "ratio", "worst"
        for (i = 1; i <= names; ++i) {
            name = order[i]
            pair = mean[name, "allocate"] + mean[name, "deallocate"]
            if (group != substr(name, 1, index(name, "/"))) {
                group = substr(name, 1, index(name, "/"))
                base = pair
            }
            printf "| %-40s | %8.1f | %10.1f | %6.2fx | %5d |\n", name, mean[name, "allocate"], mean[name, "deallocate"],
                   pair / base, worst[name]
        }
    }'
