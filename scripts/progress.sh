#!/bin/sh
# Runs a command that may take a minute without output: reports it after two seconds, and then every ten.
# The command's output goes to LOG, and to standard error if it fails. Ends with the command's exit code.
#
#   scripts/progress.sh WHAT LOG COMMAND [WORD...]
set -u
what=$1 log=$2
shift 2
begun=$(date +%s)
told=$log.told
rm -f "$told"

# A clock beside the command. The sleeping process must not hold the output open.
(
  asleep=
  trap '[ -z "$asleep" ] || kill "$asleep" 2>/dev/null; exit' TERM
  seconds=2
  while :; do
    sleep "$seconds" >/dev/null 2>&1 &
    asleep=$!
    wait "$asleep"
    if [ -e "$told" ]; then echo "$what: $(($(date +%s) - begun)) s"; else echo "$what ..." && : >"$told"; fi
    seconds=10
  done
) &
clock=$!
trap 'kill "$clock" 2>/dev/null; rm -f "$told"' EXIT
trap 'exit 130' INT TERM

code=0
"$@" >"$log" 2>&1 </dev/null || code=$?
if [ -e "$told" ]; then
  kill "$clock" 2>/dev/null
  [ "$code" != 0 ] || echo "$what: done in $(($(date +%s) - begun)) s"
fi
[ "$code" = 0 ] || cat "$log" >&2
exit "$code"
