/** The route of tracks: where in the picture each thing was. Its answer may be large, so it is made piece by piece. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Type } from 'typebox'
import { count, instant, number, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { EventBook, EventStore, TrackPiece } from '../core/sight/events.ts'
import { groupOf, type LabelGroup } from '../core/sight/labels.ts'
import type { SightBook } from '../core/sight/sight-book.ts'
import { cameraParams } from './camera-routes.ts'
import { box, checkSpan, type EventRouteParts, group, span, turnsOfAccounts } from './event-routes.ts'

interface TrackRouteParts extends Pick<EventRouteParts, 'callers' | 'cameras'> {
  choice: Pick<SightBook, 'of'>
  store: Pick<EventStore, 'offsetNear' | 'pieces'>
  events: Pick<EventBook, 'waiting'>
  /** Stretches of footage that are kept. */
  spans(camera: string, fromAt: number, toAt: number): { startAt: number; endAt: number }[]
}

/** Interface document 3, A, Limits. */
const LONGEST_TRACKS_MS = 600_000

/** Boxes that are worked on before others have their turn: a few milliseconds. */
const BOXES_A_TURN = 2000

/** Numbers of tracks come again after some months, so one that comes back after a long pause is another track. */
const PAUSE_MS = 120_000

export function trackRoutes({ callers, cameras, choice, events, spans, store }: TrackRouteParts): Route[] {
  const turnOf = turnsOfAccounts()
  // What is held for one answer is a row of the memory plan, for many it would be too much: accounts take turns.
  const inTurn = createSerialTurn()
  return [
    route({
      method: 'GET',
      path: '/api/cameras/:id/tracks',
      who: 'user',
      summary: 'Where in the picture each thing was, of at most 10 minutes of footage that is kept',
      params: cameraParams,
      query: Type.Object(span),
      reply: object({
        ...{ cameraId: text, from: instant, to: instant },
        offsetMs: Type.Integer({ description: 'by which the times below were moved already' }),
        offsetMode: Type.Enum(['auto', 'manual']),
        offsetMeasuredAt: orNull(
          Type.Integer({
            description: 'when it was measured, epoch ms; null: it is manual, or could not be, and is 0',
          }),
        ),
        tracks: Type.Array(
          object({
            ...{ trackId: count, label: text, group },
            boxes: Type.Array(object({ at: instant, score: number, box })),
          }),
        ),
      }),
      handle({ caller, params, query: { from, to }, signal }) {
        const account = callers.accountOf(caller)
        cameras.require(params.id, account)
        checkSpan(from, to, { most: LONGEST_TRACKS_MS, text: '10 minutes' })
        return turnOf(account)(() =>
          inTurn(async () => {
            signal.throwIfAborted()
            const { record } = cameras.require(params.id, account)
            return await answerOf(record.id, from, to)
          }),
        )
      },
    }),
  ]

  async function answerOf(cameraId: string, from: number, to: number): Promise<Reply> {
    const { trackOffsetMs } = choice.of(cameraId)
    const measured = trackOffsetMs === null ? await store.offsetNear(cameraId, from, to) : undefined
    const offsetMs = trackOffsetMs ?? measured?.offsetMs ?? 0
    const kept = await store.pieces(cameraId, from - offsetMs, to - offsetMs)
    const pieces = [...kept, ...events.waiting(cameraId)]
    const footage = spans(cameraId, from, to)
    const isShown = (at: number) =>
      at >= from && at < to && footage.some(({ endAt, startAt }) => at >= Math.floor(startAt) && at < endAt)
    const tracks = await tracksOf(pieces, offsetMs, isShown)
    const offsetMode = trackOffsetMs === null ? 'auto' : 'manual'
    const head = { cameraId, from, to, offsetMs, offsetMode, offsetMeasuredAt: measured?.at ?? null }
    const body = Buffer.concat(await textOfAll(head, tracks))
    return new Reply(200, body, { 'content-type': 'application/json; charset=utf-8' })
  }
}

interface TrackBox {
  at: number
  score: number
  box: number[]
}

interface OneTrack {
  trackId: number
  label: string
  group: LabelGroup
  boxes: TrackBox[]
}

async function tracksOf(pieces: readonly TrackPiece[], offsetMs: number, isShown: (at: number) => boolean) {
  const tracks: OneTrack[] = []
  const newest = new Map<number, OneTrack>()
  let worked = 0
  for (const { label, sightings, trackId } of pieces) {
    worked += sightings.length
    if (worked > BOXES_A_TURN) {
      worked = 0
      await nextTurn()
    }
    const boxes = sightings
      .map(({ at, box, score }) => ({ at: Math.round(at + offsetMs), score, box: [...box] }))
      .filter(({ at }) => isShown(at))
    if (boxes.length === 0) continue
    const known = newest.get(trackId)
    const facts = { label, group: groupOf(label) }
    if (known && (boxes[0]?.at ?? 0) - (known.boxes.at(-1)?.at ?? 0) < PAUSE_MS) {
      known.boxes.push(...boxes)
      // What it was taken for last.
      Object.assign(known, facts)
      continue
    }
    const track = { trackId, ...facts, boxes }
    newest.set(trackId, track)
    tracks.push(track)
  }
  return tracks
}

/** The answer as JSON, in pieces between which others have their turn. */
async function textOfAll(head: object, tracks: readonly OneTrack[]): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  const add = (text: string) => void pieces.push(Buffer.from(text))
  add(`${JSON.stringify(head).slice(0, -1)},"tracks":[`)
  for (const [place, { boxes, ...facts }] of tracks.entries()) {
    add(`${place === 0 ? '' : ','}${JSON.stringify(facts).slice(0, -1)},"boxes":[`)
    for (let at = 0; at < boxes.length; at += BOXES_A_TURN) {
      const some = JSON.stringify(boxes.slice(at, at + BOXES_A_TURN)).slice(1, -1)
      add(`${at === 0 ? '' : ','}${some}`)
      await nextTurn()
    }
    add(']}')
  }
  add(']}')
  return pieces
}
