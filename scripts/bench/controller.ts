/**
 * Measures the controller: reads compared with bare node:http in the same run, commands with a durable audit, start and
 * memory with ten thousand devices, and sign-ins. Prints a table and adds it to docs/bench/controller.md; ends with 1
 * if a limit is missed.
 *
 *     node scripts/bench/controller.ts [--rounds N] [--note TEXT] [--print]
 *
 * --note: the conditions of the run; --print: leave docs/bench unchanged
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readTicks, stolenPercent } from '../stolen-time.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { measureCommands, measureCrowd, measureRates, measureRefusals, medianRatio } from './controller-runs.ts'
import {
  type Ends,
  endAll,
  newToken,
  PEOPLE,
  prepareSite,
  type Running,
  startBare,
  startController,
} from './controller-site.ts'
import { streamFigures } from './controller-stream.ts'
import { sampleQuantile } from './figures.ts'
import { requestBytes } from './keep-alive.ts'
import { processMemory } from './memory.ts'

/** A row of the table. `isMet` is absent if there is no limit. */
interface Figure {
  what: string
  measured: string
  wanted?: string
  isMet?: boolean
}

const LEAST_HEALTH_RATIO = 0.5
const LEAST_ZONE_RATIO = 5
const MOST_PLAIN_RATIO = 1.3
const COMMANDS = { perSecond: 500, seconds: 10 }
const MOST_P99_MS = 25
const MOST_START_MS = 1500
const STARTS = 5
const MOST_MEMORY_MB = 250
const SETTLE_MS = 2000
const REST_MS = 15_000
const REFUSALS = 25
const MOST_REFUSAL_RATIO = 1.1
const LOGINS = 100
const MOST_HEALTH_MS = 100
const SECONDS = 0.7
const STREAM_SECONDS = 20
const ZONES = '/api/data/zone?_limit=1000'
const ATTRIBUTES = '/api/data/attribute?_limit=1000'

const perSecond = (rates: readonly number[] = []) => `${sampleQuantile([...rates], 0.5).toFixed(0)}/s`

async function healthFigures(controller: Running, bare: Running, rounds: number): Promise<Figure[]> {
  const request = requestBytes('GET', '/api/health')
  const contenders = [
    { name: 'controller', url: controller.url, request },
    { name: 'bare', url: bare.url, request },
  ]
  const rates = await measureRates(contenders, { rounds, seconds: SECONDS })
  const [own = [], other = []] = ['controller', 'bare'].map((name) => rates.get(name))
  const ratio = medianRatio(own, other)
  return [
    {
      what: '`/api/health` with the audit on / bare node:http',
      measured: `${perSecond(own)} / ${perSecond(other)}, ${ratio.toFixed(2)}`,
      wanted: `>= ${LEAST_HEALTH_RATIO}`,
      isMet: ratio >= LEAST_HEALTH_RATIO,
    },
  ]
}

async function zoneFigures(controller: Running, bare: Running, rounds: number): Promise<Figure[]> {
  const { url } = controller
  const [high, low] = [await newToken(url, PEOPLE.elevated), await newToken(url, PEOPLE.plain)]
  const contenders = [
    { name: 'elevated', url, request: requestBytes('GET', ZONES, { token: high }) },
    { name: 'plain', url, request: requestBytes('GET', ZONES, { token: low }) },
    { name: 'bare', url: bare.url, request: requestBytes('GET', '/zones') },
    { name: 'elevated attributes', url, request: requestBytes('GET', ATTRIBUTES, { token: high }) },
    { name: 'plain attributes', url, request: requestBytes('GET', ATTRIBUTES, { token: low }) },
  ]
  const rates = await measureRates(contenders, { rounds, seconds: SECONDS })
  const [elevated = [], plain = [], other = [], ...attributes] = contenders.map(({ name }) => rates.get(name))
  const [all = [], veiled = []] = attributes
  const ratio = medianRatio(elevated, other)
  const cost = medianRatio(elevated, plain)
  const secretCost = medianRatio(all, veiled)
  return [
    {
      what: `1000 rows of /api/data/zone / \`.all()\` and JSON.stringify behind bare node:http`,
      measured: `${perSecond(elevated)} / ${perSecond(other)}, ${ratio.toFixed(2)}`,
      wanted: `>= ${LEAST_ZONE_RATIO}`,
      isMet: ratio >= LEAST_ZONE_RATIO,
    },
    {
      what: 'the same, elevated / not elevated',
      measured: `${perSecond(elevated)} / ${perSecond(plain)}, ${cost.toFixed(2)}`,
      wanted: `<= ${MOST_PLAIN_RATIO}`,
      isMet: cost <= MOST_PLAIN_RATIO,
    },
    {
      what: '1000 rows of /api/data/attribute, elevated / not elevated',
      measured: `${perSecond(all)} / ${perSecond(veiled)}, ${secretCost.toFixed(2)}`,
      wanted: `<= ${MOST_PLAIN_RATIO}`,
      isMet: secretCost <= MOST_PLAIN_RATIO,
    },
  ]
}

