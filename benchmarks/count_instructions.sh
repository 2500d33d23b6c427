#!/bin/bash
# Counts the instructions of the operations in instructions*.cpp with callgrind. Prints lines 'case/operation mean
# worst', without the call itself.
# usage: count_instructions.sh PROGRAM [CASES]
set -euo pipefail
export LC_ALL=C # decimal points
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
valgrind -q --tool=callgrind --combine-dumps=yes --callgrind-out-file="$counts" "$@" >&2
awk '
    /^desc: Trigger: / { name = /Client Request: / ? $NF : "" }
    /^totals: / && name != "" {
        if (name ~ /^empty\//) {
            empty[substr(name, 7)] = $2
        } else {
            case_name = name
            sub(/\/[^\/]*$/, "", case_name)
            cost = $2 - empty[case_name (name ~ /\/deallocate$/ ? "/deallocate" : "/allocate")]
            if (!(name in count)) order[++names] = name
            ++count[name]
            sum[name] += cost
            if (cost > worst[name]) worst[name] = cost
        }
        name = ""
    }
    END {
        for (i = 1; i <= names; ++i) printf "%s %.3f %d\n", order[i], sum[order[i]] / count[order[i]], worst[order[i]]
        exit names == 0
    }' "$counts"
