/** Routes of the recorder itself: what it is, how far its set-up is, how it does. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { rootCertificateRoute } from '#kit/http/certificate-route.ts'
import { count, fault, object, orNull, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { LateAuthority } from '#kit/net/own-authority.ts'
import type { Users } from '#kit/pure/users.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { DecoderHealth } from '../core/ports.ts'
import { isSetUpOver, type Site, setupSteps } from '../core/site.ts'
import type { DiskHealth } from '../core/storage/disks.ts'
import type { Callers } from './callers.ts'
import { detectorHealthAnswer, detectorHealthView, type detectorRoutes } from './detector-routes.ts'
import { accountAnswer, accountView } from './people-routes.ts'
import { diskAnswer, wholeBytes } from './storage-routes.ts'

/** The product name in replies. */
export const PRODUCT = 'Plantroom video recorder'

interface SystemRouteParts {
  clock: Clock
  version: string
  users: Pick<Users<AccountRecord>, 'isSetUp'>
  callers: Callers
  cameras: CameraBook
  site: Site
  footage: {
    bytes(): number
    disks(): DiskHealth[]
    lostGroups(camera: string): number
    bytesPerDay(): number | null
  }
  /** What all footage may take. */
  keepBytes(): number
  authority: Pick<LateAuthority, 'open'>
  recorder: Recorder
  decoder: { health(): DecoderHealth }
  detector: { health: Parameters<typeof detectorRoutes>[0]['health'] }
  /** By how much the wall clock is ahead of what is recorded. */
  clockAheadMs(): number
  /** The time zone of this machine, as the IANA names it. */
  timeZone(): string
}

export function systemRoutes(parts: SystemRouteParts): Route[] {
  return [
    rootCertificateRoute(parts.authority, 'recorder'),
    statusRoute(parts),
    route({
      method: 'GET',
      path: '/api/identity',
      who: 'anyone',
      summary: 'What this is and whose: the name of the site, else of the machine',
      reply: object({ product: text, id: text, name: text }),
      handle: () => ({ product: PRODUCT, id: parts.site.id, name: parts.site.name() }),
    }),
    ...onboardingRoutes(parts),
    healthRoute(parts),
  ]
}

const step = Type.Enum([...setupSteps])
const onboardingAnswer = object({
  step,
  required: Type.Boolean({ description: 'false once step is complete' }),
})

function statusRoute({ callers, cameras, clock, site, timeZone, users, version }: SystemRouteParts): Route {
  const startedMs = clock.monotonicMs()
  return route({
    method: 'GET',
    path: '/api/status',
    who: 'anyone',
    summary: 'Who you are, the version, how many cameras you may see',
    reply: object({
      ...{ product: text, version: text, uptimeMs: count, adminConfigured: yesNo },
      account: orNull(accountAnswer),
      csrf: orNull(Type.String({ description: 'what writes by the cookie carry in X-Csrf-Token' })),
      cameras: count,
      timeZone: orNull(text),
      onboarding: orNull(onboardingAnswer),
    }),
    handle({ headers, remoteAddress }) {
      const { authorization } = headers
      const caller = callers.callerOf({ authorization, headers, remoteAddress, method: 'GET' })
      const account = caller ? callers.accountOf(caller) : undefined
      return {
        ...{ product: PRODUCT, version, adminConfigured: users.isSetUp() },
        uptimeMs: Math.round(clock.monotonicMs() - startedMs),
        account: account ? accountView(account) : null,
        csrf: caller?.isKey ? null : callers.csrfOf(headers),
        cameras: account ? cameras.seenBy(account).length : 0,
        timeZone: account ? timeZone() : null,
        onboarding: account?.role === 'administrator' ? onboardingOf(site) : null,
      }
    },
  })
}

function onboardingOf(site: Site) {
  return { step: site.step(), required: !isSetUpOver(site.step()) }
}

function onboardingRoutes({ recorder, site }: SystemRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/onboarding',
      who: 'admin',
      summary: 'How far the first set-up is',
      reply: onboardingAnswer,
      handle: () => onboardingOf(site),
    }),
    route({
      method: 'PATCH',
      path: '/api/onboarding',
      who: 'admin',
      summary: 'Move the first set-up to a step; complete ends it',
      body: Type.Object({ step }, { additionalProperties: false }),
      reply: onboardingAnswer,
      async handle(ask) {
        await site.moveTo(ask.body.step)
        await recorder.changed(ask, 'set-up moved', ask.body.step)
        return onboardingOf(site)
      },
    }),
  ]
}

function healthRoute({ cameras, clockAheadMs, decoder, detector, footage, keepBytes }: SystemRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/health',
    who: 'admin',
    summary: 'What is recorded and what is lost, by camera; disks, how much is kept, and how long the room lasts',
    reply: object({
      clockAheadMs: Type.Integer({
        description: 'how far the wall clock is ahead of what is recorded; negative if it was set back',
      }),
      footageBytes: count,
      disks: Type.Array(diskAnswer),
      roomBytes: Type.Integer({ description: 'of all disks, until keepBytes or the floor of free space is reached' }),
      bytesPerDay: orNull(Type.Integer({ description: 'as written since the start; null in its first minute' })),
      daysLeft: orNull(Type.Number({ description: 'until the oldest footage has to make room, at that rate' })),
      decoder: object(
        {
          state: Type.Enum(['idle', 'ready', 'missing', 'failed']),
          decoders: Type.Record(Type.String(), text, { description: 'element of GStreamer by codec' }),
          encoder: orNull(text),
          crashes: count,
          fault: orNull(fault),
        },
        { description: 'what makes pictures; the recording goes on without it' },
      ),
      detector: detectorHealthAnswer,
      cameras: Type.Array(
        object({
          ...{ id: text, name: text, state: text, bytes: count, pictures: count, lostPackets: count },
          ...{ brokenPackets: count, droppedPictures: count, lostGroups: count },
        }),
      ),
    }),
    handle: () => ({
      clockAheadMs: Math.round(clockAheadMs()),
      footageBytes: footage.bytes(),
      ...roomOf(footage, keepBytes()),
      decoder: decoder.health(),
      detector: detectorHealthView(detector.health()),
      cameras: cameras.list().map(({ camera, record: { id, name } }) => ({
        ...{ id, name, state: camera.health().state },
        ...lossOf(camera.stream.counts(), footage.lostGroups(id)),
      })),
    }),
  })
}

function roomOf(footage: SystemRouteParts['footage'], keepBytes: number) {
  const perDay = footage.bytesPerDay()
  const all = footage.disks()
  const room = all.reduce((sum, { roomBytes }) => sum + roomBytes, 0)
  const roomBytes = Math.round(Math.max(0, Math.min(room, keepBytes - footage.bytes())))
  return {
    disks: wholeBytes(all),
    roomBytes,
    bytesPerDay: perDay === null ? null : Math.round(perDay),
    daysLeft: perDay === null || perDay === 0 ? null : Math.round((roomBytes * 1000) / perDay) / 1000,
  }
}

/** What a disk took and did not keep is lost like what it did not take. */
function lossOf<Counts extends { lostGroups: number }>(counts: Counts, more: number): Counts {
  return { ...counts, lostGroups: counts.lostGroups + more }
}
