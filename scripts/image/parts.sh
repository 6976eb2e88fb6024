# The steps that make an image, one function each; sourced by build.sh, and by the test for further systems.
# shellcheck shell=bash

readonly work=build/image
readonly tree=$work/tree
readonly recipes=firmware-images
# The kind of board: `ota.compatible`, and RAUC's. A board takes no other.
readonly compatible=plantroom-arm64
# Inside a slot: kernel, initrd, and the programs of the slots.
readonly own=usr/lib/plantroom-image

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then SOURCE_DATE_EPOCH=$(git log -1 --format=%ct); fi
export SOURCE_DATE_EPOCH

# Says what is done, and how long it took.
step() {
  local began=$SECONDS
  "${@:2}"
  echo "$1: $((SECONDS - began)) s"
}

listed() { sed -n "s/^$1 //p" "$recipes/modules.list"; }

# BASE KEYS: the system of a slot in $tree, but for its version.
make_tree() {
  local base=$1 keys=$2
  rm -rf "$tree"
  mkdir -p "$tree"
  step 'unpacking Debian' tar --extract --preserve-permissions --numeric-owner --xattrs --file "$base/root.tar" --directory "$tree"
  step 'installing Plantroom' install_plantroom
  step 'kernel and initrd' install_kernel "$base/kernel.deb"
  settle_tree "$keys"
}

install_plantroom() {
  local deb
  mkdir "$tree/tmp/plantroom"
  # The newest of each, as make deb leaves them.
  for name in plantroom plantroom-runtime; do
    deb=$(find build -maxdepth 1 -name "${name}_*_arm64.deb" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2)
    [ -n "$deb" ] || { echo "there is no build/${name}_*_arm64.deb: apt-get install g++-aarch64-linux-gnu, then make deb" >&2; exit 1; }
    cp "$deb" "$tree/tmp/plantroom/"
  done
  chroot "$tree" /usr/bin/env DEBIAN_FRONTEND=noninteractive dpkg --install --recursive /tmp/plantroom >"$work/dpkg.log" 2>&1 \
    || { cat "$work/dpkg.log" >&2; exit 1; }
  rm -rf "$tree/tmp/plantroom"
}

