/** Interface of a subcommand of `plantroom`. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { Fault } from '#kit/pure/fault.ts'
import type { StateUse } from '#kit/run/state-folder.ts'

/** A subcommand. */
export interface Command {
  name: string
  /** One line for the list. */
  summary: string
  /** The whole help, with its exit codes. */
  help: string
  /**
   * How it uses a state folder and files of the caller; undefined if it touches no state. For root it runs as the
   * folder's owner (as-owner.ts).
   */
  stateUse(argv: readonly string[], world: World): StateUse | undefined
  /** @returns the exit code; throws Fault `bad_usage` or another, whose sentence is shown */
  run(argv: readonly string[], world: World): Promise<number>
}

/** Input and output of commands, so that tests need no terminal. */
export interface World {
  out(text: string): void
  err(text: string): void
  /** Folder with the daemons: the bundles, or `daemons/` when running from sources. */
  daemonsFolder: string
  env: NodeJS.ProcessEnv
  /** Reads a new password; twice from a terminal, without echo. */
  readPassword(question: string): Promise<string>
}

/** Parses options and words of a command line. @throws Fault `bad_usage` for unknown options or missing values */
export function parseCommand<Options extends ParseArgsOptionsConfig>(argv: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new Fault('bad_usage', (error as Error).message, { cause: error })
  }
}

/** Checks the number of words. @throws Fault `bad_usage` with the right form */
export function requireWords(words: readonly string[], least: number, most: number, form: string): void {
  if (words.length < least || words.length > most) throw new Fault('bad_usage', `expected: plantroom ${form}`)
}
