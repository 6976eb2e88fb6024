/** GET /usbip.sh: a complete script that keeps the board's USB device attached on a Linux host. */
import { type HostScriptOptions, hostPartsName, quoteShell } from '../wire/host-script.ts'

/** Part of the program for Linux hosts: finds or installs the stock usbip command and its driver. */
const LINUX_HOST_CLIENT = String.raw`# --- the client

find_client() {
  # Ubuntu keeps one for each kernel beside a wrapper that finds none for a newer kernel; any of them will do.
  for client in usbip /usr/sbin/usbip /usr/bin/usbip /usr/lib/linux-tools/*/usbip /usr/lib/linux-tools-*/usbip; do
    client=$(command -v "$client" 2>/dev/null) || continue
    "$client" version >/dev/null 2>&1 && return 0
  done
  return 1
}

# install_any COMMAND... -- PACKAGE...: installs the first package that exists
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

/**
 * Part of the program for Linux hosts: which device is wanted, what the board offers, what is attached, and attaching
 * it.
 */
const LINUX_HOST_DEVICE = String.raw`# --- which device

understand_device() {
  want_id=
  want_serial=
  want_place=
  case $device in
    '') device_text='every one that the board shares' ;;
    [0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]:[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]*)
      device_text=$device
      want_id=$(printf '%s' "$device" | cut -c 1-9 | head -n 1 | tr 'A-F' 'a-f')
      case $device in ?????????:?*) want_serial=$(printf '%s' "$device" | cut -d : -f 3-) ;; esac
      ;;
    *[!0-9.-]*) fail "there is no device '$device': expected vid:pid, vid:pid:serial or a place (1-1.4)" ;;
    *)
      device_text="the one at $device"
      want_place=$device
      ;;
  esac
}

# is_wanted PLACE VID:PID
is_wanted() {
  if [ -n "$want_id" ] && [ "$want_id" != "$2" ]; then return 1; fi
  if [ -z "$want_place" ]; then return 0; fi
  case $1 in "$want_place" | "$want_place".*) return 0 ;; esac
  return 1
}

# --- what is available

# Prints what the board offers, one per line: PLACE VID:PID. Fails if the board does not answer.
offers() {
  list=$(timeout "$answer_s" "$client" --tcp-port "$port" list --remote="$host" 2>/dev/null </dev/null) || return 1
  printf '%s\n' "$list" |
    sed -n 's/^ *\([1-9][0-9]*-[0-9.]*\): .*(\([0-9a-f]\{4\}:[0-9a-f]\{4\}\))$/\1 \2/p'
}

# Prints what is attached from this board, one per line: PORT PLACE LOCAL-PLACE.
attached() {
  cat "$ports"/status* 2>/dev/null | awk '$(NF - 4) == "006" { print $(NF - 5) + 0, $NF }' |
    while read -r local_port local_place; do
      read -r of_host of_port place rest 2>/dev/null <"$notes/port$local_port" || continue
      if [ -z "$rest" ] && [ "$of_host" = "$host" ] && [ "$of_port" = "$port" ]; then
        say "$local_port $place $local_place"
      fi
    done
}

# The same, without a device of the same kind that is attached only to read its serial number.
attached_rightly() {
  attached | while read -r local_port place local_place; do
    if [ -z "$want_serial" ] || [ "$(serial_of "$local_place")" = "$want_serial" ]; then
      say "$local_port $place $local_place"
    fi
  done
}

let_go() {
  attached | while read -r local_port place local_place; do
    "$client" detach --port="$local_port" >/dev/null 2>&1 && say "let go of $place ($local_place here)"
  done
}

# Trimmed, as the board reports it: some makers pad serial numbers with blanks.
serial_of() {
  tr '\000-\037\177' '[ *]' 2>/dev/null <"/sys/bus/usb/devices/$1/serial" | sed 's/^ *//; s/ *$//'
}

