/**
 * Measures the gateway's raw TCP port against socat and ser2net, each on a pty of its own, in one run with the
 * programs taking turns; and its resident memory. Prints a table and adds it to docs/bench/gateway.md.
 *
 *     node scripts/bench/gateway.ts [--rounds N] [--print]     --print: leave docs/bench as it is
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { dirname, join } from 'node:path'
import { startGateway, startSer2net, startSocat } from './bridges.ts'
import { compileHarness, type LineHarness, type Measured, startHarness } from './line-harness.ts'
import { measureIdleMemory } from './memory.ts'

/** A figure of merit; `bound` is the ratio gateway.md asks for, against that rival. */
interface Figure {
  title: string
  /** Command of line-bench.cc, PORT filled in. */
  command: string
  value: 'p50' | 'p99' | 'mbps'
  unit: string
  rival: 'socat' | 'ser2net'
  bound: number
}

const RTT = { 1: 'rtt PORT 1 5000', 64: 'rtt PORT 64 5000' }
const FIGURES: Figure[] = [
  { title: 'round trip, 1 byte, p50', command: RTT[1], value: 'p50', unit: 'us', rival: 'socat', bound: 1.2 },
  { title: 'round trip, 1 byte, p99', command: RTT[1], value: 'p99', unit: 'us', rival: 'ser2net', bound: 1 },
  { title: 'round trip, 64 bytes, p50', command: RTT[64], value: 'p50', unit: 'us', rival: 'socat', bound: 1.2 },
  { title: 'round trip, 64 bytes, p99', command: RTT[64], value: 'p99', unit: 'us', rival: 'ser2net', bound: 1 },
  {
    title: 'line to TCP',
    command: 'line-to-tcp PORT 8000000',
    value: 'mbps',
    unit: 'MB/s',
    rival: 'ser2net',
    bound: 2,
  },
  {
    title: 'TCP to line',
    command: 'tcp-to-line PORT 8000000',
    value: 'mbps',
    unit: 'MB/s',
    rival: 'ser2net',
    bound: 2,
  },
]

const MEMORY_MB = 75
const MEMORY_LINES = 4

/** A bridge under test with the harness on its line. */
interface Contender {
  name: string
  port: number
  harness: LineHarness
  stop(): Promise<void>
}

async function startContenders(root: string): Promise<Contender[]> {
  const binary = compileHarness(root)
  const starts = {
    socat: startSocat,
    ser2net: startSer2net,
    gateway: async (device: string) => {
      const gateway = await startGateway(root)
      return { port: await gateway.addLine(device), stop: gateway.stop }
    },
  }
  const contenders: Contender[] = []
  for (const [name, start] of Object.entries(starts)) {
    const harness = await startHarness(binary)
    contenders.push({ name, harness, ...(await start(harness.device)) })
  }
  return contenders
}

/** Answers by command and contender, one of each round. The first round warms up and is dropped. */
async function measure(contenders: Contender[], rounds: number): Promise<Map<string, Measured[]>> {
  const answers = new Map<string, Measured[]>()
  const commands = [...new Set(FIGURES.map((figure) => figure.command))]
  for (let round = 0; round <= rounds; round++) {
    for (const command of commands) {
      // Nobody is always first: caches and the clock of the processor favour places.
      const order = contenders.map((_, at) => contenders[(at + round) % contenders.length])
      for (const contender of order) {
        if (contender === undefined) continue
        const answer = await contender.harness.measure(command.replace('PORT', String(contender.port)))
        if (answer.error !== undefined) throw new Error(`${contender.name}, ${command}: ${answer.error}`)
        const key = `${contender.name} ${command}`
        if (round > 0) answers.set(key, [...(answers.get(key) ?? []), answer])
      }
    }
  }
  return answers
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** One line of the table. A time must be at most the bound, a rate at least. */
function rowOf(figure: Figure, answers: Map<string, Measured[]>): string {
  const seriesOf = (name: string) =>
    (answers.get(`${name} ${figure.command}`) ?? []).map((one) => one[figure.value] ?? Number.NaN)
  const rival = seriesOf(figure.rival)
  // Round by round: the machine's speed drifts, and within a round it drifts for all alike.
  const ratio = median(seriesOf('gateway').map((value, round) => value / (rival[round] ?? Number.NaN)))
  const isMet = figure.value === 'mbps' ? ratio >= figure.bound : ratio <= figure.bound
  const wanted = `${figure.value === 'mbps' ? '>=' : '<='} ${figure.bound} x ${figure.rival}`
  const cells = ['socat', 'ser2net', 'gateway'].map((name) => `${median(seriesOf(name)).toFixed(1)} ${figure.unit}`)
  return `| ${[figure.title, ...cells, ratio.toFixed(2), wanted, isMet ? 'yes' : 'no'].join(' | ')} |`
}

async function memoryRow(): Promise<string> {
  const { rssMb } = await measureIdleMemory({ ports: MEMORY_LINES })
  const met = rssMb <= MEMORY_MB ? 'yes' : 'no'
  return `| resident memory, idle, ${MEMORY_LINES} lines | - | - | ${rssMb.toFixed(1)} MB | - | <= ${MEMORY_MB} MB | ${met} |`
}

function chapter(rows: string[], rounds: number): string {
  const [cpu] = cpus()
  return [
    `## ${new Date().toISOString().slice(0, 10)}`,
    '',
    `${cpus().length} x ${cpu?.model ?? process.arch}, Linux ${release()}, Node ${process.version}; median of ${rounds} rounds.`,
    '',
    '| what | socat | ser2net | gateway | ratio | wanted | met |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

const HEAD = `# The gateway against its peers

Made by \`make bench-gateway\`: raw TCP port against socat and ser2net (nodelay, chardelay off), each on a pty of its
own, taking turns in one run. Figures are medians over the rounds, a ratio is the median of the ratios of each round; it
counts only within its own run.
`

function record(root: string, text: string): void {
  const file = join(root, 'docs/bench/gateway.md')
  mkdirSync(dirname(file), { recursive: true })
  const before = existsSync(file) ? readFileSync(file, 'utf8') : HEAD
  writeFileSync(file, `${before.trimEnd()}\n\n${text}`)
}

const root = join(import.meta.dirname, '../..')
const at = process.argv.indexOf('--rounds')
const rounds = at > 0 ? Number(process.argv[at + 1]) : 15
const contenders = await startContenders(root)
try {
  const answers = await measure(contenders, rounds)
  const rows = FIGURES.map((figure) => rowOf(figure, answers))
  rows.push(await memoryRow())
  const text = chapter(rows, rounds)
  console.log(text)
  if (!process.argv.includes('--print')) record(root, text)
} finally {
  for (const contender of contenders) {
    await contender.stop()
    contender.harness.stop()
  }
}
