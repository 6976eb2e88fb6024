#!/bin/bash
# Inside the container: the promises of the board and its helper. Sourced by inside.sh once the package is installed.
unit=plantroom-board.service
readonly board=http://127.0.0.1
readonly node=/usr/lib/plantroom/node
readonly helper=/run/plantroom/helper.sock

board_answers() { curl --silent --fail --max-time 2 --output /dev/null "$board/api/status"; }
comes_switched_off() { ! is_active && [ "$(systemctl is-enabled "$unit")" = disabled ] && ! board_answers; }
is_switched_on() {
  systemctl enable --now "$unit" && until_true 15 is_active && until_true 5 board_answers
}
page_is_at_port_80() { curl --silent --fail --max-time 5 "$board/" | tee /dev/stderr | grep --quiet --ignore-case '<!doctype html>'; }
board_state_is_its_own() {
  local folder=/var/lib/private/plantroom/board
  ls -lanR "$folder"
  [ -L /var/lib/plantroom/board ] && [ -z "$(find "$folder" -perm /077 -not -type l)" ]
}

# ask USER GROUPS LINE: sends a request to the helper as a user, and prints the answer.
ask() {
  local groups=--clear-groups
  [ -z "$2" ] || groups=--groups=$2
  setpriv --reuid "$1" --regid 65534 "$groups" "$node" -e '
    const socket = require("node:net").connect(process.argv[1])
    socket.on("error", (error) => console.log(error.code))
    socket.on("data", (text) => process.stdout.write(text))
    socket.end(process.argv[2] + "\n")' "$helper" "$3" 2>&1
}
helper_runs() { systemctl is-active --quiet plantroom-helper.service; }
helper_is_asked_for() {
  systemctl is-active plantroom-helper.socket || return 1
  [ "$(stat -c '%U:%G %a' "$helper")" = root:plantroom\ 660 ] || { stat "$helper"; return 1; }
  ! helper_runs
}
helper_answers_its_group() {
  local group
  group=$(getent group plantroom | cut -d : -f 3)
  [ "$(ask 64000 "$group" 'usbip-bind ../..')" = 'error bad_busid expected a bus id such as 1-1.4' ] && helper_runs
}
helper_refuses_others() {
  local said
  said=$(ask 64000 '' reboot)
  echo "$said"
  [ "$said" = EACCES ]
}
# The socket's mode is the first lock, the helper's own check of the caller the second.
helper_refuses_others_by_itself() {
  local said
  chmod 666 "$helper"
  said=$(ask 64000 '' reboot)
  chmod 660 "$helper"
  echo "$said"
  # Node does not read the answer if its own line came too late to be accepted.
  case $said in 'error not_allowed this user may not ask the helper' | ECONNRESET | EPIPE) ;; *) return 1 ;; esac
}
board_may_ask() {
  local groups
  groups=$(sed -n 's/^Groups:[[:space:]]*//p' "/proc/$(show MainPID)/status")
  echo "groups $groups"
  case " $groups " in *" $(getent group plantroom | cut -d : -f 3) "*) ;; *) return 1 ;; esac
}
little_of_the_helper_is_exposed() { unit=plantroom-helper.service little_is_exposed; }
# ask_as_board LINE: the same as the board's own user.
ask_as_board() { ask "$(stat -c %u "/proc/$(show MainPID)")" "$(getent group plantroom | cut -d : -f 3)" "$1"; }
# As on a board that owns its machine, with the script of firmware-images/README.md; the slot is a file here.
installs_an_image() {
  local uid folder=/var/lib/private/plantroom/board keys=/etc/plantroom/firmware-keys said
  uid=$(stat -c %u "/proc/$(show MainPID)")
  mkdir -p "$keys" /var/lib/slots
  head -c 5000000 /dev/urandom >/tmp/rootfs
  plantroom firmware keygen /tmp/release.key "$keys/release.pem" || return 1
  plantroom firmware sign --key /tmp/release.key --compatible test --version 2.1.0 /tmp/rootfs "$folder/image" || return 1
  chown "$uid" "$folder/image" && chmod 600 "$folder/image"
  printf '#!/bin/sh\nset -e\nplantroom firmware unpack --keys %s --compatible test "$1" /var/lib/slots/b\n' "$keys" \
    >/etc/plantroom/install-firmware
  chmod 755 /etc/plantroom/install-firmware
  mkdir -p /run/systemd/system/plantroom-helper.service.d
  printf '[Service]\nReadWritePaths=/var/lib/slots\n' >/run/systemd/system/plantroom-helper.service.d/slots.conf
  systemctl daemon-reload && systemctl stop plantroom-helper.service
  said=$(ask_as_board 'install /var/lib/plantroom/board/image')
  echo "$said"
  [ "$said" = ok ] && cmp /tmp/rootfs /var/lib/slots/b || return 1
  # With one byte changed: even a compromised board cannot make root install it.
  rm /var/lib/slots/b
  printf x | dd of="$folder/image" bs=1 seek=4000000 conv=notrunc status=none
  said=$(ask_as_board 'install /var/lib/plantroom/board/image')
  echo "$said"
  case $said in 'error install_failed '*'its checksum differs'*) ;; *) return 1 ;; esac
  [ ! -e /var/lib/slots/b ]
}
# An upload where root cannot install it: the board runs a command as its own user.
takes_an_image() {
  local log=/tmp/ota.answer pid
  mkdir -p /run/systemd/system/plantroom-board.service.d
  printf '[ota]\ncompatible = "test"\ncommand = ["/usr/bin/true"]\nreserve_bytes = 0\n' >/run/board-ota.toml
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/plantroom board --config /run/board-ota.toml\n' \
    >/run/systemd/system/plantroom-board.service.d/ota.conf
  systemctl daemon-reload && systemctl restart "$unit" && until_true 10 board_answers || return 1
  pid=$(show MainPID)
  plantroom firmware sign --key /tmp/release.key --compatible test --version 2.1.0 /tmp/rootfs /tmp/image || return 1
  curl --silent --show-error --max-time 20 --data-binary @/tmp/image --header 'content-type: application/octet-stream' \
    "$board/api/ota" >"$log"
  cat "$log"
  grep --quiet '"installed": *true' "$log" && until_true 10 started_because ota && [ "$(show MainPID)" = "$pid" ]
}
started_because() { curl --silent --fail --max-time 2 "$board/api/status" | grep --quiet "\"reason\": *\"$1\""; }
# The process, its id and its port stay; systemd sees neither an end nor a start.
begins_anew_in_place() {
  local pid restarts
  pid=$(show MainPID) restarts=$(show NRestarts)
  curl --silent --fail --show-error --max-time 5 --request POST "$board/api/reboot" || return 1
  until_true 10 started_because reboot && is_active && [ "$(show MainPID)" = "$pid" ] \
    && [ "$(show NRestarts)" = "$restarts" ] && until_true 5 says_how_it_is && watchdog_hears_it
}
# The page answers a moment before systemd is told anew.
says_how_it_is() { [ -n "$(show StatusText)" ]; }
# Pings come every 10 s, from the new program as from the old.
watchdog_hears_it() { until_true 14 was_heard_after "$(show WatchdogTimestampMonotonic)"; }
was_heard_after() { [ "$(show WatchdogTimestampMonotonic)" != "$1" ]; }
leaves_as_it_was() {
  rm -rf /run/systemd/system/plantroom-{board,helper}.service.d /run/board-ota.toml /etc/plantroom/install-firmware \
    /etc/plantroom/firmware-keys /var/lib/slots /var/lib/private/plantroom/board/image
  systemctl daemon-reload && systemctl restart "$unit" && until_true 10 board_answers
}
gives_the_machine_its_name() {
  local said
  said=$(ask_as_board 'hostname cellar-1')
  echo "$said, $(cat /proc/sys/kernel/hostname), $(cat /etc/hostname)"
  [ "$said" = ok ] && [ "$(cat /proc/sys/kernel/hostname)" = cellar-1 ] && [ "$(cat /etc/hostname)" = cellar-1 ]
}
has_address() { ip -4 -brief address show dev board0 | grep --quiet " $1"; }
gives_the_machine_its_address() {
  local said
  ip link add board0 type veth peer name far0 && ip link set far0 up && systemctl start systemd-networkd || return 1
  said=$(ask_as_board 'network static board0 10.9.8.7/24 10.9.8.1')
  echo "$said"
  [ "$said" = ok ] && until_true 10 has_address 10.9.8.7/24 || { networkctl status board0 --no-pager; return 1; }
  ip route show | grep --quiet 'default via 10.9.8.1 dev board0' || { ip route show; return 1; }
  said=$(ask_as_board 'network dhcp board0')
  echo "$said"
  [ "$said" = ok ] && until_true 10 eval '! has_address 10.9.8.7/24'
}
helper_ends_by_itself() { until_true 45 eval '! helper_runs' && [ "$(systemctl show --value --property Result plantroom-helper.service)" = success ]; }
upgrade_keeps_it_switched() {
  dpkg --install /bed/plantroom.deb && until_true 15 board_answers && systemctl is-enabled "$unit" \
    && systemctl disable --now "$unit" && dpkg --install /bed/plantroom.deb \
    && [ "$(systemctl is-enabled "$unit")" = disabled ] && ! is_active && systemctl enable --now "$unit"
}

