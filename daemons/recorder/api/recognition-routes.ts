/** Routes of recognition: whether anything is recognised, the book of identities, and plates that have no name yet. */
import { type Static, Type } from 'typebox'
import { instant, number, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { LicenceGate } from '../core/licence/licence.ts'
import { type Identity, type IdentityBook, MOST_PLATES_OF_ONE, requirePlain } from '../core/recognition/identities.ts'
import { foldedPlate } from '../core/recognition/plates.ts'
import {
  type Recognised,
  type RecognisedKind,
  type RecognisedStore,
  recognisedKinds,
  type WhoWish,
} from '../core/recognition/recognised.ts'

export interface RecognitionRouteParts {
  recorder: Recorder
  book: IdentityBook
  store: Pick<RecognisedStore, 'unnamed'>
  /** Undefined on a recorder that is not licensed. */
  licence: Pick<LicenceGate, 'requireFeature'> | undefined
  /** What the present detector can tell. */
  recognises(): readonly RecognisedKind[]
  counts(): { looked: number; failed: number; leftOut: number }
}

const certainty = Type.Enum(['known', 'unsure', 'unknown'])

/** What an event carries beside where recognition is on. @source interface document 3, A, Event */
export const recognisedFields = {
  identity_id: Type.Optional(orNull(text)),
  identity_name: Type.Optional(orNull(text)),
  identity_method: Type.Optional(orNull(Type.Enum(['appearance', 'face', 'plate']))),
  face_state: Type.Optional(orNull(Type.Enum(['known', 'unsure', 'unknown', 'unusable']))),
  plate_text: Type.Optional(orNull(text)),
  plate_state: Type.Optional(orNull(certainty)),
  plate_confidence: Type.Optional(orNull(number)),
}

const recognisedAnswer = object(recognisedFields)
type RecognisedView = Static<typeof recognisedAnswer>

/** @returns nothing where recognition is off */
export function recognisedView(
  recognised: Recognised | undefined,
  book: Pick<IdentityBook, 'find' | 'isOn'>,
): RecognisedView {
  if (!book.isOn()) return {}
  const identity = recognised?.identityId ? book.find(recognised.identityId) : undefined
  const plate = recognised?.plate ?? null
  return {
    ...{ identity_id: identity?.id ?? null, identity_name: identity?.name ?? null },
    ...{ identity_method: identity ? (recognised?.method ?? null) : null, face_state: null },
    ...{ plate_text: plate?.text ?? null, plate_confidence: plate?.confidence ?? null },
    // The identity may have been forgotten since the plate was read.
    plate_state: plate && (identity ? plate.state : 'unknown'),
  }
}

/**
 * What `who` and `plate` of a question ask for.
 * @throws Fault `recognition_unavailable`, `unknown_identity`, `bad_plate`
 */
export function recognisedWish(
  { plate, who }: { plate?: string | undefined; who?: string | undefined },
  { book, recognises }: Pick<RecognitionRouteParts, 'book' | 'recognises'>,
): { plate?: string; who?: WhoWish } {
  if (plate === undefined && who === undefined) return {}
  if (!book.isOn())
    throw new Fault('recognition_unavailable', `Recognition is unavailable. ${unavailable(recognises()) ?? OFF}`)
  return {
    ...(plate !== undefined && { plate: foldedPlate(requirePlain(plate)) }),
    ...(who !== undefined && { who: whoWish(who, book) }),
  }
}

/** @throws Fault `unknown_identity` */
function whoWish(who: string, book: IdentityBook): WhoWish {
  if (who === 'known' || who === 'unsure') return { certainty: who }
  if (who === 'unrecognized') return { certainty: 'unknown' }
  return { identityId: book.require(who).id }
}

const OFF = 'Recognition is switched off. An administrator switches it on, on the page People.'

/** Why nothing can be recognised; null: it can. */
function unavailable(recognises: readonly RecognisedKind[]): string | null {
  if (recognises.length > 0) return null
  return (
    'No detector that runs here reads plates. Install plantroom-detector and plantroom-recognition, then choose ' +
    'the installed detector on the page Events.'
  )
}

const stateAnswer = object({
  enabled: yesNo,
  available: Type.Boolean({ description: 'whether the present detector can recognise anything' }),
  why: orNull(Type.String({ description: 'why not, and what to do' })),
  kinds: Type.Array(Type.Enum([...recognisedKinds])),
  looked: Type.Integer({ description: 'pictures that were looked at since the start' }),
  failed: Type.Integer({ description: 'pictures that could not be' }),
  leftOut: Type.Integer({ description: 'vehicles that found no room to wait' }),
})

const identityId = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: 'id of an identity' }) })
const name = Type.String({ minLength: 1, maxLength: 80, pattern: '^\\P{C}+$' })
const plates = Type.Array(Type.String({ minLength: 1, maxLength: 40 }), {
  ...{ maxItems: MOST_PLATES_OF_ONE },
  description: 'letters and digits count alone',
})
const identityAnswer = object({ id: text, name: text, plates: Type.Array(text), createdAt: instant })
const strict = { additionalProperties: false }

