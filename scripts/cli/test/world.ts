/** A world without a terminal, for the tests of commands. */
import { join } from 'node:path'
import { Fault } from '#kit/fault.ts'
import type { Command, World } from '../command.ts'

/** What a command did. */
export interface Outcome {
  /** Exit code, or the code of the Fault it threw. */
  code: number | string
  out: string
  err: string
}

/** Runs a command against the daemons of the tests. @param typed what is typed as a new password */
export async function runCommand(command: Command, argv: readonly string[], typed = ''): Promise<Outcome> {
  let out = ''
  let err = ''
  const world: World = {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    daemonsFolder: join(import.meta.dirname, 'daemons'),
    env: {},
    readPassword: async () => typed,
  }
  try {
    return { code: await command.run(argv, world), out, err }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { code: error.code, out, err: error.message }
  }
}