# attach_one PLACE: fails when the board refuses, or when it is another device of the same kind.
attach_one() {
  reason=$(timeout "$answer_s" "$client" --tcp-port "$port" attach --remote="$host" --busid="$1" 2>&1 </dev/null) || {
    say_once "the board did not give $1: $(printf '%s' "$reason" | tail -n 1)"
    return 1
  }
  found=
  tries=0
  while [ "$tries" -lt 10 ]; do
    found=$(attached | awk -v place="$1" '$2 == place { print $1, $3 }')
    [ -n "$found" ] && [ -e "/sys/bus/usb/devices/$(printf '%s' "$found" | cut -d ' ' -f 2)/idVendor" ] && break
    tries=$((tries + 1))
    sleep 1
  done
  [ -n "$found" ] || {
    say_once "$1 was attached, and went away at once"
    return 1
  }
  local_place=$(printf '%s' "$found" | cut -d ' ' -f 2)
  # The list of a board has no serial numbers: the number is only known once the device is attached.
  if [ -n "$want_serial" ] && [ "$(serial_of "$local_place")" != "$want_serial" ]; then
    "$client" detach --port="$(printf '%s' "$found" | cut -d ' ' -f 1)" >/dev/null 2>&1
    say_once "$1 has another serial number than the device that is wanted: let go of it"
    return 1
  fi
  say_once "attached $1 of $host ($local_place here)"
}

# forget_dead PLACE: a device that is attached here but free at the board has a dead connection: power or cable was
# cut. Left alone, the kernel would keep it for hours.
forget_dead() {
  printf '%s\n' "$before_asking" | while read -r dead_port place_here local_place; do
    [ "$place_here" = "$1" ] || continue
    "$client" detach --port="$dead_port" >/dev/null 2>&1 </dev/null
    say "the connection of $1 was dead ($local_place here)"
  done
}

# Attaches each wanted device that is not attached yet. Fails if none is attached afterwards.
attach_wanted() {
  before_asking=$(attached)
  offered=$(offers) || {
    say_once "the board does not answer at $host, port $port, or does not let this machine in"
    return 1
  }
  said=$last_said
  while read -r place id; do
    if [ -z "$place" ] || ! is_wanted "$place" "$id"; then continue; fi
    forget_dead "$place"
    if attach_one "$place" && [ -n "$want_id" ]; then break; fi
  done <<OFFERED
$offered
OFFERED
  if [ -n "$(attached_rightly)" ]; then return 0; fi
  [ "$said" != "$last_said" ] || say_once "the board offers nothing that is wanted now: it is in use, or not plugged in"
  return 1
}
`

// The program that keeps a board's USB device attached on a Linux host.

const BEGINNING = String.raw`# --- the program
# Seconds: for one answer of the board, between two checks, between two lists of devices, first and longest pause
# between attempts, for the first attachment after an installation.
answer_s=20
look_s=3
list_s=15
first_pause_s=2
longest_pause_s=60
settle_s=30

tool=/usr/local/lib/plantroom/$name
unit=$name.service
unit_file=/etc/systemd/system/$unit
modules_file=/etc/modules-load.d/plantroom-usbip.conf
# Where the usbip command notes which board a local port belongs to, and where the kernel says which ports are in use.
notes=/var/run/vhci_hcd
ports=/sys/devices/platform/vhci_hcd.0

usage() {
  cat <<USAGE
Uses the USB device of a Plantroom board on this machine.

  sh usbip.sh [install]    installs the USB/IP client, attaches the device, and keeps it attached: after a drop, after
                           a restart of the board, after a restart of this machine
  sh usbip.sh attach       attaches it again after a detach
  sh usbip.sh detach       lets go of it until attach, or until this machine is restarted
  sh usbip.sh status       says whether it is attached; ends with 0 if so, else with 1
  sh usbip.sh remove       lets go of it and removes what install has set up; the client stays installed

  --device WHICH   one device of those that the board shares: vid:pid, vid:pid:serial, or its place there (1-1.4)
  --help           this text

The board: $host, USB/IP port $port. Device: $device_text.
After an installation the same words are understood by $tool.
USAGE
}

