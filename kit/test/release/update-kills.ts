/** Kills updates at chosen calls of the disk, and judges what is left. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { build } from 'esbuild'
import type { Test } from 'tap'
import {
  publish,
  publisher,
  type StageServer,
  stageMachine,
  stageServer,
  startedVersion,
  withDelta,
} from './update-stage.ts'

/** What a child said; undefined if it was killed. */
type Said = Record<string, unknown> | undefined

export interface KillStage {
  server: StageServer
  /** Makes a machine with 1.0.0, to which 1.1.0 is offered. @returns its folder */
  machine(): string
  /** Applies the update; the n-th change of the disk kills it. @param n from 1; 0: none does */
  apply(folder: string, n: number, how?: 'sick'): Promise<Said>
  /** Applies it on a disk that is full from the n-th call that needs room on, for good. */
  applyFull(folder: string, n: number, how?: 'sick'): Promise<Said>
}

/**
 * A program that can be killed at a change of the disk.
 * @param program beside this file; it prints one JSON object
 * @returns starts it: its first word is the folder whose changes count; `KILL_AT` or `FULL_FROM` say which
 */
export async function killable(work: string, program: string) {
  const library = join(work, 'kill-at-change.so')
  const source = join(import.meta.dirname, '../kill-at-change.c')
  execFileSync('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', library, source, '-ldl'])
  const child = join(work, 'child.cjs')
  // Once, so that each of the children starts fast.
  await build({
    ...{ entryPoints: [join(import.meta.dirname, program)], outfile: child, bundle: true },
    ...{ platform: 'node', format: 'cjs', logLevel: 'error' },
  })
  return async (words: readonly string[], cut: Record<string, string>): Promise<Said> => {
    const [folder = ''] = words
    const env = { ...process.env, LD_PRELOAD: library, KILL_BELOW: folder, ...cut }
    const running = spawn(process.execPath, [child, ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const said = text(running.stdout)
    const [code, signal] = await once(running, 'close')
    if (signal === 'SIGKILL') return undefined
    if (code !== 0) throw new Error(`the child ended with ${code}`)
    return JSON.parse(await said) as Record<string, unknown>
  }
}

/** @param isByDelta whether a delta is offered too */
export async function killStage(t: Test, isByDelta = false): Promise<KillStage> {
  const work = mkdtempSync(join(tmpdir(), 'kills-'))
  t.teardown(() => rmSync(work, { recursive: true, force: true }))
  const start = await killable(work, 'update-child.ts')
  const people = publisher()
  const server = await stageServer(t)
  const template = join(work, 'template')
  const { root } = stageMachine(template, server.url, people)
  const offered = publish(people, '1.1.0')
  server.offered = isByDelta ? await withDelta(work, root, offered) : offered

  let count = 0
  return {
    server,
    machine() {
      const folder = join(work, `machine-${count++}`)
      cpSync(template, folder, { recursive: true, verbatimSymlinks: true })
      return folder
    },
    apply: (folder, n, how) => start([folder, server.url, how ?? ''], { KILL_AT: String(n) }),
    applyFull: (folder, n, how) => start([folder, server.url, how ?? ''], { FULL_FROM: String(n) }),
  }
}

/**
 * Kills one update at its n-th change of the disk, twice more at later ones, and lets it run then.
 * @returns false if it has no n-th change
 */
export async function killThrice(t: Test, stage: KillStage, n: number, how?: 'sick'): Promise<boolean> {
  const folder = stage.machine()
  const root = join(folder, 'root')
  const what = `${how ?? 'well'}, killed at ${n}`
  if ((await stage.apply(folder, n, how)) !== undefined) {
    rmSync(folder, { recursive: true })
    return false
  }
  t.match(await startedVersion(root), /^1\.[01]\.0$/, what)
  // The places differ with n, and are the same each time.
  for (const next of [(n * 7) % 41, (n * 13) % 29]) {
    await stage.apply(folder, next + 1, how)
    t.match(await startedVersion(root), /^1\.[01]\.0$/, `${what}, then at ${next + 1}`)
  }
  const said = await stage.apply(folder, 0, how)
  const version = await startedVersion(root)
  const isTakenBack = said?.outcome === 'rolled_back' || said?.outcome === 'bad'
  t.equal(version, isTakenBack ? '1.0.0' : '1.1.0', `${what}: ${JSON.stringify(said)}`)
  if (how === 'sick') t.ok(isTakenBack, `${what}: ${JSON.stringify(said)}`)
  t.notOk(existsSync(join(folder, 'state/pending.json')), `${what}: nothing is pending`)
  t.equal(readdirSync(join(root, 'releases')).filter((name) => name.startsWith('.')).length, 0, `${what}: no rubbish`)
  rmSync(folder, { recursive: true })
  return true
}

/**
 * Lets the disk be full from the n-th call that needs room on, then makes room.
 * @returns false if there is no n-th such call
 */
export async function fillOnce(t: Test, stage: KillStage, n: number, how?: 'sick'): Promise<boolean> {
  const folder = stage.machine()
  const root = join(folder, 'root')
  const said = await stage.applyFull(folder, n, how)
  const what = `${how ?? 'well'}, full from ${n} on: ${JSON.stringify(said)}`
  const version = await startedVersion(root)
  if (said?.outcome === undefined) {
    t.equal(said?.fault, 'update_disk_full', what)
    t.ok(Number(said?.missingBytes) > 0, what)
  }
  const isApplied = said?.outcome === 'applied'
  t.equal(version, isApplied ? '1.1.0' : '1.0.0', what)
  const then = await stage.apply(folder, 0, how)
  t.equal(await startedVersion(root), how ? '1.0.0' : '1.1.0', `${what}, then ${JSON.stringify(then)}`)
  rmSync(folder, { recursive: true })
  return !(said?.outcome !== undefined && n > 60)
}
