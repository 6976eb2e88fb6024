#!/bin/bash
# Makes the keys of a maker of images, in a folder outside of any checkout:
#
#   scripts/image/keys.sh FOLDER [--development]
#
#   release-root.key, release-root.pem   the root of bundles; its public half is in every image. The key stays offline.
#   signer.key, signer.pem               signs bundles, named by the root for three years; can be replaced without touching a board
#   firmware.key, firmware.pem           signs the head of an image for /api/ota (plantroom firmware keygen)
#
# --development makes a set for trying things out, which says so in its root: a release build refuses it.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-}
kind=${2:-}
case $folder in
  '' | -*) sed -n '2,4p' "$0" >&2; exit 2 ;;
esac
case $kind in
  '') organisation='Plantroom release' ;;
  --development) organisation='Plantroom development' ;;
  *) sed -n '2,4p' "$0" >&2; exit 2 ;;
esac
[ ! -e "$folder" ] || { echo "$folder is there already: keys are never written over" >&2; exit 1; }
# Nobody commits, publishes or cleans away what is not in a tree.
parent=$(dirname "$(realpath --canonicalize-missing "$folder")")
while [ ! -d "$parent" ]; do parent=$(dirname "$parent"); done
if [ -z "$kind" ] && git -C "$parent" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  echo "$folder is inside a checkout: keys of releases are kept outside of any" >&2
  exit 1
fi
umask 077
mkdir -p "$folder.new"
trap 'rm -rf "$folder.new"' EXIT
cd "$folder.new"
openssl req -x509 -newkey rsa:3072 -noenc -sha256 -days 7300 -subj "/O=$organisation/CN=root of images" \
  -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
  -keyout release-root.key -out release-root.pem 2>/dev/null
openssl req -newkey rsa:3072 -noenc -sha256 -subj "/O=$organisation/CN=signer of images" -keyout signer.key -out signer.csr 2>/dev/null
openssl x509 -req -in signer.csr -CA release-root.pem -CAkey release-root.key -CAcreateserial -sha256 -days 1100 \
  -extfile <(printf '%s\n' 'basicConstraints=critical,CA:FALSE' 'keyUsage=critical,digitalSignature' 'extendedKeyUsage=emailProtection') \
  -out signer.pem 2>/dev/null
rm -f signer.csr release-root.srl
openssl genpkey -algorithm ed25519 -out firmware.key
openssl pkey -in firmware.key -pubout -out firmware.pem
chmod 644 ./*.pem
cd - >/dev/null
mv "$folder.new" "$folder"
trap - EXIT
echo "The keys are in $folder. Take release-root.key off this machine: it is needed once in three years."
