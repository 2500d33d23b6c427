#!/bin/bash
# Compiles the planner of the documentation site to WebAssembly by Zig's Clang: compile.sh PYTHON OUTPUT.wasm
#
# PYTHON has the package ziglang. The first compilation also builds its C++ library: some seconds more. A module that is
# newer than all sources stays. Without exceptions in the module: see planner.cpp.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
here=$root/docs/site/planner
if [[ -e $2 && ! $(find "$root"/include "$root"/examples/apps/{memory_planner,network_demo} "$here" -newer "$2" -print -quit) ]]; then
    exit
fi
mkdir -p "$(dirname "$2")"
"$1" -m ziglang c++ -target wasm32-wasi -mexec-model=reactor -std=c++20 -Oz -DNDEBUG -fexceptions -I "$root/include" \
    -Wall -Wextra -Wl,-z,stack-size=1048576 -s "$here/planner.cpp" -o "$2"
