/** What the pages of the licence and of the broker ask. */
import { call } from '#kit/web/call.ts'
import type { LicenceState } from '../core/licence/states.ts'
import { atItsField } from './api.ts'

/** Answer of GET /api/license; what is left out is for administrators, or does not apply. */
export interface License {
  managed: boolean
  state?: LicenceState
  /** Null: any number of cameras. */
  entitlements?: { features: string[]; limits: { cameras: number | null } }
  features?: { id: string; name: string }[]
  customer?: string | null
  licenseKey?: string | null
  plan?: string | null
  termEnd?: number | null
  updatesUntil?: number | null
  leaseIssuedAt?: number | null
  leaseExpiresAt?: number | null
  pendingUntil?: number
  graceUntil?: number
  reason?: string | null
  offline?: boolean
  installationId?: string
  cameras?: number
}

/** The licence server may be far away. */
const LICENCE_MS = 130_000

/** Calls about the licence. */
export const licenceApi = {
  state: () => call<License>('GET /api/license', undefined, { isPolled: true }),
  activate: (licenseKey: string, move: boolean) =>
    call<License>('POST /api/license/activate', { licenseKey, move }, { answerMs: LICENCE_MS }).catch(atItsField),
  refresh: () => call<License>('POST /api/license/refresh', undefined, { answerMs: LICENCE_MS }),
  deactivate: () => call<License>('POST /api/license/deactivate', undefined, { answerMs: LICENCE_MS }),
  importLease: (lease: string) => call<License>('POST /api/license/import', { lease }),
  request: () => call<unknown>('GET /api/license/request'),
}

/** Answer of GET /api/mqtt. */
export interface Mqtt {
  enabled: boolean
  url: string
  username: string
  hasPassword: boolean
  topicPrefix: string
  discoveryPrefix: string
  state: 'off' | 'closed' | 'connecting' | 'connected' | 'waiting'
  prefix: string | null
  since: number | null
  fault: { code: string; message: string } | null
  nextTryAt: number | null
  topics: number
  due: number
  waiting: number
  published: number
  dropped: number
  refused: number
}

/** What is left out stays. */
export interface MqttWish {
  enabled?: boolean
  url?: string
  username?: string
  password?: string | null
  topicPrefix?: string
  discoveryPrefix?: string
}

/** A broker is left before the next one is asked. */
const MQTT_MS = 30_000

/** Calls about the MQTT broker. */
export const mqttApi = {
  state: () => call<Mqtt>('GET /api/mqtt', undefined, { isPolled: true }),
  change: (wish: MqttWish) => call<Mqtt>('PUT /api/mqtt', wish, { answerMs: MQTT_MS }).catch(atItsField),
  test: () => call<unknown>('POST /api/mqtt/test', undefined, { answerMs: MQTT_MS }),
}
