/**
 * A mark beside a daemon's accounts that there were some: who finds none beside the mark has lost them, and has not started for
 * the first time. docs/decisions/browser-origins-and-local-callers.md.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Of one state folder. */
export interface SetUpMark {
  isSet(): boolean
  set(): void
  /** For who gives the last account up. */
  clear(): void
}

const FILE = 'set-up.json'

export function setUpMark(folder: string): SetUpMark {
  const path = join(folder, FILE)
  return {
    isSet: () => existsSync(path),
    set() {
      if (!existsSync(path)) writeFileSync(path, 'true\n', { flag: 'wx', mode: 0o600, flush: true })
    },
    clear: () => rmSync(path, { force: true }),
  }
}
