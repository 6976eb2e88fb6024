/** `plantroom report`: one file for whoever helps, with what is known of this machine, and without its secrets. */
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { hostname, release as kernelRelease, uptime } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { TObject } from 'typebox'
import { systemClock } from '#kit/clock.ts'
import { loadConfig, schemaTables } from '#kit/config/load.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { counted } from '#kit/pure/text.ts'
import { configFileOf, exitCodes, version } from '#kit/run/arguments.ts'
import { TAR_END, tarHeader, tarPadding } from '#kit/store/tar.ts'
import { type Command, parseCommand, requireWords, type World, whyNotMade } from './command.ts'
import { daemonNames, loadDaemon } from './daemons.ts'
import { journalWords, UPDATERS } from './logs.ts'
import { masked } from './masking.ts'
import { paintedText, type Said } from './paint.ts'
import { status } from './status.ts'
import { updateConfig } from './update.ts'

const form = 'report [FILE] [--since TIME] [--json]'

/** How far back the logs go. */
const USUAL_SINCE = '3 days ago'
/** Of each log: the newest count. */
const MOST_LINES = 20_000
/** Of the output of one program, the newest; a cut says so. */
const MOST_BYTES = 8_388_608
/** Of what it complains of. */
const MOST_COMPLAINT = 10_000
/** Time of one program. */
const PROGRAM_MS = 15_000

const UNIT_FACTS = [
  ...['ActiveState', 'SubState', 'Result', 'UnitFileState', 'NRestarts', 'ExecMainStatus', 'ExecMainStartTimestamp'],
  ...[
    'ActiveEnterTimestamp',
    'MemoryCurrent',
    'MemoryPeak',
    'MemoryMax',
    'TasksCurrent',
    'CPUUsageNSec',
    'DropInPaths',
  ],
].join(',')

/** What other programs say of the machine, by the name of the file. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'system/addresses.txt': ['ip', '-brief', 'address'],
  'system/routes.txt': ['ip', 'route'],
  'system/disks.txt': ['df', '-h', '-x', 'tmpfs', '-x', 'devtmpfs'],
  'system/memory.txt': ['free', '-m'],
  'system/clock.txt': ['timedatectl', 'show'],
  'system/usb.txt': ['lsusb'],
  'system/serial-ports.txt': ['ls', '-l', '/dev/serial/by-id'],
  'system/sound-cards.txt': ['cat', '/proc/asound/cards'],
  'system/failed-units.txt': ['systemctl', 'list-units', '--failed', '--no-pager', '--plain'],
  'system/timers.txt': ['systemctl', 'list-timers', 'plantroom-*', '--all', '--no-pager'],
}

export const report: Command = {
  name: 'report',
  summary: 'put logs, settings and state of this machine into one file for whoever helps',
  help: `plantroom ${form}

Writes FILE, a gzipped tar that only its owner can read: what each daemon and its unit say, the settings that differ from
their defaults, the journal of the units, and the machine's disks, memory, addresses, USB devices and serial ports. Left out
are passwords, keys, tokens, cookies and the like, and what stands in addresses (URLs) besides the host; names of devices and
addresses of machines are not. Look through it before it leaves the house: tar -xzf FILE. As root it holds most: sudo plantroom report.
  FILE           default plantroom-HOST-DATE.tar.gz in this folder; one that is there is never overwritten
  --since TIME   how far back the logs go, as journalctl takes it; default "${USUAL_SINCE}"
  --json         says what was written as JSON
Exit codes: 0 written, 1 failed, 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, { since: { type: 'string' }, json: { type: 'boolean' } })
    requireWords(positionals, 0, 1, form)
    const at = new Date(systemClock.epochMs())
    const stamp = at
      .toISOString()
      .replace(/[-:]|\..*$/g, '')
      .replace('T', '-')
    const file = resolve(positionals[0] ?? `plantroom-${hostname().replace(/[^\w.-]/g, '_')}-${stamp}.tar.gz`)
    const target = await newFile(file)
    try {
      const bytes = tarOf(await everything(world, at, values.since ?? USUAL_SINCE))
      await target.writeFile(bytes.archive)
      await target.sync()
      await target.close()
      const size = `${Math.ceil(bytes.archive.length / 1000)} kB`
      world.out(
        values.json
          ? `${JSON.stringify({ file, bytes: bytes.archive.length, files: bytes.paths })}\n`
          : `${file}: ${counted(bytes.paths.length, 'file')}, ${size}. Look through it before it leaves the house: tar -xzf ${file}\n`,
      )
      return exitCodes.fine
    } catch (cause) {
      await target.close().catch(() => {})
      await rm(file, { force: true })
      if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause
      throw new Fault('report_failed', whyNotMade(file, cause), { cause })
    }
  },
}

/** @throws Fault `report_failed` */
async function newFile(file: string): Promise<FileHandle> {
  try {
    // A link that somebody else put there is not followed either.
    return await open(file, 'wx', 0o600)
  } catch (cause) {
    throw new Fault('report_failed', whyNotMade(file, cause), { cause })
  }
}

