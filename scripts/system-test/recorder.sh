#!/bin/bash
# Inside the container: the promises of the recorder. Sourced by inside.sh once the package is installed.
unit=plantroom-recorder.service
readonly recorder=http://127.0.0.1:3133
readonly keeps=/var/lib/plantroom

recorder_answers() { curl --silent --fail --max-time 2 --output /dev/null "$recorder/api/identity"; }
runs_as_its_own_user() {
  local user
  user=$(stat -c %U "/proc/$(show MainPID)")
  echo "$user"
  [ "$user" = plantroom-recorder ] && getent passwd "$user" | grep nologin
}
recorder_starts_at_boot() { is_active && systemctl is-enabled "$unit" && until_true 5 recorder_answers; }
# ask_recorder METHOD PATH [JSON]: as an administrator's token, once there is one.
ask_recorder() {
  curl --silent --show-error --max-time 20 --header "authorization: Bearer $(cat /run/token 2>/dev/null)" \
    ${3:+--header 'content-type: application/json' --data "$3"} --request "$1" "$recorder$2" | tee >(cat >&2)
}
# said EXPRESSION: a value of the JSON that comes in, as `is`.
# shellcheck disable=SC2154 # node comes from board.sh.
said() { "$node" -e 'const is = JSON.parse(require("node:fs").readFileSync(0, "utf8")); console.log(eval(process.argv[1]))' "$1"; }
# The disk of the container is in memory, and small.
records_on_a_small_disk() {
  printf '[storage]\nfree_bytes = 0\nflush_s = 1\nfile_s = 5\n[time_server]\nlocal_stratum = 10\n' >/etc/plantroom/recorder.toml
  systemctl restart "$unit" && until_true 15 recorder_answers
}
is_set_up_and_has_a_camera() {
  local csrf
  "$node" /src/scripts/system-test/camera.ts /run/camera >/tmp/camera.log 2>&1 &
  echo $! >/run/camera.pid
  csrf=$(curl --silent --max-time 20 --cookie-jar /run/jar --header 'content-type: application/json' \
    --data '{"username":"admin","password":"a long enough one"}' "$recorder/api/setup" | said is.csrf) || return 1
  curl --silent --max-time 20 --cookie /run/jar --header "x-csrf-token: $csrf" --header 'content-type: application/json' \
    --data '{"name":"test"}' "$recorder/tokens" | said is.token >/run/token || return 1
  until_true 10 test -s /run/camera
  ask_recorder POST /api/discovery/rtsp "{\"name\":\"Yard\",\"url\":\"$(cat /run/camera)\"}" | said is.id >/run/yard
}
yard() { echo "/api/cameras/$(cat /run/yard)"; }
records() { [ "$(ask_recorder GET /api/cameras | said 'is[0].health.state')" = recording ]; }
this_day() { echo "from=$((($(date +%s) - 40000) * 1000))&to=$((($(date +%s) + 40000) * 1000))"; }
keeps_footage() { [ "$(ask_recorder GET "$(yard)/availability?$(this_day)" | said 'is.ranges.length > 0')" = true ]; }
is_recorded() { until_true 20 records && until_true 20 keeps_footage; }
gives() { ask_recorder GET "$1" 2>/dev/null >/tmp/given && [ "$(head -c "$2" /tmp/given | tail -c "$3" | od -An -tx1 | tr -d ' \n')" = "$4" ]; }
gives_a_picture() { gives "$1" 3 3 ffd8ff; }
gives_a_film() { gives "$1" 8 4 66747970; }
end_of_footage() { ask_recorder GET "$(yard)/availability?$(this_day)" 2>/dev/null | said 'Math.round(is.bounds.end)'; }
decodes() {
  until_true 20 gives_a_picture "$(yard)/still.jpg?width=160" && gives_a_picture "$(yard)/frame.jpg?at=$(($(end_of_footage) - 500))" \
    && ask_recorder GET /api/health | said is.decoder.state | grep --quiet --line-regexp ready && decoder_is_bounded
}
# nice_of PID: also of one that is run only while nothing else wants to, of which ps tells none.
nice_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 17; }
# capabilities_of PID SET: as the kernel writes them.
capabilities_of() { sed -n "s/^Cap$2:[[:space:]]*//p" "/proc/$1/status"; }
readonly no_capability=0000000000000000 bind_low_ports=0000000000000400
# What decodes takes footage apart that strangers wrote: it may do nothing that the recorder needs a right for.
decoder_has_no_right() {
  local pid right
  pid=$(pgrep --parent "$(show MainPID)" | head -n 1)
  for right in Eff Prm Amb; do [ "$(capabilities_of "$pid" "$right")" = "$no_capability" ] || return 1; done
}
# Below the recorder in priority, with less memory than the unit: what the filter of system calls must let through.
decoder_is_bounded() {
  local pid
  pid=$(pgrep --parent "$(show MainPID)" | head -n 1)
  ps -o pid,ni,cls,args --pid "$pid"
  [ "$(nice_of "$pid")" -gt "$(nice_of "$(show MainPID)")" ] && ! grep --quiet 'Max data size *unlimited' "/proc/$pid/limits"
}
codes_a_masked_film() {
  ask_recorder PATCH "$(yard)" '{"masks":[[[0,0],[0.5,0],[0.5,1]]]}' && until_true 20 gives_a_recent_film \
    && gives_a_picture "$(yard)/still.jpg?width=160"
}
# On a quick machine there are not three seconds of footage yet at the first look.
gives_a_recent_film() { gives_a_film "$(yard)/playback.mp4?start=$(($(end_of_footage) - 3000))&duration=2"; }
still_records() { until_true 20 records && until_true 20 gives_a_picture "$(yard)/still.jpg?width=160"; }
footage_is_its_own() {
  local uid
  uid=$(stat -c %u "/proc/$(show MainPID)")
  ls -lanR "$keeps"/recorder*
  [ -z "$(find "$keeps"/recorder* -perm /077 -not -type l)" ] && [ -z "$(find "$keeps"/recorder* -not -uid "$uid")" ]
}
# Root's commands act as the recorder's user, and what they leave is the recorder's.
command_line_reads_footage() {
  local from to
  to=$(date --utc +%Y-%m-%dT%H:%M:%SZ) from=$(date --utc --date=-2min +%Y-%m-%dT%H:%M:%SZ)
  ask_recorder PATCH "$(yard)" '{"masks":[]}' && systemctl stop "$unit" || return 1
  plantroom recorder check && plantroom recorder rebuild && plantroom recorder export Yard "$from" "$to" /tmp/yard.mp4 \
    && [ "$(stat -c %s /tmp/yard.mp4)" -gt 10000 ]
  local code=$?
  systemctl start "$unit" && until_true 15 recorder_answers && footage_is_its_own && still_records && return "$code"
}

