/** `plantroom logs`: what the daemons of this machine have logged, from the journal. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Fault } from '#kit/pure/fault.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { daemonNames, requireDaemon } from './daemons.ts'

const form = 'logs [DAEMON] [--follow] [--since TIME] [--lines N] [--problems] [--json]'

/** Lines without --lines. */
const USUAL_LINES = 200

/** Units that are no daemons, and log what an update did. */
export const UPDATERS = ['update-asked', 'update-timed', 'update-settle', 'update-undo'] as const

export const logs: Command = {
  name: 'logs',
  summary: 'what the daemons have logged, of one or of all',
  help: `plantroom ${form}

Prints the journal of the unit of DAEMON, or of all units of Plantroom in one, the newest last. Who is neither root nor in
the group systemd-journal sees no entries: sudo plantroom logs.
  --follow       go on with what is logged from now on, until Ctrl-C
  --since TIME   as journalctl takes it: "10 min ago", yesterday, "2026-11-27 08:00"
  --lines N      the last N lines, 1 to 100000, or all; default ${USUAL_LINES}, with --since all
  --problems     warnings and errors alone
  --json         one JSON object a line, as journalctl has them
Exit codes: 0 fine, 1 there is no journal to read, 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, {
      follow: { type: 'boolean' },
      since: { type: 'string' },
      lines: { type: 'string' },
      problems: { type: 'boolean' },
      json: { type: 'boolean' },
    })
    requireWords(positionals, 0, 1, form)
    const [only] = positionals
    if (only !== undefined) requireDaemon(world.daemonsFolder, only)
    const lines = values.lines ?? (values.since === undefined ? String(USUAL_LINES) : 'all')
    if (lines !== 'all' && !(/^[1-9]\d{0,5}$/.test(lines) && Number(lines) <= 100_000))
      throw new Fault('bad_usage', `--lines takes a number from 1 to 100000, or all, and not ${JSON.stringify(lines)}`)
    const words = journalWords(only === undefined ? [...daemonNames(world.daemonsFolder), ...UPDATERS] : [only])
    words.push(`--lines=${lines}`, `--output=${values.json ? 'json' : 'short-iso'}`)
    // Else it says in words that there are no entries, which is no JSON.
    if (values.json) words.push('--quiet')
    if (values.since !== undefined) words.push(`--since=${values.since}`)
    if (values.problems) words.push('--priority=warning')
    if (values.follow) words.push('--follow')
    await readJournal(world, words)
    return exitCodes.fine
  },
}

/** What names units to journalctl. @param names daemons, or what they are without `plantroom-` and `.service` */
export function journalWords(names: readonly string[]): string[] {
  return ['--no-pager', ...names.map((name) => `--unit=plantroom-${name}.service`)]
}

/**
 * Its output goes where ours goes, so that a terminal has colours and nothing is held; so does what it says of rights
 * that the caller lacks.
 * @throws Fault `no_journal`
 */
async function readJournal({ env, err }: World, words: readonly string[]): Promise<void> {
  const child = spawn('journalctl', words, { env, stdio: ['ignore', 'inherit', 'pipe'] })
  child.stderr.setEncoding('utf8').on('data', err)
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    // Ctrl-C reaches both.
    if (code === 0 || signal === 'SIGINT') return
    throw new Fault('no_journal', `journalctl ended with ${code ?? signal}, and said above why`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Fault(
      'no_journal',
      'there is no journal on this machine, since it does not run systemd; a daemon that was started by hand writes its log where it was started',
    )
  }
}
