/** The program that keeps a board's USB device attached on a Linux host. */
import { LINUX_HOST_CLIENT } from './linux-host-client.ts'
import { LINUX_HOST_DEVICE } from './linux-host-device.ts'

const BEGINNING = String.raw`# --- the program
# Seconds: for one answer of the board, between two looks, between two lists of what there is, from the first attempt
# to the longest pause between two, for a first attachment after an installation.
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

# One line for each change, however often it is tried.
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

# Ends when it is told to, and lets go then.
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
    # Asked while it is attached too: more may have come, and a dead connection is seen by the board alone.
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
 * What keeps a board's USB device attached on a Linux host: a POSIX shell program without a value in it. Those come in
 * front (linux-host-script.ts): host, port, device, name, and body, which is this program's own text, or empty where it
 * is installed. No braces around names: it stands in templates.
 */
export const LINUX_HOST_TOOL = [BEGINNING, LINUX_HOST_DEVICE, LINUX_HOST_CLIENT, WORDS].join('\n')
