#!/bin/sh
# Installs the Debian packages needed for one or more purposes: build, test, bench, system-test, vm-test, image, image-test.
#
#   scripts/apt-setup.sh build test     installs what is missing; silent if nothing is
#   scripts/apt-setup.sh --check test   installs nothing: reports what is missing and cannot be installed from here
#   scripts/apt-setup.sh --list test    prints the purpose's packages, one per line
#
# Uses root, or sudo without a password; else prints the command to run and ends with 3. Ends with 4 if apt failed.
set -u

packages_of() {
  case $1 in
    # Sound: headers for the addon, and the plugins it loads.
    build)
      echo g++ make python3 pkg-config libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev \
        gstreamer1.0-plugins-base gstreamer1.0-plugins-good libasound2-dev
      # Checked by their commands, since they may not come from Debian.
      command -v node >/dev/null || echo nodejs
      command -v npm >/dev/null || echo npm
      ;;
    # Third-party peers, and a browser for the pages.
    test)
      packages_of build
      echo gstreamer1.0-tools curl openssl socat nginx mbpoll libmodbus-dev chromium-headless-shell fonts-dejavu-core python3-serial ser2net \
        linuxptp tshark ffmpeg g++-aarch64-linux-gnu qemu-user-static libc6-arm64-cross usbip shellcheck iproute2 \
        gstreamer1.0-libav gstreamer1.0-plugins-ugly python3-zeroconf python3-aiosmtpd mosquitto espeak-ng knxd knxd-tools python3-gi gir1.2-gst-rtsp-server-1.0 makeself postgresql \
        fdisk dosfstools mtools u-boot-tools
      ;;
    bench) echo g++ nginx socat ser2net gstreamer1.0-tools gstreamer1.0-plugins-good gstreamer1.0-plugins-bad tshark python3 ffmpeg ;;
    system-test) echo mmdebstrap systemd-container curl dpkg-dev makeself lintian ;;
    # A guest with its own kernel: tools to build its disk, and to run it.
    vm-test) echo mmdebstrap debian-archive-keyring busybox-static cpio kmod e2fsprogs xz-utils qemu-system-x86 qemu-utils ;;
    # A disk for arm64 boards, and a board to try it on: its packages are set up by this machine's emulation of their processor.
    image)
      echo mmdebstrap debian-archive-keyring arch-test qemu-user-static binfmt-support busybox-static cpio kmod zstd squashfs-tools \
        e2fsprogs fdisk dosfstools mtools u-boot-tools bmap-tools rauc openssl xz-utils g++-aarch64-linux-gnu
      ;;
    image-test) echo qemu-system-arm qemu-efi-aarch64 qemu-utils ipxe-qemu openssh-client curl mtools e2fsprogs rauc squashfs-tools ;;
    *)
      echo "unknown purpose '$1': build, test, bench, system-test, vm-test, image, image-test" >&2
      exit 2
      ;;
  esac
}

if [ "${1:-}" = --list ]; then
  packages_of "${2:-}" | tr ' ' '\n'
  exit 0
fi

check=
if [ "${1:-}" = --check ]; then
  check=yes
  shift
fi

wanted=
for purpose in "$@"; do
  packages=$(packages_of "$purpose") || exit 2
  wanted="$wanted $packages"
done

missing=
for package in $(printf '%s\n' $wanted | sort -u); do
  case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
    installed) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

# Another apt may be running (unattended upgrades on a fresh machine): wait up to ten minutes for it.
apt='apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0'
if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root='sudo -n'
else
  echo "missing Debian packages; run:" >&2
  echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 3
fi
[ -z "$check" ] || exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
progress=$(dirname "$0")/progress.sh
install() {
  # Wireshark asks whether users may capture; others such as ser2net ask nothing, but may try to start.
  "$progress" 'Debian packages' "$log" \
    $as_root env DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends $missing 2>/dev/null
}
echo "installing Debian packages:$missing"
# The list of packages may be old or empty: update it once, only if needed.
if install; then exit 0; fi
if "$progress" "Debian's list of packages" "$log" $as_root $apt update 2>/dev/null && install; then exit 0; fi
tail -n 20 "$log" >&2
echo "apt-get could not install:$missing" >&2
exit 4