# asked_for_the_time: one question as a camera asks it (RFC 5905, 7.3); the answer names version 4, mode 4 and the stratum.
asked_for_the_time() {
  "$node" -e '
    const socket = require("node:dgram").createSocket("udp4")
    setTimeout(() => process.exit(1), 2000)
    socket.on("message", (answer) => { console.log(answer[0] & 63, answer[1]); process.exit(0) })
    socket.send(Uint8Array.of(0x23, ...new Uint8Array(47)), 123, "127.0.0.1")'
}
gives_the_time() {
  until_true 10 asked_for_the_time && asked_for_the_time | grep --quiet --line-regexp '36 10' || return 1
  local pid right
  pid=$(show MainPID)
  for right in Eff Bnd; do [ "$(capabilities_of "$pid" "$right")" = "$bind_low_ports" ] || return 1; done
}

# The clock. The container may not set the time, which is its host's: all up to the kernel's own refusal is real.
clock_is() { [ "$(ask_recorder GET /api/recorder/time | said "$1")" = true ]; }
knows_the_clock() { clock_is 'is.available && is.zone === "Etc/UTC" && is.zones.length > 300 && is.pinnedZone === null'; }
sets_the_zone() {
  ask_recorder PUT /api/recorder/time '{"zone":"Europe/Berlin"}' | said is.zone | grep --quiet Europe/Berlin \
    && timedatectl show --property=Timezone --value | grep --quiet Europe/Berlin \
    && ask_recorder GET /api/status | said is.timeZone | grep --quiet Europe/Berlin
}
# A service that timedated takes for one that fetches the time: those of Debian do not run in containers.
switches_network_time() {
  mkdir -p /etc/systemd/ntp-units.d
  echo fetches-time.service >/etc/systemd/ntp-units.d/10-test.list
  printf '[Service]\nExecStart=/usr/bin/sleep infinity\nExecStop=/usr/bin/sleep 1\n[Install]\nWantedBy=multi-user.target\n' \
    >/etc/systemd/system/fetches-time.service
  systemctl daemon-reload && systemctl restart systemd-timedated && clock_is 'is.canNtp && !is.ntp' \
    && ask_recorder PUT /api/recorder/time '{"ntp":true}' | said is.ntp | grep --quiet true && systemctl is-active fetches-time
}
leaves_the_time_to_the_kernel() {
  local before after answer
  before=$(date +%s)
  [ "$(ask_recorder PUT /api/recorder/time '{"time":"2031-03-09 14:05"}' | said is.error)" = time_from_network ] || return 1
  answer=$(ask_recorder PUT /api/recorder/time '{"ntp":false,"time":"2031-03-09 14:05"}')
  after=$(date +%s)
  [ "$(echo "$answer" | said is.error)" = clock_refused ] && echo "$answer" | grep --quiet 'Access denied.* container' \
    && ! systemctl is-active fetches-time && [ $((after - before)) -lt 60 ]
}
ledger_has_it() {
  [ "$(ask_recorder GET '/api/ledger?what=clock_changed' | said 'is.entries.map(({ where }) => where).sort().join()')" = 'network time,time zone' ]
}
others_may_not() {
  local said
  said=$(setpriv --reuid nobody --regid nogroup --clear-groups busctl --allow-interactive-authorization=no call org.freedesktop.timedate1 \
    /org/freedesktop/timedate1 org.freedesktop.timedate1 SetTimezone sb Asia/Tokyo false 2>&1)
  echo "$said"
  case $said in *enied* | *uthentication*) ;; *) return 1 ;; esac
}
says_that_polkit_lacks() {
  local answer activation=/usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service
  systemctl stop polkit && mv "$activation" /tmp/polkit.service && systemctl reload dbus || return 1
  answer=$(ask_recorder PUT /api/recorder/time '{"zone":"Asia/Tokyo"}')
  mv /tmp/polkit.service "$activation" && systemctl reload dbus
  [ "$(echo "$answer" | said is.error)" = clock_refused ] && echo "$answer" | grep --quiet 'Install polkitd'
}
says_that_the_clock_service_lacks() {
  systemctl mask --runtime --now systemd-timedated || return 1
  clock_is '!is.available && is.error.includes("cannot be reached") && is.zones.length === 0'
  local code=$?
  systemctl unmask --runtime systemd-timedated && knows_the_clock_again && return "$code"
}
knows_the_clock_again() { until_true 5 clock_is is.available; }

