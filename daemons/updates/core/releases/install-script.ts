/** The script of `curl ... | sh`: POSIX sh, checked before it installs, and of no effect if it is cut on its way. */

interface InstallFacts {
  /** Without a slash at its end. */
  url: string
  version: string
  filename: string
  /** SHA-256, 64 hex digits. */
  checksum: string
  sizeBytes: number
}

/** Everything that is filled in is a version, a hash, a number or an address: nothing that a shell would act on. */
export function installScript({ checksum, filename, sizeBytes, url, version }: InstallFacts): string {
  return `#!/bin/sh
# Installs Plantroom ${version}: downloads the installer, checks it, and runs it unattended.
# Usage: curl -fsSL ${url}/install.sh | sudo sh
set -eu

say() { printf 'plantroom: %s\\n' "$*"; }
fail() { printf 'plantroom: %s\\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

download() {
  if has curl; then
    curl -fsSL --retry 5 --retry-delay 2 -C - -o "$2" "$1"
  elif has wget; then
    wget -q -c --tries=5 -O "$2" "$1"
  else
    fail 'neither curl nor wget is here: install one of them, then try again'
  fi
}

checksum_of() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has openssl; then
    openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else
    fail 'neither sha256sum nor openssl is here: install one of them, then try again'
  fi
}

main() {
  [ "$(id -u)" = 0 ] || fail 'this needs root: curl -fsSL ${url}/install.sh | sudo sh'
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 1' HUP INT TERM
  file=$folder/${filename}
  say 'downloading ${version} from ${url} (${sizeBytes} bytes)'
  download '${url}/installers/${version}' "$file" || fail 'the download failed: nothing was installed'
  size=$(wc -c <"$file" | tr -d ' ')
  [ "$size" = '${sizeBytes}' ] || fail "the installer has $size bytes, expected ${sizeBytes}: nothing was installed"
  sum=$(checksum_of "$file")
  [ "$sum" = '${checksum}' ] || fail "the installer has the SHA-256 $sum, expected ${checksum}: nothing was installed"
  say 'the installer is whole'
  sh "$file" -- --yes || fail 'the installer failed; what it said stands above'
  say 'Plantroom ${version} is installed'
}

main "$@"
`
}
