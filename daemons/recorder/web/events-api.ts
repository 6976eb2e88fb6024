/** The calls of the pages about what was seen, and what looks. */
import { CallFault, call } from '#kit/web/call.ts'
import type { DetectorKind } from '../core/sight/sight-book.ts'
import { windowOf } from './api.ts'
import { eventPlace } from './deep-link.ts'

/** One of GET /api/events. */
export interface SeenEvent {
  id: string
  camera_id: string
  camera_name: string
  label: string
  started_at: number
  /** Null while it goes on. */
  ended_at: number | null
  /** Where recognition is on. */
  identity_name?: string | null
  plate_text?: string | null
}

export type { DetectorKind }

/** Answer of GET /api/detector. */
export interface DetectorView {
  kind: DetectorKind
  kinds: readonly { kind: DetectorKind; available: boolean }[]
  health: {
    state: 'idle' | 'starting' | 'ready' | 'failed'
    fault: { message: string } | null
    decoderFault: { message: string } | null
  }
}

/** Path of the picture of an event. */
export function thumbnailPath(event: string): string {
  return `/api/events/${encodeURIComponent(event)}/thumbnail.jpg`
}

/** How much was seen in slices of a window. */
export interface Density {
  from: number
  bucketMs: number
  cameras: Readonly<Record<string, SeenSlice[]>>
}

export interface SeenSlice {
  bucket: number
  total: number
  /** Of all that is neither a person nor a vehicle nor an animal. */
  other: number
}

/** Calls of the page of events. */
export const eventsApi = {
  async list({ camera, label, limit }: { camera: string; label: string; limit: number }): Promise<SeenEvent[]> {
    const wish = { ...(camera && { cameraId: camera }), ...(label && { label }), limit: String(limit) }
    const query = new URLSearchParams(wish)
    return (await call<{ events: SeenEvent[] }>(`GET /api/events?${query}`, undefined, { isPolled: true })).events
  },
  /** One that may be gone: by when it began, at its camera. */
  async one(id: string): Promise<SeenEvent | undefined> {
    const place = eventPlace(id)
    if (!place) return undefined
    const at = String(place.beganAt)
    const query = new URLSearchParams({ cameraId: place.camera, since: at, until: at, limit: '500' })
    try {
      const { events } = await call<{ events: SeenEvent[] }>(`GET /api/events?${query}`, undefined, { isPolled: true })
      return events.find((event) => event.id === id)
    } catch (thrown) {
      // A camera that was removed, or that they may not see.
      if (thrown instanceof CallFault && thrown.status === 404) return undefined
      throw thrown
    }
  },
  /** Of all cameras, by id; slices without events are left out. */
  density: (from: number, to: number, buckets: number) =>
    call<Density>(`GET /api/events/density?${windowOf(from, to)}&buckets=${buckets}`, undefined, { isPolled: true }),
  detector: () => call<DetectorView>('GET /api/detector', undefined, { isPolled: true }),
  choose: (kind: DetectorKind) => call<DetectorView>('PUT /api/detector', { kind }),
}
