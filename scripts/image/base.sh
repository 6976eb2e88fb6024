#!/bin/bash
# Makes the Debian below an image, without Plantroom: build/image/cache/<key>/{root.tar,kernel.deb,boot,SHA256SUMS}.
# Prints the folder. What is there is checked by its hashes and used again, until the list of packages or this script changes.
#
#   scripts/image/base.sh              needs root
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly suite=trixie
# What GRUB can do without its folder of modules: read a slot, read and write grubenv, choose, start Linux.
readonly grub_modules='part_gpt fat squash4 normal linux loadenv test echo configfile search search_label reboot sleep'

key=$(cat scripts/image/base.sh scripts/image/base-extras.sh firmware-images/packages.list | sha256sum | cut -c 1-16)
readonly cache=build/image/cache
readonly made=$cache/$key
if [ -e "$made/SHA256SUMS" ]; then
  if (cd "$made" && sha256sum --check --quiet --strict SHA256SUMS) >&2; then
    echo "$made"
    exit 0
  fi
  echo "$made is not what was downloaded: it is made anew" >&2
fi
[ "$(id -u)" = 0 ] || { echo 'an image is made by root: sudo make image' >&2; exit 3; }
if ! arch-test arm64 >/dev/null 2>&1; then
  # In a container nobody has mounted it.
  [ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  update-binfmts --enable qemu-aarch64
fi

next=$made.new
rm -rf "$cache"/*.new "$made"
mkdir -p "$next"
trap 'rm -rf "$next"' EXIT

# Proxies and their certificates are this machine's business: its own apt settings are used.
apt-config dump | grep '^Acquire' >"$next/apt.conf" || true
packages=$(sed 's/#.*//' firmware-images/packages.list | tr -s '\n' ',' | sed 's/^,//; s/,$//')
# The kernel's package is unpacked by build.sh, not installed: its scripts take minutes on an emulated processor. GRUB's
# tools make its program and leave again. dpkg's lists stay: they say what is in the image. The first stages of a Raspberry
# Pi are in non-free-firmware; nothing else is taken from there.
mmdebstrap --quiet --components=main,non-free-firmware --variant=essential --architectures=arm64 --include="$packages" --aptopt="$next/apt.conf" \
  --aptopt='Apt::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --customize-hook="scripts/image/base-extras.sh \"\$1\" '$PWD/$next' '$grub_modules'" \
  "$suite" "$next/root.tar" >&2
rm -f "$next/apt.conf"
sums=$(cd "$next" && find . -type f -exec sha256sum {} +)
echo "$sums" >"$next/SHA256SUMS"
# One base is kept: the one for these inputs.
find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name "$key.new" -exec rm -rf {} +
mv "$next" "$made"
trap - EXIT
echo "$made"
