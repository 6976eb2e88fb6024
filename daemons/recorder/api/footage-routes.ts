/** Routes that give footage back: which moments are kept, and a span of them as a file. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { instant, moment, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn, type InTurn } from '#kit/pure/pace.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { isMasked, masksOf } from '../core/cameras/masks.ts'
import { type Cut, cutOf, rangesOf } from '../core/footage/footage.ts'
import { maskedFilm } from '../core/pictures/masked-film.ts'
import type { KeptFile, PictureDecoder } from '../core/ports.ts'
import type { FileTracks, FragmentPlace } from '../wire/mp4-read.ts'
import type { Callers } from './callers.ts'
import { cameraParams } from './camera-routes.ts'
import type { Extraction } from './extraction.ts'

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
  /** @param goesOn is asked before each part: footage of a camera that has masks by now may not go out as it is */
  stream(cut: Cut, goesOn: () => boolean): Readable
  bytesOf(file: KeptFile, place: FragmentPlace): Promise<Uint8Array>
}

interface FootageRouteParts {
  cameras: CameraBook
  callers: Callers
  footage: Footage
  extraction: Extraction
  decoder: Pick<PictureDecoder, 'film'>
  /** The longest group of pictures that is decoded. */
  mostBytes: number
  /** Key `playback.most_s`. */
  mostS: number
}

/** Interface document 3, A, Limits: the window of all cameras at once. */
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
  from: moment,
  to: moment,
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
  start: moment,
  duration: Type.Number({ exclusiveMinimum: 0, description: 'seconds' }),
  download: Type.Optional(Type.Enum(['0', '1'], { description: '1: as a file to keep, with the permission export' })),
})

function playbackRoute(parts: FootageRouteParts): Route {
  const { callers, cameras, extraction, footage, mostS } = parts
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
      if (duration > mostS)
        throw new Fault('bad_span', `${duration} seconds were asked for; playback.most_s allows ${mostS}.`)
      const wish = { account, camera: record, startAt: start, isFile: download === '1', facts: { start, duration } }
      extraction.permit(wish)
      const endAt = start + duration * 1000
      const now = () => cameras.require(record.id, account).record
      const isFilm = isMasked(now())
      // Before any file is opened: of a long stretch these are many, and cameras wait for the same disk.
      const place = new AbortController()
      const giveWay = (why: Fault) => place.abort(why)
      const release = isFilm ? extraction.holdFilm(account, giveWay) : extraction.hold(account, giveWay)
      try {
        const files = footage.between(record.id, start, endAt)
        const cut = await cutOf({ files, startAt: start, endAt, tracksOf: (file) => footage.tracksOf(file) })
        await extraction.note(ask, wish)
        place.signal.throwIfAborted()
        const stream = isFilm
          ? Readable.from(
              maskedFilm({
                ...parts,
                ...footage,
                cut,
                startAt: start,
                endAt,
                masks: () => masksOf(now()),
                camera: record.id,
                signal: ask.signal,
              }),
              { objectMode: false },
            )
          : footage.stream(cut, () => !isMasked(now()))
        stream.once('close', release)
        place.signal.addEventListener('abort', () => stream.destroy(place.signal.reason))
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
