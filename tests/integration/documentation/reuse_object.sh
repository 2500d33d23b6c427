#!/bin/bash
# Copies an object of the build in the folder ALLOT_BUILT in place of compiling the same file in a build folder of this
# name: reuse_object.sh COMPILER ARGUMENT... It is a compiler launcher of CMake, and compiles a file without an object.
set -euo pipefail
arguments=("$@")
object='' dependencies=''
while (($#)); do
    case $1 in
    -o) object=$2 ;;
    -MF) dependencies=$2 ;;
    esac
    shift
done
if [[ ${PWD##*/} != "${ALLOT_BUILT##*/}" || ! $dependencies || ! -s $ALLOT_BUILT/$object ]]; then
    exec "${arguments[@]}"
fi
cp "$ALLOT_BUILT/$object" "$object"
echo "$object:" >"$dependencies"
