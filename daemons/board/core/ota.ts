/** Firmware updates: one upload at a time, proven before it counts, and nothing of the running system touched until then. */
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import type { Manifest } from '../wire/firmware-image.ts'
import { type ByteSource, createByteSource } from './byte-source.ts'
import type { Digest, FirmwareKeys, FloorBook, ImageSlot, Installer } from './firmware-ports.ts'
import { type FirmwareRules, laterOf, refuseOtherLength, refuseUnfit } from './firmware-rules.ts'
import { readHead } from './image-head.ts'
import { mayBegin, nextOtaState, type OtaEvent, type OtaState } from './ota-state-table.ts'

/** What updates are made of. */
export interface OtaParts {
  clock: Clock
  log: Log
  installer: Installer
  keys: FirmwareKeys
  floors: FloorBook
  rules: FirmwareRules
  createDigest(): Digest
  /** The state is another. */
  onChange(): void
}

/** An image as it arrives. */
export interface ImageUpload {
  /** What the client says it sends. */
  lengthBytes: number | undefined
  /** Errors with a Fault where it is cut or too slow. */
  stream: AsyncIterable<Uint8Array>
}

/** How it is with updates, as `GET /api/status` has it. */
export interface OtaStatus {
  state: OtaState
  /** Of the upload under way, or the last one, its head included. */
  received_bytes: number
  /** Null until the manifest has come. */
  total_bytes: number | null
  version: string | null
  /** Why the last one failed. */
  fault: { code: string; message: string } | null
  /** Since when it is in this state, epoch ms; null at first. */
  at: number | null
}

/** The updates of a board. */
export interface Ota {
  status(): OtaStatus
  /** What the board lacks to take any image, `ota_not_set_up` with what to do; null where it lacks nothing. */
  missing(): Promise<{ code: string; message: string } | null>
  /**
   * Receives, proves and hands over one image. The restart is the caller's business.
   * @throws Fault `ota_busy`, `ota_not_set_up` before a byte is read; `image_unknown`, `image_untrusted`,
   * `image_wrong_board`, `image_too_old`, `image_length`, `image_no_room` before the payload is; `image_damaged`,
   * `image_not_kept`, `image_not_installed`, and what the stream errors with
   */
  take(upload: ImageUpload): Promise<Manifest>
  /** Before a restart: from now on nothing is installed. Resolves when what is being installed has been, or has failed. */
  rest(): Promise<void>
}

/** The status of a board that was not sent an image since it started. */
export const IDLE_OTA: OtaStatus = {
  state: 'idle',
  received_bytes: 0,
  total_bytes: null,
  version: null,
  fault: null,
  at: null,
}

export function createOta(parts: OtaParts): Ota {
  let status: OtaStatus = IDLE_OTA
  const exit = createExit(parts)

  function move(event: OtaEvent, facts: Partial<OtaStatus> = {}): void {
    status = { ...status, ...facts, state: nextOtaState(status.state, event), at: parts.clock.epochMs() }
    parts.onChange()
  }

  /** Everything up to the payload: what is refused here has cost nothing but the head. */
  async function open(upload: ImageUpload) {
    const isSigned = await ready(parts)
    const source = createByteSource(upload.stream)
    const { head, manifest } = await readHead(source, isSigned)
    refuseUnfit(manifest, { ...parts.rules, floor: laterOf(parts.rules.floor, parts.floors.floor()) })
    const wholeBytes = head.length + manifest.sizeBytes
    refuseOtherLength(upload.lengthBytes, wholeBytes)
    status = { ...status, received_bytes: head.length, total_bytes: wholeBytes, version: manifest.version }
    return { source, head, manifest, slot: await parts.installer.begin(wholeBytes) }
  }

  /** @returns the checksum of a payload that is as long as it should be, once all of it is in the slot */
  async function receive(source: ByteSource, slot: ImageSlot, wholeBytes: number): Promise<string> {
    const digest = parts.createDigest()
    for await (const piece of source.rest()) {
      const bytes = status.received_bytes + piece.length
      if (bytes > wholeBytes)
        throw new Fault('image_length', `more is sent than the ${wholeBytes} bytes that the image has by its manifest`)
      digest.feed(piece)
      await slot.write(piece)
      status = { ...status, received_bytes: bytes }
    }
    if (status.received_bytes < wholeBytes)
      throw new Fault('image_length', `the image ends after ${status.received_bytes} of ${wholeBytes} bytes`)
    return digest.hex()
  }

  async function proveAndInstall(upload: ImageUpload): Promise<Manifest> {
    const { source, head, manifest, slot } = await open(upload)
    try {
      await slot.write(head)
      const sha256 = await receive(source, slot, head.length + manifest.sizeBytes)
      move('received')
      if (sha256 !== manifest.sha256)
        throw new Fault('image_damaged', 'the payload is not the one that was signed: its checksum is another')
      await slot.finish()
      move('proven')
      return await exit.handOver(slot, manifest)
    } finally {
      await slot.discard()
    }
  }

  async function take(upload: ImageUpload): Promise<Manifest> {
    exit.refuseLate()
    if (!mayBegin(status.state)) throw busy(status.state)
    move('begun', { received_bytes: 0, total_bytes: null, version: null, fault: null })
    try {
      const manifest = await proveAndInstall(upload)
      move('handedOver')
      parts.log.notice('firmware installed', { version: manifest.version, bytes: status.received_bytes })
      return manifest
    } catch (error) {
      const { code, message } = faultOf(error, 'ota_failed', 'the update met a fault of the program')
      move('failure', { fault: { code, message } })
      parts.log.warning('firmware not installed', { bytes: status.received_bytes, fault: error })
      throw error
    }
  }
  return { status: () => status, missing: () => missing(parts), take, rest: exit.rest }
}

/** @throws Fault `ota_not_set_up` @returns what tells whether a head is signed by a key that is known */
async function ready({ keys, installer }: OtaParts) {
  const isSigned = await keys.load()
  await installer.refuseUnready()
  return isSigned
}

async function missing(parts: OtaParts) {
  try {
    await ready(parts)
    return null
  } catch (error) {
    const { code, message } = faultOf(error, 'ota_failed', 'what proves and installs images could not be looked at')
    return { code, message }
  }
}

/** The way out of images: open until a restart is on its way, which waits for the one that is in it. */
function createExit(parts: OtaParts) {
  let isClosed = false
  let inIt: Promise<void> = Promise.resolve()

  function refuseLate(): void {
    if (isClosed) throw new Fault('ota_busy', 'the board restarts: send the image again when it is back')
  }
  async function install(slot: ImageSlot, manifest: Manifest): Promise<void> {
    await slot.install()
    await raiseFloor(parts, manifest)
  }
  return {
    refuseLate,
    async handOver(slot: ImageSlot, manifest: Manifest): Promise<Manifest> {
      refuseLate()
      inIt = install(slot, manifest)
      await inIt
      return manifest
    },
    rest(): Promise<void> {
      isClosed = true
      // Whoever sent it hears why it failed.
      return inIt.catch(() => {})
    },
  }
}

/** The image is installed already: that older ones are taken still is no reason to say it is not. */
async function raiseFloor({ floors, log }: OtaParts, { floor }: Manifest): Promise<void> {
  if (floor === null) return
  try {
    await floors.raise(floor)
  } catch (fault) {
    log.warning('older images than the installed one allows are still taken', { floor, fault })
  }
}

function busy(state: OtaState): Fault {
  const what = state === 'installed' ? 'an image was installed, and the board restarts' : 'another image is being taken'
  return new Fault('ota_busy', `${what}: one at a time`)
}
