/**
 * Measures the gateway against socat, ser2net and mbusd, each on its own pty, in one run with the programs taking
 * turns; then the cost of many lines at full load, and its resident memory. Prints a table and adds it to
 * docs/bench/gateway.md.
 *
 *     node scripts/bench/gateway.ts [--rounds N] [--note TEXT] [--print]
 *
 * --note: the conditions of the run; --print: leave docs/bench unchanged
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { startMbusd, startSer2net, startSocat } from './bridges.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { median } from './figures.ts'
import { type FullLoad, measureFullLoad } from './full-load.ts'
import { type BenchGateway, startGateway } from './gateway-process.ts'
import { compileHarness, type Harness, type Measured, startHarness } from './line-harness.ts'
import { measureIdleMemory } from './memory.ts'
import { measureWebhooks } from './webhook-load.ts'

/** A figure of merit; `bound` is the ratio that gateway.md requires, against that rival. */
interface Figure {
  title: string
  /** Command of line-bench.cc, with PORT and COUNT to be filled in. */
  command: string
  value: 'p50' | 'p99' | 'mbps' | 'rps'
  rival: Rival
  /** The gateway's port to measure. */
  ours: Ours
  /** Omitted if the figure is for information only. */
  bound?: number
}

const RIVALS = ['socat', 'ser2net', 'mbusd'] as const
type Rival = (typeof RIVALS)[number]
type Ours = 'raw' | 'modbus' | 'modbus, gap_us 1'

const UNIT = { p50: 'us', p99: 'us', mbps: 'MB/s', rps: '/s' }
const RTT = { 1: 'rtt PORT 1 5000', 64: 'rtt PORT 64 5000' }
const TO_TCP = 'line-to-tcp PORT 8000000'
const TO_LINE = 'tcp-to-line PORT 8000000'
const READS = 'modbus PORT 10 COUNT'
const FIGURES: Figure[] = [
  { title: 'round trip, 1 byte, p50', command: RTT[1], value: 'p50', ours: 'raw', rival: 'socat', bound: 1.2 },
  { title: 'round trip, 1 byte, p99', command: RTT[1], value: 'p99', ours: 'raw', rival: 'ser2net', bound: 1 },
  { title: 'round trip, 64 bytes, p50', command: RTT[64], value: 'p50', ours: 'raw', rival: 'socat', bound: 1.2 },
  { title: 'round trip, 64 bytes, p99', command: RTT[64], value: 'p99', ours: 'raw', rival: 'ser2net', bound: 1 },
  { title: 'line to TCP', command: TO_TCP, value: 'mbps', ours: 'raw', rival: 'ser2net', bound: 2 },
  { title: 'TCP to line', command: TO_LINE, value: 'mbps', ours: 'raw', rival: 'ser2net', bound: 2 },
  {
    title: 'Modbus TCP, 10 registers, each at its quickest (-R 1; gap_us 1)',
    command: READS,
    value: 'rps',
    ours: 'modbus, gap_us 1',
    rival: 'mbusd',
    bound: 10,
  },
  {
    title: 'Modbus TCP, 10 registers, with the silence of the standard (1.75 ms)',
    command: READS,
    value: 'rps',
    ours: 'modbus',
    rival: 'mbusd',
  },
]

const MEMORY_MB = 75
const MEMORY_LINES = 4
const LOAD_LINES = 16
const LOAD_SECONDS = 10
const LOAD_CPU_PERCENT = 50
const WEBHOOK_RATIO = 0.9
const RIVAL_TRIES = 3
/** Requests, which take about half a second each. */
const READ_COUNT = 300
const QUICK_READ_COUNT = 4000
/** Factor for the first round, which is dropped: Node compiles functions called tens of thousands of times. */
const WARM_UP = 10

/** A bridge under test with the harness on its line. */
interface Contender {
  name: Rival | Ours
  port: number
  harness: Harness
  stop(): Promise<void>
}

