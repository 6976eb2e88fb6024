#!/bin/bash
# Inside the container, as root: installs the package, then checks the promises of the units one by one.
set -uo pipefail

# shellcheck source=scripts/system-test/promise.sh
. /bed/promise.sh
unit=plantroom-gateway.service
readonly url=http://127.0.0.1:3132

answers() { curl --silent --fail --max-time 2 --output /dev/null "$url/api/status"; }

installed_and_active() {
  dpkg --install /bed/plantroom-runtime.deb /bed/plantroom.deb && until_true 15 is_active && until_true 5 answers
}
enabled_at_boot() { systemctl is-enabled "$unit"; }
set_up() {
  curl --silent --fail --show-error --max-time 10 --header 'content-type: application/json' \
    --data '{"username":"admin","password":"a long enough one"}' "$url/api/setup"
}
logs_are_shown() { plantroom logs gateway | grep --quiet 'plantroom-gateway\|plantroom\[' && plantroom logs --problems --lines 5; }
# The password of set_up is in no file of it, and it overwrites nothing.
report_is_whole_and_without_secrets() {
  plantroom report /root/report.tar.gz && ! plantroom report /root/report.tar.gz && mkdir /root/report || return 1
  tar -xzf /root/report.tar.gz -C /root/report && grep --quiet answers /root/report/plantroom-report/status.txt \
    && [ -s /root/report/plantroom-report/logs/gateway.txt ] && grep --quiet ActiveState=active /root/report/plantroom-report/units/gateway.txt \
    && ! grep -r 'a long enough one' /root/report
  local code=$?
  rm -r /root/report /root/report.tar.gz
  return "$code"
}
# As pam_motd runs it at each login.
a_login_says_what_runs() {
  local said
  said=$(run-parts /etc/update-motd.d) && grep -Eq '^  gateway ' <<<"$said" && grep -Eq '^ +http://' <<<"$said"
}

bash_completes_its_words() {
  bash -c '. /usr/share/bash-completion/completions/plantroom && COMP_WORDS=(plantroom logs --fol) COMP_CWORD=2 && _plantroom && [ "${COMPREPLY[*]}" = --follow ]'
}
has_pages_for_man() {
  gzip --decompress --stdout /usr/share/man/man1/plantroom.1.gz | grep --quiet '^\.SS plantroom status' \
    && gzip --decompress --stdout /usr/share/man/man5/plantroom-gateway.toml.5.gz | grep --quiet '^\.B listen'
}
status_finds_nothing_wrong() { plantroom status && ! plantroom status board; }
is_set_up() {
  curl --silent --fail --max-time 5 "$url/api/status" | tee /dev/stderr | grep --quiet '"adminConfigured": *true'
}
setup_outlives_a_restart() { systemctl restart "$unit" && until_true 10 answers && is_set_up; }
state_is_its_own() {
  local folder=/var/lib/private/plantroom/gateway
  ls -lanR "$folder"
  [ -L /var/lib/plantroom/gateway ] && [ -z "$(find "$folder" -perm /077 -not -type l)" ]
}
# The port of Modbus TCP; any listener proves the right to it.
listens_on_port_502() {
  printf '[http]\nlisten = "127.0.0.1:502"\n' >/run/gateway-502.toml
  mkdir -p /run/systemd/system/plantroom-gateway.service.d
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/plantroom gateway --config /run/gateway-502.toml\n' \
    >/run/systemd/system/plantroom-gateway.service.d/port.conf
  systemctl daemon-reload && systemctl restart "$unit"
  until_true 10 curl --silent --fail --output /dev/null http://127.0.0.1:502/api/status
  local code=$?
  rm -r /run/systemd/system/plantroom-gateway.service.d /run/gateway-502.toml
  systemctl daemon-reload && systemctl restart "$unit" && until_true 10 answers && return "$code"
}
reinstalls_over_itself() { dpkg --install /bed/plantroom.deb && until_true 15 answers && is_set_up; }
# With a file that an installer wrote, and a default that has changed since, dpkg asks nothing.
# Settings are no conffiles; the script of the login is one, so that who switches it off has it off.
upgrade_asks_nothing() {
  printf '[http]\nlisten = "0.0.0.0:3132"\n' >/etc/plantroom/gateway.toml
  ! dpkg-query --show --showformat='${Conffiles}' plantroom | grep --quiet /etc/plantroom/ && grep --quiet '^#listen' /usr/share/plantroom/gateway.toml \
    && dpkg --install /bed/plantroom.deb </dev/null && grep --quiet '^listen' /etc/plantroom/gateway.toml && until_true 15 answers
}
remove_stops_and_keeps_state() {
  dpkg --remove plantroom && ! answers && [ "$(show MainPID)" = 0 ] \
    && [ -d /var/lib/private/plantroom/gateway ] && [ -e /etc/plantroom/gateway.toml ]
}
board_is_active() { systemctl is-active plantroom-board; }
comes_back_after_removal() {
  systemctl enable --now plantroom-board && dpkg --remove plantroom && ! board_is_active && dpkg --install /bed/plantroom.deb \
    && until_true 15 answers && until_true 15 board_is_active && systemctl disable --now plantroom-board \
    && dpkg --remove plantroom && dpkg --install /bed/plantroom.deb && until_true 15 answers && ! board_is_active
}
purge_leaves_nothing() {
  dpkg --purge plantroom plantroom-runtime || return 1
  local left
  # /run and /tmp are file systems of their own; what stays there stays until the next boot. The unit of this test is
  # linked there too.
  left=$(find / /run /tmp -xdev \( -path /proc -o -path /sys -o -path /bed -o -path /var/log -o -path /var/lib/dpkg \
    -o -name plantroom-system-test.service -o -path /run/systemd/units \) \
    -prune -o -iname '*plantroom*' -print)
  echo "$left"
  [ -z "$left" ]
}

