/** The real gateway as a child process, and requests to it, for end-to-end tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')
const START_MS = 20_000

/** The number of a pty that was closed goes to the next one, perhaps of another test: nobody is to wait for it. */
const RETRY_LATE = 'ports.retry_first_ms=10000'

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test looks into
  body: any
}

export interface RunningGateway {
  url: string
  stateFolder: string
  pid: number
  /** Everything it printed so far. */
  output(): string
  /** A request as JSON; `token` of the last sign-in unless given. */
  call(method: string, path: string, body?: unknown, token?: string | null): Promise<Answer>
  /** Makes the first administrator and keeps the token for `call`. */
  setUp(): Promise<string>
  token(): string
  /** Path of a port route: the device percent-encoded. */
  portPath(device: string, rest?: string): string
  /** Ends it by a signal. @returns its exit code, or the signal that ended it */
  stop(signal?: NodeJS.Signals): Promise<number | string>
}

export const password = 'correct horse battery'

/** Starts `plantroom gateway` on a free port; ended with the test. `stateFolder` is kept when given. */
export async function startGateway(
  t: Test,
  options: { sets?: string[]; stateFolder?: string } = {},
): Promise<RunningGateway> {
  const stateFolder = options.stateFolder ?? mkdtempSync(join(tmpdir(), 'gateway-'))
  const sets = ['ports.allow=["/dev/pts/*", "/dev/ttyUSB*"]', RETRY_LATE, ...(options.sets ?? [])]
  const child = spawn(
    COMMAND,
    ['gateway', '--listen', '127.0.0.1:0', '--state', stateFolder, ...sets.flatMap((set) => ['--set', set])],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const output = collect(child)
  t.teardown(async () => {
    await endOf(child, 'SIGTERM')
    if (!options.stateFolder) rmSync(stateFolder, { recursive: true, force: true })
  })
  const url = await listeningUrl(child, output)
  return running({ child, output, stateFolder, url })
}

function running(of: { child: ChildProcess; output: () => string; stateFolder: string; url: string }): RunningGateway {
  let token: string | undefined
  async function call(method: string, path: string, body?: unknown, as: string | null | undefined = token) {
    const response = await fetch(of.url + path, {
      method,
      headers: {
        ...(as ? { authorization: `Bearer ${as}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
  }
  return {
    url: of.url,
    stateFolder: of.stateFolder,
    pid: of.child.pid ?? 0,
    output: of.output,
    call,
    async setUp() {
      const { body } = await call('POST', '/api/setup', { username: 'admin', password })
      token = body.token
      return body.token
    },
    token: () => token ?? '',
    portPath: (device, rest = '') => `/api/ports/${encodeURIComponent(device)}${rest}`,
    stop: (signal = 'SIGTERM') => endOf(of.child, signal),
  }
}

function collect(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (part) => (text += part))
  return () => text
}

async function listeningUrl(child: ChildProcess, output: () => string): Promise<string> {
  const untilMs = performance.now() + START_MS
  while (performance.now() < untilMs) {
    const url = /listening url=(\S+)/.exec(output())?.[1]
    if (url) return url
    if (child.exitCode !== null) break
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`the gateway did not listen within ${START_MS} ms; it said:\n${output()}`)
}

async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal)
    await once(child, 'exit')
  }
  return child.exitCode ?? child.signalCode ?? 'unknown'
}
