/** What was said of cameras that turn, and learned of them; kept across restarts. */
import type { PtzGeometry } from './geometry.ts'

/** Of one camera. Never changed in place. */
export interface PtzRecord {
  readonly camera: string
  readonly geometry: PtzGeometry | null
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
  const of = (camera: string) => known.find((one) => one.camera === camera) ?? { camera, geometry: null }

  return {
    of,
    list: () => known,
    put: (camera, change) => put([...known.filter((one) => one.camera !== camera), { ...of(camera), ...change }]),
    async keep(ids) {
      if (known.some(({ camera }) => !ids.has(camera))) await put(known.filter(({ camera }) => ids.has(camera)))
    },
  }
}
