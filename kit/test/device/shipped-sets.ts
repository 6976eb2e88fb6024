/** The device definitions of the package, for tests: read where they stand in the sources. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDefinitionLibrary, digestOf } from '#kit/device/load.ts'
import type { DeviceDefinition } from '#kit/pure/device/definition.ts'

const FOLDER = join(import.meta.dirname, '../../device/definitions')

export function shippedSets() {
  return { ...createDefinitionLibrary([FOLDER], 1_048_576), digest: digestOf }
}

/** The JSON of one of them, to change. */
export function definitionFile(name: string): DeviceDefinition {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'))
}
