/** The image that a board runs: its version, and what became of the last update. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type Static, Type } from 'typebox'
import { createReader } from '../http/check.ts'
import { isVersion } from '../pure/version.ts'

/**
 * The version of the image that this system came with; undefined if it came with none.
 * @param file as os-release(5)
 */
export function imageVersion(file: string): string | undefined {
  const line = /^IMAGE_VERSION=(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"']*))[ \t]*$/m.exec(textOfFile(file))
  const version = line?.slice(1).find((part) => part !== undefined)
  return version !== undefined && isVersion(version) ? version : undefined
}

function textOfFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // not a system with such a file
  }
}

// What became of the last update of a card with two systems: `plantroom slot confirm` writes it, the board tells it.

const orNull = (one: ReturnType<typeof Type.String>) => Type.Union([one, Type.Null()])

/** As it is kept, and answered by `GET /api/ota`. */
export const updateOutcome = Type.Object(
  {
    result: Type.Enum(['good', 'on_trial', 'fell_back'], {
      description: 'on_trial until the new system has shown that it is good; fell_back: the one before runs again',
    }),
    version: orNull(Type.String({ maxLength: 64, description: 'of the image that was installed, if it is known' })),
    runs: Type.String({ maxLength: 64, description: 'version of the image that runs' }),
    why: orNull(Type.String({ maxLength: 2000, description: 'why it fell back, or is about to' })),
    at: Type.Integer({ description: 'epoch ms' }),
  },
  { additionalProperties: false },
)

/** What became of an update. */
export type UpdateOutcome = Static<typeof updateOutcome>

const check = createReader(updateOutcome)

/** @returns null if there was no update, or the file is not what it should be */
export async function readOutcome(path: string): Promise<UpdateOutcome | null> {
  try {
    return check(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null // a card with one system, or none was installed yet
  }
}
