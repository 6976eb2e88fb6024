#!/bin/bash
# On the new machine: clone, make demo, make test, and what each took.
set -uo pipefail
export HOME=/root
failed=0

took() { printf '%s took %d s\n' "$1" $((SECONDS - $2)); }

git -c safe.directory='*' clone --quiet /source /root/plantroom && cd /root/plantroom || exit 1
echo "node $(node --version), npm $(npm --version), commit $(git log -1 --format=%h)"

# The demo runs until it is told to stop: it has ten minutes to say where it is and to answer there.
demo() {
  local started=$SECONDS log=/tmp/demo.log url= code
  # A terminal sends Ctrl-C to the whole foreground group; so does this, to a group of its own.
  setsid make demo >"$log" 2>&1 &
  local pid=$!
  while kill -0 "$pid" 2>/dev/null && [ $((SECONDS - started)) -lt 600 ]; do
    url=$(grep -oE 'http://[0-9a-z.:]+' "$log" | head -n 1)
    [ -n "$url" ] && curl --silent --fail --max-time 5 --output /dev/null "$url" && break
    sleep 0.5
  done
  cat "$log"
  took "make demo until $url answered" "$started"
  kill -INT -- "-$pid"
  local asked=$SECONDS
  while kill -0 "$pid" 2>/dev/null && [ $((SECONDS - asked)) -lt 30 ]; do sleep 0.2; done
  kill -KILL -- "-$pid" 2>/dev/null && echo 'it did not stop on Ctrl-C' && return 1
  wait "$pid"
  code=$?
  took 'stopping on Ctrl-C' "$asked"
  pgrep -fa plantroom.mjs && { echo 'something of it runs on'; return 1; }
  echo "make demo ended with $code"
  [ -n "$url" ]
}

demo || { failed=1; echo 'FAILED make demo'; }
for turn in first second; do
  started=$SECONDS
  make test </dev/null || { failed=1; echo "FAILED make test, $turn time"; }
  took "make test, $turn time," "$started"
done
exit "$failed"
