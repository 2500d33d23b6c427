#!/bin/bash
# Runs the command blocks of README and docs unchanged in a bare Debian 12, each page in a separate root:
#
#     bare_root.sh [PAGE.md...]      default: README, docs and the examples' READMEs
#
# Exits with 77 and prints the reason where no such root can be created. The run takes an hour, most of it for ./dev test
# and ./dev bench of the README.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

skip() {
    echo "skipped: $*"
    exit 77
}
pages=("$@")
if ((${#pages[@]} == 0)); then
    pages=(README.md CONTRIBUTING.md docs/*.md examples/apps/*/README.md bindings/*/README.md)
fi
((EUID == 0)) || skip "only root can create a bare Debian root"
maker=$(command -v mmdebstrap || command -v debootstrap) || skip "neither mmdebstrap nor debootstrap is installed"

scratch=$(mktemp -d /var/tmp/allot_bare.XXXXXX)
root=$scratch/root
forget_root() {
    local each
    for each in sys dev proc; do
        if mountpoint -q "$root/$each"; then umount -R "$root/$each" || umount -Rl "$root/$each"; fi
    done
    rm -rf --one-file-system "$root"
}
trap 'forget_root; rm -rf --one-file-system "$scratch"' EXIT

echo "== creating a Debian 12 with $(basename "$maker")"
if [[ $maker == */mmdebstrap ]]; then
    mmdebstrap --quiet --variant=minbase bookworm "$scratch/bare" >"$scratch/log" 2>&1
else
    debootstrap --variant=minbase bookworm "$scratch/bare" >"$scratch/log" 2>&1
fi || {
    tail -n 5 "$scratch/log"
    skip "Debian's mirror does not respond, or no root can be created here"
}

# Network access uses this machine's proxies and their certificates.
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
    DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_DEFAULT_TIMEOUT; do
    if [[ -v $name ]]; then environment+=("$name=${!name}"); fi
done
certificates=/etc/ssl/certs/ca-certificates.crt kept=/src/certificates.crt # a package may replace the system's file
if [[ -e $certificates ]]; then environment+=("PIP_CERT=$kept" "SSL_CERT_FILE=$kept"); fi

tar -c '--exclude=./build*' --exclude=./.git -f "$scratch/tree.tar" .
failed=() ran=0
for page in "${pages[@]}"; do
    script=$(tests/integration/documentation/commands.py print "$page")
    [[ $script ]] || continue
    echo "== $page"
    cp -a "$scratch/bare" "$root"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    if [[ -e $certificates ]]; then install -D -m 644 "$certificates" "$root$kept"; fi
    mkdir -p "$root/src/allot"
    tar -x -C "$root/src/allot" -f "$scratch/tree.tar"
    printf '%s\n' "$script" >"$root/src/page.sh"
    for each in proc dev sys; do mount --rbind "/$each" "$root/$each" && mount --make-rslave "$root/$each"; done
    chroot "$root" env -i "${environment[@]}" bash -c 'apt-get -qq update && cd /src/allot && bash ../page.sh' </dev/null ||
        failed+=("$page")
    forget_root
    ran=$((ran + 1))
done
if ((${#failed[@]})); then
    echo "the commands of these pages fail in a bare Debian: ${failed[*]}"
    exit 1
fi
echo "the commands of $ran pages pass in a bare Debian"
