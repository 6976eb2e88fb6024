/** The real board as a child process, and requests to it, for end-to-end tests. */
import type { Test } from 'tap'
import { type Answer, ask, type RunningDaemon, type StartOptions, startDaemon } from '#kit/test/running-daemon.ts'

export interface RunningBoard extends RunningDaemon {
  /** Signed in as admin where a password is given. */
  get(path: string, password?: string): Promise<Answer>
  /** A form as `curl -d` sends it. */
  post(path: string, form?: Record<string, string>, password?: string): Promise<Answer>
}

/** Starts `plantroom board` on a free port of 127.0.0.1; ended with the test. */
export async function startBoard(t: Test, options: StartOptions = {}): Promise<RunningBoard> {
  const daemon = await startDaemon(t, 'board', options)
  return {
    ...daemon,
    get: (path, password) => ask(daemon.url + path, { headers: credentials(password) }),
    post: (path, form = {}, password) =>
      ask(daemon.url + path, { method: 'POST', headers: credentials(password), body: new URLSearchParams(form) }),
  }
}

function credentials(password: string | undefined): Record<string, string> {
  if (password === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` }
}
