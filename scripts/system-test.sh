#!/bin/bash
# Boots Debian in its own container, installs Plantroom there and checks the promises of its units, and of its updates.
# Needs root. Ends with 0 if every promise held; prints one line for each.
#
#   scripts/system-test.sh [PART...]    parts: package, applying:bookworm, applying:trixie; default all
#
# package: the Debian package built by make deb, in trixie (inside.sh). applying: an empty Debian, on which an update server
# installs Plantroom, and updates it (applying.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly work=build/system-test
# Seconds for the whole life of a container, including boot and shutdown.
readonly bound_s=1800

# With D-Bus and networkd a board that owns its machine sets its name and address.
# GStreamer, ALSA and ptp4l are needed for sound, GStreamer for the recorder's pictures, polkit for the clock: recommended by
# the package, which dpkg does not install by itself.
packages_of_package=systemd-sysv,udev,curl,procps,init-system-helpers,dbus,iproute2,gstreamer1.0-plugins-base,gstreamer1.0-plugins-good
packages_of_package+=,libasound2t64,linuxptp,gstreamer1.0-libav,gstreamer1.0-plugins-ugly,polkitd,tzdata
# What the install script needs of a machine, and nothing more.
packages_of_applying=systemd-sysv,curl,openssl
readonly packages_of_package packages_of_applying

[ "$(id -u)" = 0 ] || { echo 'make system-test needs root: sudo make system-test' >&2; exit 3; }
parts=("$@")
[ $# -gt 0 ] || parts=(package applying:bookworm applying:trixie)
for part in "${parts[@]}"; do
  [[ $part =~ ^(package|applying:(bookworm|trixie))$ ]] \
    || { echo "'$part' is no part: package, applying:bookworm, applying:trixie" >&2; exit 2; }
done
mkdir -p "$work"

bed=
container=
cleanup() {
  if [ -n "$container" ] && kill -0 "$container" 2>/dev/null; then
    kill -TERM "$container" 2>/dev/null || true
    wait "$container" 2>/dev/null || true
  fi
  [ -z "$bed" ] || rm -rf "$bed"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# make_system NAME SUITE PACKAGES: made once and never changed, since a container writes to an overlay in memory.
make_system() {
  local root=$work/$1 suite=$2 packages=$3
  if [ "$(cat "$root.packages" 2>/dev/null)" = "$packages" ]; then return; fi
  echo "making a Debian $suite below $work (once)"
  # Uses the apt settings of this machine, for its mirrors, proxies and certificates.
  apt-config dump | grep '^Acquire' >"$work/apt.conf" || true
  rm -rf "$root" "$root.new"
  mmdebstrap --quiet --variant=minbase --include="$packages" \
    --aptopt="$work/apt.conf" "$suite" "$root.new" >"$work/mmdebstrap.log" 2>&1 \
    || { cat "$work/mmdebstrap.log" >&2; exit 1; }
  mv "$root.new" "$root"
  echo "$packages" >"$root.packages"
}

# boot NAME TEST: boots a system, in which a unit runs the test, and prints what it said.
boot() {
  local code=0 root=$work/$1
  cp scripts/system-test/*.sh "$bed/"
  cp "scripts/system-test/$2" "$bed/test.sh"
  touch "$bed/log"
  local lent=()
  # makeself makes the installer; it is two files of shell.
  for path in /usr/bin/makeself /usr/share/makeself; do [ ! -e "$path" ] || lent+=(--bind-ro="$path"); done
  # Cgroups version 2 whatever the host uses: systemd 257 requires it. No registration: the host may not run systemd.
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 timeout --kill-after=10 "$bound_s" systemd-nspawn --quiet --boot \
    --register=no --keep-unit --private-network --machine="plantroom-test-$$" \
    --directory="$root" --volatile=overlay --bind="$PWD/$bed:/bed" --bind-ro="$PWD:/src" --link-journal=no "${lent[@]}" \
    --bind-ro="$PWD/scripts/system-test/plantroom-system-test.service:/etc/systemd/system/plantroom-system-test.service" \
    systemd.wants=plantroom-system-test.service </dev/null >"$bed/console" 2>&1 &
  container=$!
  wait "$container" || code=$?
  container=
  cat "$bed/log"
  [ "$code" != 124 ] || echo "not done after $bound_s s" >&2
  [ -s "$bed/log" ] || tail -n 40 "$bed/console" >&2
  return "$code"
}

failed=0
for part in "${parts[@]}"; do
  bed=$(mktemp -d "$work/bed.XXXXXX")
  case $part in
    package)
      make_system trixie trixie "$packages_of_package"
      for package in plantroom plantroom-runtime; do
        cp "$(ls -t build/"$package"_*_"$(dpkg --print-architecture)".deb | head -n 1)" "$bed/$package.deb"
      done
      boot trixie inside.sh || failed=1
      ;;
    *)
      suite=${part#applying:}
      make_system "empty-$suite" "$suite" "$packages_of_applying"
      echo "--- an empty Debian $suite"
      boot "empty-$suite" applying.sh || failed=1
      ;;
  esac
  rm -rf "$bed"
  bed=
done
exit "$failed"
