/** The command line of Plantroom: `plantroom <daemon>` starts one, the other commands look after them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault } from '#kit/fault.ts'
import { nearestName } from '#kit/nearest.ts'
import { exitCodes } from '#kit/run/exit-codes.ts'
import { version } from '#kit/run/version.ts'
import { backup } from './cli/backup.ts'
import { checkConfig } from './cli/check-config.ts'
import type { Command, World } from './cli/command.ts'
import { daemonNames, loadDaemon } from './cli/daemons.ts'
import { readPassword } from './cli/new-password.ts'
import { password } from './cli/password.ts'
import { restore } from './cli/restore.ts'
import { status } from './cli/status.ts'

/** Sources are run beside `daemons/`, bundles lie in one folder. */
const isSource = import.meta.filename.endsWith('.ts')

const demo: Command = {
  name: 'demo',
  summary: 'start everything with simulated hardware',
  help: '',
  async run(argv) {
    const file = join(import.meta.dirname, isSource ? 'demo.ts' : 'demo.mjs')
    if (!existsSync(file)) throw new Fault('bad_usage', 'the demo is part of a checkout, not of the installed package')
    const { default: program } = (await import(pathToFileURL(file).href)) as {
      default: { run(argv: readonly string[]): Promise<number> }
    }
    return program.run(argv)
  },
}

const commands = [status, checkConfig, password, backup, restore, demo]

const world: World = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  daemonsFolder: isSource ? join(import.meta.dirname, '../daemons') : import.meta.dirname,
  env: process.env,
  readPassword,
}

function help(): string {
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
    ...commands.map(({ name, summary }) => `  plantroom ${name.padEnd(13)} ${summary}`),
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
    write(help())
    return name === undefined ? exitCodes.refused : exitCodes.fine
  }
  if (name === '--version') {
    world.out(`${version}\n`)
    return exitCodes.fine
  }
  const command = commands.find((candidate) => candidate.name === name)
  if (command && command.help !== '' && (rest.includes('--help') || rest.includes('-h'))) {
    world.out(command.help)
    return exitCodes.fine
  }
  if (command) return command.run(rest, world)
  const daemons = daemonNames(world.daemonsFolder)
  if (daemons.includes(name)) return (await loadDaemon(world.daemonsFolder, name)).run(rest)
  const nearest = nearestName(name, [...commands.map((known) => known.name), ...daemons])
  const hint = nearest === undefined ? 'plantroom --help lists what there is' : `did you mean ${nearest}?`
  throw new Fault('bad_usage', `there is no command ${JSON.stringify(name)} in this installation; ${hint}`)
}

/** Faults that mean that nothing was done, since what was asked for makes no sense. */
const refusals = ['bad_usage', 'unknown_daemon', 'config_refused', 'password_not_read', 'bad_backup']

async function mainWithSentences(argv: readonly string[]): Promise<number> {
  try {
    return await main(argv)
  } catch (error) {
    if (!(error instanceof Fault)) {
      world.err(`plantroom: ${error instanceof Error ? error.stack : error}\n`)
      return exitCodes.crashed
    }
    world.err(`plantroom: ${error.message}\n`)
    return refusals.includes(error.code) ? exitCodes.refused : exitCodes.failed
  }
}

// Not by exitCode: a connection that somebody keeps open must not keep a daemon that has stopped.
process.exit(await mainWithSentences(process.argv.slice(2)))
