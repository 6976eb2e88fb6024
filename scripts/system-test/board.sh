#!/bin/bash
# Inside the container: what the board and its helper promise. Read in by inside.sh, when the package is installed.
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
board_comes_back_after_sigkill() {
  local pid
  pid=$(show MainPID)
  kill -KILL "$pid" && until_true 10 has_new_pid "$pid" && until_true 10 is_active && until_true 5 board_answers
}

# ask USER GROUPS LINE: asks the helper as somebody, and prints the answer.
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
# The socket's mode is the first lock, the helper's own look at the caller the second.
helper_refuses_others_by_itself() {
  local said
  chmod 666 "$helper"
  said=$(ask 64000 '' reboot)
  chmod 660 "$helper"
  echo "$said"
  # Node does not read the answer where its own line came too late to be taken.
  case $said in 'error not_allowed this user may not ask the helper' | ECONNRESET | EPIPE) ;; *) return 1 ;; esac
}
board_may_ask() {
  local groups
  groups=$(sed -n 's/^Groups:[[:space:]]*//p' "/proc/$(show MainPID)/status")
  echo "groups $groups"
  case " $groups " in *" $(getent group plantroom | cut -d : -f 3) "*) ;; *) return 1 ;; esac
}
little_of_the_helper_is_exposed() { unit=plantroom-helper.service little_is_exposed; }
# As the helper does it: nobody else reads the board's folder.
installs_an_image() {
  local uid folder=/var/lib/private/plantroom/board said
  uid=$(stat -c %u "/proc/$(show MainPID)")
  printf 'an image' >"$folder/image" && chown "$uid" "$folder/image" && chmod 600 "$folder/image"
  printf '#!/bin/sh\ncat "$1" >/tmp/installed && %s -p 1 >>/tmp/installed\n' "$node" >/etc/plantroom/install-firmware
  chmod 755 /etc/plantroom/install-firmware
  mkdir -p /run/systemd/system/plantroom-helper.service.d
  printf '[Service]\nPrivateTmp=no\nReadWritePaths=/tmp\n' >/run/systemd/system/plantroom-helper.service.d/tmp.conf
  systemctl daemon-reload && systemctl stop plantroom-helper.service
  said=$(ask "$uid" "$(getent group plantroom | cut -d : -f 3)" 'install /var/lib/plantroom/board/image')
  rm -r /run/systemd/system/plantroom-helper.service.d /etc/plantroom/install-firmware "$folder/image"
  systemctl daemon-reload && systemctl stop plantroom-helper.service
  echo "$said, $(cat /tmp/installed)"
  [ "$said" = ok ] && [ "$(cat /tmp/installed)" = 'an image1' ]
}
helper_ends_by_itself() { until_true 45 eval '! helper_runs' && [ "$(systemctl show --value --property Result plantroom-helper.service)" = success ]; }
upgrade_keeps_it_switched() {
  dpkg --install /bed/plantroom.deb && until_true 15 board_answers && systemctl is-enabled "$unit" \
    && systemctl disable --now "$unit" && dpkg --install /bed/plantroom.deb \
    && [ "$(systemctl is-enabled "$unit")" = disabled ] && ! is_active && systemctl enable --now "$unit"
}

promise 'the board comes switched off, and takes no port' comes_switched_off
promise 'switched on it is active and answers at port 80' is_switched_on
promise 'its page is there' page_is_at_port_80
promise 'it is started under Type=notify, and says how it is' started_by_notify
promise 'it runs as a user made for it (DynamicUser)' runs_as_nobodys_user
promise 'its exposure is 2.0 or lower' little_is_exposed
promise 'nobody else reads its state' board_state_is_its_own
promise 'after SIGKILL it comes back' board_comes_back_after_sigkill
promise 'the helper is started by who asks, and not before' helper_is_asked_for
promise 'the helper answers its group' helper_answers_its_group
promise 'the helper refuses others, by its socket' helper_refuses_others
promise 'the helper refuses others, by itself' helper_refuses_others_by_itself
promise 'the board is in the group that may ask' board_may_ask
promise 'the exposure of the helper is 2.0 or lower' little_of_the_helper_is_exposed
promise 'an image of the board reaches the installer' installs_an_image
promise 'an upgrade keeps the board switched on, or off' upgrade_keeps_it_switched
promise 'the helper ends by itself' helper_ends_by_itself
