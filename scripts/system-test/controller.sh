#!/bin/bash
# Inside the container: the promises of the controller. Sourced by inside.sh once the package is installed.
unit=plantroom-controller.service
readonly controller=http://127.0.0.1:3130
readonly kept=/var/lib/private/plantroom/controller
readonly sample=/usr/lib/plantroom/templates/controller/sample-building.json

controller_answers() { curl --silent --fail --max-time 2 --output /dev/null "$controller/api/health"; }
controller_is_off() { ! is_active && [ "$(systemctl is-enabled "$unit")" = disabled ] && ! controller_answers; }
controller_is_switched_on() { systemctl enable --now "$unit" && until_true 15 is_active && until_true 5 controller_answers; }
# ask_controller METHOD PATH [JSON]: calls it as its own page would, keeping cookies.
ask_controller() {
  curl --silent --show-error --max-time 10 --cookie /tmp/cookies --cookie-jar /tmp/cookies --header "origin: $controller" \
    --header 'content-type: application/json' --request "$1" ${3:+--data "$3"} "$controller$2" | tee >(cat >&2)
}
signs_in_as() { ask_controller POST /ui/sign-in "{\"username\":\"$1\",\"password\":\"$2\"}" | grep --quiet '"signed_in": *true'; }
first_account_over_the_page() {
  journalctl --no-pager --quiet --unit "$unit" | grep 'nobody can sign in yet' && [[ $(show StatusText) == nobody\ can* ]] || return 1
  ask_controller POST /ui/setup '{"username":"ada","password":"a long enough one","site":"Mill"}' | grep --quiet '"signed_in": *true' \
    && ask_controller POST /ui/setup '{"username":"eve","password":"a long enough one"}' | grep --quiet already_set_up
}
# The service must be able to write to whatever root's command line creates.
state_is_the_services_own() {
  local uid
  uid=$(stat -c %u "/proc/$(show MainPID)")
  ls -lanR "$kept"
  [ -L /var/lib/plantroom/controller ] && [ -z "$(find "$kept" -perm /077 -not -type l)" ] && [ -z "$(find "$kept" -not -uid "$uid")" ]
}
import_waits_for_apply_all() {
  echo '{"zone":[{"name":"Attic","type":"switch"}]}' >/tmp/more.json
  plantroom controller import /tmp/more.json | grep 'The controller runs: 1 change pending' && state_is_the_services_own || return 1
  local revision
  revision=$(ask_controller GET /ui/pending | grep --only-matching '"revision": *[0-9]*' | grep --only-matching '[0-9]*')
  ask_controller POST /ui/pending/apply "{\"revision\":$revision}" | grep --quiet '"applied": *1' && has_attic
}
has_attic() { ask_controller GET /ui/zones | grep --quiet Attic; }
audit_rows() {
  "$node" -e 'const { DatabaseSync } = require("node:sqlite")
    console.log(new DatabaseSync(process.argv[1], { readOnly: true }).prepare("SELECT count(*) AS n FROM request_history").get().n)' \
    "$kept/audit.db" 2>/dev/null
}
site_outlives_a_restart() {
  local rows
  rows=$(audit_rows)
  systemctl restart "$unit" && until_true 10 controller_answers && signs_in_as ada 'a long enough one' && has_attic \
    && [ "$(audit_rows)" -gt "$rows" ]
}
still_has_its_site() { signs_in_as ada 'a long enough one' && has_attic; }
# After a restore the site is as it was, and the files that root restored belong to the service.
goes_back_to_a_backup() {
  plantroom backup controller /tmp/controller.tar.gz || return 1
  [ -z "$(tar -tzf /tmp/controller.tar.gz | grep -e '-wal$' -e '-shm$')" ] || { tar -tzf /tmp/controller.tar.gz; return 1; }
  systemctl stop "$unit"
  echo '{"zone":[{"name":"Cellar"}]}' >/tmp/other.json
  plantroom controller import --replace /tmp/other.json && plantroom restore controller /tmp/controller.tar.gz || return 1
  systemctl start "$unit" && until_true 10 controller_answers && still_has_its_site && state_is_the_services_own
  local code=$?
  rm -rf "$kept"/restore
  return "$code"
}
gets_a_new_password() {
  systemctl stop "$unit"
  echo 'another long one' | plantroom password controller --user ada && systemctl start "$unit" && until_true 10 controller_answers \
    && signs_in_as ada 'another long one' && state_is_the_services_own
}
# As on a machine that never had a daemon: root's command line creates the folders, with a umask that excludes everyone
# else.
site_before_the_first_start() {
  systemctl stop "$unit" plantroom-gateway.service plantroom-board.service plantroom-recorder.service
  mv /var/lib/plantroom /var/lib/plantroom.aside && mv /var/lib/private/plantroom /var/lib/private/plantroom.aside
  (umask 077 && plantroom controller import "$sample") && ls -laR /var/lib/plantroom \
    && systemctl start "$unit" && until_true 10 controller_answers && state_is_the_services_own \
    && ask_controller GET /ui/site | grep --quiet 'Lindenhof School'
  local code=$?
  systemctl stop "$unit"
  rm -rf /var/lib/plantroom /var/lib/private/plantroom
  mv /var/lib/plantroom.aside /var/lib/plantroom && mv /var/lib/private/plantroom.aside /var/lib/private/plantroom
  systemctl start "$unit" plantroom-gateway.service plantroom-board.service plantroom-recorder.service && until_true 10 controller_answers && until_true 10 answers && return "$code"
}
status_tells_of_it() { until_true 10 controller_answers; plantroom status controller | tee >(cat >&2) | grep --quiet 'active .* answers'; }
upgrade_keeps_the_controller_switched() {
  dpkg --install /bed/plantroom.deb && until_true 15 controller_answers && systemctl is-enabled "$unit" \
    && systemctl disable --now "$unit" && dpkg --install /bed/plantroom.deb && controller_is_off
}

promise 'the controller comes switched off, and takes no port' controller_is_off
promise 'switched on it is active and answers' controller_is_switched_on
promise 'it is started under Type=notify, and says how it is' started_by_notify
promise 'it runs as a user made for it (DynamicUser)' runs_as_nobodys_user
promise 'its exposure is 2.0 or lower' little_is_exposed
promise 'log and status say that nobody can sign in, and the page makes the first account, once' first_account_over_the_page
promise 'plantroom status knows it' status_tells_of_it
promise 'nobody else reads its state' state_is_the_services_own
promise 'an import by root while it runs waits, and is applied on the page' import_waits_for_apply_all
promise 'site and audit outlive a restart' site_outlives_a_restart
promise 'after SIGKILL it comes back, with its site' comes_back_after KILL 10 still_has_its_site
promise 'after SIGSTOP the watchdog brings it back' comes_back_after STOP 40 controller_answers
promise 'backed up while it runs, it goes back to that' goes_back_to_a_backup
promise 'who is locked out gets a new password' gets_a_new_password
promise 'told to stop, it ends with 0' stops_when_told
promise 'with wrong settings it fails once, says why, and does not loop' \
  wrong_settings_do_not_loop /etc/plantroom/controller.toml controller_answers
promise 'a site file is taken in before the first start' site_before_the_first_start
promise 'an upgrade keeps it switched on, or off' upgrade_keeps_the_controller_switched
