/** Runs `plantroom` as an ordinary user in tests that root runs, since systemd gives each daemon its own user. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Owner } from './running-daemon.ts'

const build = join(import.meta.dirname, '../../build')
/** The files that run, as in the package. */
const RUNS = '{plantroom,*.mjs,native,templates,web}'

/** @returns options for a start. It starts a copy if only root may read the checkout. */
export function asUser(t: Owner, uid: number): { within: string[]; command: string } {
  const within = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
  if (isForAll(join(build, 'plantroom.mjs'))) return { within, command: join(build, 'plantroom') }
  const copy = mkdtempSync(join(tmpdir(), 'plantroom-'))
  t.teardown(() => rmSync(copy, { recursive: true }))
  for (const entry of globSync(RUNS, { cwd: build })) cpSync(join(build, entry), join(copy, entry), { recursive: true })
  // This process runs the pinned Node, and the command uses the one beside it.
  copyFileSync(process.execPath, join(copy, basename(process.execPath)))
  execFileSync('chmod', ['-R', 'a+rX', copy])
  return { within, command: join(copy, 'plantroom') }
}

/** Whether everybody may reach and read a file, or list a folder. */
function isForAll(path: string): boolean {
  const stats = statSync(path)
  const needed = stats.isDirectory() ? 0o001 : 0o004
  return (stats.mode & needed) === needed && (path === '/' || isForAll(dirname(path)))
}