promise 'the package installs, and the unit is active and answers' installed_and_active
promise 'it is started under Type=notify, and says how it is' started_by_notify
promise 'plantroom status finds nothing wrong with a fresh installation' status_finds_nothing_wrong
promise 'it runs as a user made for it (DynamicUser)' runs_as_nobodys_user
promise 'it starts at every boot' enabled_at_boot
promise 'its exposure is 2.0 or lower' little_is_exposed
promise 'it is set up over HTTP' set_up
promise 'what was set up outlives a restart' setup_outlives_a_restart
promise 'nobody else reads its state' state_is_its_own
promise 'plantroom logs shows what it has logged' logs_are_shown
promise 'plantroom report holds what is known, and no secret' report_is_whole_and_without_secrets
promise 'a login says what runs here, and where its page is' a_login_says_what_runs
promise 'bash completes commands and their options' bash_completes_its_words
promise 'man has a page of the commands, and one of the settings' has_pages_for_man
promise 'after SIGKILL it comes back, with its state' comes_back_after KILL 10 is_set_up
# Frozen, so the watchdog gets no pings (20 s in the unit).
promise 'after SIGSTOP the watchdog brings it back' comes_back_after STOP 40 answers
promise 'it may listen where Modbus TCP is expected, port 502' listens_on_port_502
promise 'told to stop, it ends with 0' stops_when_told
promise 'with wrong settings it fails once, says why, and does not loop' \
  wrong_settings_do_not_loop /etc/plantroom/gateway.toml answers
# shellcheck source=scripts/system-test/board.sh
. /bed/board.sh
# shellcheck source=scripts/system-test/controller.sh
. /bed/controller.sh
# shellcheck source=scripts/system-test/recorder.sh
. /bed/recorder.sh
# shellcheck source=scripts/system-test/updates.sh
. /bed/updates.sh
unit=plantroom-gateway.service
promise 'an upgrade keeps its state' reinstalls_over_itself
promise 'an upgrade keeps what the installer wrote, and asks nothing' upgrade_asks_nothing
promise 'what runs before a removal runs again after an installation, and nothing else' comes_back_after_removal
promise 'removal stops it and keeps state and settings' remove_stops_and_keeps_state
promise 'purging leaves nothing' purge_leaves_nothing
echo "$failed failed"
[ "$failed" = 0 ]
