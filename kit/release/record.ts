/**
 * The signed record of a release: what a publisher says of an update or an installer, and whether a machine may take it.
 * The encryption key is given to every installation, so the container proves nothing about who made it; this does.
 */
import type { KeyObject } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Fault } from '../pure/fault.ts'
import { compareVersions, isVersion } from '../pure/version.ts'
import { followRoots, proveRoot, type Root, type SignedRoot, signedRoot } from './root.ts'
import { countSigners, instant, readSignedText, signedSchema, signText, textOfSigned } from './signed.ts'

/**
 * What a release is: an archive that a running Plantroom applies, a program that installs it anew, or a firmware image
 * that a board installs.
 */
export type ReleaseKind = 'update' | 'installer' | 'image'

const strict = { additionalProperties: false }
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const version = Type.Refine(Type.String({ maxLength: 64 }), isVersion)

/** A kind of board, as firmware images name it. */
export const compatibleName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' })

const record = Type.Object(
  {
    version,
    /** Grows with each release, whatever its version. */
    sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    /** The oldest version that may take it; null for any. */
    min_from: Type.Union([version, Type.Null()]),
    /** The kind of machine, as Debian names it; null for any. */
    arch: Type.Union([Type.Literal('amd64'), Type.Literal('arm64'), Type.Null()]),
    /** Of an image: the kind of board that it is for. */
    compatible: Type.Optional(compatibleName),
    /** Bytes of the file as it is published: of an update or an image, of the container. */
    size: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    /** Of that file. The container's own header names the SHA-256 of its content, so this fixes both. */
    sha256,
    /** The bundle hash: of the manifest of the files in it; of an image, of the image itself. */
    bundle: sha256,
    security_fix: Type.Boolean(),
    issued_at: instant,
    expires: instant,
  },
  strict,
)
/** A record, in the words of its JSON. */
export type ReleaseRecord = Static<typeof record>

/** Roots that a release carries, the newest: who knows one of them, or the one before, can follow. */
export const MOST_ROOTS = 4

const release = Type.Object(
  { roots: Type.Array(signedRoot, { maxItems: MOST_ROOTS }), ...signedSchema(record).properties },
  strict,
)
/** A record, who signed it, and the roots that say who may. */
export type Release = Static<typeof release>

/** Largest text of a release: it travels in a header, in base64. */
const MOST_RELEASE_BYTES = 8192

/**
 * Reads the text of a release, in its one form; nothing in it is proven.
 * @throws Fault `release_malformed`
 */
export function readRelease(text: Uint8Array): Release {
  const read = readSignedText(text, release, MOST_RELEASE_BYTES)
  if (read.signed.expires <= read.signed.issued_at)
    throw new Fault('release_malformed', 'the release expires before it is issued')
  return read
}

/** The text of a release, signed. @param keys private release keys; @param roots by version, upwards */
export function writeRelease(
  kind: ReleaseKind,
  record: ReleaseRecord,
  { keys, roots }: { keys: readonly KeyObject[]; roots: readonly SignedRoot[] },
): string {
  return textOfSigned({ roots, signatures: signText(kind, record, keys), signed: record })
}

// Whether a machine may take it.

/** What a machine trusts, and remembers: plain JSON, to be kept where a power cut does not undo it. */
export interface Trust {
  root: Root
  /** The highest sequence seen: releases below it are refused. */
  sequence: number
  /** The latest instant that was signed: it is later than that, whatever the clock says. */
  signedAt: number
}

/** The machine that is offered a release. */
export interface Machine {
  /** As Debian names it. */
  arch: string
  /** What runs. */
  version: string
  /** Of a board that takes images: which kind of board it is. */
  compatible?: string
  /** Undefined where the clock is not known to be right, such as on a board without a battery before it is synchronised. */
  nowAt: number | undefined
}

/**
 * Begins to trust a root: that which came with the installed Plantroom, or which an operator put there.
 * @throws Fault `root_untrusted`
 */
export function pinRoot(root: SignedRoot): Trust {
  const { issued_at, min_sequence } = proveRoot(root)
  return { root: root.signed, sequence: min_sequence, signedAt: issued_at }
}

/**
 * Follows the roots that a release carries. Keep what is returned even if the release itself is refused.
 * @throws Fault `root_missing`, `root_untrusted`
 */
export function followRelease(trust: Trust, { roots }: Release): Trust {
  const root = followRoots(trust.root, roots)
  if (root === trust.root) return trust
  // A thief could have signed the highest sequence and the last instant there are, and so shut out all that follows.
  if (trust.root.release_keys.some((key) => !root.release_keys.includes(key)))
    return { root, sequence: root.min_sequence, signedAt: root.issued_at }
  return {
    root,
    sequence: Math.max(trust.sequence, root.min_sequence),
    signedAt: Math.max(trust.signedAt, root.issued_at),
  }
}

/**
 * Checks an offered release.
 * @param trust undefined if no root is pinned: then nothing is proven, and what is unsigned is taken
 * @param offered undefined if the update has no record; its roots have been followed
 * @returns what to remember from now on, whether or not the release is applied; undefined if no root is pinned
 * @throws Fault `release_unsigned`, `release_untrusted`, `root_expired`, `release_expired`, `release_replayed`,
 * `release_wrong_arch`, `release_wrong_board`, `release_too_far`
 */
export function proveRelease(
  trust: Trust | undefined,
  kind: ReleaseKind,
  offered: Release | undefined,
  machine: Machine,
): Trust | undefined {
  if (offered === undefined) {
    if (trust) throw new Fault('release_unsigned', `the ${kind} is not signed, and this machine takes only signed ones`)
    return undefined
  }
  const { signed } = offered
  if (trust) proveSigned(trust, kind, offered, machine.nowAt)
  if (signed.arch !== null && signed.arch !== machine.arch)
    throw new Fault('release_wrong_arch', `the ${kind} is for ${signed.arch}, and this machine is ${machine.arch}`)
  if (kind === 'image' && signed.compatible !== machine.compatible)
    throw new Fault(
      'release_wrong_board',
      `the image is for ${signed.compatible ?? 'no kind of board'}, and this board is ${machine.compatible}`,
    )
  if (signed.min_from !== null && compareVersions(machine.version, signed.min_from) < 0)
    throw new Fault(
      'release_too_far',
      `${signed.version} can be applied from ${signed.min_from} on, and this is ${machine.version}: apply one between first`,
    )
  return trust && { ...trust, sequence: signed.sequence, signedAt: Math.max(trust.signedAt, signed.issued_at) }
}

function proveSigned(trust: Trust, kind: ReleaseKind, offered: Release, nowAt: number | undefined): void {
  const { root } = trust
  const { expires, issued_at, sequence, version } = offered.signed
  if (countSigners(kind, offered, root.release_keys) === 0)
    throw new Fault('release_untrusted', `the ${kind} ${version} is signed by no release key of root ${root.version}`)
  const leastAt = Math.max(nowAt ?? 0, trust.signedAt, issued_at)
  if (leastAt >= root.expires)
    throw new Fault(
      'root_expired',
      `root ${root.version} expired on ${dayOf(root.expires)}: publish with a renewed one`,
    )
  if (leastAt >= expires)
    throw new Fault(
      'release_expired',
      `the ${kind} ${version} was to be taken until ${dayOf(expires)}, and it is ${dayOf(leastAt)}`,
    )
  if (sequence < trust.sequence)
    throw new Fault(
      'release_replayed',
      `the ${kind} ${version} is number ${sequence}, and number ${trust.sequence} was seen: an older one is not taken`,
    )
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

// Names of published files.
