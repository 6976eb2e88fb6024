// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
/**
 * The controller as an installer uses it: its command line, a site file, and calls of its page and its REST surface.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ask, type RunningDaemon } from '#kit/test/running-daemon.ts'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')
export const SETS = ['mdns.enabled=false', 'audit.wait_ms=1']
export const PASSWORD = 'a long enough one'

const site = {
  site: [{ name: 'Mill' }],
  device: [{ name: 'Rack', driver: 'sim' }],
  zone: [{ name: 'Hall', device_id: 'Rack' }],
  macro: [{ name: 'Tell' }],
  macro_step: [
    { macro_id: 'Tell', position: 1, type: 'notify', args: { text: '${args.door} opens with ${args.pin}' } },
  ],
  auth_role: [{ name: 'Administrator', elevated: true, rules: ['allow api *', 'allow ui *'] }],
  auth_user: [{ username: 'ada', password: PASSWORD, roles: ['Administrator'], sites: ['Mill'] }],
}

/** Runs `plantroom` until it exits. @returns its exit code and all output */
export function plantroom(args: string[], input = ''): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve) => {
    const child = execFile(COMMAND, args, { timeout: 60_000 }, (_, out, err) =>
      resolve({ code: child.exitCode, said: out + err }),
    )
    child.stdin?.end(input)
  })
}

/** A temporary folder with a site file; `ada` is the administrator. */
export function placeOf(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'operating-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'site.json')
  writeFileSync(file, JSON.stringify(site))
  return { folder, file, state: join(folder, 'state') }
}

/** A call with a body, as a program sends it. */
export function post({ url }: RunningDaemon, path: string, body: unknown, token = '') {
  const headers = { 'content-type': 'application/json', ...(token === '' ? {} : { authorization: `Bearer ${token}` }) }
  return ask(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** A token, or why none was issued. */
export async function tokenOf(daemon: RunningDaemon, username = 'ada', password = PASSWORD): Promise<string> {
  const { body } = await post(daemon, '/api/token', { username, password })
  return body.token ?? body.error
}
