/**
 * Updates by a release file that somebody uploads. The file is kept for as long as root's updater needs to open it; that
 * proves it. Here is decided whether the licence allows it, by what its record says: one that lies is refused there.
 */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { UpdateTold } from '#kit/pure/update-told.ts'
import type { ReleaseRecord } from '#kit/release/record.ts'
import type { ReleaseHead } from '#kit/release/release-file.ts'
import type { UpdateService } from '#kit/release/update-asking.ts'
import type { LicenceDetails, LicenceView } from '../licence/licence.ts'

/** Root's updater, and the place where it looks for the file. */
export interface UpdateDesk extends Pick<UpdateService, 'foreign' | 'canAsk' | 'told' | 'isRunning'> {
  /** Asks for the file to be applied. @returns its line. @throws Fault `update_unreachable` */
  ask(): Promise<string>
  /** @returns undefined if more bytes are needed. @throws Fault `release_file_unknown`, `release_malformed` */
  readHead(start: Uint8Array): ReleaseHead | undefined
  /** A new file in the place of any other. @throws Fault `update_disk_full` if there is no room for so many bytes */
  begin(sizeBytes: number): Promise<UploadFile>
  /** Removes what is there of a file, whole or not. */
  clear(): Promise<void>
}

export interface UploadFile {
  write(piece: Uint8Array): Promise<void>
  /** Counts a piece in for its checksum: its head is not. */
  count(piece: Uint8Array): void
  sha256(): string
  /** On the disk for good, where root looks. */
  finish(): Promise<void>
  close(): Promise<void>
}

/** What the licence allows; undefined parts on a recorder that is not licensed. */
export interface UpdateRight {
  view(): LicenceView
  details(): Pick<LicenceDetails, 'lease'>
}

interface Parts {
  clock: Clock
  desk: UpdateDesk
  licence: UpdateRight | undefined
  limits: { uploadBytes: number; answerMs: number }
}

/** Between two tries of a request while the service is busy, or rests. */
const AGAIN_MS = 500

/** How it is with updates. */
export interface UploadView {
  /** Why no file is taken; null where one is. */
  why: string | null
  isUploading: boolean
  isRunning: boolean
  told: UpdateTold | undefined
  /** Releases signed until then are taken, and security fixes; null: security fixes alone; undefined: all. */
  until: number | null | undefined
}

export class Uploads {
  readonly #parts: Parts
  #isTaking = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** What a cut left of an upload goes. */
  async start(): Promise<void> {
    await this.#parts.desk.clear()
  }

