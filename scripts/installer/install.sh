#!/bin/sh
# Installs Plantroom on this machine: what the installer (.run) runs, in the folder that it unpacked itself to.
# `facts` beside it says what it installs.
set -eu
umask 022

# Where it is installed, and where updates find it.
root=/opt/plantroom
state=/var/lib/plantroom/update
settings=/etc/plantroom/update.toml
link=/usr/local/bin/plantroom

version='' bundle='' node=''
# shellcheck source=/dev/null
. ./facts
form='sh plantroom-VERSION.run -- [--yes] [--update-url URL] [--release-root FILE] [--replace]'

say() { printf 'plantroom: %s\n' "$*"; }
fail() { printf 'plantroom: %s\n' "$*" >&2; exit 1; }
usage() {
  printf 'plantroom: %s\n' "$*" >&2
  cat >&2 <<HELP
$form
  --yes                ask nothing
  --update-url URL     the server that updates come from; kept in $settings unless that names one
  --release-root FILE  the root whose release keys are trusted; default the one of this release, unless one is trusted already
  --replace            put this release in the place of one that is installed; its daemons are restarted
HELP
  exit 2
}

yes='' url='' trusted='' replace=''
while [ $# -gt 0 ]; do
  case $1 in
    --yes) yes=yes ;;
    --replace) replace=yes ;;
    --update-url | --release-root)
      [ $# -gt 1 ] || usage "$1 wants a value"
      if [ "$1" = --update-url ]; then url=$2; else trusted=$2; fi
      shift
      ;;
    *) usage "$1 is not known" ;;
  esac
  shift
done

# What would make it half an installation is refused before anything is touched.
[ "$(id -u)" = 0 ] || fail 'this needs root: run it with sudo'
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "this machine is a $(uname -m), and Plantroom runs on amd64 (x86_64) and arm64 (aarch64) alone" ;;
esac
[ -f "node-$node-$arch.gz" ] || fail "this installer is not for $arch: it has no Node for it. Ask for one that was published for $arch"
[ -d /run/systemd/system ] || fail 'systemd does not run here, and it is what runs the daemons'
package=$(dpkg-query --show --showformat='${db:Status-Status}' plantroom 2>/dev/null || true)
case $package in
  '' | not-installed | config-files) ;;
  *) fail 'Plantroom is here as a Debian package, and apt updates it: apt-get remove plantroom keeps settings and state, and this can be run then' ;;
esac
case $url in
  '' | http://?* | https://?*) ;;
  *) fail "$url is no address of an update server, expected one such as https://updates.example.org:3131" ;;