promise 'the recorder starts with the package and at every boot' recorder_starts_at_boot
promise 'it is started under Type=notify, and says how it is' started_by_notify
promise 'it runs as its own user, who signs in nowhere' runs_as_its_own_user
promise 'its exposure is 2.0 or lower' little_is_exposed
promise 'it takes the settings of its file' records_on_a_small_disk
promise 'it is set up over HTTP, and takes a camera' is_set_up_and_has_a_camera
promise 'it records the camera' is_recorded
promise 'its decoder starts within its bounds, and gives pictures' decodes
promise 'its decoder has none of its rights' decoder_has_no_right
promise 'it gives cameras the time on port 123, and may do nothing else that others may not' gives_the_time
promise 'a masked film is coded anew' codes_a_masked_film
promise 'nobody else reads its footage' footage_is_its_own
promise 'after SIGKILL it comes back, and records' comes_back_after KILL 10 still_records
promise 'after SIGSTOP the watchdog brings it back, and it records' comes_back_after STOP 40 still_records
promise 'its command line checks, rebuilds and exports what it recorded' command_line_reads_footage
promise 'it knows the clock of the machine' knows_the_clock
promise 'it sets the zone of the machine' sets_the_zone
promise 'it switches network time on' switches_network_time
promise 'it switches network time off before it sets the time, and tells what the kernel refuses' leaves_the_time_to_the_kernel
promise 'the ledger has each change of the clock' ledger_has_it
promise 'no other user may set the clock' others_may_not
promise 'without polkit it says what to install' says_that_polkit_lacks
promise 'without a clock service it says so' says_that_the_clock_service_lacks
promise 'told to stop, it ends with 0' stops_when_told
promise 'with wrong settings it fails once, says why, and does not loop' \
  wrong_settings_do_not_loop /etc/plantroom/recorder.toml recorder_answers
kill "$(cat /run/camera.pid)"
rm -f /etc/plantroom/recorder.toml /run/camera.pid
systemctl restart "$unit"
