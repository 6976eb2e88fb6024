/** The command line of Plantroom: `plantroom <daemon>` starts a daemon, the other commands manage them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault } from '#kit/pure/fault.ts'
import { escapeLines, nearestName } from '#kit/pure/text.ts'
import { exitCodes, version } from '#kit/run/arguments.ts'
import type { Command, World } from './cli/command.ts'
import { daemonNames, loadDaemon } from './cli/daemons.ts'
import { isPainted, paintedText } from './cli/paint.ts'

const POOL_BYTES = 8192

/** Sources run beside `daemons/`, bundles are all in one folder. */
const isSource = import.meta.filename.endsWith('.ts')

/** Loaded on demand: a daemon keeps whatever the command line loads to start it for its whole life. */
async function load<Module>(source: string, bundle: string): Promise<Module> {
  return (await import(pathToFileURL(join(import.meta.dirname, isSource ? source : bundle)).href)) as Module
}

const demo: Command = {
  name: 'demo',
  summary: 'start everything with simulated hardware',
  help: '',
  stateUse: () => undefined,
  async run(argv) {
    if (!existsSync(join(import.meta.dirname, isSource ? 'demo.ts' : 'demo.mjs')))
      throw new Fault('bad_usage', 'the demo is part of a checkout, not of the installed package')
    const { default: program } = await load<{ default: { run(argv: readonly string[]): Promise<number> } }>(
      'demo.ts',
      'demo.mjs',
    )
    return program.run(argv)
  },
}

function loadCli(): Promise<typeof import('./cli/commands.ts')> {
  return load('cli/commands.ts', 'commands.mjs')
}

const world: World = {
  out: (said) => void process.stdout.write(paintedText(said, isPainted(process.stdout.isTTY, process.env))),
  err: (said) => void process.stderr.write(paintedText(said, isPainted(process.stderr.isTTY, process.env))),
  daemonsFolder: isSource ? join(import.meta.dirname, '../daemons') : import.meta.dirname,
  env: process.env,
  readPassword: async (question) => (await loadCli()).readPassword(escapeLines(question)),
}

function help(commands: readonly Command[]): string {
  const daemons = daemonNames(world.daemonsFolder)
  const lines = [
    'plantroom - the daemons behind a building',
    '',
    'Start a daemon; it runs until SIGTERM or SIGINT:',
    ...daemons.map(
      (name) => `  plantroom ${name} [--config FILE] [--state DIR] [--listen HOST:PORT] [--set key=VALUE]...`,
    ),
    '',
    'Look after them:',
    ...commands.map(({ name, summary }) => `  plantroom ${name.padEnd(15)} ${summary}`),
    '',
    'Each has --help. plantroom --version tells the version.',
    'Exit codes: 0 fine, 1 failed, 2 wrong usage or settings, 3 not running, 70 a mistake in the program.',
    '',
  ]
  return lines.join('\n')
}

async function main([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const write = name === undefined ? world.err : world.out
    write(help([...(await loadCli()).commands, demo]))
    return name === undefined ? exitCodes.refused : exitCodes.fine
  }
  if (name === '--version') {
    world.out(`${version}\n`)
    return exitCodes.fine
  }
  const { daemonsFolder } = world
  const daemons = daemonNames(daemonsFolder)
  // A command may be two words, the first of them a daemon's name; a daemon that is started has no word behind its own.
  const [word = ''] = rest
  const isStart = daemons.includes(name) && !/^[a-z]/.test(word)
  const commands = isStart ? [] : [...(await loadCli()).commands, demo]
  const inTwo = commands.find((candidate) => candidate.name === `${name} ${word}`)
  const command = inTwo ?? commands.find((candidate) => candidate.name === name)
  if (command) return runCommand(command, [name, ...rest], inTwo ? rest.slice(1) : rest)
  if (daemons.includes(name)) {
    // Each long-lived small buffer keeps the whole pool it was cut from alive: 64 KiB by default.
    Buffer.poolSize = POOL_BYTES
    const daemon = await loadDaemon(daemonsFolder, name)
    const use = daemon.commands.includes(rest[0] ?? '') ? daemon.stateUse(rest) : undefined
    if (use === undefined) {
      const code = await daemon.run(rest)
      if (isStart && rest.some(isHelp) && code === exitCodes.fine)
        world.out(besideRunning(name, (await loadCli()).commands))
      return code
    }
    return (await loadCli()).runAsOwner({ use, argv: [name, ...rest], daemonsFolder, run: () => daemon.run(rest) })
  }
  const nearest = nearestName(name, [...commands.map((known) => known.name), ...daemons])
  const hint = nearest === undefined ? 'plantroom --help lists what there is' : `did you mean ${nearest}?`
  throw new Fault('bad_usage', `there is no command ${JSON.stringify(name)} in this installation; ${hint}`)
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h'
}

/** The commands that begin with the name of a daemon. */
function besideRunning(daemon: string, commands: readonly Command[]): string {
  const own = commands.filter(({ name }) => name.startsWith(`${daemon} `))
  if (own.length === 0) return ''
  const lines = own.map(({ name, summary }) => `  plantroom ${name}\n      ${summary}\n`)
  return `\nInstead of running, each with --help:\n${lines.join('')}`
}

async function runCommand(command: Command, whole: readonly string[], rest: readonly string[]): Promise<number> {
  if (command.help !== '' && rest.some(isHelp)) {
    world.out(command.help)
    return exitCodes.fine
  }
  const use = command.stateUse(rest, world)
  const { daemonsFolder } = world
  return (await loadCli()).runAsOwner({ use, argv: whole, daemonsFolder, run: () => command.run(rest, world) })
}

/** Faults that mean that nothing was done, since the request makes no sense. */
const refusals = ['bad_usage', 'unknown_daemon', 'config_refused', 'password_not_read', 'bad_backup']

/** By name, since each bundle has its own class `Fault`. */
function isFault(error: unknown): error is Fault {
  return error instanceof Fault || (error instanceof Error && error.name === 'Fault' && 'code' in error)
}

async function mainWithSentences(argv: readonly string[]): Promise<number> {
  try {
    return await main(argv)
  } catch (error) {
    if (!isFault(error)) {
      world.err(`plantroom: ${error instanceof Error ? error.stack : error}\n`)
      return exitCodes.crashed
    }
    world.err([{ tone: 'bad', text: 'plantroom:' }, ` ${error.message}\n`])
    return refusals.includes(error.code) ? exitCodes.refused : exitCodes.failed
  }
}

// Not by exitCode: a connection that somebody keeps open must not keep a stopped daemon alive.
process.exit(await mainWithSentences(process.argv.slice(2)))