async function commandFigures({ url }: Running): Promise<Figure[]> {
  const token = await newToken(url, PEOPLE.elevated)
  const { p50, p99, max, failed, count } = await measureCommands({ url, token }, COMMANDS)
  return [
    {
      what: `POST /api/control/command to simulated devices, durable audit, ${COMMANDS.perSecond}/s by the clock, ${count} commands`,
      measured: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms, ${failed} failed`,
      wanted: `p99 < ${MOST_P99_MS} ms`,
      isMet: p99 < MOST_P99_MS && failed === 0,
    },
  ]
}

/** Each start is a new process on the folder that the last one has closed. */
async function startFigures(folder: string): Promise<Figure[]> {
  const times: number[] = []
  for (let at = 0; at < STARTS; at++) {
    const ends: Ends = []
    times.push((await startController(ends, folder)).startMs)
    await endAll(ends)
  }
  const middle = sampleQuantile(times, 0.5)
  return [
    {
      what: `start with 10,000 devices and 50,000 attributes, to the first answer, median of ${STARTS}`,
      measured: `${middle.toFixed(0)} ms, ${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)} ms`,
      wanted: `< ${MOST_START_MS} ms`,
      isMet: middle < MOST_START_MS,
    },
  ]
}

function memoryFigure(when: string, { pid }: Running): Figure {
  const { rssMb, anonMb } = processMemory(pid)
  return {
    what: `resident memory with 10,000 devices and 50,000 attributes, ${when}`,
    measured: `${rssMb.toFixed(1)} MB, ${anonMb.toFixed(1)} MB of its own`,
    wanted: `< ${MOST_MEMORY_MB} MB`,
    isMet: rssMb < MOST_MEMORY_MB,
  }
}

/** Memory of an idle controller: once its devices are open, and after a quiet while. */
async function memoryFigures(folder: string): Promise<Figure[]> {
  const ends: Ends = []
  try {
    const controller = await startController(ends, folder)
    await sleep(SETTLE_MS)
    const begun = memoryFigure('after the start', controller)
    await sleep(REST_MS)
    return [begun, memoryFigure('at rest', controller)]
  } finally {
    await endAll(ends)
  }
}

async function signInFigures({ url }: Running): Promise<Figure[]> {
  const { unknown = 0, wrong = 0, disabled = 0 } = await measureRefusals(url, REFUSALS)
  const ratio = Math.max(unknown, wrong, disabled) / Math.min(unknown, wrong, disabled)
  const { longestMs, allMs, asked, busy } = await measureCrowd(url, LOGINS)
  return [
    {
      what: `refused sign-in of an unknown user / wrong password / disabled account, medians of ${REFUSALS} each`,
      measured: `${unknown.toFixed(1)} / ${wrong.toFixed(1)} / ${disabled.toFixed(1)} ms, ${ratio.toFixed(3)}`,
      wanted: `<= ${MOST_REFUSAL_RATIO}`,
      isMet: ratio <= MOST_REFUSAL_RATIO,
    },
    {
      what: `the longest \`/api/health\` while ${LOGINS} sign in at once from one address (${allMs.toFixed(0)} ms, asked ${asked} times; ${busy} were told to come again)`,
      measured: `${longestMs.toFixed(1)} ms`,
      wanted: `< ${MOST_HEALTH_MS} ms`,
      isMet: longestMs < MOST_HEALTH_MS,
    },
  ]
}

const HEAD = `# The controller

Made by \`make bench-controller\`: the controller as it is installed, on loopback, with a site of 10,000 simulated devices
of one zone each and 50,000 attributes; its client takes a share of the same cores. Rates are with 16 connections that stay
open, programs taking turns; a rate is the median over the rounds, a ratio the median of the ratios of each round, and
counts only within its own run. A command's time runs from when it was due. The audit is on throughout. A change is told late by
the time from the simulated device to the client of the live socket; each is numbered, so that one that is missing is seen.
`

async function measureAll(rounds: number): Promise<Figure[]> {
  const ends: Ends = []
  try {
    return await measureOn(ends, rounds)
  } finally {
    await endAll(ends)
  }
}

async function measureOn(ends: Ends, rounds: number): Promise<Figure[]> {
  const folder = await prepareSite(ends)
  const figures = await memoryFigures(folder)
  console.log('memory is measured; from here on it is time')
  const begun = readTicks()
  figures.push(...(await startFigures(folder)))
  figures.push(...(await streamFigures(STREAM_SECONDS)))
  const controller = await startController(ends, folder)
  const bare = await startBare(ends, folder)
  await sleep(SETTLE_MS)
  figures.push(...(await healthFigures(controller, bare, rounds)))
  figures.push(...(await zoneFigures(controller, bare, rounds)))
  figures.push(...(await commandFigures(controller)))
  figures.push(...(await signInFigures(controller)))
  figures.push(memoryFigure('after all these calls', controller))
  const stolen = `${stolenPercent(begun, readTicks()).toFixed(1)} %`
  return [...figures, { what: 'time that the host of this machine took for others meanwhile', measured: stolen }]
}

const root = join(import.meta.dirname, '../..')
const rounds = Number(optionOf('--rounds') ?? 7)
const [load = Number.NaN] = loadavg()
const figures = await measureAll(rounds)
const rows = figures.map(({ what, measured, wanted = '-', isMet }) =>
  tableRow([what, measured, wanted, isMet === undefined ? '-' : isMet ? 'yes' : 'no']),
)
const text = chapterOf({ heads: ['what', 'measured', 'wanted', 'met'], rows, rounds, load, note: optionOf('--note') })
console.log(text)
if (!process.argv.includes('--print')) recordChapter(join(root, 'docs/bench/controller.md'), HEAD, text)
process.exitCode = figures.every(({ isMet }) => isMet !== false) ? 0 : 1
