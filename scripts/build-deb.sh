#!/bin/sh
# Packs the output of make build: build/plantroom_<version>_<arch>.deb. The same sources give the same bytes.
#
#   scripts/build-deb.sh [ARCH]    amd64 or arm64; default this machine's
set -eu
cd "$(dirname "$0")/.."

arch=${1:-$(dpkg --print-architecture)}
case $arch in
  amd64) node_arch=x64 ;;
  arm64) node_arch=arm64 ;;
  *) echo "no package for '$arch': amd64 or arm64" >&2; exit 2 ;;
esac
node=node_modules/node-linux-$node_arch/bin/node
[ -x "$node" ] || { echo "the pinned Node for $node_arch is not installed here: build on that architecture" >&2; exit 1; }
version=$(node -p 'require("./package.json").version')
deb=build/plantroom_${version}_${arch}.deb

if [ -e "$deb" ] && [ -z "$(find build/stamps scripts/build-deb.sh scripts/deb systemd \
  -type f -newer "$deb" | head -n 1)" ]; then
  exit 0
fi

# Times inside the package are those of the last change, so that a rebuild gives the same file.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y package-lock.json)
fi
export SOURCE_DATE_EPOCH
umask 022

tree=$(mktemp -d build/deb.XXXXXX)
trap 'rm -rf "$tree"' EXIT
lib=$tree/usr/lib/plantroom
mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$lib" "$tree/etc/plantroom" "$tree/usr/lib/systemd/system" \
  "$tree/usr/share/doc/plantroom" "$tree/usr/share/plantroom"
chmod 755 "$tree"

install -m 755 build/plantroom "$lib/plantroom"
ln -s ../lib/plantroom/plantroom "$tree/usr/bin/plantroom"
install -m 755 "$node" "$lib/node"
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
    continue
  fi
  mkdir -p "$lib/native/$(basename "$addon")/$from"
  install -m 644 "$addon$from"/*.node "$lib/native/$(basename "$addon")/$from/"
done
install -m 644 docs/CHANGELOG.md build/licences/copyright "$tree/usr/share/doc/plantroom/"

install -m 644 systemd/*.service systemd/*.socket "$tree/usr/lib/systemd/system/"
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
Maintainer: Plantroom <root@localhost>
Section: net
Priority: optional
Installed-Size: $(du -sk "$tree" | cut -f 1)
Depends: libc6 (>= 2.36), libstdc++6, init-system-helpers (>= 1.51), udev, util-linux, mount, tar
Recommends: systemd, dbus, polkitd, gstreamer1.0-plugins-base, gstreamer1.0-plugins-good, gstreamer1.0-libav, gstreamer1.0-plugins-ugly, libasound2t64 | libasound2, linuxptp
Description: the daemons behind a building
 Drives the serial field buses of a plant room and offers them over HTTP,
 webhooks and WebSocket, with a page for people; is the network board, which
 shares serial ports and USB devices, and sends and plays sound (AES67); and is
 the controller, which drives the zones and devices of a building.
CONTROL
find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz -z3 --build "$tree" "$deb.new" >/dev/null
mv "$deb.new" "$deb"
echo "$deb $(stat -c %s "$deb") bytes"
