/**
 * Measures the encoder and the decoder: cost compared with the same pipeline under gst-launch-1.0, regularity of
 * packets, latency, whether every sample arrives, and what an hour's packets do to memory. Prints a table and adds it
 * to docs/bench/audio.md; ends with 1 if a limit is missed.
 *
 *     node --expose-gc scripts/bench/audio.ts [--quick] [--seconds N] [--note TEXT] [--print]
 *
 * --quick: a minute instead of a quarter of an hour; --seconds: length of the compared stream, default 600; --note: the
 * conditions of the run; --print: leave docs/bench unchanged
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import type { Owner } from '#kit/test/running-daemon.ts'
import { measureLatency } from '../../daemons/board/test/sound/latency.ts'
import { readTicks, stolenPercent } from '../stolen-time.ts'
import { measureCpu, measureHistory, measureSpacing, measureStreams, measureWire } from './audio-runs.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { sampleQuantile } from './figures.ts'

/** A row of the table. `isMet` is absent if there is no limit. */
interface Figure {
  what: string
  measured: string
  wanted?: string
  isMet?: boolean
}

const MOST_CPU_RATIO = 1.3
const MOST_SPACING_OFF_US = 100
const MOST_LATENCY_OFF_MS = 0.2
/** Growth of resident memory, over as many packets as an hour has at 1 ms. */
const MOST_GROWTH_MB = 2
/**
 * Seconds in which packets of 0.125 ms are as many as packets of 1 ms in an hour; earlier the heap is still growing to
 * its size.
 */
const HOUR_S = 450
const MOST_HISTORY_GROWTH_BYTES = 65_536
const LINKS = [1, 2, 5, 10, 20]
const HELD_LINK = 5

async function cpuFigures(t: Owner, seconds: number): Promise<Figure[]> {
  const { encoder, decoder, gstEncoder, gstDecoder } = await measureCpu(t, seconds)
  const row = (role: string, own: number, gst: number): Figure => ({
    what: `processor, ${role} of 2 channels L24, 1 ms: board / gst-launch-1.0`,
    measured: `${own.toFixed(1)} % / ${gst.toFixed(1)} % of a core, ${(own / gst).toFixed(2)}`,
    wanted: `<= ${MOST_CPU_RATIO}`,
    isMet: own / gst <= MOST_CPU_RATIO,
  })
  return [row('encoder', encoder, gstEncoder), row('decoder', decoder, gstDecoder)]
}

async function streamFigures(t: Owner, seconds: number): Promise<Figure[]> {
  const { encoders, decoders } = await measureStreams(t, 4, seconds)
  const what = 'boards of 2 channels L24 that one core carries, from the share of four'
  return [{ what, measured: `${encoders.toFixed(1)} encoders or ${decoders.toFixed(1)} decoders` }]
}

async function spacingFigures(t: Owner, seconds: number): Promise<Figure[]> {
  const { ours, theirs, realtime } = await measureSpacing(t, seconds)
  const what = (who: string, count: number) => `packet spacing off 1 ms on the wire, ${who}, ${count} packets`
  const off = ours.map((spacing) => Math.abs(spacing - 1000))
  const peer = theirs.map((spacing) => Math.abs(spacing - 1000))
  const text = (all: readonly number[]) => {
    const [half, most, worst] = [0.5, 0.99, 1].map((part) => sampleQuantile(all, part).toFixed(0))
    return `p50 ${half} us, p99 ${most} us, max ${worst} us`
  }
  return [
    {
      what: what(`board ${realtime ? 'with' : 'WITHOUT'} real-time priority`, ours.length),
      measured: text(off),
      wanted: `p99 <= ${MOST_SPACING_OFF_US} us`,
      isMet: sampleQuantile(off, 0.99) <= MOST_SPACING_OFF_US,
    },
    { what: what('gst-launch-1.0 beside it', theirs.length), measured: text(peer) },
  ]
}

