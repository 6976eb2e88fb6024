#!/bin/bash
# Makes what a guest boots: build/vm/<key>/{vmlinuz,initrd,root.img}, a Debian trixie with the full kernel (the cloud
# ones have no USB), systemd as process 1, QEMU's guest agent, and a source of packages within the guest. Prints the folder.
#
#   scripts/vm/make-image.sh        needs root; does nothing where the inputs have not changed
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly suite=trixie
# From GStreamer on: what the board needs for sound, and what plays and records beside it.
readonly packages=systemd-sysv,udev,dbus,kmod,iproute2,linux-image-amd64,qemu-guest-agent,iputils-ping,python3-serial,curl,procps,init-system-helpers,gstreamer1.0-plugins-base,gstreamer1.0-plugins-good,libasound2t64,alsa-utils
# What a test installs in a guest, as from the network: the stock USB/IP client.
readonly offered='usbip usb.ids libwrap0'
# What the kernel needs before it has a root file system.
readonly modules='virtio_pci virtio_blk ext4'
readonly size=3G

key=$(cat scripts/vm/make-image.sh scripts/vm/image/* | sha256sum | cut -c 1-16)
readonly work=build/vm
readonly made=$work/$key
if [ -e "$made/root.img" ]; then
  echo "$made"
  exit 0
fi
[ "$(id -u)" = 0 ] || { echo 'the guest image is made by root: sudo make vm-test' >&2; exit 3; }

[ "$(dpkg --print-architecture)" = amd64 ] || { echo 'the guest is made on amd64 alone' >&2; exit 3; }
mkdir -p "$work"
exec 9>"$work/lock"
flock --timeout 600 9 || { echo 'another make-image.sh holds build/vm/lock' >&2; exit 1; }
rm -rf "$work"/*.new
next=$made.new
tree=$next/tree
mkdir -p "$next"
trap 'rm -rf "$next"' EXIT

# Mirrors, proxies and their certificates are this machine's business: its own apt settings are used.
apt-config dump | grep '^Acquire' >"$next/apt.conf" || true
# INITRD=No: the kernel's package makes no initrd of its own, ours takes a tenth of the time to unpack.
INITRD=No mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt="$next/apt.conf" \
  --aptopt='Apt::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook="mkdir \"\$1/srv/packages\" && cd \"\$1/srv/packages\" && \
    APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-get -qq download $offered" \
  "$suite" "$tree" >"$work/mmdebstrap.log" 2>&1 || { cat "$work/mmdebstrap.log" >&2; exit 1; }

kernel=$(basename "$tree"/usr/lib/modules/*)
cp "$tree/boot/vmlinuz-$kernel" "$next/vmlinuz"
rm -rf "${tree:?}"/boot/* "$tree"/vmlinuz* "$tree"/var/cache/apt/* "$tree"/var/lib/apt/lists/*

# --- the initrd: busybox, the modules in the order in which they load, our init
early=$next/early
mkdir -p "$early"/{bin,dev,proc,sys,root,modules}
cp /bin/busybox "$early/bin/"
install -m 755 scripts/vm/image/init "$early/init"
for module in $modules; do
  modprobe --dirname "$PWD/$tree" --set-version "$kernel" --show-depends "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
  name=$(basename "$file" .ko.xz)
  xz --decompress --stdout "$file" >"$early/modules/$name.ko"
  echo "$name" >>"$early/modules/order"
done
(cd "$early" && find . | cpio --create --format=newc --quiet) >"$next/initrd"

# --- the system
install -m 644 scripts/vm/image/bed.conf "$tree/etc/systemd/system.conf.d/bed.conf" -D
install -m 644 scripts/vm/image/lab.network "$tree/etc/systemd/network/lab.network"
install -m 644 scripts/vm/image/modules.conf "$tree/etc/modprobe.d/bed.conf"
install -m 644 scripts/vm/image/host.mount "$tree/etc/systemd/system/host.mount"
# Below /usr as a system's own: what is below /etc is what tests and scripts have set up.
install -m 644 scripts/vm/image/slow.conf "$tree/usr/lib/systemd/system/plantroom-board.service.d/slow.conf" -D
echo guest >"$tree/etc/hostname"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$tree/etc/hosts"
# The source: a folder with an index.
echo 'deb [trusted=yes] file:/srv/packages ./' >"$tree/etc/apt/sources.list"
for package in "$tree"/srv/packages/*.deb; do
  dpkg-deb --field "$package"
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$(basename "$package")" "$(stat --format=%s "$package")" \
    "$(sha256sum "$package" | cut -d ' ' -f 1)"
done | xz >"$tree/srv/packages/Packages.xz"
# Made anew at the first start of each guest, as on a fresh card.
: >"$tree/etc/machine-id"
# The root is mounted by the initrd, and checked by nobody: it is new.
: >"$tree/etc/fstab"
# A start does nothing that only a changed system needs.
touch "$tree/etc/.updated" "$tree/var/.updated"
systemctl --quiet --root="$tree" enable systemd-networkd host.mount
systemctl --quiet --root="$tree" mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
  e2scrub_reap.service fstrim.timer systemd-firstboot.service getty@tty1.service serial-getty@ttyS0.service \
  systemd-networkd-wait-online.service modprobe@drm.service modprobe@efi_pstore.service modprobe@fuse.service \
  proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount systemd-binfmt.service sys-kernel-debug.mount \
  sys-kernel-tracing.mount dev-hugepages.mount dev-mqueue.mount ldconfig.service
systemctl --quiet --root="$tree" set-default multi-user.target

truncate --size "$size" "$next/root.img"
mke2fs -q -t ext4 -L guest -d "$tree" "$next/root.img"
rm -rf "$tree" "$early" "$next/apt.conf"
# One image is kept: the one for these inputs.
find "$work" -mindepth 1 -maxdepth 1 -type d ! -name "$key.new" -exec rm -rf {} +
mv "$next" "$made"
echo "$made"
