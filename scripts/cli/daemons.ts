/** The daemons that can be started: found by looking, never listed by hand. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import type { Daemon } from '#kit/run/daemon.ts'

/** Bundles beside the daemons that are not daemons. */
const NO_DAEMONS = ['plantroom', 'commands', 'demo']

/** Loaded once: a command that acts as another user may not be able to look again (as-owner.ts). */
const loaded = new Map<string, Daemon>()

/** Names of the daemons in a folder of bundles (`<name>.mjs`) or of sources (`<name>/main.ts`). */
export function daemonNames(folder: string): string[] {
  const names: string[] = []
  for (const entry of readdirSync(folder)) {
    if (entry.endsWith('.mjs') && !NO_DAEMONS.includes(entry.slice(0, -4))) names.push(entry.slice(0, -4))
    else if (existsSync(join(folder, entry, 'main.ts'))) names.push(entry)
  }
  return names.sort()
}

/** Loads one daemon. @throws Fault `unknown_daemon` with the available ones */
export async function loadDaemon(folder: string, name: string): Promise<Daemon> {
  const known = loaded.get(join(folder, name))
  if (known) return known
  requireDaemon(folder, name)
  const bundle = join(folder, `${name}.mjs`)
  const file = existsSync(bundle) ? bundle : join(folder, name, 'main.ts')
  const { default: daemon } = (await import(pathToFileURL(file).href)) as { default: Daemon }
  loaded.set(join(folder, name), daemon)
  return daemon
}

/** @throws Fault `unknown_daemon` with the available ones */
export function requireDaemon(folder: string, name: string): void {
  if (loaded.has(join(folder, name))) return
  const names = daemonNames(folder)
  if (!names.includes(name)) {
    const nearest = nearestName(name, names)
    const hint = nearest === undefined ? `there are: ${names.join(', ') || 'none'}` : `did you mean ${nearest}?`
    throw new Fault('unknown_daemon', `no daemon is called ${JSON.stringify(name)}; ${hint}`)
  }
}