# Unpacked, not installed: the scripts of the package take minutes on an emulated processor, this machine's depmod seconds.
install_kernel() {
  local unpacked=$work/kernel version path
  rm -rf "$unpacked"
  dpkg-deb --extract "$1" "$unpacked"
  mkdir -p "$tree/usr/lib/modules" "$tree/$own"
  version=$(basename "$unpacked"/usr/lib/modules/*)
  mv "$unpacked/usr/lib/modules/$version" "$tree/usr/lib/modules/"
  install -m 644 "$unpacked/boot/vmlinuz-$version" "$tree/$own/vmlinuz"
  rm -rf "$unpacked"
  for path in $(listed drop); do rm -rf "${tree:?}/usr/lib/modules/$version/kernel/$path"; done
  depmod --basedir "$tree" "$version"
  make_initrd "$version" "$tree/$own/initrd"
}

# VERSION OUT: busybox, the modules that reach a disk, and init.
make_initrd() {
  local version=$1 out=$2 early=$work/early name file to
  rm -rf "$early"
  mkdir -p "$early"/{bin,sbin,dev,proc,sys,root}
  cp "$tree/usr/bin/busybox" "$early/bin/busybox"
  ln -s busybox "$early/bin/sh"
  # Where the kernel looks when it wants a module by itself.
  ln -s ../bin/busybox "$early/sbin/modprobe"
  install -m 755 "$recipes/init" "$early/init"
  # By modalias for what there is; the file systems are asked for by name.
  printf '%s\n' crc32c_generic squashfs overlay ext4 >"$early/modules.first"
  to=$early/lib/modules/$version
  mkdir -p "$to"
  for name in $(listed early); do
    modprobe --dirname "$PWD/$tree" --set-version "$version" --show-depends "$name" 2>/dev/null || true
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
    xz --decompress --stdout "$file" >"$to/$(basename "$file" .xz)"
  done
  cp "$tree/usr/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$to/"
  depmod --basedir "$early" "$version"
  rm -f "$to"/modules.*.bin
  (cd "$early" && find . | LC_ALL=C sort | cpio --create --format=newc --quiet --owner=0:0 --reproducible) | zstd --quiet -19 >"$out"
  rm -rf "$early"
}

# KEYS: our files, what starts by itself, and what a read-only slot does not need.
settle_tree() {
  local keys=$1
  cp -R --no-preserve=ownership "$recipes/tree/." "$tree/"
  chown -R 0:0 "$tree/etc/plantroom" "$tree/$own"
  install -D -m 644 "$keys/firmware.pem" "$tree/etc/plantroom/firmware-keys/release.pem"
  install -m 644 "$keys/release-root.pem" "$tree/$own/release-root.pem"
  mkdir -p "$tree/etc/rauc"
  install -m 644 "$recipes/rauc/system.conf" "$tree/etc/rauc/system.conf"
  sed -i "s/@COMPATIBLE@/$compatible/" "$tree/etc/rauc/system.conf" "$tree/etc/plantroom/board.toml"

  local daemon
  for daemon in daemons/*/; do
    install -D -m 644 "$recipes/slow-start.conf" "$tree/usr/lib/systemd/system/plantroom-$(basename "$daemon").service.d/slow-start.conf"
  done

  # Units start by the presets of the image, then by those of Debian.
  chroot "$tree" systemctl --quiet preset plantroom-board.service plantroom-helper.socket plantroom-first-boot.service \
    plantroom-slot.service plantroom-gateway.service plantroom-recorder.service systemd-networkd.service \
    systemd-resolved.service systemd-timesyncd.service ssh.service 2>/dev/null
  # What does nothing on a read-only slot, or looks for hardware that no board has: each costs a second of a slow start.
  chroot "$tree" systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
    e2scrub_reap.service systemd-firstboot.service systemd-networkd-wait-online.service getty@tty1.service \
    systemd-hwdb-update.service systemd-journal-catalog-update.service ldconfig.service modprobe@drm.service \
    modprobe@efi_pstore.service modprobe@fuse.service sys-fs-fuse-connections.mount sys-kernel-debug.mount \
    sys-kernel-tracing.mount dev-hugepages.mount systemd-pcrmachine.service systemd-pcrphase.service \
    systemd-pcrphase-sysinit.service systemd-tpm2-setup.service systemd-tpm2-setup-early.service
  chroot "$tree" systemctl --quiet set-default multi-user.target
  # A board looks for missing users at each start: none of its own image is to be missing, or all boards had a passwd of their own.
  chroot "$tree" systemd-sysusers
  # What the packages made that has to differ from board to board.
  rm -f "$tree"/etc/ssh/ssh_host_*
  : >"$tree/etc/machine-id"
  rm -f "$tree/var/lib/dbus/machine-id" "$tree/var/lib/systemd/random-seed" "$tree/etc/resolv.conf"
  ln -s ../run/systemd/resolve/stub-resolv.conf "$tree/etc/resolv.conf"
  echo plantroom >"$tree/etc/hostname"
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$tree/etc/hosts"
  # The list of packages belongs to the slot, not to what stays over updates.
  mkdir -p "$tree/usr/lib/sysimage" "$tree/data"
  mv "$tree/var/lib/dpkg" "$tree/usr/lib/sysimage/dpkg"
  ln -s ../../usr/lib/sysimage/dpkg "$tree/var/lib/dpkg"
  rm -rf "$tree/root"
  ln -s var/lib/roothome "$tree/root"
  rm -rf "$tree"/var/cache/* "$tree"/var/lib/apt/* "$tree"/var/log/* "$tree"/tmp/* "${tree:?}"/boot/* "$tree"/usr/share/locale/* \
    "$tree"/usr/lib/aarch64-linux-gnu/gconv "$tree"/usr/share/mime "$tree"/usr/share/icons "$tree"/usr/share/X11
  # The first start finds nothing to do; after an update it is done for the new system (systemd-update-done.service).
  touch --date="@$SOURCE_DATE_EPOCH" "$tree/usr" "$tree/etc/.updated" "$tree/var/.updated"
}

# VERSION OUT: the system in $tree, under a version, as a slot.
make_slot() {
  local version=$1 out=$2
  sed -i '/^IMAGE_/d' "$tree/usr/lib/os-release"
  printf 'IMAGE_ID=%s\nIMAGE_VERSION=%s\n' "$compatible" "$version" >>"$tree/usr/lib/os-release"
  # LZO: GRUB reads the kernel from it, and knows no zstd here; gzip is 9 % smaller, and takes a slow processor several
  # times as long. No fragments: the kernel would unpack 128 kB for each small file again and again.
  step "packing slot $version" mksquashfs "$tree" "$out.new" -noappend -comp lzo -b 128K -no-fragments -no-progress -quiet
  mv "$out.new" "$out"
}

# VERSION SLOT KEYS OUT [FLOOR]: RAUC's bundle, and round it the head that a board checks before it takes the rest.
make_update() {
  local version=$1 slot=$2 keys=$3 out=$4 floor=${5:-}
  make_bundle "$version" "$slot" "$keys" "$work/bundle.raucb"
  seal_update "$version" "$work/bundle.raucb" "$keys/firmware.key" "$out" "$floor"
  rm -f "$work/bundle.raucb"
}

# VERSION SLOT KEYS OUT
make_bundle() {
  local folder=$work/bundle
  rm -rf "$folder" "$4"
  mkdir -p "$folder"
  ln "$2" "$folder/rootfs.img"
  sed "s/@COMPATIBLE@/$compatible/; s/@VERSION@/$1/" "$recipes/rauc/manifest.raucm" >"$folder/manifest.raucm"
  # The slot is compressed already.
  rauc bundle --cert="$3/signer.pem" --key="$3/signer.key" --keyring="$3/release-root.pem" --mksquashfs-args='-comp gzip -noD -noF' \
    "$folder" "$4" >"$work/rauc.log" 2>&1 || { cat "$work/rauc.log" >&2; exit 1; }
  rm -rf "$folder"
}

# VERSION PAYLOAD KEY OUT [FLOOR]
seal_update() {
  build/plantroom firmware sign --key "$3" --compatible "$compatible" --version "$1" ${5:+--floor "$5"} "$2" "$4" >/dev/null
}

# BASE SLOT OUT: the card. The second slot is empty until the first update.
make_disk() {
  local base=$1 slot=$2 out=$3 boot=$work/boot.part data=$work/data.part env=$work/grubenv
  rm -f "$out" "$boot" "$data"
  truncate --size=64M "$boot"
  mkfs.vfat -F 32 -n BOOT -i 504c5254 --invariant "$boot" >/dev/null
  # In place from now on: GRUB and boot-state write over it, and neither could make it.
  { echo '# GRUB Environment Block'; printf '%s\n' 'ORDER=A B' A_OK=1 A_LEFT=3 B_OK=0 B_LEFT=0; head -c 1024 /dev/zero | tr '\0' '#'; } \
    | head -c 1024 >"$env"
  mcopy -s -i "$boot" "$base"/boot/* ::
  mcopy -i "$boot" "$recipes/config.txt" ::config.txt
  # Its size is built into Debian's U-Boot (CONFIG_ENV_SIZE).
  mkenvimage -s 0x4000 -o "$work/uboot.env" "$recipes/uboot.env.txt"
  mcopy -i "$boot" "$work/uboot.env" ::uboot.env
  mcopy -i "$boot" "$recipes/grub.cfg" ::EFI/BOOT/grub.cfg
  mcopy -i "$boot" "$env" ::EFI/BOOT/grubenv
  truncate --size=128M "$data"
  # It grows: by its first size it would have the blocks and inodes of a small one, which take 6 % of each card.
  mke2fs -q -t ext4 -b 4096 -i 16384 -L data -E hash_seed=504c5254-0000-4000-8000-000000000001 "$data"
  local slot_bytes room
  slot_bytes=$(stat --format=%s "$slot")
  truncate --size="$(($(disk_mib) + 1))M" "$out"
  sed '/^#/d' "$recipes/partitions.sfdisk" | sfdisk --quiet "$out"
  sed '/^#/d' "$recipes/hybrid.sfdisk" | sfdisk --quiet --label-nested dos "$out"
  room=$(sfdisk --json "$out" | node -p 'JSON.parse(require("fs").readFileSync(0,"utf8")).partitiontable.partitions[1].size * 512')
  [ "$slot_bytes" -le "$room" ] || { echo "the slot has $slot_bytes bytes, its partition $room" >&2; exit 1; }
  place "$boot" 0 "$out"
  place "$slot" 1 "$out"
  place "$data" 3 "$out"
  rm -f "$boot" "$data" "$env" "$work/uboot.env"
}

# MiB up to the end of the last partition.
disk_mib() { sed -n 's/.*size=\([0-9]*\)MiB.*/\1/p' "$recipes/partitions.sfdisk" | awk '{ sum += $1 } END { print sum + 1 }'; }

# FILE NUMBER DISK: into a partition, counted from 0, leaving out what is zero.
place() {
  local start
  start=$(sfdisk --json "$3" | node -p "JSON.parse(require('fs').readFileSync(0,'utf8')).partitiontable.partitions[$2].start")
  dd if="$1" of="$3" bs=1M seek="$((start * 512))" oflag=seek_bytes conv=notrunc,sparse status=none
}
