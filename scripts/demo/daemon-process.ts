/** A daemon of the demo: the same program as installed, with its own state folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import type { Undo } from './undo.ts'

/** Far more than any takes by itself: the demo starts many, and may share its machine. */
const START_MS = 60_000

export interface DaemonProcess {
  url: string
  /** Resolves when it ends, on request or not, with its last output. */
  ended: Promise<string>
  /** Ends it. */
  stop(): Promise<void>
}

/** Which daemon to start, and how. */
export interface DaemonStart {
  name: string
  stateFolder: string
  /** HOST:PORT; a taken port is replaced by a free one. */
  listen: string
  /** `key=VALUE` texts. */
  sets: readonly string[]
  /** Further arguments. */
  args?: readonly string[]
}

/** @param undo stops it, also if it does not come to answer. @throws Error with its last output, or that it took too long */
export async function startDaemon(
  { name, stateFolder, listen, sets, args = [] }: DaemonStart,
  undo: Undo,
): Promise<DaemonProcess> {
  const words = [
    join(import.meta.dirname, 'plantroom.mjs'),
    name,
    ...['--listen', await withFreePort(listen), '--state', stateFolder, '--config', '/dev/null'],
    ...sets.flatMap((set) => ['--set', set]),
    ...args,
  ]
  return await startProgram({ name, file: process.execPath, words, env: process.env }, undo)
}

interface ProgramStart {
  name: string
  file: string
  words: readonly string[]
  env: NodeJS.ProcessEnv
}

/** A program that is a daemon. As `startDaemon`. */
export async function startProgram({ name, file, words, env }: ProgramStart, undo: Undo): Promise<DaemonProcess> {
  // Its own process group: Ctrl-C is for the demo, which stops its daemons in order.
  const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env })
  const said = lastWords(child)
  const ended = once(child, 'exit').then(() => said())
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  undo.push(stop)
  const url = await Promise.race([listening(name, child, said), ended.then((text) => Promise.reject(new Error(text)))])
  return { url, ended, stop }
}

/**
 * Unchanged, or with port 0 if it is taken. An address that does not exist here stays: the daemon itself reports it.
 */
async function withFreePort(listen: string): Promise<string> {
  const [, host = '', port = '0'] = /^\[?(.*?)\]?:(\d+)$/.exec(listen) ?? []
  const isFree = (await freePort(host, Number(port))) !== null
  return isFree ? listen : listen.replace(/:\d+$/, ':0')
}

/** Keeps the end of a daemon's output, in case it fails. */
function lastWords(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(-4000)
    })
  return () => text
}

async function listening(name: string, child: ChildProcess, said: () => string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const tooLate = setTimeout(() => reject(new Error(`The ${name} did not start within ${START_MS} ms.`)), START_MS)
    function look(): void {
      const url = /listening url=(\S+)/.exec(said())?.[1]
      if (url === undefined) return
      clearTimeout(tooLate)
      resolve(url)
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
  })
}
