/** Stands in for `busctl` and the clock service behind it: a program whose state lies in files beside it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const PROGRAM = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
while [ "$1" != call ] && [ "$1" != get-property ]; do shift; done
if [ -s complaint ]; then cat complaint >&2; exit 1; fi
said() { echo '{"type":"x","data":'"$1"'}'; }
case $1.$2 in
  get-property.org.freedesktop.timesync1)
    [ -s fetched ] || { echo 'Failed to get property NTPMessage: The name org.freedesktop.timesync1 was not provided' >&2; exit 1; }
    cat fetched; exit ;;
esac
case $1.$5 in
  get-property.*) said "\\"$(cat zone)\\""; said "$(cat ntp)"; said "$(cat canNtp)"; said "$(cat synchronized)"; exit ;;
  call.ListTimezones) said '[["Europe/Berlin","Etc/UTC"]]'; exit ;;
esac
echo "$5 $7" >>asked
if [ -s refusal ]; then
  cat refusal >&2
  # Network time that was switched off ends after a while.
  case $(cat refusal) in *synchronization*) rm refusal ;; esac
  exit 1
fi
case $5 in
  SetTimezone) printf %s "$7" >zone ;;
  SetNTP) printf %s "$7" >ntp ;;
esac
`

/** A file beside the program. */
type Name = 'zone' | 'ntp' | 'canNtp' | 'synchronized' | 'fetched' | 'complaint' | 'refusal'

export interface ClockServicePeer {
  /** With the program in it. */
  folder: string
  command: string
  /**
   * `complaint`: what is said to every question; `refusal`: to those that change something; `fetched`: what timesyncd says,
   * which is not there without it.
   */
  put(name: Name, text: string): void
  /** What it was asked to change, in order. */
  asked(): string[]
}

export function startClockServicePeer(t: Pick<Test, 'teardown'>): ClockServicePeer {
  const folder = mkdtempSync(join(tmpdir(), 'clock-service-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const put = (name: Name, text: string) => writeFileSync(join(folder, name), text)
  const command = join(folder, 'busctl')
  writeFileSync(command, PROGRAM, { mode: 0o755 })
  put('zone', 'Etc/UTC')
  put('ntp', 'true')
  put('canNtp', 'true')
  put('synchronized', 'true')
  const log = join(folder, 'asked')
  return { folder, command, put, asked: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []) }
}
