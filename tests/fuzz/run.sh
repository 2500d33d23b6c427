#!/bin/bash
# Runs all fuzzers concurrently for some minutes, on the inputs in corpus/ and those of earlier runs:
#
#     run.sh PROGRAMS MINUTES [--keep] [NAME...]
#
# PROGRAMS is the folder of the programs fuzz_NAME. New inputs go to build/fuzz. With --keep, a minimal set of inputs
# that reach more code is added to corpus/. Fails if an input fails, and prints the name of its file.
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
        echo "$name: FAILED; the full log is build/fuzz/$name.log"
        return 1
    fi
    echo "$name: $(sed -n 's/^Done \([0-9]* runs\) .*/\1/p' "build/fuzz/$name.log"), all passed"
    if [[ $keep ]]; then
        "$programs/fuzz_$name" -merge=1 -set_cover_merge=1 -max_len=1024 "$corpus" "$found" >>"build/fuzz/$name.log" 2>&1
    fi
}
export -f fuzz
export programs minutes keep
printf '%s\n' "${names[@]}" | xargs -P "${#names[@]}" -I{} bash -euo pipefail -c 'fuzz {}'
