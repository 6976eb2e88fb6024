/** What was said of cameras that turn, and learned of them; kept across restarts. */
import type { Schedule } from '../schedule.ts'
import type { PtzGeometry } from './geometry.ts'

/** One step of a patrol. */
interface PatrolStep {
  readonly preset: string
  /** As the camera had it when it was saved. */
  readonly presetName: string
  readonly dwellSeconds: number
}

/** A patrol as it is saved. Never changed in place. */
export interface PatrolRecord {
  readonly steps: readonly PatrolStep[]
  readonly enabled: boolean
  /** Null: always. */
  readonly schedule: Schedule | null
  readonly resumeAfterSeconds: number
  /** Held until it is resumed. */
  readonly isHeld: boolean
  /** Epoch ms until which it stands back; null: it does not. */
  readonly pausedUntil: number | null
}

/** Auto tracking of one camera as it is saved. Never changed in place. */
export interface FollowRecord {
  readonly enabled: boolean
  readonly groups: readonly string[]
  readonly maxFollowSeconds: number
  readonly returnPreset: string | null
  readonly returnPresetName: string | null
  readonly returnAfterSeconds: number
  readonly resumeAfterSeconds: number
}

/** Of one camera. Never changed in place. */
export interface PtzRecord {
  readonly camera: string
  readonly geometry: PtzGeometry | null
  readonly patrol: PatrolRecord | null
  readonly follow: FollowRecord | null
}

export interface PtzBook {
  of(camera: string): PtzRecord
  list(): readonly PtzRecord[]
  /** @throws Fault `store_write_failed`; then nothing has changed */
  put(camera: string, change: Partial<Omit<PtzRecord, 'camera'>>): Promise<void>
  /** Forgets cameras that are gone. */
  keep(ids: ReadonlySet<string>): Promise<void>
}

/** @param save resolves once they are on disk */
export function createPtzBook(records: readonly PtzRecord[], save: (records: PtzRecord[]) => Promise<void>): PtzBook {
  let known = records

  async function put(next: PtzRecord[]): Promise<void> {
    const before = known
    // At once: of two changes at a time neither undoes the other.
    known = next
    try {
      await save(next)
    } catch (error) {
      if (known === next) known = before
      throw error
    }
  }
  const of = (camera: string) =>
    known.find((one) => one.camera === camera) ?? { camera, geometry: null, patrol: null, follow: null }

  return {
    of,
    list: () => known,
    put: (camera, change) => put([...known.filter((one) => one.camera !== camera), { ...of(camera), ...change }]),
    async keep(ids) {
      if (known.some(({ camera }) => !ids.has(camera))) await put(known.filter(({ camera }) => ids.has(camera)))
    },
  }
}
