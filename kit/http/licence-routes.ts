/**
 * The licences of what a daemon is made of: a list of its packages, and each text on demand. Both are built packed, beside
 * the bundle (scripts/licences.ts), and read only when somebody asks.
 */
import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { promisify } from 'node:util'
import { createGunzip, gunzip } from 'node:zlib'
import { type Static, Type } from 'typebox'
import { Fault } from '../pure/fault.ts'
import { Reply, type Route, route } from './route.ts'

const licencePackage = Type.Object(
  {
    name: Type.String({ description: 'of the npm package, or `Node.js`' }),
    version: Type.String(),
    licence: Type.String({ description: 'SPDX expression, as the package names it' }),
    text: Type.String({ description: 'id of its text: packages whose texts are equal have the same' }),
  },
  { additionalProperties: false },
)

/** A package that is part of what is shipped. */
export type LicencePackage = Static<typeof licencePackage>

/** The list, by name. */
export const licenceList = Type.Array(licencePackage, {
  description:
    'packages that are shipped, by name; their texts are below `licences/`. Libraries of the system are not listed',
})

/** The licences of one daemon. */
export interface Licences {
  /** @throws Fault `licences_missing` */
  list(): Promise<LicencePackage[]>
  /** The text as JSON, read no faster than the client takes it. @throws Fault `licence_unknown` */
  text(id: string): NodeJS.ReadableStream
}

/** @param folder what scripts/licences.ts has built */
export function licencesIn(folder: string, daemon: string): Licences {
  return {
    async list() {
      const file = join(folder, `${daemon}.json.gz`)
      try {
        return JSON.parse(String(await promisify(gunzip)(await readFile(file)))) as LicencePackage[]
      } catch (cause) {
        throw new Fault('licences_missing', `The list of licences cannot be read from ${file}.`, { cause })
      }
    },
    text(id) {
      const file = join(folder, `${id}.json.gz`)
      if (!TEXT_ID.test(id) || !existsSync(file))
        throw new Fault('licence_unknown', `There is no licence text ${JSON.stringify(id)}: the list has the ids.`)
      // A pipeline, so that a client that leaves closes the file too.
      return pipeline(createReadStream(file), createGunzip(), () => {})
    },
  }
}

const TEXT_ID = /^[0-9a-f]{16}$/

/** @param at path of the list; each text is below it */
export function licenceTextRoute(licences: Pick<Licences, 'text'>, at: string): Route {
  return route({
    method: 'GET',
    path: `${at}/:text`,
    who: 'user',
    reply: Type.Object({ text: Type.String() }),
    summary: 'The text of a licence of what is shipped',
    params: Type.Object({ text: Type.String({ maxLength: 64 }) }),
    handle: ({ params }) =>
      new Reply(200, licences.text(params.text), { 'content-type': 'application/json; charset=utf-8' }),
  })
}
