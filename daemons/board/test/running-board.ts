/** The real board as a child process, and requests to it, for end-to-end tests. */
import {
  type Answer,
  ask,
  type Owner,
  type RunningDaemon,
  type StartOptions,
  startDaemon,
} from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'

export interface RunningBoard extends RunningDaemon {
  /** Signed in as admin if a password is given. */
  get(path: string, password?: string): Promise<Answer>
  /** A form as `curl -d` sends it. */
  post(path: string, form?: Record<string, string>, password?: string): Promise<Answer>
}

/** Starts `plantroom board` on a free port of 127.0.0.1; ended with the test. */
export async function startBoard(t: Owner, options: StartOptions = {}): Promise<RunningBoard> {
  const daemon = await startDaemon(t, 'board', options)
  return {
    ...daemon,
    get: (path, password) => ask(daemon.url + path, { headers: credentials(password) }),
    post: (path, form = {}, password) =>
      ask(daemon.url + path, { method: 'POST', headers: credentials(password), body: new URLSearchParams(form) }),
  }
}

/** Saves a new board's settings with changes, and waits until it is back: until then its pages show the first run. */
export async function setUp(board: RunningBoard, change: Record<string, string> = {}): Promise<void> {
  const { body } = await board.get('/api/config')
  const form = Object.fromEntries(Object.entries({ ...body, ...change }).map(([name, value]) => [name, String(value)]))
  await board.post('/api/config', form)
  await until('the board is back with its settings', async () => {
    const answer = await board.get('/api/status').catch(() => undefined)
    return answer?.body.set_up === true
  })
}

function credentials(password: string | undefined): Record<string, string> {
  if (password === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` }
}

/** Faults of a form's fields, by name. */
export function faultsOf({ fields }: { fields: { field: string; message: string }[] }): Record<string, string> {
  return Object.fromEntries(fields.map(({ field, message }) => [field, message]))
}
