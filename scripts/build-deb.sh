#!/bin/sh
# Packs the output of make build, in two packages, so that an update of the one does not bring the other again:
# build/plantroom_<version>_<arch>.deb and build/plantroom-runtime_<version of Node>_<arch>.deb. The same sources give the same bytes.
#
#   scripts/build-deb.sh [ARCH]    amd64 or arm64; default this machine's
#
# DEBFULLNAME and DEBEMAIL name who hands the packages out.
set -eu
cd "$(dirname "$0")/.."

own=$(dpkg --print-architecture)
arch=${1:-$own}
case $arch in
  amd64) node_arch=x64 triplet=x86_64-linux-gnu ;;
  arm64) node_arch=arm64 triplet=aarch64-linux-gnu ;;
  *) echo "no package for '$arch': amd64 or arm64" >&2; exit 2 ;;
esac
strip=strip
[ "$arch" = "$own" ] || strip=$triplet-strip
command -v "$strip" >/dev/null || { echo "$strip is not installed: apt-get install binutils-$(echo "$triplet" | tr _ -)" >&2; exit 1; }
node=node_modules/node-linux-$node_arch/bin/node
if [ ! -x "$node" ]; then
  [ "$arch" = arm64 ] || { echo "the pinned Node for $node_arch is not installed here: build on that architecture" >&2; exit 1; }
  node=$(node scripts/arm64-node.ts)
