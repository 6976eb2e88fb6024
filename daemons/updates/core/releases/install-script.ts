/** The script of `curl ... | sh`: POSIX sh, checked before it installs, and of no effect if it is cut on its way. */
import type { SignatureProof } from '../ports.ts'

interface InstallFacts {
  /** Without a slash at its end. */
  url: string
  version: string
  filename: string
  /** SHA-256, 64 hex digits. */
  checksum: string
  sizeBytes: number
  /** Undefined if the installer was published without a signed record. */
  proof: SignatureProof | undefined
}

/** Everything that is filled in is a version, a hash, a number, base64 or an address: nothing that a shell would act on. */
export function installScript({ checksum, filename, proof, sizeBytes, url, version }: InstallFacts): string {
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

${proof ? provingOf(proof) : ''}main() {
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
${proof ? '  prove "$folder" "$sum"\n' : ''}  sh "$file" -- --yes --update-url '${url}' </dev/null || fail 'the installer failed; what it said stands above'
  say 'Plantroom ${version} is installed'
}

main "$@"
`
}

/** The function that checks the signature, by the key of the publisher. */
function provingOf({ publicKey, signature, signed }: SignatureProof): string {
  return `prove() {
  has openssl || fail 'openssl is not here, and the signature cannot be checked without it: install it, then try again'
  printf -- '-----BEGIN PUBLIC KEY-----\\n%s\\n-----END PUBLIC KEY-----\\n' '${publicKey}' >"$1/key"
  printf '%s' '${signed}' | openssl base64 -d -A >"$1/signed"
  printf '%s' '${signature}' | openssl base64 -d -A >"$1/signature"
  openssl pkeyutl -verify -pubin -inkey "$1/key" -rawin -in "$1/signed" -sigfile "$1/signature" >/dev/null 2>&1 ||
    fail 'the signature of the installer is wrong: nothing was installed'
  grep -q "\\"sha256\\":\\"$2\\"" "$1/signed" || fail 'the signature is of another file: nothing was installed'
  say 'the signature is right'
}

`
}
