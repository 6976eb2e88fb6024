/** Routes of the licence: what it is, and activating, refreshing, giving up and importing one. */
import { Type } from 'typebox'
import { type Ask, count, instant, object, orNull, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import { licenceFeatures } from '../core/licence/lease.ts'
import type { Licence } from '../core/licence/licence.ts'
import { licenceStates } from '../core/licence/states.ts'
import type { Callers } from './callers.ts'

const featureId = Type.Enum(licenceFeatures.map(({ id }) => id))
const forAdmins = { description: 'told to administrators alone, as what follows' }

const licenceAnswer = object({
  managed: Type.Boolean({ description: 'whether this recorder is licensed at all; false: nothing else is told' }),
  state: Type.Optional(Type.Enum([...licenceStates])),
  entitlements: Type.Optional(
    object({
      features: Type.Array(featureId),
      limits: object({ cameras: orNull(Type.Integer({ minimum: 0, description: 'null: no limit' })) }),
    }),
  ),
  features: Type.Optional(Type.Array(object({ id: featureId, name: text }))),
  customer: Type.Optional(orNull(Type.String(forAdmins))),
  licenseKey: Type.Optional(orNull(Type.String({ description: 'a hint, not the whole key' }))),
  plan: Type.Optional(orNull(text)),
  termEnd: Type.Optional(orNull(instant)),
  updatesUntil: Type.Optional(orNull(instant)),
  leaseIssuedAt: Type.Optional(orNull(instant)),
  leaseExpiresAt: Type.Optional(orNull(instant)),
  pendingUntil: Type.Optional(instant),
  graceUntil: Type.Optional(instant),
  reason: Type.Optional(orNull(text)),
  offline: Type.Optional(Type.Boolean({ description: 'whether the lease came as a file' })),
  installationId: Type.Optional(text),
  keyId: Type.Optional(text),
  cameras: Type.Optional(count),
})

interface LicenceRouteParts {
  /** Undefined on a recorder that is not licensed. */
  licence: Licence | undefined
  callers: Callers
  recorder: Recorder
  /** How many cameras are there. */
  cameras(): number
}

export function licenceRoutes(parts: LicenceRouteParts): Route[] {
  const answer = (ask: Pick<Ask, 'caller'>) => licenceAnswerOf(parts, ask)
  const required = (): Licence => {
    if (parts.licence) return parts.licence
    throw new Fault('license_unmanaged', 'This recorder is not licensed, and needs no licence: nothing is limited.')
  }
  return [
    route({
      method: 'GET',
      path: '/api/license',
      who: 'user',
      summary: 'State of the licence, and what it includes',
      reply: licenceAnswer,
      handle: answer,
    }),
    route({
      method: 'POST',
      path: '/api/license/activate',
      who: 'admin',
      summary: 'Activate a licence key at the licence server',
      body: Type.Object(
        {
          licenseKey: Type.String({ minLength: 1, maxLength: 128, pattern: '\\S', writeOnly: true }),
          move: Type.Optional(Type.Boolean({ default: false, description: 'take it from where it is in use' })),
        },
        { additionalProperties: false },
      ),
      reply: licenceAnswer,
      async handle(ask) {
        const { licenseKey, move = false } = ask.body
        await required().activate(licenseKey.trim(), move)
        await parts.recorder.changed(ask, 'license activated', 'license', move ? { move } : undefined)
        return answer(ask)
      },
    }),
    ...actRoutes(parts, required, answer),
    route({
      method: 'POST',
      path: '/api/license/import',
      who: 'admin',
      summary: 'Take a lease file that was issued for this installation',
      bodyBytes: 65_536,
      body: Type.Object(
        {
          lease: Type.Union([
            Type.String({ maxLength: 32_768, description: 'the text of the file' }),
            Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), { description: 'its JSON' }),
          ]),
        },
        { additionalProperties: false },
      ),
      reply: licenceAnswer,
      async handle(ask) {
        const { lease } = ask.body
        await required().importLease(typeof lease === 'string' ? jsonOf(lease) : lease)
        await parts.recorder.changed(ask, 'license imported', 'license')
        return answer(ask)
      },
    }),
    route({
      method: 'GET',
      path: '/api/license/request',
      who: 'admin',
      summary: 'A request for a licence without the licence server, signed by the key of this installation',
      reply: object({
        signatures: Type.Array(object({ key: text, sig: text })),
        signed: Type.Record(Type.String(), Type.Union([text, count])),
      }),
      handle: () => required().request(),
    }),
  ]
}

function actRoutes(
  { recorder }: LicenceRouteParts,
  required: () => Licence,
  answer: (ask: Pick<Ask, 'caller'>) => unknown,
): Route[] {
  const act = (word: 'refresh' | 'deactivate', summary: string, what: string) =>
    route({
      method: 'POST',
      path: `/api/license/${word}`,
      who: 'admin',
      summary,
      reply: licenceAnswer,
      async handle(ask) {
        await required()[word]()
        await recorder.changed(ask, what, 'license')
        return answer(ask)
      },
    })
  return [
    act('refresh', 'Ask the licence server anew', 'license refreshed'),
    act('deactivate', 'Give the licence up here, so that it may be used elsewhere', 'license deactivated'),
  ]
}

function jsonOf(given: string): unknown {
  try {
    return JSON.parse(given)
  } catch (cause) {
    throw new Fault('license_bad_lease', 'The lease is not taken. The file is no lease: it holds no JSON.', { cause })
  }
}

function licenceAnswerOf({ callers, cameras, licence }: LicenceRouteParts, { caller }: Pick<Ask, 'caller'>) {
  if (!licence) return { managed: false }
  const { cameras: limit, features, state } = licence.view()
  const known = {
    ...{ managed: true, state, features: licenceFeatures },
    entitlements: { features, limits: { cameras: limit } },
  }
  if (callers.accountOf(caller).role !== 'administrator') return known
  const { graceUntil, installationId, isOffline, keyId, lease, pendingUntil, reason, termEnd } = licence.details()
  return {
    ...known,
    ...{ customer: lease?.customer ?? null, licenseKey: lease?.licenseKey ?? null, plan: lease?.plan ?? null },
    ...{ termEnd, updatesUntil: lease?.updatesUntil ?? null },
    ...{ leaseIssuedAt: lease?.issuedAt ?? null, leaseExpiresAt: lease?.expiresAt ?? null },
    ...(pendingUntil !== undefined && { pendingUntil }),
    ...(graceUntil !== undefined && { graceUntil }),
    ...{ reason, installationId, keyId, cameras: cameras(), ...(isOffline && { offline: true }) },
  }
}
