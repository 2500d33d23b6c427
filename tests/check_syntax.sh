#!/bin/bash
# Checks the syntax of a file in place of compiling it, and leaves an empty object: check_syntax.sh COMPILER ARGUMENT...
# It is a compiler launcher of CMake.
set -euo pipefail
"$@" -fsyntax-only
while [[ $1 != -o ]]; do shift; done
: >"$2"
