/**
 * Measures the board's serial server against ser2net and socat, each on its own pty, in one run with the programs
 * taking turns; then memory with 4 ports of 4 clients each. Prints a table and adds it to docs/bench/board-serial.md.
 *
 *     node scripts/bench/serial.ts [--rounds N] [--note TEXT] [--print]
 *
 * --note: the conditions of the run; --print: leave docs/bench unchanged
 */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { residentMb } from '#kit/test/process-memory.ts'
import { openPty } from '#native/serial/index.ts'
import { startBoard } from './board-process.ts'
import { startSer2net, startSer2netOn, startSer2netTelnet, startSocat } from './bridges.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { median } from './figures.ts'
import { compileHarness, type Harness, type Measured, startHarness } from './line-harness.ts'

const RIVALS = ['socat', 'ser2net'] as const
type Mode = 'raw' | 'telnet'

/** A figure of merit. `bound`: ratio of ours to ser2net's, at most for times, at least for rates. */
interface Figure {
  title: string
  mode: Mode
  /** Command of line-bench.cc, with PORT to be filled in. */
  command: string
  value: 'p50' | 'p99' | 'mbps'
}

const UNIT = { p50: 'us', p99: 'us', mbps: 'MB/s' }
const FIGURES: Figure[] = (['raw', 'telnet'] as const).flatMap((mode) => {
  const prefix = mode === 'telnet' ? 'telnet-' : ''
  const name = mode === 'telnet' ? 'RFC 2217' : 'raw'
  const trips = [1, 64].flatMap((size) =>
    (['p50', 'p99'] as const).map((value) => ({
      title: `${name}: round trip, ${size} byte${size === 1 ? '' : 's'}, ${value}`,
      mode,
      command: `${prefix}rtt PORT ${size} 5000`,
      value,
    })),
  )
  const rates = [
    { title: `${name}: line to TCP`, mode, command: `${prefix}line-to-tcp PORT 8000000`, value: 'mbps' as const },
    { title: `${name}: TCP to line`, mode, command: `${prefix}tcp-to-line PORT 8000000`, value: 'mbps' as const },
  ]
  return [...trips, ...rates]
})

/** A server under test with the harness on its line. */
interface Contender {
  name: 'socat' | 'ser2net' | 'board'
  mode: Mode
  port: number
  harness: Harness
  stop(): Promise<void>
}

async function startContenders(root: string): Promise<Contender[]> {
  const binary = compileHarness(root, 'line-bench')
  const contenders: Contender[] = []
  const rivals = [
    ['socat', 'raw', startSocat],
    ['ser2net', 'raw', startSer2net],
    ['ser2net', 'telnet', startSer2netTelnet],
  ] as const
  for (const [name, mode, start] of rivals) {
    const harness = await startHarness(binary)
    const bridge = await start(harness.devices[0] ?? '')
    if (bridge) contenders.push({ name, mode, harness, ...bridge })
    else harness.stop()
  }
  const harnesses = [await startHarness(binary), await startHarness(binary)]
  const devices = harnesses.map(({ devices: [device = ''] }) => device)
  const board = await startBoard(root, devices, ['raw', 'rfc2217'])
  for (const [index, harness] of harnesses.entries()) {
    const mode = index === 0 ? 'raw' : 'telnet'
    const stop = index === 0 ? board.stop : async () => {}
    contenders.push({ name: 'board', mode, harness, port: board.ports[index] ?? 0, stop })
  }
  return contenders
}

/** Answers by contender and command, one per round. The first round warms up and is dropped. */
async function measure(contenders: Contender[], rounds: number): Promise<Map<string, Measured[]>> {
  const answers = new Map<string, Measured[]>()
  const commands = [...new Map(FIGURES.map(({ command, mode }) => [command, mode]))]
  for (let round = 0; round <= rounds; round++) {
    for (const [command, mode] of commands) {
      const asked = contenders.filter((one) => one.mode === mode)
      // The order rotates: caches and processor frequency favour certain places.
      const order = [...asked.slice(round % asked.length), ...asked.slice(0, round % asked.length)]
      for (const { name, port, harness } of order) {
        const answer = await harness.measure(command.replace('PORT', String(port)))
        if (answer.error !== undefined) throw new Error(`${name}, ${command}: ${answer.error}`)
        const key = `${name} ${command}`
        if (round > 0) answers.set(key, [...(answers.get(key) ?? []), answer])
      }
    }
  }
  return answers
}

