#!/bin/bash
# Makes the contents of a card for 64-bit ARM boards, in build/image:
#
#   plantroom-arm64-<version>.raw.zst   the whole card, to flash
#   plantroom-arm64-<version>.bmap      which parts of it are in use (bmaptool)
#   plantroom-arm64-<version>.img       the same system as an update, for POST /api/ota
#
#   scripts/image/build.sh [--release]
#
# Environment: PLANTROOM_KEYS, a folder made by make keys (default: a development set, made in build/image/keys);
# PLANTROOM_IMAGE_VERSION (default: that of Plantroom); PLANTROOM_IMAGE_FLOOR, the oldest version that may follow.
# --release refuses development keys. Needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/image/parts.sh

case ${1:-} in
  '') ;;
  --release) release=yes ;;
  *) sed -n '2,13p' "$0" >&2; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || { echo 'an image is made by root: sudo make image' >&2; exit 3; }
keys=${PLANTROOM_KEYS:-$work/keys}
[ -n "${PLANTROOM_KEYS:-}" ] || [ -d "$keys" ] || scripts/image/keys.sh "$keys" --development
if [ -n "${release:-}" ] && openssl x509 -in "$keys/release-root.pem" -noout -subject | grep -q development; then
  echo "$keys is a development set: a release is signed by keys of make keys KEYS=FOLDER, given as PLANTROOM_KEYS" >&2
  exit 1
fi
plantroom_version=$(node -p 'require("./package.json").version')
version=${PLANTROOM_IMAGE_VERSION:-$plantroom_version}

base=$(scripts/image/base.sh)
make_tree "$base" "$keys"
make_slot "$version" "$work/rootfs.img"
make_update "$version" "$work/rootfs.img" "$keys" "$work/$compatible-$version.img" "${PLANTROOM_IMAGE_FLOOR:-}"
make_disk "$base" "$work/rootfs.img" "$work/disk.img"
zstd --quiet --force -12 --threads=0 "$work/disk.img" -o "$work/$compatible-$version.raw.zst"
bmaptool create --output "$work/$compatible-$version.bmap" "$work/disk.img" 2>/dev/null
(cd "$work" && stat --format='build/image/%n %s bytes' "$compatible-$version".*)
