/** What one subcommand of `plantroom` is. */
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
   * What it does with a state folder and with files of whoever calls it; undefined of what touches no state. Root's call is
   * carried out by the folder's owner (as-owner.ts).
   */
  stateUse(argv: readonly string[], world: World): StateUse | undefined
  /** @returns the exit code; throws Fault `bad_usage` or another, whose sentence is shown */
  run(argv: readonly string[], world: World): Promise<number>
}

/** What commands read from and write to, so that tests need no terminal. */
export interface World {
  out(text: string): void
  err(text: string): void
  /** Folder with the daemons: that of the bundles, or `daemons/` where sources run. */
  daemonsFolder: string
  env: NodeJS.ProcessEnv
  /** Reads a new password; twice from a terminal, without echo. */
  readPassword(question: string): Promise<string>
}

/** Options and words of a command line. @throws Fault `bad_usage` for what is unknown or lacks its value */
export function parseCommand<Options extends ParseArgsOptionsConfig>(argv: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new Fault('bad_usage', (error as Error).message, { cause: error })
  }
}

/** Checks how many words there are. @throws Fault `bad_usage` with the right form */
export function requireWords(words: readonly string[], least: number, most: number, form: string): void {
  if (words.length < least || words.length > most) throw new Fault('bad_usage', `expected: plantroom ${form}`)
}
