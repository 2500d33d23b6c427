#!/bin/bash
# Runs fuzzers, all at once, for some minutes, on the inputs in corpus/ and those that it found earlier:
#
#     run.sh PROGRAMS MINUTES [--keep] [NAME...]
#
# PROGRAMS is the folder of the programs fuzz_NAME. What is found goes to build/fuzz. With --keep, the inputs that reach
# code which corpus/ does not reach are added to it, as few as will do. Fails when an input does, and names its file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
programs=$1 minutes=$2
shift 2
keep=
if [[ ${1-} == --keep ]]; then keep=1 && shift; fi
names=("$@")
if ((${#names[@]} == 0)); then
    for each in tests/fuzz/*_fuzz.cpp; do
        each=$(basename "$each" _fuzz.cpp)
        [[ -x $programs/fuzz_$each ]] && names+=("$each")
    done
fi

fuzz() { # NAME
    local name=$1 found=build/fuzz/$1 corpus=tests/fuzz/corpus/$1
    mkdir -p "$found" "$corpus"
    if ! "$programs/fuzz_$name" "$found" "$corpus" -max_total_time=$((minutes * 60)) -max_len=8192 -timeout=60 \
        -rss_limit_mb=1024 -artifact_prefix="build/fuzz/$name-" >"build/fuzz/$name.log" 2>&1; then
        grep -vE '^#[0-9]+\s+(NEW|REDUCE|RELOAD|pulse)' "build/fuzz/$name.log" | tail -n 40
        echo "$name: FAILED; all of it is in build/fuzz/$name.log"
        return 1
    fi
    echo "$name: $(sed -n 's/^Done \([0-9]* runs\) .*/\1/p' "build/fuzz/$name.log"), none of which failed"
    if [[ $keep ]]; then
        "$programs/fuzz_$name" -merge=1 -set_cover_merge=1 -max_len=1024 "$corpus" "$found" >>"build/fuzz/$name.log" 2>&1
    fi
}
export -f fuzz
export programs minutes keep
printf '%s\n' "${names[@]}" | xargs -P "${#names[@]}" -I{} bash -euo pipefail -c 'fuzz {}'
