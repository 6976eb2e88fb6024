#!/bin/sh
# Packs what make detector made: build/plantroom-detector_<version>_<arch>.deb, a package of its own for those who want a
# recorder to know persons from vehicles, and build/plantroom-recognition_<version>_all.deb for those who want it to read plates. The
# same sources give the same bytes.
#
#   scripts/build-detector-deb.sh [ARCH]    amd64 or arm64; default this machine's
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
from=build/detector/$node_arch
[ -x "$from/plantroom-eyes" ] || node scripts/build-detector.ts "$node_arch"
version=$(node -p 'require("./package.json").version')
maintainer="${DEBFULLNAME:-Plantroom} <${DEBEMAIL:-plantroom@localhost}>"
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y package-lock.json)}"
export SOURCE_DATE_EPOCH
umask 022

tree=$(mktemp -d build/deb.XXXXXX)
trap 'rm -rf "$tree"' EXIT
. scripts/deb/functions.sh

doc=$tree/usr/share/doc/plantroom-detector
mkdir -p "$tree/DEBIAN" "$tree/usr/lib/plantroom" "$doc"
chmod 755 "$tree"
cp -R "$from" "$tree/usr/lib/plantroom/detector"
rm -r "$tree/usr/lib/plantroom/detector/models/plates"
find "$tree" -name '*.map' -delete
for file in "$tree"/usr/lib/plantroom/detector/node_modules/onnxruntime-node/bin/*/linux/*/*; do stripped "$file"; done
install -m 644 scripts/deb/plantroom-detector.copyright "$doc/copyright"
debian_changelog plantroom-detector "$version" "$tree"
cat >"$tree/DEBIAN/control" <<CONTROL
Package: plantroom-detector
Version: $version
Architecture: $arch
Maintainer: $maintainer
Section: net
Priority: optional
Installed-Size: $(du -sk "$tree" | cut -f 1)
Depends: plantroom-runtime (>= 24), libc6 (>= 2.36), libstdc++6
Enhances: plantroom
Description: knows persons, vehicles and animals in the pictures of a recorder
 A process that Plantroom's video recorder starts where it is installed, with
 ONNX Runtime and the model NanoDet-g.
CONTROL
pack "$tree" "build/plantroom-detector_${version}_$arch.deb"

rm -r "$tree"
doc=$tree/usr/share/doc/plantroom-recognition
mkdir -p "$tree/DEBIAN" "$tree/usr/lib/plantroom/detector/models" "$doc"
chmod 755 "$tree"
cp -R "$from/models/plates" "$tree/usr/lib/plantroom/detector/models/plates"
install -m 644 scripts/deb/plantroom-recognition.copyright "$doc/copyright"
debian_changelog plantroom-recognition "$version" "$tree"
cat >"$tree/DEBIAN/control" <<CONTROL
Package: plantroom-recognition
Version: $version
Architecture: all
Maintainer: $maintainer
Section: net
Priority: optional
Installed-Size: $(du -sk "$tree" | cut -f 1)
Depends: plantroom-detector (>= $version)
Description: reads number plates in the pictures of a recorder
 Networks of PP-OCRv4 for the detector of Plantroom's video recorder.
CONTROL
pack "$tree" "build/plantroom-recognition_${version}_all.deb"