function identityView({ createdAt, id, name: called, plates: theirs }: Identity) {
  return { id, name: called, plates: [...theirs], createdAt }
}

export function recognitionRoutes(parts: RecognitionRouteParts): Route[] {
  return [...stateRoutes(parts), ...listRoutes(parts), ...changeRoutes(parts)]
}

function stateRoutes({ book, counts, licence, recognises, recorder }: RecognitionRouteParts): Route[] {
  const answer = () => {
    const kinds = [...recognises()]
    return { enabled: book.isOn(), available: kinds.length > 0, why: unavailable(kinds), kinds, ...counts() }
  }
  return [
    route({
      method: 'GET',
      path: '/api/recognition',
      who: 'admin',
      summary: 'Whether plates of vehicles are recognised, and whether they can be',
      reply: stateAnswer,
      handle: answer,
    }),
    route({
      method: 'PUT',
      path: '/api/recognition',
      who: 'admin',
      summary: 'Switch recognition on or off; what was recognised stays, and goes with its footage',
      body: Type.Object({ enabled: Type.Boolean() }, strict),
      reply: stateAnswer,
      async handle(ask) {
        const { enabled } = ask.body
        if (enabled && !book.isOn()) licence?.requireFeature('recognition')
        await book.turn(enabled)
        await recorder.changed(ask, 'recognition switched', enabled ? 'on' : 'off', {})
        return answer()
      },
    }),
  ]
}

const MOST_UNNAMED = 60

function listRoutes({ book, store }: RecognitionRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/identities',
      who: 'admin',
      summary: 'The book of identities: vehicles that have a name, and their plates',
      reply: object({ identities: Type.Array(identityAnswer) }),
      handle: () => ({ identities: book.list().map(identityView) }),
    }),
    route({
      method: 'GET',
      path: '/api/identities/unnamed',
      who: 'admin',
      summary: 'Plates that were read and belong to no identity, the ones seen last first',
      reply: object({
        plates: Type.Array(
          object({
            plate: text,
            count: Type.Integer({ description: 'events of it, among the newest 5000 without a name' }),
            last_at: instant,
            event_id: Type.String({ description: 'the newest of them' }),
          }),
        ),
      }),
      async handle() {
        const found = await store.unnamed(MOST_UNNAMED)
        return {
          plates: found.map(({ count: many, eventId, lastAt, text: plate }) => ({
            ...{ plate, count: many, last_at: lastAt, event_id: eventId },
          })),
        }
      },
    }),
  ]
}

function changeRoutes({ book, licence, recorder }: RecognitionRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/identities',
      who: 'admin',
      summary: 'Name a vehicle by its plates; what was recorded of them gets the name too',
      body: Type.Object({ name, plates }, strict),
      status: 201,
      reply: identityAnswer,
      async handle(ask) {
        licence?.requireFeature('recognition')
        const made = await book.add(ask.body)
        await recorder.changed(ask, 'identity named', made.name, { plates: made.plates.join(', ') })
        return new Reply(201, identityView(made))
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/identities/:id',
      who: 'admin',
      summary: 'Change the name or the plates of an identity; what is left out stays',
      params: identityId,
      body: Type.Object({ name: Type.Optional(name), plates: Type.Optional(plates) }, strict),
      reply: identityAnswer,
      async handle(ask) {
        const next = await book.change(ask.params.id, ask.body)
        await recorder.changed(ask, 'identity changed', next.name, { plates: next.plates.join(', ') })
        return identityView(next)
      },
    }),
    route({
      method: 'POST',
      path: '/api/identities/:id/merge',
      who: 'admin',
      summary: 'Two identities are one: the other one gets the plates of this, and this is gone',
      params: identityId,
      body: Type.Object(
        { into: Type.String({ minLength: 1, maxLength: 64, description: 'id of the one that stays' }) },
        strict,
      ),
      reply: identityAnswer,
      async handle(ask) {
        const from = book.require(ask.params.id).name
        const next = await book.merge(ask.params.id, ask.body.into)
        await recorder.changed(ask, 'identities merged', next.name, { from })
        return identityView(next)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/identities/:id',
      who: 'admin',
      status: 204,
      summary: 'Forget an identity: events that carried its name are of somebody unknown',
      params: identityId,
      async handle(ask) {
        const { name: gone } = book.require(ask.params.id)
        await book.forget(ask.params.id)
        await recorder.changed(ask, 'identity forgotten', gone, {})
      },
    }),
  ]
}
