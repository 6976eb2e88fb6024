/** Routes that find cameras on the network, and add them with a login. */
import { Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import { instant, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { KnownCamera } from '../core/cameras/book.ts'
import type { Discovery, DiscoveryState, FoundCamera } from '../core/cameras/discovery.ts'
import type { CameraLogin } from '../core/cameras/onvif.ts'
import type { SitePlans } from '../core/plans/site-plans.ts'
import type { Callers } from './callers.ts'
import { cameraAnswer, cameraAnswerOf } from './camera-routes.ts'

const foundAnswer = object({
  id: text,
  name: text,
  manufacturer: orNull(text),
  model: orNull(text),
  address: text,
  seenAt: instant,
  camera: orNull(
    object({ id: text, name: text }, { description: 'the camera that records it, or one of its address' }),
  ),
})

const stateAnswer = object({
  isScanning: yesNo,
  scannedAt: orNull(
    Type.Integer({ description: 'when the last scan ended, epoch milliseconds; null before the first' }),
  ),
  interfaces: Type.Integer({ minimum: 0, description: 'networks that the last scan asked' }),
  found: Type.Array(foundAnswer, { description: 'cameras that answered the last scan' }),
})

function foundAnswerOf({ address, id, known, manufacturer, model, name, seenAt }: FoundCamera) {
  const camera = known ? { id: known.record.id, name: known.record.name } : null
  return { id, name, manufacturer: manufacturer ?? null, model: model ?? null, address, seenAt, camera }
}

function stateAnswerOf({ found, ...state }: DiscoveryState) {
  return { ...state, found: found.map(foundAnswerOf) }
}

const login = {
  username: Type.String({ minLength: 1, maxLength: 256, description: 'of a user for ONVIF in the camera' }),
  password: Type.String({ maxLength: 256, writeOnly: true }),
}

interface DiscoveryRouteParts {
  discovery: Discovery
  callers: Callers
  plans: Pick<SitePlans, 'placementOf'>
  recorder: Recorder
}

export function discoveryRoutes(parts: DiscoveryRouteParts): Route[] {
  const { discovery } = parts
  return [
    route({
      method: 'GET',
      path: '/api/discovery',
      who: 'admin',
      summary: 'Cameras that the last scan found on the network',
      reply: stateAnswer,
      handle: () => stateAnswerOf(discovery.state()),
    }),
    route({
      method: 'POST',
      path: '/api/discovery/scan',
      who: 'admin',
      summary: 'Look for cameras of ONVIF on every network of this machine; answers once the scan is over',
      reply: stateAnswer,
      handle: async () => stateAnswerOf(await discovery.scan()),
    }),
    adoptRoute(parts),
    adoptAllRoute(parts),
  ]
}

function adoptRoute({ callers, discovery, plans, recorder }: DiscoveryRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/discovery/:id/adopt',
    who: 'admin',
    status: 201,
    summary: 'Add a camera that was found: its best stream that plays is recorded, its smallest is for watching',
    params: Type.Object({
      id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a camera that was found' }),
    }),
    body: Type.Object({ ...login, name: Type.Optional(nameText) }, { additionalProperties: false }),
    reply: cameraAnswer,
    async handle(ask) {
      const { name, password, username } = ask.body
      const added = await discovery.adopt(ask.params.id, { username, password }, name)
      await recorder.changed(ask, 'camera added', added.record.name, factsOf(added))
      return new Reply(201, cameraAnswerOf(added, callers.accountOf(ask.caller), plans))
    },
  })
}

function adoptAllRoute({ callers, discovery, plans, recorder }: DiscoveryRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/discovery/adopt-all',
    who: 'admin',
    summary: 'Add every camera that was found and is not added yet, with one login',
    body: Type.Object(
      {
        ...login,
        ids: Type.Optional(
          Type.Array(Type.String({ maxLength: 64 }), { maxItems: 1024, description: 'these alone; left out: all' }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: object({
      adopted: Type.Array(cameraAnswer),
      failed: Type.Array(
        object({
          ...{ id: text, name: text, address: text, code: text },
          error: Type.String({ description: 'why, as a sentence' }),
        }),
      ),
    }),
    async handle(ask) {
      const { ids, ...who } = ask.body
      const { adopted, failed } = await discovery.adoptAll(who satisfies CameraLogin, ids)
      for (const added of adopted) await recorder.changed(ask, 'camera added', added.record.name, factsOf(added))
      return {
        adopted: adopted.map((one) => cameraAnswerOf(one, callers.accountOf(ask.caller), plans)),
        failed: failed.map(({ fault: { code, message }, found: { address, id, name } }) => ({
          ...{ id, name, address, code },
          error: message,
        })),
      }
    },
  })
}

function factsOf({ record: { id, onvif, subUrl, url } }: KnownCamera) {
  return { id, url, sub_url: subUrl, onvif: onvif?.service }
}
