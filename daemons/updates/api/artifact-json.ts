/** What the JSON of an artifact has to be, by its type. */
import { type TSchema, Type } from 'typebox'
import { loadDefinition } from '#kit/device/load.ts'
import { createReader } from '#kit/http/check.ts'
import { readJson } from '#kit/http/dialect.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { ArtifactType } from '../core/ports.ts'

/**
 * Reads and checks an artifact.
 * @throws Fault `bad_json`, `bad_fields`, `definition_invalid`
 */
export type ReadJson = (type: ArtifactType, bytes: Uint8Array) => unknown

/** Names that a service or a table can have in a program. */
const NAME = '^[A-Za-z_][A-Za-z0-9_.-]{0,127}$'
const named = { name: Type.String({ pattern: NAME }), title: Type.Optional(Type.String({ maxLength: 128 })) }

/** More may stand in it: what reads it says what it takes. */
const open = { additionalProperties: true }

const SCHEMAS: Readonly<Record<Exclude<ArtifactType, 'command_set'>, TSchema>> = {
  web_service: Type.Object(
    { ...named, url: Type.Optional(Type.String({ maxLength: 2048, pattern: '^https?://' })) },
    open,
  ),
  database_artifact: Type.Object({ ...named }, open),
}

const READERS = {
  web_service: createReader(SCHEMAS.web_service),
  database_artifact: createReader(SCHEMAS.database_artifact),
}

/**
 * A command set is a device definition, and is held to all that a controller holds it to, its wire tests included.
 * @param mostValues commas and brackets: small values take many times the bytes that they have
 */
export function artifactReader(mostValues: number): ReadJson {
  return (type, bytes) => {
    const values = bytes.reduce((many, byte) => (BEFORE_VALUE.has(byte) ? many + 1 : many), 0)
    if (values > mostValues)
      throw new Fault('bad_json', `the artifact has ${values} commas and brackets, expected at most ${mostValues}`)
    const value = readJson(bytes)
    if (type === 'command_set') loadDefinition(bytes)
    else READERS[type](value)
    return value
  }
}

const BEFORE_VALUE: ReadonlySet<number> = new Set([...',[{'].map((sign) => sign.charCodeAt(0)))

/** What people call it; undefined if it does not say. */
export function titleOf(value: unknown): string | undefined {
  const { name, title } = (value ?? {}) as { name?: unknown; title?: unknown }
  const said = [title, name].find((text) => typeof text === 'string' && text !== '' && text.length <= 128)
  return said as string | undefined
}
