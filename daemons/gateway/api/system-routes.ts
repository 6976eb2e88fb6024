/** Routes about the gateway itself: status for everybody, all others for callers who are signed in. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { rootCertificateRoute } from '#kit/http/certificate-route.ts'
import { type Licences, licenceTextRoute } from '#kit/http/licence-routes.ts'
import { nameText } from '#kit/http/people-routes.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { LateAuthority } from '#kit/net/own-authority.ts'
import type { Users } from '#kit/pure/users.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { PortRegistry } from '../core/lines/port-registry.ts'
import type { Identity, SystemFacts } from '../core/status.ts'
import { statusAnswer, systemAnswer } from './answers.ts'

export interface SystemRouteParts {
  clock: Clock
  version: string
  users: Users
  identity: Identity
  facts(): Promise<SystemFacts>
  registry: Pick<PortRegistry, 'list'>
  authority: Pick<LateAuthority, 'opened'>
  /** Whether this gateway serves HTTPS. */
  hasTls: boolean
  licences: Licences
  recorder: Recorder
}

/** Without TLS the root is not looked at before somebody downloads it. */
const NO_ROOT = { rootName: null, rootFingerprint: null, rootEndsAt: null, leaf: null, outside: [] }

const systemQuery = Type.Object(
  { licences: Type.Boolean({ default: true, description: 'false leaves `licences` out of the answer' }) },
  { additionalProperties: false },
)

/** The product name in replies. */
export const PRODUCT = 'Plantroom gateway'

export function systemRoutes(parts: SystemRouteParts): Route[] {
  const { clock, identity, licences, recorder, users, version } = parts
  const startedAt = clock.epochMs()
  const startedMs = clock.monotonicMs()
  const uptimeMs = () => Math.round(clock.monotonicMs() - startedMs)
  const system = async () => ({
    product: PRODUCT,
    version,
    name: identity.name(),
    startedAt,
    uptimeMs: uptimeMs(),
    epochMs: clock.epochMs(),
    ...(await parts.facts()),
    serialLines: (await parts.registry.list()).map(({ path, found, port }) => ({
      path,
      product: found?.product ?? null,
      state: port?.life().state ?? null,
    })),
    tls: tls(),
  })
  const tls = () => {
    const { leaf = null, ...root } = parts.authority.opened()?.view() ?? NO_ROOT
    return { isOn: parts.hasTls, ...root, leaf }
  }

  return [
    route({
      method: 'GET',
      path: '/api/status',
      who: 'anyone',
      reply: statusAnswer,
      summary: 'Liveness and whether an administrator is configured',
      handle: () => ({
        product: PRODUCT,
        name: identity.name(),
        version,
        uptimeMs: uptimeMs(),
        adminConfigured: users.isSetUp(),
      }),
    }),
    route({
      method: 'GET',
      path: '/api/system',
      who: 'user',
      reply: systemAnswer,
      summary: 'System information and product strings',
      query: systemQuery,
      handle: async ({ query }) => ({
        ...(await system()),
        ...(query.licences && { licences: await licences.list() }),
      }),
    }),
    licenceTextRoute(licences, '/api/system/licences'),
    route({
      method: 'PATCH',
      path: '/api/system',
      who: 'admin',
      reply: systemAnswer,
      summary: 'Rename this gateway',
      body: Type.Object({ name: nameText }, { additionalProperties: false }),
      async handle(ask) {
        await identity.rename(ask.body.name)
        await recorder.changed(ask, 'gateway renamed', ask.body.name)
        return await system()
      },
    }),
  ]
}

/** @source Interface document 2, part A, Endpoints: public, since clients need it before they can trust this gateway */
export function certificateRoutes({ authority }: { authority: Pick<LateAuthority, 'open'> }): Route[] {
  return [rootCertificateRoute(authority, 'gateway')]
}
