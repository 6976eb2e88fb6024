/** The command line of a daemon, its version and its exit codes. */

import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import facts from '../../package.json' with { type: 'json' }
import { Fault } from '../pure/fault.ts'
import { isVersion } from '../pure/version.ts'

// Exit codes, for the script that started a process.

/** Exit codes of daemons and commands; `plantroom --help` prints them. */
export const exitCodes = {
  /** It did what it was asked. */
  fine: 0,
  /** It failed while it ran, or could not start. */
  failed: 1,
  /** Wrong usage, or settings that were refused; nothing was started or changed. */
  refused: 2,
  /** `status`: a daemon does not run, or does not answer. */
  notRunning: 3,
  /** A mistake in the program; the log says where. */
  crashed: 70,
} as const

// The running version.

/** Beside the bundles of a published release: which one it is. */
export const RELEASE_FILE = 'release.json'

/** The version that was published; else that of package.json, which bundles contain. */
export const version: string = publishedVersion() ?? facts.version

/** What a daemon was started with. */
export interface DaemonArguments {
  configFile: string
  /** Whether the file was named, and so must exist. */
  isConfigNamed: boolean
  stateFolder: string
  /** `key=VALUE` texts, `--listen` among them. */
  sets: string[]
  /** Absolute; for a daemon that takes one. */
  importFile: string | undefined
  wants: 'run' | 'help' | 'version'
}

/** The daemon and its environment. */
export interface DaemonPlace {
  name: string
  env: NodeJS.ProcessEnv
  /** Whether it takes `--import FILE`. */
  takesImport?: boolean
}

/** Contents of a daemon's help. */
interface HelpFacts {
  name: string
  title: string
  defaultPort: number
  takesImport?: boolean
  commands?: readonly { name: string; form: string; summary: string }[]
}

/** Reads a daemon's arguments. @throws Fault `bad_usage` for an unknown argument or a missing value */
export function readArguments(argv: readonly string[], place: DaemonPlace): DaemonArguments {
  const { values } = parseStrict(argv)
  if (values.import !== undefined && !place.takesImport) throw new Fault('bad_usage', "Unknown option '--import'")
  const sets = [...(values.set ?? [])]
  // A JSON string is also a TOML string: quoted, so that an address is not taken for a number or a date.
  if (values.listen !== undefined) sets.push(`http.listen=${JSON.stringify(values.listen)}`)
  return {
    configFile: resolve(values.config ?? configFileOf(place.name, place.env)),
    isConfigNamed: values.config !== undefined,
    stateFolder: resolve(values.state ?? stateFolderOf(place)),
    sets,
    importFile: values.import === undefined ? undefined : resolve(values.import),
    wants: values.help ? 'help' : values.version ? 'version' : 'run',
  }
}

/** The help of a daemon. */
export function helpOf({ name, title, defaultPort, takesImport = false, commands = [] }: HelpFacts): string {
  const importing = '  --import FILE        makes what FILE says the first state; ignored where there is one\n'
  const listed = commands.map((one) => `  plantroom ${name} ${one.name} ${one.form}\n      ${one.summary}\n`)
  const others = listed.length === 0 ? '' : `\nInstead of running, each with --help:\n${listed.join('')}`
  return `plantroom ${name} - ${title}

  --config FILE        settings; default /etc/plantroom/${name}.toml, which may be missing
  --state DIR          what the API changes; default $STATE_DIRECTORY, else /var/lib/plantroom/${name}
  --listen HOST:PORT   same as --set http.listen=...; default port ${defaultPort}, port 0 takes a free one
  --set key=VALUE      one setting, may repeat; VALUE is TOML, a bare word is a string; wins over the file
${takesImport ? importing : ''}  --help, --version

Runs until SIGTERM or SIGINT. Exit codes: 0 stopped as told, 1 failed, 2 wrong usage or settings, 70 a mistake in the program.
${others}`
}

/** Default path of a daemon's settings. */
export function configFileOf(name: string, env: NodeJS.ProcessEnv = process.env): string {
  return join(baseFolder(env), `etc/plantroom/${name}.toml`)
}

/** Default state folder. systemd may name several folders; the first is the daemon's. */
export function stateFolderOf({ name, env }: DaemonPlace): string {
  return env.STATE_DIRECTORY?.split(':')[0] || join(baseFolder(env), `var/lib/plantroom/${name}`)
}

/** Below it the settings and states of this installation stand: `/`, or a folder of its own, `$PLANTROOM_BASE`. */
export function baseFolder(env: NodeJS.ProcessEnv): string {
  return env.PLANTROOM_BASE || '/'
}

/** @throws where the file is there and says nothing: a release that does not know its version would be updated for ever */
function publishedVersion(): string | undefined {
  const file = join(import.meta.dirname, RELEASE_FILE)
  if (!existsSync(file)) return undefined
  const { version: published } = JSON.parse(readFileSync(file, 'utf8')) as { version: unknown }
  if (typeof published !== 'string' || !isVersion(published))
    throw new Fault('bad_version', `${file} names no version: install this Plantroom again`)
  return published
}

function parseStrict(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        config: { type: 'string' },
        state: { type: 'string' },
        listen: { type: 'string' },
        set: { type: 'string', multiple: true },
        import: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new Fault('bad_usage', (error as Error).message, { cause: error })
  }
}
