#!/bin/bash
# Called by base.sh through mmdebstrap once the packages are set up: fetches the kernel's package, and makes what starts a
# board, FOLDER/boot, as it lies on the boot partition: GRUB's program for UEFI, and what a Raspberry Pi needs before it.
#
#   scripts/image/base-extras.sh TREE FOLDER MODULES
set -euo pipefail
tree=$1 folder=$2 modules=$3
work=$(mktemp -d "$folder/extras.XXXXXX")
trap 'rm -rf "$work"' EXIT
export APT_CONFIG=${MMDEBSTRAP_APT_CONFIG:?called by mmdebstrap alone}
cd "$work"
# The package without a version names the one with it; apt checks all of them by Debian's signature.
kernel=$(apt-cache depends linux-image-arm64:arm64 | sed -n 's/^ *Depends: \(linux-image-[0-9][^ :]*\).*/\1/p')
apt-get -qq download "$kernel:arm64" grub-efi-arm64-bin:arm64 grub-common:arm64 libdevmapper1.02.1:arm64 libfuse3-4:arm64 \
  libefiboot1t64:arm64 libefivar1t64:arm64 u-boot-rpi:arm64 raspi-firmware:all >&2
mkdir tools linux
dpkg-deb --extract "$kernel"_*.deb linux
mv "$kernel"_*.deb "$folder/kernel.deb"
# GRUB's maker is a program for arm64, which runs in the tree.
for package in *.deb; do dpkg-deb --extract "$package" tools; done
mkdir "$tree/tmp/grub"
cp -a tools/usr/. "$tree/tmp/grub/"
# shellcheck disable=SC2086 # a list of words
chroot "$tree" /usr/bin/env LD_LIBRARY_PATH=/tmp/grub/lib/aarch64-linux-gnu /tmp/grub/bin/grub-mkimage --directory=/tmp/grub/lib/grub/arm64-efi \
  --format=arm64-efi --prefix=/EFI/BOOT --output=/tmp/grub.efi $modules
install -D -m 644 "$tree/tmp/grub.efi" "$folder/boot/EFI/BOOT/BOOTAA64.EFI"
rm -rf "$tree/tmp/grub" "$tree/tmp/grub.efi"
# A Raspberry Pi 3 or 4: its own first stages, U-Boot, which stands for UEFI, and the kernel's tables of its devices.
for name in bootcode.bin start.elf fixup.dat start4.elf fixup4.dat; do
  install -m 644 "tools/usr/lib/raspi-firmware/$name" "$folder/boot/"
done
install -m 644 tools/usr/lib/u-boot/rpi_arm64/u-boot.bin "$folder/boot/"
install -m 644 linux/usr/lib/linux-image-*/broadcom/bcm2837-rpi-*.dtb linux/usr/lib/linux-image-*/broadcom/bcm2711-rpi-*.dtb "$folder/boot/"
# Their licences ask to be handed on with them.
for name in grub-common u-boot-rpi raspi-firmware; do
  install -D -m 644 "tools/usr/share/doc/$name/copyright" "$folder/boot/licences/$name.txt"
done
install -m 644 linux/usr/share/doc/linux-image-*/copyright "$folder/boot/licences/linux.txt"
