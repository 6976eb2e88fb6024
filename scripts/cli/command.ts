/** Interface of a subcommand of `plantroom`. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { Fault } from '#kit/pure/fault.ts'
import type { StateUse } from '#kit/run/state-folder.ts'
import type { Said } from './paint.ts'

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

/** A command on one daemon, under a name of its own that begins with the daemon: the same with that word in front. */
export function ofDaemon(command: Command, daemon: string, summary: string): Command {
  const name = `${daemon} ${command.name}`
  return {
    ...{ name, summary },
    help: `plantroom ${name} is plantroom ${command.name} ${daemon}: without the word DAEMON below.\n\n${command.help}`,
    stateUse: (argv, world) => command.stateUse([daemon, ...argv], world),
    run: (argv, world) => command.run([daemon, ...argv], world),
  }
}

/** Input and output of commands, so that tests need no terminal. */
export interface World {
  // Not methods: what takes texts alone would pass for one that takes parts too.
  out: (said: Said) => void
  err: (said: Said) => void
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

/**
 * Runs the form of a command that its first word names.
 * @param disk makes the fault of what the disk refused
 * @throws Fault `bad_usage` for another word
 */
export async function runForm(
  forms: Readonly<Record<string, { form: string; run(argv: readonly string[], world: World): Promise<number> }>>,
  [what = '', ...argv]: readonly string[],
  world: World,
  disk: (sentence: string, cause: unknown) => Fault,
): Promise<number> {
  const chosen = new Map(Object.entries(forms)).get(what)
  if (!chosen)
    throw new Fault(
      'bad_usage',
      `expected one of: ${Object.values(forms)
        .map(({ form }) => form)
        .join(', ')}`,
    )
  return await sayDiskErrors(() => chosen.run(argv, world), disk)
}

/** @param disk makes the fault of what the disk refused */
export async function sayDiskErrors(
  run: () => Promise<number>,
  disk: (sentence: string, cause: unknown) => Fault,
): Promise<number> {
  try {
    return await run()
  } catch (error) {
    const { code, syscall, path } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw disk(`${path ?? 'a file'}: ${syscall} failed with ${code}`, error)
  }
}

/**
 * Why a file was not made that must not replace an older one.
 * @param cause what opening it with `wx`, or writing it, threw
 * @param replaces the option that replaces the older one, if there is one
 */
export function whyNotMade(file: string, cause: unknown, replaces?: string): string {
  const { code } = cause as NodeJS.ErrnoException
  if (code !== 'EEXIST') return `${file} could not be written (${code})`
  const way = replaces === undefined ? '' : `, or put the new one in its place by ${replaces}`
  return `${file} is there already: name another file${way}`
}

/** Checks the number of words. @throws Fault `bad_usage` with the right form */
export function requireWords(words: readonly string[], least: number, most: number, form: string): void {
  if (words.length < least || words.length > most) throw new Fault('bad_usage', `expected: plantroom ${form}`)
}
