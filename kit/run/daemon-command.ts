/** Commands of a daemon's program beside running it: `plantroom <daemon> <command>`, with the daemon's own settings. */
import { resolve } from 'node:path'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import type { TObject } from 'typebox'
import { loadConfig } from '../config/load.ts'
import { Fault } from '../pure/fault.ts'
import { nearestName } from '../pure/text.ts'
import { configFileOf, type DaemonPlace, exitCodes, stateFolderOf } from './arguments.ts'
import type { StateUse } from './state-folder.ts'

/** A command's input. */
export interface CommandCall<Config> {
  config: Config
  /** Absolute; may not exist, and may belong to a running daemon. */
  stateFolder: string
  words: readonly string[]
  /** The command's own options as given: texts, and true for switches. */
  options: ReadonlyMap<string, string | true>
  out(text: string): void
}

/** One command of a daemon. */
export interface DaemonCommand<Config> {
  name: string
  /** What follows the name: `FILE [--replace]`. */
  form: string
  /** One line for the daemon's help. */
  summary: string
  /** What it does, its own options, and its exit codes; ends with a newline. */
  help: string
  /** Number of positional arguments. */
  words: readonly [least: number, most: number]
  /** Which of its words name files of the caller, counted from 0, and whether it creates the state folder. */
  files: { reads?: number; writes?: number; makesState: boolean }
  /** Its own options; `--state`, `--config`, `--set` and `--help` exist for every command. */
  options?: ParseArgsOptionsConfig
  /** @returns the exit code; whatever it throws is reported as at a start of the daemon */
  run(call: CommandCall<Config>): Promise<number>
}

/** What is needed to find and run commands. */
export interface CommandPlace<Config> extends DaemonPlace {
  schema: TObject
  commands: readonly DaemonCommand<Config>[]
  out(text: string): void
}

/** Options of every command. */
const COMMON = {
  state: { type: 'string' },
  config: { type: 'string' },
  set: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const

/**
 * Runs the command named by the first argument.
 * @returns its exit code; undefined if the first argument is missing or an option, which means the daemon itself
 * @throws Fault `bad_usage`, `config_refused`, and what the command throws
 */
export async function runCommand<Config>(
  argv: readonly string[],
  place: CommandPlace<Config>,
): Promise<number | undefined> {
  const [name, ...rest] = argv
  const { commands } = place
  if (name === undefined || name.startsWith('-') || commands.length === 0) return undefined
  const command = commands.find((one) => one.name === name)
  if (command === undefined) throw new Fault('bad_usage', unknown(name, commands))
  const { values, positionals: words } = parse(rest, command)
  if (values.help) {
    place.out(helpOf(place.name, command))
    return exitCodes.fine
  }
  const [least, most] = command.words
  if (words.length < least || words.length > most)
    throw new Fault('bad_usage', `expected: plantroom ${place.name} ${name} ${command.form}`)
  const { state, config: file, set: sets = [] } = values
  const { value: config } = await loadConfig({
    schema: place.schema,
    file: resolve(file ?? configFileOf(place.name, place.env)),
    mustExist: file !== undefined,
    sets,
  })
  return await command.run({
    config: config as Config,
    stateFolder: resolve(state ?? stateFolderOf(place)),
    words,
    options: ownOptions(values, command),
    out: place.out,
  })
}

/**
 * What a command will do with files, before it is run.
 * @returns undefined if it touches none: the daemon itself is meant, or the call is wrong
 * @throws Fault `bad_usage`
 */
export function stateUseOf<Config>(
  argv: readonly string[],
  { commands, ...place }: DaemonPlace & { commands: readonly DaemonCommand<Config>[] },
): StateUse | undefined {
  const [name, ...rest] = argv
  const command = commands.find((one) => one.name === name)
  if (command === undefined) return undefined
  const { values, positionals: words } = parse(rest, command)
  if (values.help) return undefined
  const { reads, writes, makesState } = command.files
  const read = [reads === undefined ? undefined : words[reads], values.config ?? configFileOf(place.name, place.env)]
  return {
    folder: resolve(values.state ?? stateFolderOf(place)),
    makes: makesState,
    reads: read.filter((path) => path !== undefined),
    writes: writes === undefined ? undefined : words[writes],
  }
}

function unknown(name: string, commands: readonly { name: string }[]): string {
  const names = commands.map((one) => one.name)
  const nearest = nearestName(name, names)
  const hint = nearest === undefined ? `there are: ${names.join(', ')}` : `did you mean ${nearest}?`
  return `there is no command ${JSON.stringify(name)}; ${hint}`
}

function parse(argv: readonly string[], { options }: { options?: ParseArgsOptionsConfig }) {
  try {
    return parseArgs({ args: [...argv], options: { ...options, ...COMMON }, allowPositionals: true })
  } catch (error) {
    throw new Fault('bad_usage', (error as Error).message, { cause: error })
  }
}

function ownOptions(
  values: Readonly<Record<string, unknown>>,
  { options = {} }: { options?: ParseArgsOptionsConfig },
): Map<string, string | true> {
  const own = new Map<string, string | true>()
  for (const name of Object.keys(options)) {
    const value = values[name]
    if (typeof value === 'string' || value === true) own.set(name, value)
  }
  return own
}

function helpOf(daemon: string, { name, form, help }: { name: string; form: string; help: string }): string {
  return `plantroom ${daemon} ${name} ${form}

${help}  --state DIR        the daemon's state folder; default $STATE_DIRECTORY, else /var/lib/plantroom/${daemon}
  --config FILE      the daemon's settings; default /etc/plantroom/${daemon}.toml, which may be missing
  --set key=VALUE    one setting, may repeat
Exit codes: 0 done, 1 failed, 2 wrong usage or refused: nothing was changed.
`
}
