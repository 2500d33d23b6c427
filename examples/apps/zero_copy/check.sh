#!/bin/bash
# check.sh PROGRAM CASE: runs zero_copy and checks its output and exit status.
set -u
program=$1 case=$2
shared=$'shared memory: 2097152 bytes of ordinary pages\n'

# expect STATUS OUTPUT COMMAND...: OUTPUT is a pattern for the whole output.
expect() {
    local wanted=$1 pattern=$2 output status
    output=$("${@:3}" 2>&1)
    status=$?
    echo "$output"
    if ((status == 77)); then exit 77; fi
    if ((status != wanted)); then echo "the exit status is $status, expected $wanted" && exit 1; fi
    if ! [[ $output =~ ^$pattern$ ]]; then echo "the output does not match: $pattern" && exit 1; fi
}

# counts BUFFER TENSOR KERNEL CAMERA [RUNS]: prints the pattern for the copies at each step and for the physical pages.
counts() {
    local own=192 runs=${5:-[0-9]+}
    if (($2 != 0)); then own=0; fi
    echo "3 frames of 262144 bytes
physical pages: (hidden from this user|$own of 192 are the camera's, in $runs runs)
copies, into the buffer: $1
copies, camera to tensor: $2
copies, tensor to kernel: $3
copies, kernel to camera: $4
copies: $(($1 + $2 + $3 + $4))"
}

case $case in
shared) expect 0 "$shared$(counts 0 0 0 0)" "$program" --memory shared ;;
copying_camera) expect 1 "$shared$(counts 3 0 0 0)" "$program" --memory shared --copying camera ;;
copying_tensor) expect 1 "$shared$(counts 0 3 0 3)" "$program" --memory shared --copying tensor ;;
copying_kernel) expect 1 "$shared$(counts 0 0 3 3)" "$program" --memory shared --copying kernel ;;
usage) expect 2 "usage: .*" "$program" --memory elsewhere ;;
refused) # without the capability to see physical pages, the device cannot confirm that memory is contiguous
    drop=()
    if ((EUID == 0)); then drop=(setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin); fi
    "${drop[@]}" true || { echo "skipped: this user cannot drop a capability" && exit 77; }
    expect 0 "no contiguous memory: .*
$shared$(counts 0 0 0 0)" "${drop[@]}" "$program"
    ;;
contiguous) # with one more huge page in the system's reserve; concurrent runs wait for the lock
    reserve=/proc/sys/vm/nr_hugepages
    exec 9<$reserve && flock 9 && before=$(<$reserve) || exit 1
    trap 'echo "$before" >$reserve' EXIT
    if ! echo $((before + 1)) 2>/dev/null >$reserve || (($(<$reserve) <= before)); then
        trap - EXIT
        echo "skipped: no huge page can be reserved (this requires root and unfragmented memory)"
        exit 77
    fi
    expect 0 "contiguous memory: 2097152 bytes at bus address 0x[0-9a-f]*[02468ace]00000
$(counts 0 0 0 0 3)" "$program"
    ;;
*) echo "unknown case $case" && exit 1 ;;
esac
