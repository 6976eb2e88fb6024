/** What the disk knows of the licence: its state, the key of this installation, and the vendor's keys. */
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { type Static, type TSchema, Type } from 'typebox'
import { readPublicKeys } from '#kit/auth/signing-key.ts'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  countSigners,
  instant,
  publicKeyOf,
  readSignedText,
  type SignedKind,
  signedSchema,
  signText,
  textOfSigned,
} from '#kit/release/signed.ts'
import { openSeal } from '#kit/store/sealing.ts'
import { createStore } from '#kit/store/store.ts'
import type { Proven } from '../core/licence/lease.ts'
import type { Installation, LicenceFile, LicenceProof, LicenceRecord } from '../core/licence/ports.ts'
import { licenceStates } from '../core/licence/states.ts'

const VERSION = 1 as const

const strict = { additionalProperties: false }
const id = Type.String({ pattern: '^[0-9a-f]{32}$' })
const name = Type.String({ maxLength: 256 })
const serial = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const lease = Type.Object(
  {
    ...{ installationId: id, keyId: id, serial, issuedAt: instant, expiresAt: instant, updatesUntil: instant },
    features: Type.Array(Type.String({ pattern: '^[a-z0-9_-]{1,64}$' }), { maxItems: 64 }),
    limits: Type.Object(
      { cameras: Type.Union([Type.Integer({ minimum: 0, maximum: 1_000_000 }), Type.Null()]) },
      strict,
    ),
    kind: Type.Optional(Type.Enum(['license', 'trial'])),
    termEnd: Type.Optional(instant),
    ...{ customer: Type.Optional(name), plan: Type.Optional(name), licenseKey: Type.Optional(name) },
  },
  strict,
)

const notice = Type.Object(
  {
    ...{ installationId: id, keyId: id, serial, issuedAt: instant },
    state: Type.Enum(['suspended', 'revoked', 'withdrawn']),
    reason: Type.String({ maxLength: 512 }),
  },
  strict,
)

/** Largest signed text: 64 features, and the names. */
const MOST_BYTES = 16_384

/**
 * Reads what the vendor has signed.
 * @param file the vendor's public key, in PEM, or a folder of such
 */
export async function openProof(file: string, log: Log): Promise<LicenceProof> {
  const keys = await vendorKeys(file, log)

  function proven<Content>(kind: SignedKind, schema: TSchema, value: unknown): Proven<Content> {
    if (keys.length === 0)
      throw bad(`The vendor's key cannot be read from ${file} (license.vendor_key_file), so that nothing is proven.`)
    try {
      const text = textOfSigned(value)
      const read = readSignedText(Buffer.from(text), signedSchema(schema), MOST_BYTES)
      if (countSigners(kind, read, keys) > 0) return { content: read.signed as Content, text }
    } catch (cause) {
      throw bad(cause instanceof Fault ? `It cannot be read: ${cause.message}.` : 'It is no signed text.', cause)
    }
    throw bad('It is not signed by the vendor.')
  }

  return {
    lease: (value) => proven('lease', lease, value),
    notice: (value) => proven('licence-notice', notice, value),
  }
}

function bad(sentence: string, cause?: unknown): Fault {
  return new Fault('license_bad_lease', `The lease is not taken. ${sentence}`, { cause })
}

/** A key that cannot be read is said, and keeps no recorder from recording. */
async function vendorKeys(file: string, log: Log): Promise<string[]> {
  try {
    const keys = await readPublicKeys([file])
    if (keys.length === 0) log.error('there is no key of the vendor of licences', { file })
    return keys.map(({ key }) => publicKeyOf(key))
  } catch (fault) {
    log.error('the key of the vendor of licences cannot be read', { file, fault })
    return []
  }
}

const textOrNull = Type.Union([Type.String({ maxLength: MOST_BYTES }), Type.Null()])
const licenceFile = Type.Object(
  {
    ...{ version: Type.Literal(VERSION), installationId: id, sealedKey: Type.String(), firstAt: instant },
    state: Type.Enum([...licenceStates]),
    ...{ lease: textOrNull, said: textOrNull, reason: textOrNull, serial, latestAt: instant },
    ...{ isOffline: Type.Boolean(), isGivenUp: Type.Boolean() },
  },
  strict,
)

type Saved = Static<typeof licenceFile>

/**
 * The licence as it was kept; an installation without one gets its id and its key now. So does one whose file is
 * damaged: a licence must not keep a recorder from recording.
 * @param folder the state folder
 */
export async function openLicenceFile({ clock, folder, log }: { clock: Clock; folder: string; log: Log }) {
  const seal = await openSeal(folder)
  const check = createReader(licenceFile)
  const store = createStore<Saved>({ folder, name: 'license', log, check, initial: fresh })

  function fresh(): Saved {
    const installationId = randomBytes(16).toString('hex')
    const key = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const at = clock.epochMs()
    return {
      ...{ version: VERSION, installationId, sealedKey: seal.close(key, installationId), firstAt: at, latestAt: at },
      ...{ state: 'pending', lease: null, said: null, reason: null, serial: 0, isOffline: false, isGivenUp: false },
    }
  }

  async function load(): Promise<{ saved: Saved; key: KeyObject }> {
    try {
      const saved = await store.load()
      return { saved, key: createPrivateKey(seal.open(saved.sealedKey, saved.installationId)) }
    } catch (fault) {
      log.error('the licence that was kept cannot be used: this is a new installation from now on', { fault })
      const saved = fresh()
      return { saved, key: createPrivateKey(seal.open(saved.sealedKey, saved.installationId)) }
    }
  }

  const { key, saved } = await load()
  const { installationId, sealedKey, version: _, ...record } = saved
  const save = (next: LicenceRecord) => store.save({ version: VERSION, installationId, sealedKey, ...next })
  await save(record).catch((fault: unknown) => log.error('the licence could not be kept', { fault }))
  return { file: { record, save } satisfies LicenceFile, installation: installationOf(installationId, key) }
}

function installationOf(installationId: string, key: KeyObject): Installation {
  const publicKey = publicKeyOf(key)
  return {
    ...{ installationId, publicKey },
    keyId: createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex').slice(0, 32),
    sign: (signed) => ({ signatures: signText('licence-request', signed, [key]), signed }),
  }
}
