/** Routes of what was seen: events, how many there were when, and where in the picture things moved. */
import { type Static, Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { count, instant, moment, number, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn, type InTurn } from '#kit/pure/pace.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { masksOf } from '../core/cameras/masks.ts'
import type { LicenceGate } from '../core/licence/licence.ts'
import type { ChosenPicture } from '../core/pictures/choice.ts'
import { maskedPicture } from '../core/pictures/masked-picture.ts'
import type { PictureDecoder } from '../core/ports.ts'
import type { EventBook, EventStore, EventWish, SightEvent } from '../core/sight/events.ts'
import { labelGroups } from '../core/sight/labels.ts'
import { readSearch } from '../core/sight/search.ts'
import type { Callers } from './callers.ts'
import { recognisedFields, recognisedView, recognisedWish } from './recognition-routes.ts'

export interface EventRouteParts {
  clock: Clock
  callers: Callers
  cameras: CameraBook
  store: Pick<EventStore, 'among' | 'density' | 'find' | 'one'>
  events: Pick<EventBook, 'goingOn' | 'present' | 'unwritten'>
  recognition: Parameters<typeof recognisedWish>[1]
  /** Undefined on a recorder that is not licensed. */
  licence: Pick<LicenceGate, 'requireFeature'> | undefined
  decoder: Pick<PictureDecoder, 'picture'>
  /** @throws Fault `no_footage`, `footage_gone` */
  pictureAt(camera: string, at: number): Promise<ChosenPicture>
  newest(camera: string): ChosenPicture | undefined
  /** The zone in which people say when something was. */
  timeZone(): string
}

/** Interface document 3, A, Limits. */
const DAY_MS = 86_400_000
const LONGEST_DENSITY_MS = 31 * DAY_MS
const MOST_BUCKETS = 500

export const group = Type.Enum([...labelGroups])
const side = Type.Number({ minimum: 0, maximum: 1 })
export const box = Type.Array(side, { minItems: 4, maxItems: 4, description: 'left, top, right, bottom as fractions' })

export const eventAnswer = object({
  ...{ id: text, camera_id: text, camera_name: text, label: text, group, score: number },
  ...{ started_at: instant, last_seen_at: instant },
  ended_at: orNull(Type.Integer({ description: 'epoch milliseconds; null while it goes on' })),
  best_at: Type.Integer({ description: 'the moment that shows it best, epoch milliseconds' }),
  box: orNull(box),
  source: Type.Enum(['motion', 'external', 'camera'], { description: 'who saw it' }),
  ...recognisedFields,
})

/** An event as it is told. @param name of its camera */
export function eventView(
  event: SightEvent,
  name: string,
  book: Parameters<typeof recognisedView>[1],
): Static<typeof eventAnswer> {
  const { bestAt, beganAt, box, cameraId, endedAt, group, id, label, lastAt, score, source } = event
  return {
    ...{ id, camera_id: cameraId, camera_name: name, label, group, score: Math.round(score * 1000) / 1000 },
    ...{ started_at: beganAt, last_seen_at: lastAt, ended_at: endedAt, best_at: bestAt },
    ...{ box: box && [...box], source, ...recognisedView(event.recognised, book) },
  }
}

export function eventRoutes(parts: EventRouteParts): Route[] {
  return [...listRoutes(parts), thumbnailRoute(parts), densityRoute(parts)]
}

const eventLimit = Type.Integer({ default: 100, minimum: 1, maximum: 500 })
const eventsQuery = Type.Object({
  cameraId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  label: Type.Optional(
    Type.String({ minLength: 1, maxLength: 40, description: 'a label, or person, vehicle, animal or other' }),
  ),
  who: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'known, unrecognized, unsure, or the id of an identity' }),
  ),
  plate: Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: 'all or part of a plate' })),
  since: Type.Optional(moment),
  until: Type.Optional(moment),
  limit: Type.Optional(eventLimit),
})

const searchQuery = Type.Object({
  q: Type.String({ default: '', maxLength: 200, description: 'what was seen, the name of a camera, when' }),
  mode: Type.Enum(['auto', 'basic', 'semantic'], { default: 'auto' }),
  limit: Type.Optional(eventLimit),
})

