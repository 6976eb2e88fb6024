/** Loads device definitions: from a text, with everything that is wrong with it, and from folders by name. */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createCheck } from '../http/check.ts'
import { compileDevice, type DefinitionFault } from '../pure/device/compile.ts'
import { DEFINITION_LIMITS, type DeviceDefinition, deviceDefinition } from '../pure/device/definition.ts'
import type { Device, Digest } from '../pure/device/device.ts'
import { wireTestFaults } from '../pure/device/wire-tests.ts'
import { Fault } from '../pure/fault.ts'
import { nearestName } from '../pure/text.ts'
import { readBounded, whyUnread } from '../run/named-file.ts'
import { openToRead } from '../run/state-folder.ts'

/** The digests of logins. MD5 is what PJLink asks for; nothing else relies on it. */
export const digestOf: Digest = (kind, bytes) => createHash(kind).update(bytes).digest()

const checkDefinition = createCheck(deviceDefinition)

/** Faults that the sentence lists; `details.faults` has more. */
const MOST_SAID = 5
const MOST_LISTED = 64

/**
 * Reads a definition, compiles it and runs its wire tests.
 * @throws Fault `definition_invalid` with each fault and its JSON path in `details.faults`
 */
export function loadDefinition(bytes: Uint8Array): Device {
  if (bytes.length > DEFINITION_LIMITS.fileBytes) throw tooLarge(bytes.length)
  const { value, faults } = checkDefinition(jsonOf(bytes))
  if (faults.length > 0) throw invalid(faults.map(({ field, message }) => ({ path: field, message })))
  const compiled = compileDevice(value as DeviceDefinition)
  if (compiled.faults.length > 0) throw invalid(compiled.faults)
  const failing = wireTestFaults(compiled.device, digestOf)
  if (failing.length > 0) throw invalid(failing)
  return compiled.device
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw invalid([{ path: '', message: `the file is not JSON: ${(cause as Error).message}` }])
  }
}

function invalid(faults: readonly DefinitionFault[]): Fault {
  const said = faults.slice(0, MOST_SAID).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  const more = faults.length > MOST_SAID ? `; and ${faults.length - MOST_SAID} more` : ''
  return new Fault('definition_invalid', `${said.join('; ')}${more}`, {
    details: { faults: faults.slice(0, MOST_LISTED) },
  })
}

/** The definitions of this machine, by name. */
export interface DefinitionLibrary {
  /**
   * Reads a file when its definition is asked for first, and keeps it: all devices of a kind have the same definition for
   * as long as the daemon runs. One that is refused is read again each time.
   * @throws Fault `definition_unknown` with the nearest, `definition_invalid`, `definition_no_room`
   */
  get(name: string): Device
  /** Names of all files, sorted. */
  names(): string[]
  /** Those of the first folder, the ones that cannot be read too. */
  ownNames(): string[]
  /** The text of a file, as it stands; `isOwn` if it is of the first folder. @throws Fault `definition_invalid` */
  source(name: string): { text: string; isOwn: boolean } | undefined
  /** Its file has changed: it is read again when it is asked for next. */
  forget(name: string): void
}

/**
 * @param folders hold `<name>.json`; a file of an earlier folder stands for one of the same name in a later one
 * @param mostBytes of the files of all definitions in use
 */
export function createDefinitionLibrary(folders: readonly string[], mostBytes: number): DefinitionLibrary {
  const kept = new Map<string, { device: Device; sizeBytes: number }>()
  let keptBytes = 0

  function get(name: string): Device {
    const known = kept.get(name)
    if (known) return known.device
    const read = firstOf(folders, name)
    if (read && keptBytes + read.sizeBytes > mostBytes)
      throw new Fault(
        'definition_no_room',
        `the definitions in use would have ${keptBytes + read.sizeBytes} bytes with ${name}, at most ${mostBytes} are kept`,
      )
    if (read) {
      kept.set(name, read)
      keptBytes += read.sizeBytes
      return read.device
    }
    const near = nearestName(name, names())
    const hint = near ? `the nearest is ${near}` : `there are ${names().join(', ')}`
    throw new Fault('definition_unknown', `there is no definition ${JSON.stringify(name.slice(0, 64))}; ${hint}`)
  }

  function names(): string[] {
    return [...new Set(folders.flatMap(namesIn))].sort()
  }

  function source(name: string): { text: string; isOwn: boolean } | undefined {
    const file = fileOf(folders, name)
    return file && { text: new TextDecoder().decode(file.bytes), isOwn: file.isOwn }
  }

  function forget(name: string): void {
    keptBytes -= kept.get(name)?.sizeBytes ?? 0
    kept.delete(name)
  }

  return { get, names, ownNames: () => namesIn(folders[0] ?? ''), source, forget }
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/

function firstOf(folders: readonly string[], name: string): { device: Device; sizeBytes: number } | undefined {
  const file = fileOf(folders, name)
  if (!file) return undefined
  const device = loadDefinition(file.bytes)
  if (device.definition.name === name) return { device, sizeBytes: file.bytes.length }
  const message = `it is ${device.definition.name}, expected the name of its file, ${name}`
  throw invalid([{ path: 'name', message }])
}

function fileOf(folders: readonly string[], name: string): { bytes: Uint8Array; isOwn: boolean } | undefined {
  if (!NAME.test(name)) return undefined
  for (const folder of folders) {
    const bytes = bytesOf(join(folder, `${name}.json`))
    if (bytes) return { bytes, isOwn: folder === folders[0] }
  }
  return undefined
}

function namesIn(folder: string): string[] {
  try {
    const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
    return files.map((file) => file.slice(0, -'.json'.length)).filter((name) => NAME.test(name))
  } catch {
    return [] // an owner's folder is there once somebody has made it
  }
}

/** @returns undefined if there is no such file. @throws Fault `definition_invalid` */
function bytesOf(path: string): Uint8Array | undefined {
  try {
    const file = openToRead(path)
    try {
      const { size } = fstatSync(file)
      if (size > DEFINITION_LIMITS.fileBytes) throw tooLarge(size)
      return readBounded(file, DEFINITION_LIMITS.fileBytes)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw invalid([{ path: '', message: `${path} cannot be read (${whyUnread(error)})` }])
  }
}

function tooLarge(bytes: number): Fault {
  return invalid([
    { path: '', message: `the file has ${bytes} bytes, at most ${DEFINITION_LIMITS.fileBytes} are read` },
  ])
}
