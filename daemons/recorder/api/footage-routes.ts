/** Routes that give footage back: which moments are kept, and a span of them as a file. */
import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { instant, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn, type InTurn } from '#kit/pure/pace.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import { createStreamMeter } from '../core/access/stream-meter.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { type Cut, cutOf, rangesOf } from '../core/footage/footage.ts'
import type { KeptFile } from '../core/ports.ts'
import type { FileTracks } from '../wire/mp4-read.ts'
import { type Callers, requirePermission } from './callers.ts'
import { cameraParams } from './camera-routes.ts'

interface Span {
  startAt: number
  endAt: number
}

/** What is asked of footage. */
interface Footage {
  between(camera: string, fromAt: number, toAt: number): KeptFile[]
  spans(camera: string, fromAt: number, toAt: number): Span[]
  /** Those on disks that are not here. */
  awaySpans(camera: string, fromAt: number, toAt: number): Span[]
  bounds(camera: string): Span | undefined
  tracksOf(file: KeptFile): Promise<FileTracks>
  stream(cut: Cut): Readable
}

interface FootageRouteParts {
  clock: Clock
  cameras: CameraBook
  callers: Callers
  footage: Footage
  recorder: Recorder
  /** Keys `playback.most_s`, `playback.streams` and `playback.total_streams`. */
  limits: { mostS: number; streams: number; totalStreams: number }
}

/** Interface document 3, A, Limits: the review window, and the window of all cameras at once. */
const REVIEW_MS = 120_000
const LONGEST_WINDOW_MS = 31 * 86_400_000

/**
 * A window is read in pieces: a month of one camera in files of a minute takes 100 ms, in which no camera would be heard.
 */
const PIECE_MS = 4 * 86_400_000

/** Epoch milliseconds. */
interface Window {
  from: number
  to: number
}

const spanQuery = Type.Object({
  from: Type.Integer({ minimum: 0, description: 'epoch milliseconds' }),
  to: Type.Integer({ minimum: 0, description: 'epoch milliseconds' }),
})
const range = object({ start: instant, end: instant })
const rangesAnswer = object({
  ...{ cameraId: text, bounds: orNull(range), ranges: Type.Array(range) },
  away: Type.Array(range, { description: 'recorded too, on disks that are not here now: it comes back with them' }),
})

export function footageRoutes(parts: FootageRouteParts): Route[] {
  return [...availabilityRoutes(parts), playbackRoute(parts)]
}