# A second board, started by hand beside the unit: it plays what the unit sends, or sends what the unit plays. On
# loopback, whose multicast is off.
readonly far=http://127.0.0.1:8099
far_board() {
  ip link set lo multicast on
  ip link add ptp0 type veth peer name ptp1 2>/dev/null
  ip link set ptp0 up && ip link set ptp1 up && ip address replace 10.7.7.1/24 dev ptp0
  plantroom board --state /run/far --listen 127.0.0.1:8099 --set board.role="$1" --set "audio.$2" --set audio.interface=lo \
    --set ptp.enabled=false --set mdns.enabled=false >/tmp/far.log 2>&1 &
  echo $! >/run/far.pid
}
far_ends() { kill "$(cat /run/far.pid)"; rm -rf /run/far /run/far.pid; }
# unit_with ROLE SETTING: the unit itself in that role, with separate state; PTP where nobody else answers.
unit_with() {
  mkdir -p /run/systemd/system/plantroom-board.service.d
  printf '[board]\nrole = "%s"\n[audio]\n%s\ninterface = "lo"\n[ptp]\ninterface = "ptp0"\n[mdns]\nenabled = false\n' "$1" "$2" >/run/sound.toml
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/plantroom board --config /run/sound.toml --state /var/lib/plantroom/board/%s\n' \
    "$1" >/run/systemd/system/plantroom-board.service.d/sound.conf
  systemctl daemon-reload && systemctl restart "$unit" && until_true 20 board_answers
}
# told BASE EXPRESSION: whether it holds for the status, as `is`.
told() {
  curl --silent --fail --max-time 5 "$1/api/status" | "$node" -e '
    const is = JSON.parse(require("node:fs").readFileSync(0, "utf8"))
    const holds = eval(process.argv[1])
    if (!holds) console.log(is.verdict.text, is.ptp?.text)
    process.exit(holds ? 0 : 1)' "$2"
}
# If the host allows raised limits, the sound threads run at their priority; otherwise the board says so.
hurries_or_says_so() {
  local granted=false
  ! prlimit --rtprio=50:50 true 2>/dev/null || granted=true
  told "$board" "is.$1.realtime.granted === $granted && is.$1.realtime.text !== ''"
}
sends_a_tone() {
  far_board decoder 'sink=null'
  unit_with encoder 'source = "tone"' || return 1
  until_true 20 told "$board" 'is.encoder.sent.packets > 2000 && is.encoder.sent.errors === 0' && hurries_or_says_so encoder
}
is_a_clock() { until_true 30 told "$board" 'is.ptp.state === "master"'; }
plays_a_tone() {
  local route
  route=$(curl --silent "$far/api/status" | "$node" -e '
    const { mcast, port } = JSON.parse(require("node:fs").readFileSync(0, "utf8")).encoder.stream
    console.log(new URLSearchParams({ mcast, port, link_ms: 100 }).toString())')
  echo "$route"
  curl --silent --fail --show-error --max-time 5 --data "$route" "$board/api/route" || return 1
  until_true 20 told "$board" 'is.decoder.playing && is.decoder.counters.packets > 2000 && is.decoder.meters.peak_db[0] > -60' \
    && hurries_or_says_so decoder
}
hears_a_tone() {
  far_ends && far_board encoder 'source=tone' && unit_with decoder 'sink = "null"' && until_true 20 told "$far" 'is.encoder.sent.packets > 0' \
    && plays_a_tone
}
is_silent_again() {
  far_ends
  rm -rf /run/systemd/system/plantroom-board.service.d /run/sound.toml /var/lib/private/plantroom/board/{encoder,decoder}
  ip link delete ptp0
  systemctl daemon-reload && systemctl restart "$unit" && until_true 10 board_answers
}

promise 'the board comes switched off, and takes no port' comes_switched_off
promise 'switched on it is active and answers at port 80' is_switched_on
promise 'its page is there' page_is_at_port_80
promise 'it is started under Type=notify, and says how it is' started_by_notify
promise 'it runs as a user made for it (DynamicUser)' runs_as_nobodys_user
promise 'its exposure is 2.0 or lower' little_is_exposed
promise 'nobody else reads its state' board_state_is_its_own
promise 'after SIGKILL it comes back' comes_back_after KILL 10 board_answers
promise 'the helper is started by who asks, and not before' helper_is_asked_for
promise 'the helper answers its group' helper_answers_its_group
promise 'the helper refuses others, by its socket' helper_refuses_others
promise 'the helper refuses others, by itself' helper_refuses_others_by_itself
promise 'the board is in the group that may ask' board_may_ask
promise 'the exposure of the helper is 2.0 or lower' little_of_the_helper_is_exposed
promise 'it begins anew in place, ready throughout' begins_anew_in_place
promise 'the installer proves an image again, as root' installs_an_image
promise 'it takes an image over HTTP, and begins anew' takes_an_image
promise 'nothing of that stays' leaves_as_it_was
promise 'as encoder it sends a tone, at its priority or saying why not' sends_a_tone
promise 'ptp4l runs under it, and becomes the clock' is_a_clock
promise 'as decoder it plays another board, at its priority or saying why not' hears_a_tone
promise 'nothing of that stays' is_silent_again
promise 'the helper gives the machine its name' gives_the_machine_its_name
promise 'the helper gives the machine its address, and takes it back' gives_the_machine_its_address
promise 'an upgrade keeps the board switched on, or off' upgrade_keeps_it_switched
promise 'the helper ends by itself' helper_ends_by_itself
