/** A real daemon as a child process, for end-to-end tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Exchange, misfitOf } from './described.ts'

const COMMAND = join(import.meta.dirname, '../../build/plantroom')
/** Reached only by failures: on a fully loaded machine a board needed half of it. */
const START_MS = 60_000

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test looks into
  body: any
}

export interface RunningDaemon {
  url: string
  stateFolder: string
  pid: number
  /** Its output so far. */
  output(): string
  /** Ends it by a signal. @returns its exit code, or the signal that ended it */
  stop(signal?: NodeJS.Signals): Promise<number | string>
}

export interface StartOptions {
  /** `key=VALUE` texts. */
  sets?: string[]
  /** Kept if given; default: a folder removed with the test. */
  stateFolder?: string
  /** Default: a free port of 127.0.0.1. */
  listen?: string
  /** Prefix of the command, such as `ip netns exec NAME`. */
  within?: string[]
  /** The command; default: the one in this checkout. */
  command?: string
}

/** Owner of what is started: a test or a benchmark. */
export type Owner = Pick<Test, 'teardown'>

/** Starts `plantroom <name>`; ended with the test. */
export async function startDaemon(t: Owner, name: string, options: StartOptions = {}): Promise<RunningDaemon> {
  const { sets = [], listen = '127.0.0.1:0', within = [], command = COMMAND } = options
  const stateFolder = options.stateFolder ?? mkdtempSync(join(tmpdir(), `${name}-`))
  const words = [...within, command, name, '--listen', listen, '--state', stateFolder]
  const [program = command, ...args] = [...words, ...sets.flatMap((set) => ['--set', set])]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = collect(child)
  t.teardown(async () => {
    await endOf(child, 'SIGTERM')
    if (!options.stateFolder) rmSync(stateFolder, { recursive: true, force: true })
  })
  const url = await listeningUrl(name, child, output)
  daemonOf.set(url, name)
  return { url, stateFolder, pid: child.pid ?? 0, output, stop: (signal = 'SIGTERM') => endOf(child, signal) }
}

/**
 * A test folder that outlives its daemons. tap removes a `testdir` before it runs later registered teardowns, so one
 * made first would vanish while a daemon still writes to it.
 */
export function stateFolderOf(t: Owner & Pick<Test, 'testdir'>): string {
  t.teardown(() => {})
  return t.testdir({})
}

/** Daemons by origin: each of their answers is checked against the daemon's description. */
const daemonOf = new Map<string, string>()

/** Sends a request and reads the whole answer. Fails if it does not match the daemon's description. */
export async function ask(url: string, request: RequestInit): Promise<Answer> {
  const response = await fetch(url, request)
  const text = await response.text()
  const { status, headers } = response
  const type = headers.get('content-type') ?? ''
  const body = type.startsWith('application/json') && text !== '' ? JSON.parse(text) : text
  const { origin, pathname } = new URL(url)
  const exchange = { method: request.method ?? 'GET', path: pathname, status, type, body }
  holdToDescription(origin, { ...exchange, sent: jsonOf(request.body) })
  return { status, headers, body }
}

/** The value of a JSON body; undefined for forms, bytes and invalid JSON. */
function jsonOf(body: RequestInit['body']): unknown {
  if (typeof body !== 'string') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** @throws Error if the answer of a daemon started here does not match its description */
export function holdToDescription(origin: string, exchange: Exchange): void {
  const daemon = daemonOf.get(origin)
  const misfit = daemon === undefined ? undefined : misfitOf(daemon, exchange)
  if (misfit !== undefined) throw new Error(`not as described: ${misfit}`)
}

function collect(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (part) => (text += part))
  return () => text
}

async function listeningUrl(name: string, child: ChildProcess, output: () => string): Promise<string> {
  const untilMs = performance.now() + START_MS
  while (performance.now() < untilMs) {
    const url = /listening url=(\S+)/.exec(output())?.[1]
    if (url) return url
    const ended = child.exitCode ?? child.signalCode
    if (ended !== null) throw new Error(`the ${name} ended with ${ended} before it listened; it said:\n${output()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`the ${name} did not listen within ${START_MS} ms; it said:\n${output()}`)
}

async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal)
    await once(child, 'exit')
  }
  return child.exitCode ?? child.signalCode ?? 'unknown'
}