/** Texts by the names of their files. */
async function everything(world: World, at: Date, since: string): Promise<Map<string, string>> {
  const names = daemonNames(world.daemonsFolder)
  const texts = new Map<string, string>()
  texts.set('about.txt', await aboutText(at))
  texts.set('status.txt', masked(await spoken(status, [], world)))
  texts.set('status.json', masked(await spoken(status, ['--json'], world)))
  for (const [path, [program = '', ...words]] of Object.entries(PROGRAMS))
    texts.set(path, await said(world, program, words))
  const bounds = [`--since=${since}`, `--lines=${MOST_LINES}`, '--output=short-iso-precise']
  for (const name of names) {
    const { config } = await loadDaemon(world.daemonsFolder, name)
    texts.set(`settings/${name}.txt`, await settingsText(world, name, config))
  }
  texts.set('settings/update.txt', await settingsText(world, 'update', updateConfig))
  for (const name of [...names, ...UPDATERS]) {
    const unit = ['show', `plantroom-${name}.service`, `--property=${UNIT_FACTS}`]
    texts.set(`units/${name}.txt`, await said(world, 'systemctl', unit))
    const log = await said(world, 'journalctl', [...journalWords([name]), ...bounds])
    refuseTime(log, since)
    texts.set(`logs/${name}.txt`, log)
  }
  return texts
}

/** Without it a report would leave the house that has no logs, and nobody would know. @throws Fault `bad_usage` */
function refuseTime(log: string, since: string): void {
  if (/^Failed to parse timestamp: .*\njournalctl failed: code 1\n$/.test(log))
    throw new Fault(
      'bad_usage',
      `journalctl takes no ${JSON.stringify(since)} for a time: --since "10 min ago", or "2026-11-27 08:00"`,
    )
}

async function aboutText(at: Date): Promise<string> {
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const name = /^PRETTY_NAME="?(.*?)"?$/m.exec(system)?.[1] ?? 'unknown'
  const hours = (uptime() / 3600).toFixed(1)
  return [
    `Plantroom ${version} on Node ${process.version}, ${process.arch}`,
    `${hostname()}: ${name}, kernel ${kernelRelease()}, up for ${hours} h`,
    `made at ${at.toISOString()} by ${process.getuid?.() === 0 ? 'root' : 'a user without the rights of root, who sees less'}`,
    '',
  ].join('\n')
}

/** What a command of ours prints. */
async function spoken(command: Command, argv: readonly string[], world: World): Promise<string> {
  let text = ''
  const hear = (piece: Said) => {
    text += paintedText(piece, false)
  }
  await command.run(argv, { ...world, out: hear, err: hear })
  return text
}