/** One gateway process has all its ports, as it would be installed. */
async function startContenders(root: string, gateway: BenchGateway): Promise<Contender[]> {
  const binary = compileHarness(root, 'line-bench')
  const ofGateway = (settings: object, protocol = 'modbus-rtu') => {
    return async (device: string) => ({
      port: await gateway.addLine(device, { protocol, settings }),
      stop: async () => {},
    })
  }
  const starts = {
    socat: startSocat,
    ser2net: startSer2net,
    mbusd: startMbusd,
    raw: ofGateway({}, 'raw'),
    modbus: ofGateway({}),
    'modbus, gap_us 1': ofGateway({ gap_us: 1 }),
  }
  const contenders: Contender[] = []
  for (const [name, start] of Object.entries(starts)) {
    const harness = await startHarness(binary)
    const [device = ''] = harness.devices
    const bridge = await start(device)
    if (bridge) contenders.push({ name: name as Contender['name'], harness, ...bridge })
    else harness.stop()
  }
  return contenders
}

/** Answers by contender and command, one per round. The first round warms up and is dropped. */
async function measure(contenders: Contender[], figures: Figure[], rounds: number): Promise<Map<string, Measured[]>> {
  const answers = new Map<string, Measured[]>()
  const commands = [...new Set(figures.map((figure) => figure.command))]
  for (let round = 0; round <= rounds; round++) {
    for (const command of commands) {
      const isAsked = ({ name }: Contender) =>
        figures.some(
          (figure) => figure.command === command && (figure.ours === name || rivalsOf(figure).includes(name)),
        )
      const asked = contenders.filter(isAsked)
      // The order rotates: caches and processor frequency favour certain places.
      const order = [...asked.slice(round % asked.length), ...asked.slice(0, round % asked.length)]
      for (const contender of order) {
        const answer = await ask(contender, command, round === 0 ? WARM_UP : 1)
        const key = `${contender.name} ${command}`
        if (round > 0) answers.set(key, [...(answers.get(key) ?? []), answer])
      }
    }
  }
  return answers
}

/** A rival that fails (as mbusd does on a busy machine) is retried; the gateway is not. */
async function ask({ name, port, harness }: Contender, command: string, times: number): Promise<Measured> {
  const isRival = RIVALS.some((rival) => rival === name)
  const count = name === 'modbus, gap_us 1' ? QUICK_READ_COUNT : READ_COUNT
  const filledIn = command.replace('PORT', String(port)).replace('COUNT', String(count * times))
  for (let triesLeft = isRival ? RIVAL_TRIES : 1; ; triesLeft--) {
    const answer = await harness.measure(filledIn)
    if (answer.error === undefined) return answer
    const sentence = `${name}, ${command}: ${answer.error}`
    if (triesLeft === 1) throw new Error(sentence)
    console.log(sentence)
  }
}

/** The rivals shown beside the gateway. */
function rivalsOf({ rival }: Figure): readonly (Rival | Ours)[] {
  return rival === 'mbusd' ? ['mbusd'] : ['socat', 'ser2net']
}

/** One line of the table. A time must be at most the bound, a rate at least. */
function rowOf(figure: Figure, answers: Map<string, Measured[]>): string {
  const { title, value, bound, ours } = figure
  const seriesOf = (name: string) =>
    (answers.get(`${name} ${figure.command}`) ?? []).map((one) => one[value] ?? Number.NaN)
  const rival = seriesOf(figure.rival)
  // Per round: the machine's speed drifts, but equally for all within a round.
  const ratio = median(seriesOf(ours).map((own, round) => own / (rival[round] ?? Number.NaN)))
  const isRate = value === 'mbps' || value === 'rps'
  const cellOf = (name: string) => {
    const series = seriesOf(name)
    return series.length === 0 ? '-' : `${median(series).toFixed(1)} ${UNIT[value]}`
  }
  const wanted = bound === undefined ? '-' : `${isRate ? '>=' : '<='} ${bound} x ${figure.rival}`
  const met = bound === undefined ? '-' : yesOrNo(isRate ? ratio >= bound : ratio <= bound)
  return tableRow([title, ...RIVALS.map(cellOf), cellOf(ours), ratio.toFixed(2), wanted, met])
}

const yesOrNo = (isMet: boolean) => (isMet ? 'yes' : 'no')
/** A row without rivals. */
const ownRow = (title: string, value: string, [wanted, met]: [string, string]) =>
  tableRow([title, '-', '-', '-', value, '-', wanted, met])

