/** Whether the machine's clock follows a time server. */
import { execFile } from 'node:child_process'

/** Longest answer that is waited for: D-Bus starts the service where it does not run. */
const TIMEOUT_MS = 5000

/**
 * What the kernel says of its clock, by way of timedated: adjtimex(2) itself is closed to the daemon by its unit.
 * @returns null where nobody can say
 * @source timedatectl(1), NTPSynchronized; adjtimex(2), STA_UNSYNC
 */
export function readTimeSync(command = 'timedatectl'): Promise<boolean | null> {
  return new Promise((resolve) => {
    const args = ['show', '--property=NTPSynchronized', '--value']
    execFile(command, args, { timeout: TIMEOUT_MS, maxBuffer: 4096 }, (error, answer) => {
      const word = error ? '' : answer.trim()
      resolve(word === 'yes' ? true : word === 'no' ? false : null)
    })
  })
}
