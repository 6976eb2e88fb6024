/** The states of a licence, and what leads from one to another. */

/** As the wire names them. @source interface document 3, A, License `state` */
export const licenceStates = [
  'pending',
  'trial',
  'licensed',
  'grace',
  'expired',
  'unlicensed',
  'suspended',
  'revoked',
] as const
export type LicenceState = (typeof licenceStates)[number]

/**
 * - `trialTaken`, `leaseTaken` a newer lease came: of a trial, or of a licence key
 * - `leaseRanOut` it has ended, and no newer one came
 * - `graceRanOut`, `pendingRanOut` the time without the server is over
 * - `termEnded`, `trialEnded` the licence itself has ended, or the trial
 * - `givenUp` an administrator has deactivated it here
 * - `withdrawn`, `suspendedThere`, `revokedThere` the licence server says so
 */
export type LicenceEvent =
  | 'trialTaken'
  | 'leaseTaken'
  | 'leaseRanOut'
  | 'graceRanOut'
  | 'pendingRanOut'
  | 'termEnded'
  | 'trialEnded'
  | 'givenUp'
  | 'withdrawn'
  | 'suspendedThere'
  | 'revokedThere'

/** What is the same in every state: a newer lease always counts, and so does a newer word of the licence server. */
const ALWAYS = {
  trialTaken: 'trial',
  leaseTaken: 'licensed',
  givenUp: 'unlicensed',
  withdrawn: 'unlicensed',
  suspendedThere: 'suspended',
  revokedThere: 'revoked',
} as const

/** A pair that is not listed does not change the state. */
export const licenceStateTable: Readonly<Record<LicenceState, Partial<Record<LicenceEvent, LicenceState>>>> = {
  pending: { ...ALWAYS, pendingRanOut: 'unlicensed' },
  trial: { ...ALWAYS, leaseRanOut: 'grace', trialEnded: 'unlicensed' },
  licensed: { ...ALWAYS, leaseRanOut: 'grace', termEnded: 'expired' },
  grace: { ...ALWAYS, graceRanOut: 'unlicensed', termEnded: 'expired', trialEnded: 'unlicensed' },
  expired: ALWAYS,
  unlicensed: ALWAYS,
  suspended: ALWAYS,
  revoked: ALWAYS,
}
