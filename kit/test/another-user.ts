/** `plantroom` as another user than root, for tests that root runs: systemd gives each daemon a user of its own. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Owner } from './running-daemon.ts'

const build = join(import.meta.dirname, '../../build')
/** What runs, as the package has it. */
const RUNS = '{plantroom,*.mjs,native,templates,web}'

/** @returns options of a start. What is started is a copy where the checkout is one that root alone may read. */
export function asUser(t: Owner, uid: number): { within: string[]; command: string } {
  const within = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
  if (isForAll(join(build, 'plantroom.mjs'))) return { within, command: join(build, 'plantroom') }
  const copy = mkdtempSync(join(tmpdir(), 'plantroom-'))
  t.teardown(() => rmSync(copy, { recursive: true }))
  for (const entry of globSync(RUNS, { cwd: build })) cpSync(join(build, entry), join(copy, entry), { recursive: true })
  // The Node that runs this is the pinned one, and the command takes the one beside it.
  copyFileSync(process.execPath, join(copy, basename(process.execPath)))
  execFileSync('chmod', ['-R', 'a+rX', copy])
  return { within, command: join(copy, 'plantroom') }
}

/** Whether everybody may read a file, or look through a folder, and get there. */
function isForAll(path: string): boolean {
  const stats = statSync(path)
  const needed = stats.isDirectory() ? 0o001 : 0o004
  return (stats.mode & needed) === needed && (path === '/' || isForAll(dirname(path)))
}
