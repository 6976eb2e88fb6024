/** Calls of the page People. */
import { call } from '#kit/web/call.ts'
import type { SeenEvent } from './events-api.ts'

/** Whether anything is recognised, and can be. */
export interface RecognitionState {
  enabled: boolean
  available: boolean
  why: string | null
  looked: number
}

export interface Identity {
  id: string
  name: string
  plates: string[]
  createdAt: number
}

export interface UnnamedPlate {
  plate: string
  count: number
  last_at: number
  event_id: string
}

const isPolled = { isPolled: true }

export const peopleApi = {
  state: () => call<RecognitionState>('GET /api/recognition', undefined, isPolled),
  turn: (enabled: boolean) => call<RecognitionState>('PUT /api/recognition', { enabled }),
  list: async () => (await call<{ identities: Identity[] }>('GET /api/identities', undefined, isPolled)).identities,
  unnamed: async () =>
    (await call<{ plates: UnnamedPlate[] }>('GET /api/identities/unnamed', undefined, isPolled)).plates,
  /** Events of one, the newest first. */
  async seen(id: string, most: number): Promise<SeenEvent[]> {
    const query = new URLSearchParams({ who: id, limit: String(most) })
    return (await call<{ events: SeenEvent[] }>(`GET /api/events?${query}`, undefined, isPolled)).events
  },
  add: (name: string, plates: readonly string[]) => call<Identity>('POST /api/identities', { name, plates }),
  change: (id: string, wish: { name?: string; plates?: readonly string[] }) =>
    call<Identity>(`PATCH /api/identities/${id}`, wish),
  merge: (id: string, into: string) => call<Identity>(`POST /api/identities/${id}/merge`, { into }),
  forget: (id: string) => call<void>(`DELETE /api/identities/${id}`),
}