/** What a program prints, its newest where that is much, without secrets; where it fails, why. */
function said({ env }: World, program: string, words: readonly string[]): Promise<string> {
  const child = spawn(program, words, {
    ...{ env: { ...env, LC_ALL: 'C' }, timeout: PROGRAM_MS, killSignal: 'SIGKILL' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = keepNewest(child.stdout, MOST_BYTES)
  const complaint = keepNewest(child.stderr, MOST_COMPLAINT)
  return new Promise((done) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code === 'ENOENT' ? `${program} is not installed here\n` : `${program} failed: ${error.code}\n`),
    )
    child.once('close', (code, signal) => {
      const failed = `${program} failed: ${signal === null ? `code ${code}` : 'no answer in time'}\n`
      done(masked(output() + complaint()) + (code === 0 ? '' : failed))
    })
  })
}

/** Holds the end of what a stream brings: at most so many bytes, and one piece more. @returns reads it as whole lines */
function keepNewest(stream: Readable, mostBytes: number): () => string {
  const pieces: Buffer[] = []
  let heldBytes = 0
  let lostBytes = 0
  stream.on('data', (piece: Buffer) => {
    pieces.push(piece)
    heldBytes += piece.length
    for (let [oldest] = pieces; oldest && heldBytes - oldest.length >= mostBytes; [oldest] = pieces) {
      pieces.shift()
      heldBytes -= oldest.length
      lostBytes += oldest.length
    }
  })
  return () => {
    const held = Buffer.concat(pieces)
    const cut = Math.max(0, held.length - mostBytes)
    if (lostBytes + cut === 0) return held.toString()
    // Not from within a line: what says that a secret follows may stand in what is lost.
    const start = held.indexOf('\n', cut) + 1
    const kept = start === 0 ? '' : held.subarray(start).toString()
    return `(cut here, at the beginning: ${lostBytes + held.length - Buffer.byteLength(kept)} older bytes are left out)\n${kept}`
  }
}

/** The settings that differ from their defaults, as a file would have them; or what is wrong with them. */
async function settingsText(world: World, name: string, schema: TObject): Promise<string> {
  const file = configFileOf(name, world.env)
  try {
    const { isFileRead, value } = await loadConfig({ schema, file, mustExist: false, sets: [], isUnseen: true })
    const lines = [
      isFileRead ? `# ${file}, without what is as by default` : `# there is no ${file}: all is as by default`,
    ]
    for (const [table, { properties }] of Object.entries(schemaTables(schema)))
      for (const [key, { default: byDefault, secret }] of Object.entries(properties)) {
        const set = (value as Record<string, Record<string, unknown>>)[table]?.[key]
        if (JSON.stringify(set) === JSON.stringify(byDefault)) continue
        lines.push(`${table}.${key} = ${secret ? LEFT_OUT : settingText(key, set)}`)
      }
    return `${lines.join('\n')}\n`
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'config_refused')) throw error
    return `# ${file} is refused\n${error.message}\n`
  }
}

const LEFT_OUT = '(set, and left out)'

/** A number or a switch is no secret. Behind a name that speaks of one, a text is shown where it is the path of a file. */
function settingText(key: string, value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (!isSensitiveName(key) && !/_file$/.test(key)) return masked(JSON.stringify(value))
  const paths = [value].flat()
  if (paths.every(isFile)) return JSON.stringify(value)
  const isPath = paths.every((path) => typeof path === 'string' && isAbsolute(path))
  return `(set, and left out, since it is no ${isPath ? 'file that is there' : 'absolute path'})`
}

/** Whether it leads to something; where only root may look, it may. */
function isFile(path: unknown): boolean {
  if (typeof path !== 'string' || !isAbsolute(path)) return false
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

function tarOf(texts: ReadonlyMap<string, string>): { archive: Buffer; paths: string[] } {
  const parts: Buffer[] = []
  for (const [path, text] of texts) {
    const bytes = Buffer.from(text)
    const header = tarHeader({ path: `plantroom-report/${path}`, sizeBytes: bytes.length }, 0o600)
    if (!header) throw new Fault('report_failed', `${path} is too long for a tar`)
    parts.push(header, bytes, tarPadding(bytes.length))
  }
  return { archive: gzipSync(Buffer.concat([...parts, TAR_END])), paths: [...texts.keys()] }
}