esac
case $url in *[!A-Za-z0-9.:/_~%[\]-]*) fail "$url has signs that no address of an update server has" ;; esac
# makeself has left the folder that a name may be meant from.
case $trusted in '' | /*) ;; *) trusted=${USER_PWD:-.}/$trusted ;; esac
[ -z "$trusted" ] || [ -r "$trusted" ] || fail "$trusted cannot be read"
if [ -e "$link" ] || [ -L "$link" ]; then
  case $(readlink "$link") in "$root"/*) ;; *) fail "$link is there and is not of this installer: move it away" ;; esac
fi

release=$version-$(printf '%.8s' "$bundle")
current=$(readlink "$root/current" 2>/dev/null || true)
if [ -n "$current" ] && [ "$current" != "releases/$release" ] && [ -z "$replace" ]; then
  fail "${current#releases/} is installed here already: plantroom update --yes brings what is newer. Nothing was changed (--replace does it all the same)"
fi
if [ -z "$yes" ]; then
  printf 'plantroom: install Plantroom %s in %s, and start its daemons? [y/N] ' "$version" "$root"
  read -r answer </dev/tty || fail 'nobody is there to answer: --yes asks nothing'
  case $answer in y | Y | yes) ;; *) fail 'nothing was changed' ;; esac
fi

# Whole before it has its name: a cut leaves nothing but a draft.
mkdir -p "$root/releases" "$root/runtime"
if [ ! -f "$root/runtime/node-$node" ] || [ -L "$root/runtime/node-$node" ]; then
  gunzip -c "node-$node-$arch.gz" >"$root/runtime/.node"
  chmod 755 "$root/runtime/.node"
  sync
  mv -f "$root/runtime/.node" "$root/runtime/node-$node"
fi

# whole FOLDER: each file of it is what its manifest says, and that is the published one.
whole() {
  [ "$(sha256sum <"$1/MANIFEST" | cut -d ' ' -f 1)" = "$bundle" ] || return 1
  while read -r path _ sum; do printf '%s  %s\n' "$sum" "$path"; done <"$1/MANIFEST" >sums
  sums=$PWD/sums
  (cd "$1" && sha256sum --quiet --check "$sums" >/dev/null 2>&1)
}
if [ -f "$root/releases/$release/.complete" ] && whole "$root/releases/$release"; then
  say "$version is on the disk already"
else
  staging=$root/releases/.staging
  rm -rf "$staging"
  mkdir "$staging"
  tar -xzf release.tar.gz --no-same-owner -C "$staging"
  whole "$staging" || fail 'what was unpacked is not what was published: look at the disk. Nothing was changed'
  printf '{"version":"%s","bundle":"%s"}\n' "$version" "$bundle" >"$staging/.complete"
  sync
  rm -rf "$root/releases/$release"
  mv -T "$staging" "$root/releases/$release"
  sync
  say "$version is in $root/releases/$release"
fi

mkdir -p "$(dirname "$settings")" "$(dirname "$link")"
# Made in turn: what is above the state is open to the daemons, which have theirs beside it.
mkdir -p "$(dirname "$state")"
for folder in "$state" "$state/trust"; do [ -d "$folder" ] || mkdir -m 700 "$folder"; done
# trust FILE: whole, or not there at all. Half of one is trusted by nobody, and no update would be taken any more.
trust() {
  install -m 600 "$1" "$state/trust/root.json.new"
  sync
  mv -f "$state/trust/root.json.new" "$state/trust/root.json"
}
if [ -n "$trusted" ]; then
  trust "$trusted"
  say "releases are trusted that the keys of $trusted signed"
elif [ ! -s "$state/trust/root.json" ]; then
  trust "$root/releases/$release/root.json"
  say "releases are trusted that the keys of this one's root signed ($state/trust/root.json)"
fi
if [ -n "$url" ]; then
  if grep -Eqs '^[[:space:]]*(update\.)?update_url[[:space:]]*=' "$settings"; then
    say "updates come from where $settings says"
  else
    # At the top: below a table it would be one of its keys.
    { printf 'update_url = "%s"\n' "$url"; cat "$settings" 2>/dev/null || true; } >"$settings.new"
    [ ! -e "$settings" ] || chmod --reference="$settings" "$settings.new"
    mv -f "$settings.new" "$settings"
    say "updates come from $url ($settings)"
  fi
fi

# A package that was removed has masked the units of its name.
if [ "$package" = config-files ]; then
  for mask in /var/lib/systemd/deb-systemd-helper-masked/plantroom-*; do
    [ ! -e "$mask" ] || deb-systemd-helper unmask "$(basename "$mask")" >/dev/null || true
  done
fi

if [ "$current" != "releases/$release" ]; then
  ran=''
  if [ -n "$current" ]; then
    ran=$(systemctl list-units --plain --no-legend --state=active 'plantroom-*.service' | cut -d ' ' -f 1)
    ln -sfn "$current" "$root/.previous"
    mv -T "$root/.previous" "$root/previous"
  fi
  ln -sfn "releases/$release" "$root/.current"
  mv -T "$root/.current" "$root/current"
  sync
fi
ln -sfn "$root/current/plantroom" "$link"
"$root/current/plantroom" units
# shellcheck disable=SC2086 # names of units, one word each
if [ -n "${ran:-}" ]; then systemctl restart $ran || fail 'a daemon does not start: journalctl -u plantroom-NAME says why'; fi
say "$version runs in $root; plantroom status tells how its daemons are, plantroom update looks for newer ones"
