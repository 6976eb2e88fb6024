#!/bin/sh
# What making a Debian package takes, for scripts that read this: they set $strip, $maintainer and SOURCE_DATE_EPOCH before.

# Debug symbols are not shipped: for Node they are a fifth of it. One argument: the file as it was copied.
stripped() { "$strip" --strip-unneeded --remove-section=.comment --remove-section=.note "$1"; }

# Debian's own list of changes, which says where ours is: NAME VERSION TREE
debian_changelog() {
  printf '%s (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of plantroom.\n\n -- %s  %s\n' "$1" "$2" "$maintainer" \
    "$(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')" | gzip -9n >"$3/usr/share/doc/$1/changelog.gz"
}

# TREE FILE
pack() {
  find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz -z3 --build "$1" "$2.new" >/dev/null
  mv "$2.new" "$2"
  echo "$2 $(stat -c %s "$2") bytes"
}
