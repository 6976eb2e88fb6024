/** Limits and settings of stores and imports, for tests of io and the processes they start. */
import { systemClock } from '#kit/clock.ts'
import type { ImportParts } from '../../io/site-import.ts'

export const parts: ImportParts = {
  clock: systemClock,
  limits: {
    bytes: 10_000_000,
    rows: 20_000,
    devices: 20_000,
    jsonChars: 10_000_000,
    depth: 16,
    textChars: 100_000,
    faults: 100,
  },
  store: {
    commitMs: 1,
    busyMs: 2000,
    records: 20,
    recordChars: 1_000_000,
    undoChars: 1_000_000,
    keptRecords: 40,
    faults: 100,
  },
  hashPassword: async (text) => ({ hash: `hashed ${text.length}`, salt: 'salted' }),
}

export function bytesOf(document: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document))
}

/** A site in which every zone has the same version: half of an import would show. */
export function versioned(version: number, zones = 300) {
  return {
    zone: Array.from({ length: zones }, (_, n) => ({ name: `Zone ${n}`, position: version, icon: 'x'.repeat(200) })),
  }
}
