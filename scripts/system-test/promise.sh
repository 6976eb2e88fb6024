#!/bin/bash
# Inside the container: checks and reports promises. The sourcing script sets $unit to the unit in question.
failed=0

show() { systemctl show --value --property "$1" "$unit"; }

# promise SENTENCE COMMAND...: runs it and reports whether it held.
promise() {
  local sentence=$1 started=$EPOCHREALTIME
  shift
  if "$@" >/tmp/seen 2>&1; then
    printf 'ok      %s (%d ms)\n' "$sentence" $(((${EPOCHREALTIME/./} - ${started/./}) / 1000))
  else
    failed=$((failed + 1))
    echo "FAILED  $sentence"
    sed 's/^/            /' /tmp/seen
    journalctl --no-pager --quiet --lines=15 --unit "$unit" | sed 's/^/            /'
  fi
}

# until_true SECONDS COMMAND...: retries every tenth of a second.
until_true() {
  local tries=$(($1 * 10))
  shift
  while ! "$@"; do
    tries=$((tries - 1))
    if [ "$tries" -le 0 ]; then echo "still not: $*"; return 1; fi
    sleep 0.1
  done
}

is_active() { [ "$(show ActiveState)" = active ]; }
has_new_pid() { local pid; pid=$(show MainPID); [ "$pid" != 0 ] && [ "$pid" != "$1" ]; }
# comes_back_after SIGNAL SECONDS COMMAND...: sends the signal; another process must be there in time, and the command
# hold.
comes_back_after() {
  local signal=$1 seconds=$2 pid
  shift 2
  pid=$(show MainPID)
  kill "-$signal" "$pid" && until_true "$seconds" has_new_pid "$pid" && until_true 10 is_active && until_true 5 "$@"
}
# wrong_settings_do_not_loop FILE COMMAND...: with a wrong key in its settings it fails once; without it the command
# holds again.
wrong_settings_do_not_loop() {
  local file=$1 state restarts
  shift
  echo 'no_such_key = 1' >>"$file"
  systemctl restart "$unit"
  sleep 3
  state=$(show ActiveState) restarts=$(show NRestarts)
  sed -i '$d' "$file"
  echo "state $state, $restarts restarts"
  journalctl --no-pager --quiet --lines=5 --unit "$unit"
  [ "$state" = failed ] && systemctl restart "$unit" && until_true 10 "$@"
}
stops_when_told() {
  systemctl stop "$unit" && [ "$(show Result)" = success ] && [ "$(show ExecMainStatus)" = 0 ] && systemctl start "$unit"
}
started_by_notify() {
  [ "$(show Type)" = notify ] && [ "$(show NotifyAccess)" = main ] && [ -n "$(show StatusText)" ]
}
runs_as_nobodys_user() {
  local uid
  uid=$(stat -c %u "/proc/$(show MainPID)")
  echo "uid $uid"
  [ "$(show DynamicUser)" = yes ] && [ "$uid" -ge 61184 ] && [ "$uid" -le 65519 ]
}
little_is_exposed() {
  local level
  level=$(systemd-analyze security --no-pager "$unit" | sed -nE 's/.*exposure level for .*: ([0-9.]+).*/\1/p')
  echo "exposure $level"
  awk -v level="$level" 'BEGIN { exit !(level != "" && level <= 2.0) }'
}
