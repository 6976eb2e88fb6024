/** Routes of the update server itself: what it is, and how it does. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { rootCertificateRoute } from '#kit/http/certificate-route.ts'
import { count, instant, object, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { LateAuthority } from '#kit/net/own-authority.ts'
import { releaseKey } from '../core/ports.ts'
import type { Registry } from '../core/registry/registry.ts'
import type { Releases } from '../core/releases/releases.ts'

/** The product name in replies. */
export const PRODUCT = 'Plantroom update server'

export interface SystemRouteParts {
  clock: Clock
  version: string
  name(): string
  authority: Pick<LateAuthority, 'open'>
  registry: Pick<Registry, 'counts'>
  releases: Pick<Releases, 'list'>
  /** Files that are being sent. */
  downloads(): { updates: number; installers: number }
  disk(): Promise<{ freeBytes: number; reservedBytes: number }>
  isUpdateKeySet(): boolean
}

export function systemRoutes(parts: SystemRouteParts): Route[] {
  const { clock, name, version } = parts
  const startedMs = clock.monotonicMs()
  return [
    rootCertificateRoute(parts.authority, 'updates'),
    route({
      method: 'GET',
      path: '/api/status',
      who: 'anyone',
      summary: 'What this is, its version, and for how long it runs',
      reply: object({ product: text, name: text, version: text, uptimeMs: count, now: instant }),
      handle: () => ({
        ...{ product: PRODUCT, name: name(), version, uptimeMs: Math.round(clock.monotonicMs() - startedMs) },
        now: clock.epochMs(),
      }),
    }),
    route({
      method: 'GET',
      path: '/api/health',
      who: 'admin',
      summary: 'How many installations and releases there are, what is sent, and how much room the disk has',
      reply: object({
        installations: object({ pending: count, enabled: count, disabled: count }),
        releases: count,
        halted: Type.Array(text, { description: 'versions that were halted since too many failed' }),
        downloads: object({ updates: count, installers: count }),
        disk: object({ freeBytes: count, reservedBytes: count }),
        updateKeySet: yesNo,
      }),
      async handle() {
        const all = parts.releases.list()
        return {
          installations: parts.registry.counts(),
          releases: all.length,
          halted: all.filter(({ state }) => state === 'halted').map(releaseKey),
          downloads: parts.downloads(),
          disk: await parts.disk(),
          updateKeySet: parts.isUpdateKeySet(),
        }
      },
    }),
  ]
}
