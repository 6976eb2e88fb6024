/** What the vendor signs for one installation, and what it allows. */
import { Fault } from '#kit/pure/fault.ts'

/** What a licence may include, with the name that people read. @source interface document 3, A, License, Feature ids */
export const licenceFeatures = [
  { id: 'ai', name: 'AI agent' },
  { id: 'recognition', name: 'Face and plate recognition' },
  { id: 'investigation', name: 'Semantic search, trails, incidents and notes' },
  { id: 'mqtt', name: 'MQTT' },
] as const

export type LicenceFeature = (typeof licenceFeatures)[number]['id']

/** A lease: what one installation may do until when. Instants are epoch milliseconds. */
export interface Lease {
  installationId: string
  /** Fingerprint of the installation's key: who copies the id alone has no use of the lease. */
  keyId: string
  /** Ids; those that this version does not know mean nothing. */
  features: readonly string[]
  limits: { cameras: number | null }
  issuedAt: number
  expiresAt: number
  /** Releases that were signed until then may be uploaded. */
  updatesUntil: number
  /** Grows with everything that the vendor signs for this installation. */
  serial: number
  /** `license` where it is left out. */
  kind?: 'license' | 'trial'
  /** When the licence itself ends, however many leases are given until then; none if it is left out. */
  termEnd?: number
  customer?: string
  plan?: string
  /** A hint, such as its last letters. */
  licenseKey?: string
}

/** What the vendor says of an installation that has no lease any more. */
export interface LicenceNotice {
  installationId: string
  keyId: string
  state: 'suspended' | 'revoked' | 'withdrawn'
  /** For administrators; a sentence. */
  reason: string
  issuedAt: number
  serial: number
}

/** A text whose signature is the vendor's. */
export interface Proven<Content> {
  content: Content
  /** In its one form, to be kept. */
  text: string
}

/** When the licence itself is over: that of a trial without a term is over with its lease. */
export function termOf({ expiresAt, kind, termEnd }: Lease): number | null {
  return termEnd ?? (kind === 'trial' ? expiresAt : null)
}

export interface Holder {
  installationId: string
  keyId: string
}

/**
 * @param taken the serial of what was taken last, and its text
 * @throws Fault `license_bad_lease`
 */
export function requireOurs(
  { content, text }: Proven<Lease | LicenceNotice>,
  own: Holder,
  taken: { serial: number; text: string | null },
): void {
  const { installationId, keyId, serial } = content
  if (installationId !== own.installationId)
    throw bad(
      `It is for installation ${installationId}, and this is ${own.installationId}. Ask for one by a request of this recorder.`,
    )
  if (keyId !== own.keyId)
    throw bad(`It is for another key of this installation (${keyId}); the key here is ${own.keyId}.`)
  if (serial < taken.serial || (serial === taken.serial && text !== taken.text))
    throw bad(`It is number ${serial}, and number ${taken.serial} was taken here already: an older one is not taken.`)
}

function bad(sentence: string): Fault {
  return new Fault('license_bad_lease', `The lease is not taken. ${sentence}`)
}
