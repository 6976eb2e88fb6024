/**
 * A subscribed page while a whole building changes: how many of 5,000 changes per second are reported, how late, and at
 * what cost.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Ends, endAll, PASSWORD, PEOPLE, prepareSite, type Running, startController } from './controller-site.ts'
import { sampleQuantile } from './figures.ts'
import { processMemory } from './memory.ts'

/** Results. Times in ms, from the change in the driver to the message at the client. */
interface Streamed {
  perSecond: number
  /** Changes during the measurement, and those that no message reported. */
  changes: number
  lost: number
  /** Zones whose last reported values differ from the controller's. */
  wrong: number
  p50: number
  p99: number
  max: number
  /** Peak resident memory, sampled every second. */
  rssMb: number
}

/** Slightly more than 5,000 changes per second with 10,000 devices: the interval from the end of a poll to the next. */
const POLL_MS = 1900
/** Time for devices to open, and for their polls to spread. */
const SETTLE_MS = 12_000
const SAMPLE_MS = 1000

/** The fields of a zone on the live socket that are used here. */
interface Told {
  id: number
  values: Readonly<Record<string, number | string | boolean>>
}

/** Values that the simulated devices count in turn. `value` is the epoch ms of the change. */
const COUNTED = ['level', 'temperature', 'humidity', 'position', 'volume'] as const

const LEAST_PER_SECOND = 5000
const MOST_LATE_MS = 200
const MOST_MEMORY_MB = 250

/** The rows of the table. */
export async function streamFigures(seconds: number) {
  const { perSecond, changes, lost, wrong, p50, p99, max, rssMb } = await measureStream(seconds)
  const [half, most, latest] = [p50, p99, max].map((ms) => ms.toFixed(0))
  return [
    {
      what: `10,000 devices that change by themselves, ${changes} changes in ${seconds} s, told to a page that is subscribed`,
      measured: `${perSecond.toFixed(0)}/s, ${lost} not told, ${wrong} zones wrong; p50 ${half} ms, p99 ${most} ms, max ${latest} ms`,
      wanted: `>= ${LEAST_PER_SECOND}/s, 0 lost, each within ${MOST_LATE_MS} ms`,
      isMet: perSecond >= LEAST_PER_SECOND && lost === 0 && wrong === 0 && max <= MOST_LATE_MS,
    },
    {
      what: 'the most resident memory meanwhile',
      measured: `${rssMb.toFixed(1)} MB`,
      wanted: `< ${MOST_MEMORY_MB} MB`,
      isMet: rssMb < MOST_MEMORY_MB,
    },
  ]
}

/** Starts a controller on a site whose devices change by themselves, and reads its live socket. */
async function measureStream(seconds: number): Promise<Streamed> {
  const ends: Ends = []
  try {
    const folder = await prepareSite(ends, { poll_ms: POLL_MS, config: { counts: true } })
    const controller = await startController(ends, folder)
    return await watch(controller, ends, seconds)
  } finally {
    await endAll(ends)
  }
}

async function watch({ url, pid }: Running, ends: Ends, seconds: number): Promise<Streamed> {
  const cookie = await signIn(url)
  const seen = createSeen()
  await subscribe(url, cookie, ends, seen.hear)
  await sleep(SETTLE_MS)
  seen.begin()
  const beginMs = performance.now()
  let rssMb = 0
  for (let at = 0; at < seconds; at++) {
    await sleep(SAMPLE_MS)
    rssMb = Math.max(rssMb, processMemory(pid).rssMb)
  }
  const { changes, lost, lateMs } = seen.end()
  const perSecond = (changes * 1000) / (performance.now() - beginMs)
  const [p50 = 0, p99 = 0, max = 0] = [0.5, 0.99, 1].map((part) => sampleQuantile(lateMs, part))
  return { perSecond, changes, lost, wrong: await compare(url, cookie, seen.counts), p50, p99, max, rssMb }
}

/** Each zone numbers its changes: a missing number was never reported. */
function createSeen() {
  const counts = new Map<number, number>()
  let lateMs: number[] = []
  let changes = 0
  let lost = 0
  return {
    counts,
    hear({ id, values }: Told) {
      const count = Math.max(...COUNTED.map((name) => Number(values[name] ?? 0)))
      const before = counts.get(id)
      counts.set(id, count)
      if (before === undefined || count === before) return
      changes += count - before
      lost += count - before - 1
      lateMs.push(Date.now() - Number(values.value))
    },
    begin() {
      lateMs = []
      changes = 0
      lost = 0
    },
    end: () => ({ changes, lost, lateMs }),
  }
}

/** The controller's own values are at most one round of polls ahead of what was reported, and never behind. */
async function compare(url: string, cookie: string, counts: ReadonlyMap<number, number>): Promise<number> {
  const before = new Map(counts)
  const { groups } = (await (await ask(url, cookie, ['GET', '/ui/zones'])).json()) as { groups: { zones: Told[] }[] }
  const zones = groups.flatMap((group) => group.zones)
  return zones.filter(({ id, values }) => {
    const ahead = Math.max(...COUNTED.map((name) => Number(values[name] ?? 0))) - (before.get(id) ?? Number.NaN)
    return !(ahead >= 0 && ahead <= 1)
  }).length
}

async function signIn(url: string): Promise<string> {
  const answer = await ask(url, '', ['POST', '/ui/sign-in', { username: PEOPLE.elevated, password: PASSWORD }])
  const cookie = answer.headers.getSetCookie()[0]?.split(';')[0]
  if (cookie === undefined) throw new Error(`nobody was signed in: ${await answer.text()}`)
  return cookie
}

async function subscribe(url: string, cookie: string, ends: Ends, hear: (zone: Told) => void): Promise<void> {
  const { ticket } = (await (await ask(url, cookie, ['POST', '/ui/ticket'])).json()) as { ticket: string }
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?ticket=${ticket}`)
  let isOver = false
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(String(data)) as { type: string; zones?: Told[] }
    for (const zone of message.zones ?? []) hear(zone)
  }
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: 'subscribe', zones: true }))
      resolve()
    }
    socket.onclose = ({ code, reason }) => {
      const error = new Error(`the live socket was closed: ${code} ${reason}`)
      if (isOver) return
      reject(error)
      // After the connection nobody awaits this; going on without it would measure nothing.
      process.nextTick(() => {
        throw error
      })
    }
  })
  ends.push(() => {
    isOver = true
    socket.close()
  })
}

type Call = readonly [method: string, path: string, body?: object]

async function ask(url: string, cookie: string, [method, path, body]: Call): Promise<Response> {
  const headers: Record<string, string> = {}
  if (cookie !== '') headers.cookie = cookie
  if (body !== undefined) headers['content-type'] = 'application/json'
  const answer = await fetch(url + path, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`)
  return answer
}
