/** Which life of the machine this is. */
import { readFileSync } from 'node:fs'

/** New at each boot; empty where the kernel does not tell. @source random(4), /proc/sys/kernel/random/boot_id */
export function readBootId(path = '/proc/sys/kernel/random/boot_id'): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return '' // a container without this file: reasons of starts are less exact, and say so
  }
}