fi
for addon in build/native/*/; do
  [ -d "$addon/prebuilds/linux-$node_arch" ] || { echo "$addon is not built for $arch: apt-get install g++-$(echo "$triplet" | tr _ -), then make build" >&2; exit 1; }
done
version=$(node -p 'require("./package.json").version')
node_version=$(node -p "require('./package.json').optionalDependencies['node-linux-$node_arch']")
maintainer="${DEBFULLNAME:-Plantroom} <${DEBEMAIL:-plantroom@localhost}>"
deb=build/plantroom_${version}_${arch}.deb
runtime_deb=build/plantroom-runtime_${node_version}_${arch}.deb

if [ -e "$deb" ] && [ -e "$runtime_deb" ] && [ -z "$(find build/stamps scripts/build-deb.sh scripts/handbook.ts scripts/cli scripts/deb systemd \
  -type f -newer "$deb" | head -n 1)" ]; then
  exit 0
fi

# Times inside the package are those of the last change, so that a rebuild gives the same file.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y package-lock.json)
fi
export SOURCE_DATE_EPOCH
umask 022

work=$(mktemp -d build/deb.XXXXXX)
trap 'rm -rf "$work"' EXIT
tree=$work/plantroom
runtime=$work/runtime

. scripts/deb/functions.sh

# --- the runtime: Node, as its project builds it

mkdir -p "$runtime/DEBIAN" "$runtime/usr/lib/plantroom" "$runtime/usr/share/doc/plantroom-runtime" "$runtime/usr/share/lintian/overrides"
chmod 755 "$runtime"
install -m 755 "$node" "$runtime/usr/lib/plantroom/node"
stripped "$runtime/usr/lib/plantroom/node"
install -m 644 "$(dirname "$node")/../LICENSE" "$runtime/usr/share/doc/plantroom-runtime/copyright"
install -m 644 scripts/deb/plantroom-runtime.lintian-overrides "$runtime/usr/share/lintian/overrides/plantroom-runtime"
debian_changelog plantroom-runtime "$node_version" "$runtime"
cat >"$runtime/DEBIAN/control" <<CONTROL
Package: plantroom-runtime
Version: $node_version
Architecture: $arch
Maintainer: $maintainer
Section: net
Priority: optional
Installed-Size: $(du -sk "$runtime" | cut -f 1)
Depends: libc6 (>= 2.36), libstdc++6
Replaces: plantroom (<= 0.1.0)
Description: Node that the daemons of Plantroom run on
 In a place of its own: no other program of the machine runs on it.
CONTROL
pack "$runtime" "$runtime_deb"

# --- the daemons

lib=$tree/usr/lib/plantroom
mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$lib" "$tree/etc/plantroom" "$tree/usr/lib/systemd/system" \
  "$tree/usr/share/doc/plantroom" "$tree/usr/share/plantroom" "$tree/usr/share/lintian/overrides" "$tree/usr/share/man/man1" \
  "$tree/usr/share/man/man5" "$tree/usr/share/bash-completion/completions"
chmod 755 "$tree"

install -m 755 build/plantroom "$lib/plantroom"
ln -s ../lib/plantroom/plantroom "$tree/usr/bin/plantroom"
for daemon in daemons/*/; do install -m 644 "build/$(basename "$daemon").mjs" "$lib/"; done
install -m 644 build/plantroom.mjs build/commands.mjs "$lib/"
cp -R build/web "$lib/web"
cp -R build/templates "$lib/templates"
mkdir "$lib/licences"
install -m 644 build/licences/*.json.gz "$lib/licences/"
for addon in build/native/*/; do
  from=prebuilds/linux-$node_arch
  # The one program among the addons has its own place, where its unit looks for it.
  if [ "$(basename "$addon")" = helper ]; then
    install -m 755 "$addon$from/plantroom-helper" "$lib/plantroom-helper"
    stripped "$lib/plantroom-helper"
    continue
  fi
  mkdir -p "$lib/native/$(basename "$addon")/$from"
  install -m 644 "$addon$from"/*.node "$lib/native/$(basename "$addon")/$from/"
  for file in "$lib/native/$(basename "$addon")/$from/"*.node; do stripped "$file"; done
done
install -m 644 docs/CHANGELOG.md build/licences/copyright "$tree/usr/share/doc/plantroom/"
gzip -9n "$tree/usr/share/doc/plantroom/CHANGELOG.md"
install -m 644 scripts/deb/plantroom.lintian-overrides "$tree/usr/share/lintian/overrides/plantroom"
debian_changelog plantroom "$version" "$tree"
node scripts/handbook.ts "$work/handbook"
gzip -9n "$work"/handbook/*.1 "$work"/handbook/*.5
install -m 644 "$work"/handbook/*.1.gz "$tree/usr/share/man/man1/"
install -m 644 "$work"/handbook/*.5.gz "$tree/usr/share/man/man5/"
install -m 644 "$work/handbook/plantroom.bash" "$tree/usr/share/bash-completion/completions/plantroom"

install -D -m 755 scripts/deb/motd "$tree/etc/update-motd.d/60-plantroom"
echo /etc/update-motd.d/60-plantroom >"$tree/DEBIAN/conffiles"

install -m 644 systemd/*.service systemd/*.socket systemd/*.timer "$tree/usr/lib/systemd/system/"
install -D -m 644 systemd/plantroom-update-sandbox.conf "$tree/usr/lib/systemd/system/plantroom-update-.service.d/sandbox.conf"
mkdir -p "$tree/usr/lib/sysusers.d"
install -m 644 systemd/plantroom.sysusers "$tree/usr/lib/sysusers.d/plantroom.conf"
mkdir -p "$tree/usr/share/polkit-1/rules.d"
install -m 644 systemd/plantroom-recorder.rules "$tree/usr/share/polkit-1/rules.d/50-plantroom-recorder.rules"
# Defaults are not installed as settings: /etc contains only what the installer wrote, so dpkg asks nothing when a
# default changes (docs/decisions/packaging-and-units.md).
install -m 644 build/defaults/*.toml "$tree/usr/share/plantroom/"

# The package's daemons are enabled and started, except those that a person switches on: the owner of a gateway does not
# expect port 80 to be taken by a page that asks for no password until one is set, nor an update server, of which one
# serves many buildings (docs/decisions/packaging-and-units.md).
switched=$(sed -n 's/^disable \(.*\.service\)$/\1/p' systemd/plantroom.preset | tr '\n' ' ')
started=$(sed -n 's/^enable //p' systemd/plantroom.preset | tr '\n' ' ')
settings=
for daemon in daemons/*/; do settings="$settings /etc/plantroom/$(basename "$daemon").toml"; done
for script in postinst prerm postrm; do
  sed "s/@STARTED@/${started% }/g; s/@SWITCHED@/${switched% }/g; s|@SETTINGS@|${settings# }|g" "scripts/deb/$script" \
    >"$tree/DEBIAN/$script"
  chmod 755 "$tree/DEBIAN/$script"
done
cat >"$tree/DEBIAN/control" <<CONTROL
Package: plantroom
Version: $version
Architecture: $arch
Maintainer: $maintainer
Section: net
Priority: optional
Installed-Size: $(du -sk "$tree" | cut -f 1)
Depends: plantroom-runtime (= $node_version), libc6 (>= 2.36), libstdc++6, init-system-helpers (>= 1.51), udev, mount
Recommends: systemd, dbus, polkitd, iproute2, gstreamer1.0-plugins-base, gstreamer1.0-plugins-good, gstreamer1.0-libav, gstreamer1.0-plugins-ugly, libasound2t64 | libasound2, linuxptp
Suggests: espeak-ng
Description: daemons behind a building
 Drives the serial field buses of a plant room and offers them over HTTP,
 webhooks and WebSocket, with a page for people; is the network board, which
 shares serial ports and USB devices, and sends and plays sound (AES67); and is
 the controller, which drives the zones and devices of a building.
CONTROL
pack "$tree" "$deb"
