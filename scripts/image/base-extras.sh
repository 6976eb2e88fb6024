#!/bin/bash
# Called by base.sh through mmdebstrap once the packages are set up: fetches the kernel's package, and makes GRUB's program.
#
#   scripts/image/base-extras.sh TREE FOLDER MODULES
set -euo pipefail
tree=$1 folder=$2 modules=$3
work=$(mktemp -d "$folder/extras.XXXXXX")
trap 'rm -rf "$work"' EXIT
export APT_CONFIG=${MMDEBSTRAP_APT_CONFIG:?called by mmdebstrap alone}
cd "$work"
# The package without a version names the one with it; apt checks both by Debian's signature.
kernel=$(apt-cache depends linux-image-arm64:arm64 | sed -n 's/^ *Depends: \(linux-image-[0-9][^ :]*\).*/\1/p')
apt-get -qq download "$kernel:arm64" grub-efi-arm64-bin:arm64 grub-common:arm64 libdevmapper1.02.1:arm64 libfuse3-4:arm64 libefiboot1t64:arm64 libefivar1t64:arm64 >&2
mv "$kernel"_*.deb "$folder/kernel.deb"
# GRUB's maker is a program for arm64, which runs in the tree.
mkdir tools
for package in *.deb; do dpkg-deb --extract "$package" tools; done
mkdir "$tree/tmp/grub"
cp -a tools/usr/. "$tree/tmp/grub/"
# shellcheck disable=SC2086 # a list of words
chroot "$tree" /usr/bin/env LD_LIBRARY_PATH=/tmp/grub/lib/aarch64-linux-gnu /tmp/grub/bin/grub-mkimage --directory=/tmp/grub/lib/grub/arm64-efi \
  --format=arm64-efi --prefix=/EFI/BOOT --output=/tmp/grub.efi $modules
mv "$tree/tmp/grub.efi" "$folder/grub.efi"
rm -rf "$tree/tmp/grub"
