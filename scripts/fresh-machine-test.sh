#!/bin/bash
# Tries the two commands as a new user would: an empty Debian with only what README requires, a clone of the last
# commit, then make demo and make test, with their times. Needs root and the network.
#
#   scripts/fresh-machine-test.sh [MACHINE...] [--only FILE...]
#
# MACHINE is SUITE:USER:FOLDER[,FOLDER]: a separate machine in which USER (root, or any other: a user with sudo) clones
# into each FOLDER in turn. Default: Debian 12 and 13, as root in /root and /srv, as a user in a home of mode 0700 and
# in /srv. --only runs these test files instead of make test, and no demo.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly work=build/fresh
# What README names, git for the clone, and sudo. No curl, no init, and so no /run/lock.
readonly packages=nodejs,npm,make,g++,python3,git,ca-certificates,sudo
# Seconds for one machine from the first clone to the last test.
readonly bound_s=4500

machines=()
while [ $# -gt 0 ] && [ "$1" != --only ]; do machines+=("$1") && shift; done
only=()
[ $# = 0 ] || only=("${@:2}")
if [ ${#machines[@]} = 0 ]; then
  for suite in bookworm trixie; do machines+=("$suite:root:/root,/srv" "$suite:ada:/home/ada,/srv"); done
fi
for machine in "${machines[@]}"; do
  [[ $machine =~ ^[a-z]+:[a-z]+:/[a-z/]+(,/[a-z/]+)*$ ]] \
    || { echo "'$machine' is no SUITE:USER:FOLDER, such as trixie:root:/srv" >&2; exit 2; }
done

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

# The system is made once; each machine is a copy of it.
make_suite() {
  local made=$work/$1
  if [ "$(cat "$made.packages" 2>/dev/null)" = "$packages" ]; then return; fi
  echo "making a Debian $1 below $work (once)"
  rm -rf "$made" "$made.new"
  mmdebstrap --quiet --variant=minbase --aptopt="$work/apt.conf" --include="$packages" "$1" "$made.new" \
    >"$work/mmdebstrap.log" 2>&1 || { cat "$work/mmdebstrap.log" >&2; return 1; }
  cp "$work/apt.conf" "$made.new/etc/apt/apt.conf.d/99lent"
  mv "$made.new" "$made"
  echo "$packages" >"$made.packages"
}

try_machine() {
  local suite user folders
  IFS=: read -r suite user folders <<<"$1"
  make_suite "$suite" || return 1
  bed=$(mktemp -d "$work/$suite.XXXXXX")
  cp -a --reflink=auto "$work/$suite/." "$bed/"
  git clone --quiet --bare . "$bed/srv/source.git"
  printf '[safe]\n\tdirectory = *\n' >"$bed/etc/gitconfig"
  cp scripts/fresh-machine/inside.sh "$bed/srv/"
  chmod -R a+rX "$bed/srv"
  echo "--- $1"
  # The tests lay cables between namespaces of their own.
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 timeout --kill-after=10 "$bound_s" systemd-nspawn --quiet --register=no --keep-unit \
    --capability=CAP_NET_ADMIN --machine="plantroom-fresh-$$" --directory="$bed" --as-pid2 "${lent[@]}" \
    /bin/bash /srv/inside.sh "$user" "$folders" "${only[@]}" </dev/null &
  container=$!
  local code=0
  wait "$container" || code=$?
  container=
  rm -rf "$bed"
  bed=
  [ "$code" != 124 ] || echo "FAILED $1: not done after $bound_s s"
  return "$code"
}

failed=0
for machine in "${machines[@]}"; do try_machine "$machine" || failed=1; done
exit "$failed"
