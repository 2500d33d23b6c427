#!/bin/bash
# Format, spelling, prose, and static analysis: lint.sh [FOLDER-OF-PIP-TOOLS]
#
# clang-format 18 for all C++ files, codespell for all text, proselint for documents and comments of headers, clang-tidy for
# the public headers that need no SDK. A tool that is not installed is skipped with a message. Exits with 1 on a finding.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${1:-$PWD/build/tools/bin}
scratch=build/lint
mkdir -p "$scratch"
status=0 skipped=0

files() { # PATTERN...: the files of the repository, or of an unpacked archive
    git ls-files -- "$@" 2>/dev/null || find . -type f \( -name "${1#\*}" \) -not -path './build/*'
}
check() { # NAME COMMAND...
    "${@:2}" >"$scratch/$1.log" 2>&1 && return
    status=1
    echo "== $1"
    head -n 100 "$scratch/$1.log"
}
find_tool() { # NAME: sets tool
    tool=$tools/$1
    [[ -x $tool ]] || tool=$(command -v "$1") || {
        echo "skipped: $1 is not installed (./dev lint installs it)"
        skipped=$((skipped + 1))
        return 1
    }
}

mapfile -t sources < <(files '*.hpp' '*.cpp' '*.cu' '*.h' | grep -vE '^(bindings/(onnxruntime|tvm)/missing|tests/integration/tvm/stand_in)/')
if find_tool clang-format && [[ $("$tool" --version) == *" 18."* ]]; then
    check format "$tool" --dry-run --Werror "${sources[@]}"
fi

if find_tool codespell; then
    check spelling "$tool" --ignore-words tests/integration/words.txt "${sources[@]}" \
        README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/*/*.md examples/*.md examples/*/*/*.md bindings/*/*.md dev
fi

if find_tool proselint; then
    rm -rf "$scratch/prose" # typography concerns typeset text, not Markdown
    tests/integration/prose_test.py --write "$scratch/prose"
    echo '{"checks": {"typography": false}}' >"$scratch/proselint.json"
    mapfile -t prose < <(find "$scratch/prose" -type f | sort)
    check prose "$tool" check --config "$scratch/proselint.json" "${prose[@]}"
fi

if find_tool clang-tidy; then
    for umbrella in allot object page_cache plan tensor; do echo "#include <allot/$umbrella.hpp>"; done >"$scratch/headers.cpp"
    check analysis "$tool" --quiet "$scratch/headers.cpp" --config-file=.clang-tidy -- -std=c++20 -Iinclude
fi
((status == 0 && skipped == 4)) && exit 77
exit $status
