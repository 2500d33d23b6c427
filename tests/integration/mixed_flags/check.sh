#!/bin/bash
# Files of one program may be compiled with different flags. The types are the same, and every answer of every call is
# the same for all flags, compilers, and link orders.
# usage: check.sh COMPILER...     ALLOT_LONG=1: more flags, and every pair
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
(($#)) || { sed -n '/^# usage/,/^set/s/^# //p' "$0" >&2 && exit 2; }

flags=(O0 O1 Os O3)
[[ ! ${ALLOT_LONG-} ]] || flags+=(Og O2)
compilers=()
for each; do
    if command -v "$each" >/dev/null; then compilers+=("$each"); fi
done
((${#compilers[@]})) || { echo "skipped: no compiler of $*" && exit 77; }
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

# One object for every compiler and flag. Its name is a namespace.
parts=()
for ((c = 0; c != ${#compilers[@]}; ++c)); do
    for flag in "${flags[@]}"; do parts+=("by_${c}_$flag"); done
done
compile() { # PART
    local flag=${1##*_} compiler=${1#by_}
    "${compilers[${compiler%_*}]}" -std=c++20 "-$flag" ${ALLOT_LONG:+-DALL_SUBJECTS} -I "$here/../../../include" -DPART="$1" -c "$here/part.cpp" -o "$1.o"
}
for ((i = 0; i < ${#parts[@]}; i += 2)); do # two at a time
    compile "${parts[i]}" &
    compile "${parts[i + 1]}"
    wait $!
done

failed=0
play() { # FIRST SECOND: in link order
    local main=(-DFIRST="$1") objects=("$1.o")
    if [[ $1 != "$2" ]]; then main+=(-DSECOND="$2") objects+=("$2.o"); fi
    "${compilers[0]}" -std=c++20 "${main[@]}" "$here/main.cpp" "${objects[@]}" -o program
    ./program >answers || { echo "$1 and $2: ended with $?" && failed=1 && return; }
    [[ -e expected ]] || cp answers expected
    cmp -s expected answers && return
    echo "$1 and $2, linked in this order: expected"
    diff expected answers >difference || sed -n '2p;/^>/{p;q}' difference
    failed=1
}
for first in "${parts[@]}"; do
    for second in "${parts[@]}"; do
        # The short run has every object alone, and objects compiled for size with others.
        if [[ ! ${ALLOT_LONG-} && $first != "$second" ]]; then
            if [[ $first == *Os && $second == *Os || $first != *Os && $second != *Os ]]; then continue; fi
        fi
        play "$first" "$second"
    done
done
exit $failed