async function memoryRow(): Promise<string> {
  const { rssMb } = await measureIdleMemory({ ports: MEMORY_LINES })
  const bound: [string, string] = [`<= ${MEMORY_MB} MB`, yesOrNo(rssMb <= MEMORY_MB)]
  return ownRow(`resident memory, idle, ${MEMORY_LINES} lines`, `${rssMb.toFixed(1)} MB`, bound)
}

function loadRow(title: string, load: FullLoad): string {
  const { bytes, cpuPercent, framesPerSecond, heardPerSecond, lost } = load
  const heard = heardPerSecond === undefined ? '' : `, ${heardPerSecond.toFixed(0)} heard`
  const value = `${cpuPercent.toFixed(1)} % of a core, ${lost} of ${bytes} bytes lost, ${framesPerSecond.toFixed(0)} frames/s${heard}`
  const isMet = cpuPercent < LOAD_CPU_PERCENT && lost === 0
  return ownRow(title, value, [`< ${LOAD_CPU_PERCENT} % of a core, none lost`, yesOrNo(isMet)])
}

async function loadRows(root: string): Promise<string[]> {
  const loads = await measureFullLoad(root, LOAD_LINES, LOAD_SECONDS)
  const title = `${LOAD_LINES} lines, 11520 bytes/s each way on each`
  return loads.map((load, at) => loadRow(at === 0 ? title : `the same, every frame to a WebSocket`, load))
}

/** Compared round by round with reads without targets: the machine's speed drifts. */
async function webhookRows(root: string, rounds: number): Promise<string[]> {
  const load = await measureWebhooks(root, rounds)
  return (['healthy', 'refusing'] as const).map((kind) => {
    const ratio = median(load[kind].map((rate, round) => rate / (load.without[round] ?? Number.NaN)))
    const lost = kind === 'healthy' ? `, ${load.dropped} of ${load.events} events dropped` : ''
    const value = `${median(load[kind]).toFixed(0)} of ${median(load.without).toFixed(0)} /s${lost}`
    const title = `Modbus TCP reads beside 8 ${kind} webhooks, of those without`
    const bound = [`>= ${WEBHOOK_RATIO} x without`, yesOrNo(ratio >= WEBHOOK_RATIO)]
    return tableRow([title, '-', '-', '-', value, ratio.toFixed(2), ...bound])
  })
}

async function comparisonRows(root: string, rounds: number): Promise<string[]> {
  const gateway = await startGateway(root)
  const contenders = await startContenders(root, gateway)
  try {
    const isThere = (figure: Figure) => contenders.some(({ name }) => name === figure.rival)
    const figures = FIGURES.filter(isThere)
    const answers = await measure(contenders, figures, rounds)
    return figures.map((figure) => rowOf(figure, answers))
  } finally {
    for (const contender of contenders) {
      await contender.stop()
      contender.harness.stop()
    }
    await gateway.stop()
  }
}

const HEAD = `# The gateway against its peers

Made by \`make bench-gateway\`: raw TCP port against socat and ser2net (nodelay, chardelay off), Modbus TCP port against
mbusd (-R 1, from PATH or $MBUSD; 115200 baud for both), each on a pty of its own, taking turns in one run. Figures are
medians over the rounds, a ratio is the median of the ratios of each round; it counts only within its own run. A pty has
no wire: at 115200 baud the frames of the Modbus rows alone would take 3.2 ms.
`

const root = join(import.meta.dirname, '../..')
const rounds = Number(optionOf('--rounds') ?? 15)
const [load = Number.NaN] = loadavg()
const rows = await comparisonRows(root, rounds)
rows.push(...(await webhookRows(root, rounds)), ...(await loadRows(root)), await memoryRow())
const text = chapterOf({
  heads: ['what', ...RIVALS, 'gateway', 'ratio', 'wanted', 'met'],
  rows,
  rounds,
  load,
  note: optionOf('--note'),
})
console.log(text)
if (!process.argv.includes('--print')) recordChapter(join(root, 'docs/bench/gateway.md'), HEAD, text)
