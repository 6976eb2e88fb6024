/** The measurements of a running controller, as numbers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { PEOPLE, signInRequest } from './controller-site.ts'
import { sampleQuantile } from './figures.ts'
import { type Connection, openConnection, requestBytes } from './keep-alive.ts'

/** A server and a request, with a name. */
export interface Contender {
  name: string
  url: string
  request: Buffer
}

/** Response times in ms, in the order of the requests. */
export interface Commanded {
  p50: number
  p99: number
  max: number
  /** Unsuccessful answers. */
  failed: number
  count: number
}

const CONNECTIONS = 16
const COMMAND_CONNECTIONS = 64
const COMMANDED_ZONES = 500
const STEP_MS = 2
const ASK_EVERY_MS = 10

/**
 * Answers per second of contenders that take turns, with one value per round; the first round warms up and is dropped.
 * @throws Error for an answer other than 200
 */
export async function measureRates(
  contenders: readonly Contender[],
  by: { rounds: number; seconds: number },
): Promise<Map<string, number[]>> {
  const rates = new Map(contenders.map(({ name }) => [name, [] as number[]]))
  for (let round = 0; round <= by.rounds; round++) {
    // The order rotates: caches and processor frequency favour certain places.
    const first = round % contenders.length
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      const rate = await rateOf(contender, by.seconds)
      if (round > 0) rates.get(contender.name)?.push(rate)
    }
  }
  return rates
}

async function rateOf({ name, url, request }: Contender, seconds: number): Promise<number> {
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(url)))
  let count = 0
  const beginMs = performance.now()
  const endMs = beginMs + seconds * 1000
  const askOn = async (connection: Connection) => {
    while (performance.now() < endMs) {
      const { status, body } = await connection.ask(request)
      if (status !== 200) throw new Error(`${name} answers ${status}: ${body.toString('utf8', 0, 200)}`)
      count++
    }
  }
  try {
    await Promise.all(connections.map(askOn))
    return (count * 1000) / (performance.now() - beginMs)
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** Median of the ratios of each round: the machine's speed drifts, but equally for all within a round. */
export function medianRatio(own: readonly number[], other: readonly number[]): number {
  return sampleQuantile(
    own.map((rate, round) => rate / (other[round] ?? Number.NaN)),
    0.5,
  )
}

/** Sends commands on schedule, whatever became of earlier ones; each is timed from when it was due. */
export async function measureCommands(
  { url, token }: { url: string; token: string },
  by: { perSecond: number; seconds: number },
): Promise<Commanded> {
  const free = await Promise.all(Array.from({ length: COMMAND_CONNECTIONS }, () => openConnection(url)))
  const all = [...free]
  const waiting: ((connection: Connection) => void)[] = []
  const times: number[] = []
  let failed = 0
  const send = async (at: number, dueMs: number) => {
    // The connection idle for longest: a server closes connections idle for seconds.
    const connection = free.shift() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)))
    const command = Math.floor(at / COMMANDED_ZONES) % 2 === 0 ? 'on' : 'off'
    const body = { zone_id: (at % COMMANDED_ZONES) + 1, command }
    const answered = await connection.ask(requestBytes('POST', '/api/control/command', { token, body }))
    times.push(performance.now() - dueMs)
    if (answered.status !== 200 || JSON.parse(answered.body.toString()).success !== true) failed++
    const next = waiting.shift()
    if (next) next(connection)
    else free.push(connection)
  }
  const sent: Promise<void>[] = []
  const count = by.perSecond * by.seconds
  const beginMs = performance.now()
  const dueOf = (at: number) => beginMs + (at * 1000) / by.perSecond
  while (sent.length < count) {
    while (sent.length < count && dueOf(sent.length) <= performance.now()) {
      sent.push(send(sent.length, dueOf(sent.length)))
    }
    await sleep(STEP_MS)
  }
  await Promise.all(sent)
  for (const connection of all) connection.close()
  const [p50 = 0, p99 = 0, max = 0] = [0.5, 0.99, 1].map((part) => sampleQuantile(times, part))
  return { p50, p99, max, failed, count }
}

/** Medians in ms of refused sign-ins of several kinds that take turns. The first of each is dropped. */
export async function measureRefusals(url: string, each: number): Promise<Record<string, number>> {
  const connection = await openConnection(url)
  const requests = {
    unknown: signInRequest(PEOPLE.unknown),
    wrong: signInRequest(PEOPLE.plain, 'not the password'),
    disabled: signInRequest(PEOPLE.disabled),
  }
  const times: Record<string, number[]> = {}
  for (let round = 0; round <= each; round++) {
    const kinds = Object.entries(requests)
    for (const [kind, request] of [...kinds.slice(round % 3), ...kinds.slice(0, round % 3)]) {
      const beginMs = performance.now()
      const { body } = await connection.ask(request)
      const tookMs = performance.now() - beginMs
      if (!body.includes('invalid credential')) throw new Error(`${kind}: ${body}`)
      if (round > 0) times[kind] = [...(times[kind] ?? []), tookMs]
    }
  }
  connection.close()
  return Object.fromEntries(Object.entries(times).map(([kind, all]) => [kind, sampleQuantile(all, 0.5)]))
}

/** Results of a crowd: those beyond the places for sign-ins of their address were told to retry. */
interface Crowd {
  longestMs: number
  allMs: number
  asked: number
  busy: number
}

/**
 * Longest response time of /api/health in ms, polled while this many people sign in at once, and how long those took.
 */
export async function measureCrowd(url: string, logins: number): Promise<Crowd> {
  const connections = await Promise.all(Array.from({ length: logins }, () => openConnection(url)))
  const health = await openConnection(url)
  const request = requestBytes('GET', '/api/health')
  const times: number[] = []
  let isOver = false
  const beginMs = performance.now()
  const watch = (async () => {
    while (!isOver) {
      const askedMs = performance.now()
      await health.ask(request)
      times.push(performance.now() - askedMs)
      await sleep(ASK_EVERY_MS)
    }
  })()
  const answers = await Promise.all(connections.map((connection) => connection.ask(signInRequest(PEOPLE.elevated))))
  const allMs = performance.now() - beginMs
  isOver = true
  await watch
  for (const connection of [...connections, health]) connection.close()
  const busy = answers.filter(({ status }) => status === 503).length
  const refused = answers.find(({ body, status }) => status !== 503 && !body.includes('"token"'))
  if (refused) throw new Error(`a sign-in was answered ${refused.status}: ${refused.body}`)
  return { longestMs: Math.max(...times), allMs, asked: times.length, busy }
}