function listRoutes(parts: EventRouteParts): Route[] {
  const { callers, cameras, clock, licence, timeZone } = parts
  return [
    route({
      method: 'GET',
      path: '/api/events',
      who: 'user',
      summary: 'What was seen, the newest first; of a span, all of which any moment lies in it',
      query: eventsQuery,
      reply: object({ events: Type.Array(eventAnswer) }),
      async handle({ caller, query }) {
        const account = callers.accountOf(caller)
        const { cameraId, label, limit = 100, plate, since, until, who } = query
        if (since !== undefined && until !== undefined && since > until)
          throw new Fault('bad_span', 'The span ends before it begins: no event lies in it. Choose since before until.')
        const ids = cameraId === undefined ? seenIds(parts, account) : [cameras.require(cameraId, account).record.id]
        const recognised = recognisedWish({ who, plate }, parts.recognition)
        return { events: await found(parts, account, { cameras: ids, label, since, until, limit, ...recognised }) }
      },
    }),
    route({
      method: 'GET',
      path: '/api/investigation/search',
      who: 'user',
      summary: 'Events by words: what was seen, the name of a camera, and when, such as "car door yesterday evening"',
      query: searchQuery,
      reply: object({
        mode: Type.Enum(['basic'], { description: 'how it was searched' }),
        note: orNull(Type.String({ description: 'why not otherwise' })),
        labels: Type.Array(text, { description: 'what was understood as a label' }),
        cameraIds: Type.Array(text, { description: 'cameras that were named; empty: all' }),
        since: orNull(instant),
        until: orNull(instant),
        ignored: Type.Array(text, { description: 'words that nobody understood' }),
        events: Type.Array(eventAnswer),
      }),
      async handle({ caller, query: { limit = 100, mode, q } }) {
        if (mode === 'semantic') refuseMeaning(licence)
        const account = callers.accountOf(caller)
        const seen = cameras.seenBy(account).map(({ record: { id, name } }) => ({ id, name }))
        const { cameraIds, ignored, labels, since, until } = readSearch(q, {
          ...{ cameras: seen, now: clock.epochMs(), zone: timeZone() },
        })
        const ids = cameraIds.length > 0 ? cameraIds : seenIds(parts, account)
        const span = { since: since ?? undefined, until: until ?? undefined }
        const lists = await Promise.all(
          (labels.length > 0 ? labels : [undefined]).map((label) =>
            found(parts, account, { cameras: ids, label, ...span, limit }),
          ),
        )
        // A car is a vehicle too.
        const each = new Map(lists.flat().map((event) => [event.id, event]))
        const events = [...each.values()].toSorted((a, b) => b.started_at - a.started_at)
        const note =
          mode === 'auto' ? 'Searched by label, camera and time: no model for search by meaning is installed.' : null
        return {
          mode: 'basic' as const,
          note,
          labels,
          cameraIds,
          since,
          until,
          ignored,
          events: events.slice(0, limit),
        }
      },
    }),
  ]
}

function seenIds({ cameras }: EventRouteParts, account: AccountRecord): string[] {
  return cameras.seenBy(account).map(({ record }) => record.id)
}

/** Those that go on are told as they are now. */
async function found(parts: EventRouteParts, account: AccountRecord, wish: EventWish) {
  const { cameras, events, recognition, store } = parts
  // Before it is asked what is written: what is written meanwhile is in one of the two.
  let fresh = freshOf(parts, wish)
  const rows = new Map((await store.find(wish)).map((row) => [row.id, row]))
  if (wish.who !== undefined || wish.plate !== undefined) {
    // Of what was recognised is known what is written.
    const ids = new Set(fresh.map(({ id }) => id).filter((id) => !rows.has(id)))
    for (const row of await store.among([...ids], wish)) rows.set(row.id, row)
    fresh = fresh.filter(({ id }) => rows.has(id))
  }
  const all = new Map<string, SightEvent>([...rows, ...fresh.map((event): [string, SightEvent] => [event.id, event])])
  const newest = [...all.values()].toSorted((a, b) => b.beganAt - a.beganAt).slice(0, wish.limit)
  const told: SightEvent[] = []
  for (const event of newest) {
    const written = rows.get(event.id) ?? (await store.one(event.id))
    told.push({ ...(events.present(event.id) ?? event), recognised: (written ?? event).recognised })
  }
  const names = new Map(cameras.seenBy(account).map(({ record: { id, name } }) => [id, name]))
  return told.flatMap((event) => {
    const name = names.get(event.cameraId)
    // Looked up again: the account may see less by now.
    return name === undefined ? [] : [eventView(event, name, recognition.book)]
  })
}

/** What is not written as it is now: what goes on is in every span up to now. */
function freshOf({ clock, events }: EventRouteParts, wish: EventWish): SightEvent[] {
  const { cameras, label, since = 0, until = Number.POSITIVE_INFINITY } = wish
  const isMeant = ({ beganAt, endedAt, group, label: own, lastAt }: SightEvent) =>
    since <= (endedAt === null ? clock.epochMs() : lastAt) &&
    beganAt <= until &&
    (label === undefined || own === label || group === label)
  return cameras.flatMap((camera) => [...events.unwritten(camera), ...events.goingOn(camera)]).filter(isMeant)
}

