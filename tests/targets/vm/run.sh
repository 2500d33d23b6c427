#!/bin/bash
# Runs a test program in a virtual machine whose kernel has the drivers of DMA buffers: a heap of contiguous memory (32
# MiB), the system heap, and udmabuf. No packaged kernel of Debian has the first.
#
#     tests/targets/vm/run.sh build/gcc/tests/test_dma
#     VM_NAME=x VM_FILES=build/files VM_ENVIRONMENT="A=1 B=2" VM_MEMORY=1024 tests/targets/vm/run.sh PROGRAM ARGUMENT...
#
# VM_FILES is a list of files, one path a line, that the program finds at the same paths. Neither arguments nor
# environment may contain a space. VM_NAME names the generated files; the output without it is in build/vm/console.log,
# where ./dev devices reads the devices of the tests.
#
# The script builds the kernel from Debian's linux-source-* with kernel.config (about four minutes of CPU time) and
# keeps it under build/vm. The VM is emulated (QEMU's TCG) and needs no privilege. It boots from a kernel and an
# initramfs with the program and its libraries. The exit status is that of the program, or 77 with a reason if the VM
# cannot run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
program=$1
vm=build/vm
mkdir -p "$vm"

[[ -x $program ]] || { echo "no program $program" && exit 1; }

skip() { echo "skipped: $*" && exit 77; }

[[ $(uname -m) == x86_64 ]] || skip "the VM is for x86_64"
for tool in qemu-system-x86_64 cpio gzip g++ ldd; do
    command -v "$tool" >/dev/null || skip "no $tool for the VM"
done

# The kernel. Its name contains the versions of its inputs.
sources=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' | sort -V | tail -n 1)
[[ -n $sources ]] || skip "no linux-source-*.tar.xz in /usr/src for the VM's kernel"
package=$(basename "$sources" .tar.xz)
version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || true)
kernel=$vm/$package-$version-$(sha256sum tests/targets/vm/kernel.config | cut -c1-12)
if [[ ! -e $kernel ]]; then
    for tool in make gcc flex bison bc xz; do
        command -v "$tool" >/dev/null || skip "no $tool to build the VM's kernel"
    done
    echo "building the VM's kernel from $package (once, a few minutes)"
    {
        rm -rf "$vm/linux" && mkdir "$vm/linux" && tar -xf "$sources" -C "$vm/linux" --strip-components 1
        cp tests/targets/vm/kernel.config "$vm/linux/allot.config"
        (
            cd "$vm/linux"
            make tinyconfig
            scripts/kconfig/merge_config.sh -m .config allot.config
            make olddefconfig
            while read -r line; do # make drops unsupported options silently
                [[ $line != CONFIG_*=y ]] || grep -qx "$line" .config || { echo "no $line here" && exit 1; }
            done <allot.config
            make -j"$(nproc)" bzImage
        )
        mv "$vm/linux/arch/x86/boot/bzImage" "$kernel"
        rm -rf "$vm/linux"
    } >"$vm/kernel.log" 2>&1 </dev/null || { tail -n 40 "$vm/kernel.log" && exit 1; }
fi

name=${VM_NAME:-console}
root=$vm/$name.root
rm -rf "$root" && mkdir -p "$root"/{dev,proc,sys,tmp}
g++ -std=c++20 -O1 -static tests/targets/vm/init.cpp -o "$root/init"
cp "$program" "$root/test"
ldd "$program" | grep -o '/[^ ]*' | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"
done
if [[ -n ${VM_FILES-} ]]; then
    while read -r file; do
        mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
    done <"$VM_FILES"
fi
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$vm/$name.initramfs.gz"

status=0
timeout 600 qemu-system-x86_64 -accel tcg -M pc -cpu max -m "${VM_MEMORY-512}" -no-reboot -nic none \
    -display none -monitor none -serial stdio \
    -kernel "$kernel" -initrd "$vm/$name.initramfs.gz" \
    -append "console=ttyS0 panic=-1 quiet cma=32M ${VM_ENVIRONMENT-} -- ${*:2}" \
    -device isa-debug-exit,iobase=0xf4,iosize=4 </dev/null >"$vm/$name.log" 2>&1 || status=$?
tr -d '\r' <"$vm/$name.log"
# 2 n + 3 is status n of the program. Any other status is a failure (1: the emulator, 0: the kernel restarted, 124:
# timeout).
if ((status % 2 == 0 || status < 3)); then
    echo "the VM ended with $status"
    exit 1
fi
exit $(((status - 3) / 2))
