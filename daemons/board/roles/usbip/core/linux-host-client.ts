/** Of the program for Linux hosts: the stock usbip command and its driver, found or installed. */
export const LINUX_HOST_CLIENT = String.raw`# --- the client

find_client() {
  # Ubuntu keeps one for each kernel beside a wrapper that finds none for a newer kernel; any of them will do.
  for client in usbip /usr/sbin/usbip /usr/bin/usbip /usr/lib/linux-tools/*/usbip /usr/lib/linux-tools-*/usbip; do
    client=$(command -v "$client" 2>/dev/null) || continue
    "$client" version >/dev/null 2>&1 && return 0
  done
  return 1
}

# install_any COMMAND... -- PACKAGE...: the first package that there is
install_any() {
  command=
  while [ "$1" != -- ]; do
    command="$command $1"
    shift
  done
  shift
  for package in "$@"; do
    say "installing $package"
    printf -- '--- %s\n' "$package" >>"$log"
    # Words of ours, to be split.
    # shellcheck disable=SC2086
    $command "$package" >>"$log" 2>&1 </dev/null && find_client && return 0
  done
  return 1
}

install_client() {
  find_client && return 0
  log=$(mktemp) || fail 'there is no room for temporary files'
  if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt='apt-get -qq -y -o DPkg::Lock::Timeout=300'
    # Debian has a package of that name; Ubuntu has it among the tools of its kernels.
    install_any "$apt" install -- usbip || {
      $apt update >>"$log" 2>&1 </dev/null
      install_any "$apt" install -- usbip "linux-tools-$(uname -r)" linux-tools-generic
    }
  elif command -v dnf >/dev/null; then
    install_any dnf -q -y install -- usbip usbip-utils kernel-tools
  elif command -v yum >/dev/null; then
    install_any yum -q -y install -- usbip usbip-utils kernel-tools
  elif command -v pacman >/dev/null; then
    install_any pacman -S --noconfirm --needed -- usbip
  elif command -v zypper >/dev/null; then
    install_any zypper --non-interactive install -- usbip usbip-utils
  elif command -v apk >/dev/null; then
    install_any apk add -- linux-tools-usbip
  else
    rm -f "$log"
    fail 'none of apt-get, dnf, yum, pacman, zypper and apk is here: install the usbip command by hand, then run this again'
  fi
  find_client || {
    tail -n 40 "$log" >&2
    rm -f "$log"
    fail 'the usbip command could not be installed: see above, install it by hand, then run this again'
  }
  rm -f "$log"
}

load_driver() {
  [ -e "$ports/status" ] && return 0
  modprobe vhci-hcd 2>/dev/null && return 0
  # Ubuntu keeps it apart from the kernel.
  if [ "$1" = may-install ] && command -v apt-get >/dev/null; then
    apt-get -qq -y install "linux-modules-extra-$(uname -r)" >/dev/null 2>&1 </dev/null
    modprobe vhci-hcd 2>/dev/null && return 0
  fi
  return 1
}
`