  async view(): Promise<UploadView> {
    const { desk, licence } = this.#parts
    // The lock first: a run writes its end before it releases it.
    const isRunning = (await desk.foreign()) === undefined && (await desk.isRunning())
    return {
      ...{ why: (await this.#whyNot()) ?? null, isUploading: this.#isTaking, isRunning },
      ...{ told: await desk.told(), until: updatesUntil(licence) },
    }
  }

  /**
   * Takes a release file and hands it to root's updater. Resolves once that has proven its record and begun.
   * @param sizeBytes of the file; undefined if it is not known
   * @throws Fault `update_rejected`, whose sentence starts `Rejected:`; `update_busy`, `update_foreign`,
   * `update_unreachable`, `update_disk_full`; what `bytes` throws
   */
  async take(
    bytes: AsyncIterable<Uint8Array>,
    sizeBytes: number | undefined,
  ): Promise<{ version: string; at: number }> {
    const { desk } = this.#parts
    const foreign = await desk.foreign()
    if (foreign !== undefined) throw new Fault('update_foreign', foreign.sentence)
    if (!desk.canAsk()) throw new Fault('update_unreachable', ABSENT)
    if (this.#isTaking) throw new Fault('update_busy', 'Another release file is being uploaded. Wait until it is done.')
    this.#isTaking = true
    try {
      if (await desk.isRunning()) throw new Fault('update_busy', BUSY)
      const { version } = await this.#receive(bytes, sizeBytes)
      return { version, at: await this.#handOver() }
    } finally {
      try {
        // Once it has begun, root has it open.
        await desk.clear()
      } finally {
        this.#isTaking = false
      }
    }
  }

  async #whyNot(): Promise<string | undefined> {
    const { desk } = this.#parts
    return (await desk.foreign())?.sentence ?? (desk.canAsk() ? undefined : ABSENT)
  }

  async #receive(bytes: AsyncIterable<Uint8Array>, sizeBytes: number | undefined): Promise<ReleaseRecord> {
    const { desk, limits } = this.#parts
    const file = await desk.begin(Math.min(sizeBytes ?? limits.uploadBytes, limits.uploadBytes))
    let start = Buffer.alloc(0)
    let head: ReleaseHead | undefined
    let seenBytes = 0
    try {
      for await (const piece of bytes) {
        seenBytes += piece.length
        if (head === undefined) {
          start = Buffer.concat([start, piece])
          head = this.#readHead(start)
          if (head !== undefined) {
            this.#refuse(head, sizeBytes)
            file.count(start.subarray(head.headBytes))
          }
        } else file.count(piece)
        if (head !== undefined && seenBytes > head.headBytes + head.signed.size) throw rejected(CUT)
        await file.write(piece)
      }
      if (head === undefined || seenBytes !== head.headBytes + head.signed.size) throw rejected(CUT)
      if (file.sha256() !== head.signed.sha256)
        throw rejected('the file was damaged or changed on its way: its checksum is not the one that was signed.')
      await file.finish()
      return head.signed
    } finally {
      await file.close()
    }
  }

  #readHead(start: Uint8Array): ReleaseHead | undefined {
    try {
      return this.#parts.desk.readHead(start)
    } catch (cause) {
      if (cause instanceof Fault) throw rejected(`${cause.message}.`, cause)
      throw cause
    }
  }

  /** Before the rest of it is taken. */
  #refuse({ headBytes, signed }: ReleaseHead, sizeBytes: number | undefined): void {
    const { licence, limits } = this.#parts
    const size = headBytes + signed.size
    if (size > limits.uploadBytes)
      throw rejected(`the file has ${size} bytes, and updating.upload_bytes allows ${limits.uploadBytes}.`)
    if (sizeBytes !== undefined && sizeBytes !== size) throw rejected(CUT)
    refuseUnlicensed(licence, signed)
  }

  /** @returns when it began, by the clock of the updater */
  async #handOver(): Promise<number> {
    const { clock, desk, limits } = this.#parts
    const sinceMs = clock.monotonicMs()
    for (;;) {
      const [, word, rest = ''] = /^(\w+) ?(.*)$/.exec(await desk.ask()) ?? []
      if (word === 'begun' && /^\d{1,16}$/.test(rest)) return Number(rest)
      if (word === 'refused') throw rejected(rest)
      if (word !== 'running' && word !== 'soon')
        throw new Fault(
          'update_unreachable',
          'The update service takes no release files: it is older than this recorder.',
        )
      if (clock.monotonicMs() - sinceMs >= limits.answerMs) throw new Fault('update_busy', BUSY)
      await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve))
    }
  }
}

/** Until when releases may have been signed; null: security fixes alone; undefined: any release. */
function updatesUntil(licence: UpdateRight | undefined): number | null | undefined {
  if (licence === undefined) return undefined
  const { state } = licence.view()
  // It has all features of the trial, and nobody has said until when.
  if (state === 'pending') return undefined
  const isInForce = state === 'trial' || state === 'licensed' || state === 'grace'
  return (isInForce ? licence.details().lease?.updatesUntil : undefined) ?? null
}

/** @throws Fault `update_rejected` @source interface document 3, A, License, POST /api/update/upload */
export function refuseUnlicensed(
  licence: UpdateRight | undefined,
  { issued_at: signedAt, security_fix: isFix, version }: Pick<ReleaseRecord, 'issued_at' | 'security_fix' | 'version'>,
): void {
  const until = updatesUntil(licence)
  if (isFix || until === undefined) return
  if (until === null)
    throw rejected(
      `there is no licence in force, and ${version} is no security fix. Without a licence only security fixes are taken. The page Licence says what to do.`,
    )
  if (signedAt > until)
    throw rejected(
      `${version} was signed on ${dayOf(signedAt)}, and the licence includes updates until ${dayOf(until)}. Renew it, or take a security fix.`,
    )
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** @param why a sentence, or more; begins in lower case */
function rejected(why: string, cause?: unknown): Fault {
  return new Fault('update_rejected', `Rejected: ${why}`, { cause })
}

const CUT = 'the file is cut, or is no release file. Carry it here again.'
const BUSY = 'An update is running already. Wait for its end.'
const ABSENT =
  'There is no update service on this machine to ask: systemctl enable --now plantroom-update.socket. Until then plantroom update --file FILE does it, as root.'
