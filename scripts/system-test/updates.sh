#!/bin/bash
# Inside the container: the promises of the update server. Sourced by inside.sh once the package is installed.
unit=plantroom-updates.service
readonly updates=http://127.0.0.1:3131

updates_answers() { curl --silent --fail --max-time 2 --output /dev/null "$updates/api/status"; }
updates_is_off() { ! systemctl is-enabled "$unit" && ! systemctl is-active "$unit"; }
updates_starts() { systemctl enable --now "$unit" && until_true 15 updates_answers && is_active; }
updates_password() { journalctl --unit "$unit" --output cat | sed -n 's/^admin password: //p' | tail -n 1; }
# ask_updates METHOD PATH JSON: as the administrator.
ask_updates() {
  curl --silent --show-error --max-time 20 --cookie /run/updates-jar --header "x-csrf-token: $(cat /run/updates-csrf)" \
    --header 'content-type: application/json' --request "$1" --data "$3" "$updates$2" | tee >(cat >&2)
}
signs_in_with_the_password_of_the_journal() {
  curl --silent --max-time 20 --cookie-jar /run/updates-jar --header 'content-type: application/json' \
    --data "{\"password\":\"$(updates_password)\"}" "$updates/admin/api/login" | said is.csrf >/run/updates-csrf
  grep --quiet . /run/updates-csrf
}
readonly id=0123456789abcdef0123456789abcdef
check_update() {
  curl --silent --max-time 5 --output /run/updates-answer --write-out '%{http_code}' --header 'content-type: application/json' \
    --data "{\"installation_id\":\"$id\",\"version\":\"0.0.1\"}" "$updates/check_update"
}
registers_and_enables() {
  [ "$(check_update)" = 401 ] && ask_updates PATCH "/admin/api/installations/$id" '{"enabled":true}' && [ "$(check_update)" = 200 ]
}
knows_the_installation() { updates_answers && [ "$(check_update)" = 200 ]; }
knows_it_after_a_restart() { systemctl restart "$unit" && until_true 15 knows_the_installation; }

promise 'the update server is off until somebody switches it on' updates_is_off
promise 'it starts, and at every boot from then on' updates_starts
promise 'it is started under Type=notify, and says how it is' started_by_notify
promise 'it runs as a user made for it (DynamicUser)' runs_as_nobodys_user
promise 'its exposure is 2.0 or lower' little_is_exposed
promise 'the journal has the first password, and it signs in' signs_in_with_the_password_of_the_journal
promise 'an installation registers, and gets an answer once it is enabled' registers_and_enables
promise 'what it knows outlives a restart' knows_it_after_a_restart
promise 'after SIGKILL it comes back, with what it knows' comes_back_after KILL 15 knows_the_installation
systemctl disable --now "$unit"
