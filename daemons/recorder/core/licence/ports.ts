/** What a licence needs of the world: its file, its key, and the vendor's licence server. */
import type { Holder, Lease, LicenceNotice, Proven } from './lease.ts'
import type { LicenceState } from './states.ts'

/** What is kept over restarts. Instants are epoch milliseconds. */
export interface LicenceRecord {
  /** When this installation was first there: the trial without the server counts from it. */
  firstAt: number
  state: LicenceState
  /** The lease that counts, signed. */
  lease: string | null
  /** Whether it came as a file. */
  isOffline: boolean
  /** Whether it was deactivated here: then the server is not asked again by itself. */
  isGivenUp: boolean
  /** Of the newest thing that was taken, and its text. */
  serial: number
  said: string | null
  /** Why the server has taken the licence away. */
  reason: string | null
  /** The latest time that was ever seen. */
  latestAt: number
}

export interface LicenceFile {
  record: LicenceRecord
  save(record: LicenceRecord): Promise<void>
}

/** Reads what the vendor has signed. */
export interface LicenceProof {
  /** @throws Fault `license_bad_lease` if it is no lease, or not signed by the vendor */
  lease(value: unknown): Proven<Lease>
  /** @throws Fault `license_bad_lease`, as for a lease */
  notice(value: unknown): Proven<LicenceNotice>
}

/** This installation, and its key. */
export interface Installation extends Holder {
  publicKey: string
  /** Signs with the key of the installation. @returns `{signatures, signed}`, plain JSON */
  sign(request: Readonly<Record<string, unknown>>): object
}

export type LicenceAct = 'activate' | 'refresh' | 'deactivate'

/** What the licence server said: nothing of it is believed before its signature was looked at. */
export interface LicenceAnswer {
  lease?: unknown
  notice?: unknown
}

export interface LicenceServer {
  /**
   * @param request signed
   * @throws Fault `license_server_failed`, `license_no_free_seat` with `holders`, `license_key_refused`
   */
  ask(act: LicenceAct, request: object): Promise<LicenceAnswer>
}
