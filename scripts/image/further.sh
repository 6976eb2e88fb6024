#!/bin/bash
# Makes what make image-test sends to a board, beside the image: build/image/test. Needs root, and an image that was made.
#
#   v2.img v2.raucb       the same system as 0.2.0, and its bundle alone
#   broken.img            as 0.3.0, whose board does not start
#   stranger.img tampered.img                 with a head that no board takes, or a payload that is not the signed one
#   stranger-inside.img tampered-inside.img   with a good head, round a bundle that RAUC has to refuse
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/image/parts.sh

readonly sent=$work/test
readonly ours=$work/keys
if [ -e "$sent/made" ] && [ "$sent/made" -nt "$work/rootfs.img" ] && [ "$sent/made" -nt scripts/image/further.sh ]; then exit 0; fi
if [ ! -d "$ours" ] || [ ! -d "$tree" ]; then echo 'make image first, with development keys' >&2; exit 1; fi
rm -rf "$sent"
mkdir -p "$sent"
scripts/image/keys.sh "$sent/stranger" --development >/dev/null

# One byte at three quarters is another one.
spoil() {
  local at=$(($(stat --format=%s "$1") * 3 / 4)) was
  was=$(od -A n -t u1 -j "$at" -N 1 "$1" | tr -d ' ')
  printf "%b" "\\x$(printf %x $(((was + 1) % 256)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

make_slot 0.2.0 "$sent/v2.root"
make_bundle 0.2.0 "$sent/v2.root" "$ours" "$sent/v2.raucb"
seal_update 0.2.0 "$sent/v2.raucb" "$ours/firmware.key" "$sent/v2.img"

board=$tree/usr/lib/systemd/system/plantroom-board.service.d/broken.conf
slot=$tree/usr/lib/systemd/system/plantroom-slot.service.d/soon.conf
install -D -m 644 /dev/stdin "$board" <<<$'[Service]\nExecStartPre=/usr/bin/false'
# A minute is enough for a board that never starts.
install -D -m 644 /dev/stdin "$slot" <<<$'[Service]\nExecStart=\nExecStart=/usr/bin/plantroom slot confirm --within-s 60'
make_slot 0.3.0 "$sent/broken.root"
rm -r "$board" "$(dirname "$slot")"
make_bundle 0.3.0 "$sent/broken.root" "$ours" "$sent/broken.raucb"
seal_update 0.3.0 "$sent/broken.raucb" "$ours/firmware.key" "$sent/broken.img"

# Small ones: what they hold is never started.
head -c 16M /dev/urandom >"$sent/small.root"
make_bundle 0.4.0 "$sent/small.root" "$ours" "$sent/small.raucb"
seal_update 0.4.0 "$sent/small.raucb" "$sent/stranger/firmware.key" "$sent/stranger.img"
seal_update 0.4.0 "$sent/small.raucb" "$ours/firmware.key" "$sent/tampered.img"
spoil "$sent/tampered.img"
make_bundle 0.4.0 "$sent/small.root" "$sent/stranger" "$sent/strange.raucb"
seal_update 0.4.0 "$sent/strange.raucb" "$ours/firmware.key" "$sent/stranger-inside.img"
spoil "$sent/small.raucb"
seal_update 0.4.0 "$sent/small.raucb" "$ours/firmware.key" "$sent/tampered-inside.img"
rm -f "$sent"/*.root "$sent"/broken.raucb "$sent"/small.raucb "$sent"/strange.raucb
touch "$sent/made"
