/** Boards on a network of namespaces, called from inside it, since the test itself is not on that network. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { startDaemon } from '#kit/test/running-daemon.ts'
import { asksOf, type Machine } from './network.ts'

const run = promisify(execFile)

/** A board as `/api/peers` lists it. */
export interface Peer {
  id: string | null
  hostname: string
  name: string
  IP: string
  port: number
  version: string | null
  role: string
  stream: string | null
  self: boolean
  state: string
  /** Epoch ms. */
  last_answer_at: number | null
}

/** Starts a board on a machine. */
export async function boardOn(
  t: Test,
  machine: Machine,
  options: { stateFolder?: string; name?: string; port?: number } = {},
) {
  const stateFolder = options.stateFolder ?? mkdtempSync(join(tmpdir(), 'peer-'))
  if (!options.stateFolder) t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  const port = options.port ?? 80
  const listen = `0.0.0.0:${port}`
  const daemon = await startDaemon(t, 'board', { within: machine.within, listen, stateFolder })
  const own = `http://127.0.0.1:${port}`

  async function curl(path: string, ...args: string[]): Promise<string> {
    const [program = '', ...before] = machine.within
    const line = [...before, 'curl', '-sS', '--max-time', '25', ...args, own + path]
    return (await run(program, line, { timeout: 30_000 })).stdout
  }
  const ask = await asksOf(t, machine, port)
  const peers = async () => JSON.parse(await ask('/api/peers')) as Peer[]
  const others = async () => (await peers()).filter(({ self }) => !self)
  /** The other boards that are present, or may be. */
  const present = async () => (await others()).filter(({ state }) => state !== 'absent')

  /** Changes settings, as the form does, and waits until the board is back. */
  async function change(settings: Record<string, string>): Promise<void> {
    const now = JSON.parse(await ask('/api/config')) as Record<string, unknown>
    const all = Object.entries({ ...now, ...settings }).map(([name, value]) => [name, String(value)])
    await ask('/api/config', Object.fromEntries(all))
  }
  if (options.name) await change({ name: options.name })
  return { ...daemon, curl, peers, others, present, change, stateFolder }
}

/** Polls until it holds. @returns how long that took, in ms; Infinity if it never did */
export async function took(ms: number, holds: () => Promise<boolean>): Promise<number> {
  const startMs = performance.now()
  while (performance.now() - startMs < ms) {
    // A restarting board does not answer for a moment.
    if (await holds().catch(() => false)) return performance.now() - startMs
    await sleep(100)
  }
  return Number.POSITIVE_INFINITY
}

/** Reports how long something took, and asserts the limit. */
export function within(t: Test, ms: number, tookMs: number, what: string): void {
  t.comment(`${what} after ${(tookMs / 1000).toFixed(1)} s`)
  t.ok(tookMs <= ms, `${what} within ${ms / 1000} s`)
}