async function latencyFigures(t: Owner, impulses: number): Promise<Figure[]> {
  const found = await measureLatency(t, LINKS, impulses)
  return found.map(({ linkMs, all, median }) => {
    const deviation = Math.sqrt(all.reduce((sum, ms) => sum + (ms - median) ** 2, 0) / all.length)
    const measured = `${median.toFixed(3)} ms, p1 ${sampleQuantile(all, 0.01).toFixed(3)}, p99 ${sampleQuantile(all, 0.99).toFixed(3)}, sd ${deviation.toFixed(3)}`
    const what = `end to end at link ${linkMs} ms, ${all.length} impulses`
    if (linkMs !== HELD_LINK) return { what, measured }
    const isMet = Math.abs(median - linkMs) <= MOST_LATENCY_OFF_MS
    return { what, measured, wanted: `${linkMs} ms +- ${MOST_LATENCY_OFF_MS}`, isMet }
  })
}

async function wireFigures(t: Owner, seconds: number): Promise<Figure[]> {
  const { found, packets, memory } = await measureWire(t, seconds)
  const { frames, equal, wrong, silent, jumps } = found
  return [
    {
      what: `wire against output, L24, 8 channels, ${(frames / 48_000).toFixed(1)} s`,
      measured: `${equal * 8} of ${frames * 8} samples equal, ${wrong} frames wrong, ${silent} silent, ${jumps.length} jumps`,
      wanted: 'all',
      isMet: frames >= (seconds - 2) * 48_000 && equal === frames && jumps.length === 0,
    },
    ...memory.map(({ role, early, end }) => ({
      what: `resident memory, ${role}, ${(packets / 1e6).toFixed(2)} million packets (an hour at 1 ms has 3.6)`,
      measured: `${early.toFixed(1)} MB after a tenth, ${end.toFixed(1)} MB at the end`,
      ...(seconds < HOUR_S ? {} : { wanted: `+ ${MOST_GROWTH_MB} MB at most`, isMet: end - early <= MOST_GROWTH_MB }),
    })),
  ]
}

function historyFigures(): Figure[] {
  const bytes = measureHistory()
  const isMet = bytes <= MOST_HISTORY_GROWTH_BYTES
  const what = 'growth of the history of 16 series in its third hour, by a simulated clock'
  return [{ what, measured: `${bytes} bytes`, wanted: `<= ${MOST_HISTORY_GROWTH_BYTES}`, isMet }]
}

const HEAD = `# Sound on the wire

Made by \`make bench-audio\`: encoders and decoders as they are installed, on loopback, without PTP and without a sound card.
Processor shares are of processes that run at the same time, so their ratio counts and the shares themselves hang on the
machine. Instants of packets are the kernel's (dumpcap); a sound's instant is when a block of it is read from a named pipe,
plus its place in the block.
`

/** Runs one measurement and always ends what it started. */
async function owned<Found>(measure: (t: Owner) => Promise<Found>): Promise<Found> {
  const ends: (() => unknown)[] = []
  const owner = { teardown: (end: () => unknown) => void ends.push(end) } as Owner
  try {
    return await measure(owner)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

const root = join(import.meta.dirname, '../..')
const isQuick = process.argv.includes('--quick')
const wireS = Number(optionOf('--seconds') ?? (isQuick ? 20 : 600))
const [load = Number.NaN] = loadavg()
const begun = readTicks()
const figures: Figure[] = [
  ...(await owned((t) => cpuFigures(t, isQuick ? 10 : 60))),
  ...(await owned((t) => streamFigures(t, isQuick ? 5 : 20))),
  ...(await owned((t) => spacingFigures(t, isQuick ? 5 : 60))),
  ...(await owned((t) => latencyFigures(t, isQuick ? 10 : 100))),
  ...(await owned((t) => wireFigures(t, wireS))),
  ...historyFigures(),
  {
    what: 'time that the host of this machine took for others meanwhile',
    measured: `${stolenPercent(begun, readTicks()).toFixed(1)} %`,
  },
]
const rows = figures.map(({ what, measured, wanted = '-', isMet }) =>
  tableRow([what, measured, wanted, isMet === undefined ? '-' : isMet ? 'yes' : 'no']),
)
const text = chapterOf({
  heads: ['what', 'measured', 'wanted', 'met'],
  rows,
  rounds: 1,
  load,
  note: optionOf('--note'),
})
console.log(text)
if (!process.argv.includes('--print')) recordChapter(join(root, 'docs/bench/audio.md'), HEAD, text)
process.exitCode = figures.every(({ isMet }) => isMet !== false) ? 0 : 1
