/** What of /etc an installer has changed over the image that a board was flashed with. */
import { existsSync } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { baseFolder } from '#kit/run/arguments.ts'
import type { World } from './command.ts'
import type { Toned } from './paint.ts'

/** The program of an image that reads and writes which slot starts next; a machine without it has no slots. */
export const BOOT_STATE = '/usr/lib/plantroom-image/boot-state'
/** The upper layer of /etc (firmware-images/init). */
const CHANGES = '/data/etc/changes'
/** Files that a board makes by itself, which tell nothing about what an installer has set. */
const OWN_FILES = /^(machine-id|hostname|resolv\.conf|\.updated|\.pwd\.lock|adjtime|ssh\/ssh_host_.*|.*-)$/
/** Most files that are listed. */
const MOST_CHANGES = 200

/** @param path as on the machine, below the folder that holds its settings too */
export function belowBase(world: World, path: string): string {
  return join(baseFolder(world.env), path)
}

/** Files of /etc that are not as in the image, below /etc; null on a machine without an image. */
export async function changedSettings(world: World): Promise<string[] | null> {
  const found: string[] = []
  try {
    await access(belowBase(world, BOOT_STATE))
  } catch {
    return null
  }
  await collect(belowBase(world, CHANGES), '', found)
  return found
}

/** Left by the initrd where data could not be mounted (firmware-images/init). */
const IN_MEMORY = '/data/.in-memory'

/** What whoever sets something has to know first; nothing where settings are kept. */
export function memoryWarning(world: World): readonly (string | Toned)[] {
  if (!existsSync(belowBase(world, IN_MEMORY))) return []
  const text =
    'The data partition cannot be mounted: this runs with the settings of the image, and forgets at the next start what is set now.'
  return [{ tone: 'bad', text }, ' dmesg says why.\n']
}

/** For people; nothing on a machine without an image. */
export function changesText(changes: readonly string[] | null): string {
  if (changes === null || changes.length === 0) return ''
  return `Different from the image, and kept over updates:\n${changes.map((file) => `  /etc/${file}\n`).join('')}`
}

async function collect(folder: string, below: string, found: string[]): Promise<void> {
  const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(() => undefined)
  // Of a folder that only root may read its name is told.
  if (entries === undefined && below !== '') found.push(`${below}/`)
  for (const entry of (entries ?? []).sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(below, entry.name)
    if (found.length >= MOST_CHANGES) return
    if (entry.isDirectory()) await collect(folder, path, found)
    // What was removed stands there as a device, as overlayfs marks it.
    else if (!OWN_FILES.test(path)) found.push(entry.isCharacterDevice() ? `${path} (removed)` : path)
  }
}
