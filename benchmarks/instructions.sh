#!/bin/bash
# Instructions per operation, counted by callgrind, and the ratio to the first case of each group (by hand, or malloc).
# A pool's or best fit's operation is a pair of allocate and deallocate. The loop around it is counted in every case.
# usage: instructions.sh PROGRAM
set -euo pipefail
program=$1

count() { # CASE COUNT: instructions of the whole run
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
        awk '/Collected/ { print $NF }'
}

group=
while read -r name; do
    few=$(count "$name" 1024)
    many=$(count "$name" 103424)
    if [[ ${name%%/*} != "$group" ]]; then
        group=${name%%/*}
        first=$((many - few))
    fi
    awk -v name="$name" -v n=$((many - few)) -v first="$first" 'BEGIN {
        printf "%-28s %7.1f instructions %6.2fx\n", name, n / 102400, n / first }'
done < <("$program")