function availabilityRoutes({ callers, cameras, footage }: FootageRouteParts): Route[] {
  const turns = new WeakMap<AccountRecord, InTurn>()
  /** One account reads one window at a time. */
  function turnOf(account: AccountRecord): InTurn {
    const turn = turns.get(account) ?? createSerialTurn()
    turns.set(account, turn)
    return turn
  }

  /** @param signal of a caller who may have gone: then what was found so far is as good as all of it */
  async function rangesOfCamera(cameraId: string, { from, to }: Window, signal: AbortSignal) {
    const bounds = footage.bounds(cameraId)
    const [spans, away]: [Span[], Span[]] = [[], []]
    for (let at = from; at < to && !signal.aborted; at += PIECE_MS) {
      const end = Math.min(to, at + PIECE_MS)
      spans.push(...spansOf(footage.spans(cameraId, at, end), at, end))
      away.push(...spansOf(footage.awaySpans(cameraId, at, end), at, end))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return {
      cameraId,
      bounds: bounds ? { start: Math.round(bounds.startAt), end: Math.round(bounds.endAt) } : null,
      ranges: rangesOf(spans, from, to),
      away: rangesOf(away, from, to),
    }
  }

  return [
    route({
      method: 'GET',
      path: '/api/cameras/:id/availability',
      who: 'user',
      summary: 'Stretches of footage of one camera, at most 31 days',
      params: cameraParams,
      query: spanQuery,
      reply: rangesAnswer,
      handle({ caller, params, query, signal }) {
        const account = callers.accountOf(caller)
        const { record } = cameras.require(params.id, account)
        checkWindow(query)
        return turnOf(account)(() => rangesOfCamera(record.id, query, signal))
      },
    }),
    route({
      method: 'GET',
      path: '/api/recordings/availability',
      who: 'user',
      summary: 'Stretches of footage of every camera, at most 31 days',
      query: spanQuery,
      reply: object({ cameras: Type.Record(Type.String(), rangesAnswer) }),
      handle({ caller, query, signal }) {
        checkWindow(query)
        const account = callers.accountOf(caller)
        const ids = cameras.seenBy(account).map(({ record }) => record.id)
        return turnOf(account)(async () => {
          const found: Record<string, Awaited<ReturnType<typeof rangesOfCamera>>> = {}
          for (const id of ids) found[id] = await rangesOfCamera(id, query, signal)
          return { cameras: found }
        })
      },
    }),
  ]
}

/** Joined, so that a month takes little. */
function spansOf(spans: readonly Span[], fromAt: number, toAt: number): Span[] {
  return rangesOf(spans, fromAt, toAt).map(({ end, start }) => ({ startAt: start, endAt: end }))
}

/** @throws Fault `bad_span` */
function checkWindow({ from, to }: Window): void {
  if (to > from && to - from <= LONGEST_WINDOW_MS) return
  throw new Fault(
    'bad_span',
    `The window is ${(to - from) / 86_400_000} days long; more than 0 and at most 31 are answered.`,
  )
}

const playbackQuery = Type.Object({
  start: Type.Integer({ minimum: 0, description: 'epoch milliseconds' }),
  duration: Type.Number({ exclusiveMinimum: 0, description: 'seconds' }),
  download: Type.Optional(Type.Enum(['0', '1'], { description: '1: as a file to keep, with the permission export' })),
})

function playbackRoute({ callers, cameras, clock, footage, limits, recorder }: FootageRouteParts): Route {
  const meter = createStreamMeter({
    ...{ ofAccount: limits.streams, inAll: limits.totalStreams, what: 'playback' },
    keys: { ofAccount: 'playback.streams', inAll: 'playback.total_streams' },
  })
  return route({
    method: 'GET',
    path: '/api/cameras/:id/playback.mp4',
    who: 'user',
    token: true,
    summary: 'Footage as fragmented MP4; beyond the last 120 seconds with the permission export, and into the journal',
    params: cameraParams,
    query: playbackQuery,
    replyType: 'video/mp4',
    async handle(ask) {
      const { download, duration, start } = ask.query
      const account = callers.accountOf(ask.caller)
      const { record } = cameras.require(ask.params.id, account)
      if (duration > limits.mostS)
        throw new Fault('bad_span', `${duration} seconds were asked for; playback.most_s allows ${limits.mostS}.`)
      const isExtraction = download === '1' || start < clock.epochMs() - REVIEW_MS
      if (isExtraction) requirePermission(account, 'export', 'Footage older than 120 seconds, or a file to keep,')
      const endAt = start + duration * 1000
      const files = footage.between(record.id, start, endAt)
      const cut = await cutOf({ files, startAt: start, endAt, tracksOf: (file) => footage.tracksOf(file) })
      const release = meter.take(account.id)
      try {
        const facts = { account: account.id, camera: record.id, start, duration }
        if (isExtraction) await recorder.changed(ask, 'footage taken out', record.name, facts)
        const stream = footage.stream(cut)
        stream.once('close', release)
        const kind = download === '1' ? 'attachment' : 'inline'
        const disposition = `${kind}; filename="${record.id}-${start}.mp4"`
        return new Reply(200, stream, { 'content-type': 'video/mp4', 'content-disposition': disposition })
      } catch (error) {
        release()
        throw error
      }
    },
  })
}