function rowOf({ title, command, value }: Figure, answers: Map<string, Measured[]>): string {
  const seriesOf = (name: string) => (answers.get(`${name} ${command}`) ?? []).map((one) => one[value] ?? Number.NaN)
  const cellOf = (name: string) => {
    const series = seriesOf(name)
    return series.length === 0 ? '-' : `${median(series).toFixed(1)} ${UNIT[value]}`
  }
  const rival = seriesOf('ser2net')
  // Per round: the machine's speed drifts, but equally for all within a round.
  const ratio = median(seriesOf('board').map((own, round) => own / (rival[round] ?? Number.NaN)))
  const isRate = value === 'mbps'
  const isMet = isRate ? ratio >= 1 : ratio <= 1
  const wanted = `${isRate ? '>=' : '<='} ser2net`
  const [compared = '', met = ''] = rival.length === 0 ? ['-', '-'] : [ratio.toFixed(2), isMet ? 'yes' : 'no']
  return tableRow([title, ...RIVALS.map(cellOf), cellOf('board'), compared, wanted, met])
}

const PORTS = 4
const CLIENTS = 4

/** Resident memory with every port open, its clients connected, and some traffic. */
async function memoryRow(root: string): Promise<string> {
  const figures: string[] = []
  for (const who of ['ser2net', 'board'] as const) {
    const ptys = Array.from({ length: PORTS }, () => openPty())
    const devices = ptys.map(({ path }) => path)
    const server =
      who === 'board' ? await startBoard(root, devices, Array(PORTS).fill('raw')) : await startSer2netOn(devices, '')
    if (server === undefined) {
      figures.push('-')
      for (const pty of ptys) await pty.close()
      continue
    }
    const sockets: Socket[] = []
    for (const port of server.ports) for (let client = 0; client < CLIENTS; client++) sockets.push(await dial(port))
    for (const pty of ptys) pty.onBytes((bytes) => void pty.write(bytes))
    for (let turn = 0; turn < 200; turn++) for (const socket of sockets) socket.write('ping')
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    figures.push(`${residentMb(server.pid).toFixed(1)} MB`)
    for (const socket of sockets) socket.destroy()
    await server.stop()
    for (const pty of ptys) await pty.close()
  }
  const [ser2net = '', board = ''] = figures
  return tableRow([`resident memory, ${PORTS} ports with ${CLIENTS} clients each`, '-', ser2net, board, '-', '-', '-'])
}

async function dial(port: number): Promise<Socket> {
  for (let triesLeft = 100; ; triesLeft--) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}) // the failing connect reports it too
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    if (isThere) return socket.resume()
    if (triesLeft === 0) throw new Error(`nobody listens on ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const HEAD = `# The serial server against its peers

Made by \`make bench-serial\`: a port of the board against socat and ser2net (nodelay, chardelay off; telnet(rfc2217) for the
rows of RFC 2217), each on a pty of its own, taking turns in one run. Figures are medians over the rounds, a ratio is the
median of the ratios to ser2net of each round; it counts only within its own run. All 256 byte values are sent, FF twice over
Telnet, and every byte is compared.
`

const root = join(import.meta.dirname, '../..')
const rounds = Number(optionOf('--rounds') ?? 15)
const [load = Number.NaN] = loadavg()
const contenders = await startContenders(root)
let rows: string[]
try {
  const answers = await measure(contenders, rounds)
  rows = FIGURES.map((figure) => rowOf(figure, answers))
} finally {
  for (const contender of contenders) {
    await contender.stop()
    contender.harness.stop()
  }
}
rows.push(await memoryRow(root))
const text = chapterOf({
  heads: ['what', ...RIVALS, 'board', 'ratio', 'wanted', 'met'],
  rows,
  rounds,
  load,
  note: optionOf('--note'),
})
console.log(text)
if (!process.argv.includes('--print')) recordChapter(join(root, 'docs/bench/board-serial.md'), HEAD, text)
