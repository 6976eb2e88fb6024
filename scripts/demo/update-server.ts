/** The update server of the demo, and its publisher: keys, and releases made from this checkout. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { startDaemon } from './daemon-process.ts'
import { LOOPBACK } from './free-port.ts'
import type { Undo } from './undo.ts'

const PORT = 3131
const CALL_MS = 20_000

export interface UpdateServer {
  url: string
  /** The root whose keys sign what is published. */
  rootFile: string
  /** As its administrator, over the panel's interface. @throws Error with the server's own sentence if it refuses */
  panel(method: string, path: string, body?: object): Promise<unknown>
  /** Publishes what stands in the checkout, as the next version. @returns it */
  publish(): Promise<string>
}

/** @param folder for all of it; no other is touched */
export async function startUpdateServer(folder: string, password: string, undo: Undo): Promise<UpdateServer> {
  const passwordFile = join(folder, 'server-password')
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  const stateFolder = join(folder, 'server')
  const sets = [`admin.password_file=${passwordFile}`, 'mdns.enabled=false', 'storage.free_bytes=0']
  const { url } = await startDaemon({ name: 'updates', stateFolder, listen: `${LOOPBACK}:${PORT}`, sets }, undo)
  const panel = await signIn(url, password)
  const { update_key: key } = (await panel('POST', '/update-key', {})) as { update_key: string }
  const keys = join(folder, 'keys')
  await runPlantroom({ file: COMMAND, words: ['updates', 'keys', 'init', '--keys', keys], env: process.env }, undo)
  const checkout = await makeCheckout(join(folder, 'checkout'))
  const arch = process.arch === 'arm64' ? 'arm64' : 'amd64'
  return {
    url,
    rootFile: join(keys, 'roots/1.json'),
    panel,
    async publish() {
      const words = [
        'publish',
        '--server',
        url,
        '--keys',
        keys,
        '--checkout',
        checkout,
        '--arch',
        arch,
        '--no-installer',
      ]
      const env = { ...process.env, PLANTROOM_UPDATE_KEY: key }
      const said = await runPlantroom({ file: COMMAND, words, env }, undo)
      return /^(\S+) is published/m.exec(said)?.[1] ?? ''
    },
  }
}

const COMMAND = join(import.meta.dirname, 'plantroom')

async function signIn(url: string, password: string): Promise<UpdateServer['panel']> {
  let head: Record<string, string> = {}
  async function call(method: string, path: string, body?: object): Promise<Response> {
    const response = await fetch(`${url}/admin/api${path}`, {
      method,
      headers: { ...head, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_MS),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return response
  }
  const first = await call('POST', '/login', { password })
  const { csrf } = (await first.json()) as { csrf: string }
  const cookie = first.headers.getSetCookie().map((one) => one.split(';')[0])
  head = { cookie: cookie.join('; '), 'x-csrf-token': csrf }
  return async (method, path, body) => await (await call(method, path, body)).json()
}

/**
 * What `plantroom publish` reads of this checkout. The checkout itself would do only if all of it were committed, and its
 * Node, which the release would name, is here anyway.
 */
async function makeCheckout(folder: string): Promise<string> {
  const root = dirname(import.meta.dirname)
  await mkdir(folder)
  for (const name of ['build', 'daemons', 'docs', 'package.json', 'systemd'])
    await symlink(join(root, name), join(folder, name))
  return folder
}

/** A call of the command line. */
export interface Call {
  /** The program `plantroom`. */
  file: string
  words: readonly string[]
  env: NodeJS.ProcessEnv
  /** Called with each line, as it comes. */
  heard?(line: string): void
}

/** Runs it to its end, behind all that serves. @returns what it wrote to standard output. @throws Error with what it said at the end */
export async function runPlantroom({ env, file, heard, words }: Call, undo: Undo): Promise<string> {
  const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env })
  const ended = once(child, 'close')
  undo.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    // The whole group: an update has programs of its own that work for it.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await ended
  })
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  let out = ''
  let last = ''
  createInterface({ input: child.stdout }).on('line', (line) => {
    out += `${line}\n`
    heard?.(line)
  })
  createInterface({ input: child.stderr }).on('line', (line) => {
    last = line
  })
  const [code] = await ended
  if (code !== 0) throw new Error(last || `plantroom ${words[0]} ended with ${code}`)
  return out
}
