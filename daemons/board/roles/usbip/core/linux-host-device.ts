/** Of the program for Linux hosts: which device is wanted, what the board offers, what is attached, and attaching it. */
export const LINUX_HOST_DEVICE = String.raw`# --- which device

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

# --- what there is

# What the board offers, one a line: PLACE VID:PID. Fails when it does not answer.
offers() {
  list=$(timeout "$answer_s" "$client" --tcp-port "$port" list --remote="$host" 2>/dev/null </dev/null) || return 1
  printf '%s\n' "$list" |
    sed -n 's/^ *\([1-9][0-9]*-[0-9.]*\): .*(\([0-9a-f]\{4\}:[0-9a-f]\{4\}\))$/\1 \2/p'
}

# What of this board is attached, one a line: PORT PLACE LOCAL-PLACE.
attached() {
  cat "$ports"/status* 2>/dev/null | awk '$(NF - 4) == "006" { print $(NF - 5) + 0, $NF }' |
    while read -r local_port local_place; do
      read -r of_host of_port place rest 2>/dev/null <"$notes/port$local_port" || continue
      if [ -z "$rest" ] && [ "$of_host" = "$host" ] && [ "$of_port" = "$port" ]; then
        say "$local_port $place $local_place"
      fi
    done
}

# The same, without one of the same kind that is only being looked at.
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

serial_of() {
  tr -d '\000-\037\177' 2>/dev/null <"/sys/bus/usb/devices/$1/serial"
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
  # The list of a board has no serial numbers: it is known when the device is here.
  if [ -n "$want_serial" ] && [ "$(serial_of "$local_place")" != "$want_serial" ]; then
    "$client" detach --port="$(printf '%s' "$found" | cut -d ' ' -f 1)" >/dev/null 2>&1
    say_once "$1 has another serial number than the device that is wanted: let go of it"
    return 1
  fi
  say_once "attached $1 of $host ($local_place here)"
}

# forget_dead PLACE: what is attached here and free at the board has a connection that the board knows nothing of, since
# its power or the cable was gone. Left alone the kernel would hold on to it for hours.
forget_dead() {
  printf '%s\n' "$before_asking" | while read -r dead_port place_here local_place; do
    [ "$place_here" = "$1" ] || continue
    "$client" detach --port="$dead_port" >/dev/null 2>&1 </dev/null
    say "the connection of $1 was dead ($local_place here)"
  done
}

# Attaches what is wanted and not attached. Fails when nothing of it is attached afterwards.
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