/** @throws Fault `license_feature`, `semantic_unavailable` */
function refuseMeaning(licence: EventRouteParts['licence']): never {
  licence?.requireFeature('investigation')
  throw new Fault(
    'semantic_unavailable',
    'Search by meaning is unavailable: no model for it is installed. mode=basic searches by label, camera and time.',
  )
}

const eventParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: 'id of an event' }) })
const THUMBNAIL_WIDTH = 320

function thumbnailRoute(parts: EventRouteParts): Route {
  const { callers, cameras, decoder, events, newest, pictureAt, store } = parts
  const turnOf = turnsOfAccounts()

  async function chosenOf({ bestAt, cameraId, endedAt }: SightEvent): Promise<ChosenPicture> {
    try {
      return await pictureAt(cameraId, bestAt)
    } catch (error) {
      // Its group is not whole yet: what the camera shows now is what is seen.
      const live = endedAt === null ? newest(cameraId) : undefined
      if (!live || !(error instanceof Fault) || error.code !== 'no_footage') throw error
      return live
    }
  }

  return route({
    method: 'GET',
    path: '/api/events/:id/thumbnail.jpg',
    who: 'user',
    summary: 'A small picture of an event, from the footage, with the masks of now',
    params: eventParams,
    query: Type.Object({ width: Type.Optional(Type.Integer({ minimum: 16, maximum: 640 })) }),
    replyType: 'image/jpeg',
    async handle({ caller, params: { id }, query: { width = THUMBNAIL_WIDTH }, signal }) {
      const account = callers.accountOf(caller)
      const isSeen = seenIds(parts, account).some((camera) => id.startsWith(`${camera}-`))
      const event = isSeen ? (events.present(id) ?? (await store.one(id))) : undefined
      if (!event) throw new Fault('unknown_event', 'There is no event with this id, or its footage was removed.')
      return turnOf(account)(async () => {
        signal.throwIfAborted()
        const { group } = await chosenOf(event)
        const masks = () => masksOf(cameras.require(event.cameraId, account).record)
        const { jpeg } = await maskedPicture({ decoder, masks, wish: { camera: event.cameraId, group, width } }, signal)
        const body = Buffer.from(jpeg.buffer, jpeg.byteOffset, jpeg.length)
        return new Reply(200, body, { 'content-type': 'image/jpeg', 'cache-control': 'no-store' })
      })
    },
  })
}

/** One account is answered one question at a time: it keeps nobody else waiting. */
export function turnsOfAccounts(): (account: AccountRecord) => InTurn {
  const turns = new WeakMap<AccountRecord, InTurn>()
  return (account) => {
    const turn = turns.get(account) ?? createSerialTurn()
    turns.set(account, turn)
    return turn
  }
}

export const span = { from: moment, to: moment }
const slice = object({
  bucket: count,
  total: count,
  firstAt: instant,
  person: count,
  vehicle: count,
  animal: count,
  other: count,
})

function densityRoute(parts: EventRouteParts): Route {
  const { callers, store } = parts
  const turnOf = turnsOfAccounts()
  return route({
    method: 'GET',
    path: '/api/events/density',
    who: 'user',
    summary: 'How many events of each group began in each slice of a window of at most 31 days, by camera',
    query: Type.Object({
      ...span,
      buckets: Type.Integer({ default: 120, minimum: 1, maximum: MOST_BUCKETS, description: 'slices of the window' }),
    }),
    reply: object({
      ...{ from: instant, to: instant },
      bucketMs: Type.Integer({ description: 'length of a slice; slice 0 begins at from' }),
      cameras: Type.Record(Type.String(), Type.Array(slice), {
        description: 'by id; slices without events are left out',
      }),
    }),
    handle({ caller, query: { buckets, from, to }, signal }) {
      checkSpan(from, to, { most: LONGEST_DENSITY_MS, text: '31 days' })
      const account = callers.accountOf(caller)
      const bucketMs = Math.ceil((to - from) / buckets)
      return turnOf(account)(async () => {
        const cameras: Record<string, Awaited<ReturnType<EventStore['density']>>> = {}
        for (const camera of seenIds(parts, account)) {
          signal.throwIfAborted()
          const slices = await store.density({ camera, from, to, bucketMs })
          if (slices.length > 0) cameras[camera] = slices
        }
        return { from, to, bucketMs, cameras }
      })
    },
  })
}

/** @throws Fault `bad_span` */
export function checkSpan(from: number, to: number, { most, text: mostText }: { most: number; text: string }): void {
  if (to > from && to - from <= most) return
  throw new Fault(
    'bad_span',
    `The window is ${(to - from) / 1000} s long; more than 0 and at most ${mostText} are answered.`,
  )
}
