/** A fake world without a terminal, for tests of commands. */
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import type { Command, World } from '../command.ts'
import { paintedText } from '../paint.ts'

/** Result of a command. */
export interface Outcome {
  /** Exit code, or the code of the Fault it threw. */
  code: number | string
  out: string
  err: string
}

/** The command's environment; a plain string is typed as a new password. */
type Given = string | { typed?: string; daemonsFolder?: string; env?: NodeJS.ProcessEnv; inColours?: boolean }

/** Runs a command, by default against the daemons of the tests. */
export async function runCommand(command: Command, argv: readonly string[], given: Given = ''): Promise<Outcome> {
  const folder = join(import.meta.dirname, 'daemons')
  const {
    typed = '',
    daemonsFolder = folder,
    env = {},
    inColours = false,
  } = typeof given === 'string' ? { typed: given } : given
  let out = ''
  let err = ''
  const world: World = {
    out: (said) => {
      out += paintedText(said, inColours)
    },
    err: (said) => {
      err += paintedText(said, inColours)
    },
    daemonsFolder,
    env,
    readPassword: async () => typed,
  }
  try {
    return { code: await command.run(argv, world), out, err }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { code: error.code, out, err: error.message }
  }
}
