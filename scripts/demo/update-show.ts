/** What the demo shows of updates: an update server, and an installation that goes from one version to the next. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { install } from './installation.ts'
import { demoLogin } from './scene.ts'
import type { Undo } from './undo.ts'
import { startUpdateServer } from './update-server.ts'

/** How long a reader has to open the pages before the first update is applied; and how long where nobody can press a key. */
const READ_MS = { terminal: 90_000, none: 5000 }
const NAME = 'Lindenhof boat house'

interface Parts {
  say(text: string): void
  /** Resolves when somebody presses Enter; undefined where nobody can. */
  pressed: (() => Promise<unknown>) | undefined
}

/**
 * Starts both in the background, says where they are, and applies an update; where somebody can press Enter, one more for
 * each time it is pressed.
 * @throws Error that says what failed, or was ended with the demo
 */
export async function showUpdates({ pressed, say }: Parts, undo: Undo): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'plantroom-demo-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const { admin: username, password } = demoLogin
  const server = await startUpdateServer(folder, password, undo)
  const first = await server.publish()
  const heard = (line: string) => say(`  ${line}\n`)
  const wish = { folder: join(folder, 'installation'), server, admin: { username, password }, name: NAME, heard }
  const installation = await install(wish, undo)
  let version = await server.publish()
  await installation.look()
  const about = { server: server.url, building: installation.url, password, isKeyHeard: pressed !== undefined }
  say(placesWords({ ...about, first, version }))
  const bySelf = sleep(pressed ? READ_MS.terminal : READ_MS.none, undefined, { ref: false })
  await Promise.race([bySelf, installation.pressed, ...(pressed ? [pressed()] : [])])
  for (;;) {
    const begunMs = performance.now()
    await installation.update(version)
    say(appliedWords({ ...about, version, tookMs: performance.now() - begunMs, awayMs: installation.awayMs() }))
    if (pressed === undefined) return
    await pressed()
    version = await server.publish()
  }
}

interface About {
  /** Addresses. */
  server: string
  building: string
  password: string
  isKeyHeard: boolean
  version: string
}

function placesWords({ building, first, isKeyHeard, password, server, version }: About & { first: string }): string {
  const when = isKeyHeard
    ? `press Enter here, or the button on that page; without either it is done in ${READ_MS.terminal / 1000} s`
    : `it is done in ${READ_MS.none / 1000} s`
  return `An update, before your eyes:

  Updates  ${server}/admin   the update server, with ${first} and ${version}; password ${password}
  Building ${building}/#/system   ${NAME}, a second installation in a folder of its own, which runs ${first};
           sign in as ${demoLogin.admin}, password ${password}

  To update it to ${version}: ${when}.

`
}

function appliedWords({
  awayMs,
  building,
  isKeyHeard,
  server,
  tookMs,
  version,
}: About & { tookMs: number; awayMs: number }) {
  const more = isKeyHeard ? ' Press Enter to publish another, and to apply it.' : ''
  return `  ${NAME} runs ${version} after ${seconds(tookMs)} s, of which its controller was away for ${seconds(awayMs)} s.
  Look at Updates in ${server}/admin, and at System in ${building}/#/system.${more}

`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
