#!/bin/bash
# Tries the two commands as a new user would: an empty Debian with its own nodejs, npm, make, g++ and python3, a fresh
# clone of what is committed, then make demo and make test, with their times. Needs root and the network.
#
#   scripts/fresh-machine-test.sh [SUITE...]    default: bookworm trixie
set -euo pipefail
cd "$(dirname "$0")/.."

readonly work=build/fresh
# Seconds for one machine from clone to the last test.
readonly bound_s=1500

[ "$(id -u)" = 0 ] || { echo 'make fresh-test needs root: sudo make fresh-test' >&2; exit 3; }
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

# Mirrors, proxies and their certificates are this machine's business: its own settings are lent to the new one.
lent=(--resolv-conf=copy-host --bind-ro=/etc/hosts)
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
  lent+=(--bind-ro=/etc/ssl/certs/ca-certificates.crt:/run/lent-certificates.crt)
  for name in NODE_EXTRA_CA_CERTS npm_config_cafile GIT_SSL_CAINFO; do
    lent+=(--setenv="$name=/run/lent-certificates.crt")
  done
fi
for name in http_proxy https_proxy no_proxy; do
  [ -z "${!name:-}" ] || lent+=(--setenv="$name=${!name}")
done
apt-config dump | grep '^Acquire' >"$work/apt.conf" || true

try_suite() {
  local suite=$1 made=$work/$1
  if [ ! -e "$made/etc/debian_version" ]; then
    echo "making a Debian $suite below $work (once)"
    rm -rf "$made" "$made.new"
    mmdebstrap --quiet --variant=minbase --aptopt="$work/apt.conf" \
      --include=nodejs,npm,make,g++,python3,git,ca-certificates,curl,procps "$suite" "$made.new" \
      >"$work/mmdebstrap.log" 2>&1 || { cat "$work/mmdebstrap.log" >&2; return 1; }
    cp "$work/apt.conf" "$made.new/etc/apt/apt.conf.d/99lent"
    mv "$made.new" "$made"
  fi
  bed=$(mktemp -d "$work/$suite.XXXXXX")
  cp -a "$made/." "$bed/"
  echo "--- Debian $suite"
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 timeout --kill-after=10 "$bound_s" systemd-nspawn --quiet --register=no --keep-unit \
    --machine="plantroom-fresh-$$" --directory="$bed" --bind-ro="$PWD:/source" --as-pid2 "${lent[@]}" \
    --bind-ro="$PWD/scripts/fresh-machine/inside.sh:/run/inside.sh" /bin/bash /run/inside.sh </dev/null &
  container=$!
  local code=0
  wait "$container" || code=$?
  container=
  rm -rf "$bed"
  bed=
  return "$code"
}

failed=0
for suite in "${@:-bookworm trixie}"; do
  for one in $suite; do try_suite "$one" || failed=1; done
done
exit "$failed"