say() {
  printf '%s\n' "$*"
}

# One log line for each change, however many attempts there are.
last_said=
say_once() {
  if [ "$last_said" != "$*" ]; then say "$*"; fi
  last_said=$*
}

fail() {
  printf 'usbip.sh: %s\n' "$*" >&2
  exit 1
}

need_root() {
  [ "$(id -u)" = 0 ] || fail 'this is for root: put sudo in front of it'
}

has_systemd() {
  [ -d /run/systemd/system ] && command -v systemctl >/dev/null
}
`

const WORDS = String.raw`# --- words

# Runs until it is stopped, and detaches then.
keep() {
  need_root
  trap 'let_go; exit 0' TERM INT
  pause_s=$first_pause_s
  listed_s=$list_s
  before=
  while :; do
    now=$(attached_rightly)
    if [ "$now" != "$before" ]; then
      if [ -z "$now" ]; then say_once 'the device was dropped'; fi
      listed_s=$list_s
      pause_s=$first_pause_s
    fi
    before=$now
    wait_s=$look_s
    # Asked while the device is attached too: more may have come, and only the board sees a dead connection.
    if [ -z "$now" ] || [ "$listed_s" -ge "$list_s" ]; then
      listed_s=0
      if find_client && load_driver '' && attach_wanted; then
        before=$(attached_rightly)
      else
        wait_s=$pause_s
        pause_s=$((pause_s * 2))
        [ "$pause_s" -le "$longest_pause_s" ] || pause_s=$longest_pause_s
      fi
    fi
    listed_s=$((listed_s + wait_s))
    sleep "$wait_s" &
    wait $!
  done
}

status() {
  now=$(attached_rightly)
  say "board: $host, USB/IP port $port; device: $device_text"
  if has_systemd; then say "kept attached: $(systemctl is-active "$unit" 2>/dev/null), at every start: $(systemctl is-enabled "$unit" 2>/dev/null)"; fi
  [ -n "$now" ] || {
    say 'attached: nothing'
    return 1
  }
  printf '%s\n' "$now" | while read -r local_port place local_place; do
    say "attached: $place of the board is $local_place here (port $local_port, serial number $(serial_of "$local_place"))"
  done
}

# write_file FILE TEXT: sets changed unless the file is just that.
write_file() {
  if [ -e "$1" ] && [ "$(cat "$1")" = "$2" ]; then return 0; fi
  if ! mkdir -p "$(dirname "$1")" || ! printf '%s\n' "$2" >"$1.new" || ! mv "$1.new" "$1"; then fail "cannot write $1"; fi
  changed=yes
}

# quoted TEXT: as one word of a shell
quoted() {
  printf "'"
  printf '%s' "$1" | sed "s/'/'\\\\''/g"
  printf "'"
}

write_tool() {
  # Started from where it is installed, it has its text there.
  [ -n "$body" ] || body=$(sed -n '/^# --- the program$/,$p' "$tool")
  write_file "$tool" "#!/bin/sh
# Keeps the USB device of a Plantroom board attached. Written by usbip.sh install; gone after usbip.sh remove.
set -u
host=$(quoted "$host")
port=$(quoted "$port")
device=$(quoted "$device")
name=$(quoted "$name")
body=
$body"
  chmod 755 "$tool"
}

write_unit() {
  write_file "$unit_file" "# Keeps the USB device of a Plantroom board attached. Written by usbip.sh install; gone after usbip.sh remove.
[Unit]
Description=USB device of a Plantroom board ($name)
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/bin/sh $tool keep
Restart=always
RestartSec=5
TimeoutStopSec=30
KillMode=mixed
ProtectHome=yes
PrivateTmp=yes
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target"
}

wait_attached() {
  waited_s=0
  while [ -z "$(attached_rightly)" ]; do
    [ "$waited_s" -lt "$settle_s" ] || {
      say "nothing is attached yet; it will be as soon as the board gives it. See: journalctl -u $unit"
      return 0
    }
    sleep 1
    waited_s=$((waited_s + 1))
  done
  status
}

install() {
  need_root
  install_client
  load_driver may-install || fail "this kernel ($(uname -r)) has no driver vhci-hcd: the package with it may be named linux-modules-extra or kernel-modules-extra"
  changed=
  write_file "$modules_file" vhci-hcd
  has_systemd || {
    attach_wanted || exit 1
    say 'there is no systemd here: the device is attached now, and not again after a drop or a restart'
    exit 0
  }
  write_tool
  write_unit
  [ -z "$changed" ] || systemctl daemon-reload
  systemctl -q enable "$unit"
  if [ -n "$changed" ]; then systemctl restart "$unit"; else systemctl start "$unit"; fi || fail "$unit does not start: journalctl -u $unit"
  wait_attached
}

attach() {
  need_root
  find_client || fail 'the usbip command is not here: install first'
  load_driver '' || fail "this kernel ($(uname -r)) has no driver vhci-hcd"
  if has_systemd && [ -e "$unit_file" ]; then
    systemctl start "$unit" || fail "$unit does not start: journalctl -u $unit"
    wait_attached
  else
    attach_wanted || exit 1
    say 'attached until it is dropped: install keeps it attached'
  fi
}

detach() {
  need_root
  if has_systemd && [ -e "$unit_file" ]; then systemctl stop "$unit"; fi
  if find_client; then let_go; fi
  say 'nothing of this board is attached'
}

remove() {
  detach
  if has_systemd && [ -e "$unit_file" ]; then systemctl -q disable "$unit"; fi
  rm -f "$unit_file" "$tool"
  if has_systemd; then systemctl daemon-reload; fi
  rmdir /usr/local/lib/plantroom 2>/dev/null
  # Other boards may still be used here.
  set -- /etc/systemd/system/plantroom-usbip-*.service
  [ -e "$1" ] || rm -f "$modules_file"
  say 'removed; the usbip command stays installed'
}

verb=install
chosen=
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) verb=help ;;
    --device)
      [ $# -ge 2 ] || fail '--device needs a device'
      device=$2
      shift
      ;;
    install | attach | detach | status | remove | keep)
      [ -z "$chosen" ] || fail "one word at a time: $chosen or $1"
      verb=$1
      chosen=$1
      ;;
    *) fail "'$1' is not understood; see --help" ;;
  esac
  shift
done
understand_device
case $verb in help) usage ;; *) "$verb" ;; esac`

/**
 * A POSIX shell program that keeps a board's USB device attached on a Linux host. It contains no values; they are put
 * in front of it: host, port, device, name, and body, which is this program's own text, or empty once it is installed.
 * No braces around names, since it stands in templates.
 */
export const LINUX_HOST_TOOL = [BEGINNING, LINUX_HOST_DEVICE, LINUX_HOST_CLIENT, WORDS].join('\n')

/**
 * A POSIX shell script: install (the default), attach, detach, status, remove, --help. It holds the program as text,
 * since a script read from a pipe has no file to copy itself from.
 */
export function linuxHostScript(options: HostScriptOptions): string {
  return `#!/bin/sh
# Uses the USB device of a Plantroom board on this machine:
#
#     sudo sh usbip.sh          installs what it needs, attaches the device and keeps it attached
#     sh usbip.sh --help        what else it can
#
# The values are for the program below.
# shellcheck disable=SC2034
set -u
host=${quoteShell(options.host)}
port=${quoteShell(String(options.port))}
device=${quoteShell(options.key ?? '')}
name=${quoteShell(hostPartsName(options))}
body=$(
  cat <<'END_OF_PROGRAM'
${LINUX_HOST_TOOL}
END_OF_PROGRAM
)
eval "$body"
`
}
