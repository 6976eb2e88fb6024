/** Firmware updates: one upload at a time, verified before it counts; the running system stays untouched until then. */
import { type Static, Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'
import {
  headLength,
  type Manifest,
  openManifest,
  START_BYTES,
  splitHead,
  VERSION_PATTERN,
} from '../../wire/firmware-image.ts'
import type { Digest, FirmwareKeys, FloorBook, ImageSlot, Installer } from './ports.ts'

// The table `ota` of board.toml.

/** Which images are accepted, and how they are installed. */
export const otaKeys = Type.Object(
  {
    keys: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      default: ['/etc/plantroom/firmware-keys'],
      maxItems: 16,
      description: 'files and folders of public keys in PEM; an image that none of them signed is refused',
    }),
    command: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      default: [],
      maxItems: 32,
      description:
        'program and words that install an image, whose path comes behind them: the whole image as it was sent, which `plantroom firmware unpack` proves and takes apart; where `machine.owned` is set the helper runs /etc/plantroom/install-firmware instead',
    }),
    compatible: Type.String({
      default: 'plantroom-board',
      pattern: '^[A-Za-z0-9._-]{1,64}$',
      description: 'kind of board this is; an image for another is refused',
    }),
    floor: Type.String({
      default: '0.0.0',
      pattern: VERSION_PATTERN,
      description:
        'oldest version that is taken; an image that was installed can raise it, and nothing lowers it again',
    }),
    max_bytes: Type.Integer({
      default: 4_294_967_296,
      minimum: 1024,
      maximum: 68_719_476_736,
      unit: 'bytes',
      description: 'largest image',
    }),
    reserve_bytes: Type.Integer({
      default: 67_108_864,
      minimum: 0,
      maximum: 68_719_476_736,
      unit: 'bytes',
      description: 'room that stays free on the disk beside an image',
    }),
    idle_ms: Type.Integer({
      default: 15_000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'time that an upload may stand still before it is cut off',
    }),
    receive_ms: Type.Integer({
      default: 3_600_000,
      minimum: 1000,
      maximum: 86_400_000,
      unit: 'ms',
      description: 'time that an upload may take as a whole',
    }),
    install_ms: Type.Integer({
      default: 930_000,
      minimum: 100,
      maximum: 7_200_000,
      unit: 'ms',
      description: 'time that an image may take to be installed; the helper has a bound of its own, 900 s',
    }),
    socket: Type.String({
      default: '',
      pattern: '^(/[!-~]{1,99})?$',
      description:
        'socket on which plantroom update hands over images, and plantroom network set asks; empty: ota.sock in the runtime folder of the unit, if it has one',
    }),
    outcome: Type.String({
      default: '/var/lib/plantroom-slots/outcome.json',
      minLength: 1,
      maxLength: 4096,
      description:
        'file in which a card with two systems keeps what became of the last update; without it there is nothing to tell',
    }),
    os_release: Type.String({
      default: '/etc/os-release',
      minLength: 1,
      maxLength: 4096,
      description:
        'file whose IMAGE_VERSION is the version of the image that runs; without one it is that of Plantroom',
    }),
  },
  { additionalProperties: false, default: {}, description: 'firmware updates' },
)

export type OtaConfig = Static<typeof otaKeys>

// Rules that an image must meet.

/** Rules for an image. */
interface FirmwareRules {
  /** Kind of board this is. */
  compatible: string
  /** Oldest version accepted. */
  floor: string
}

/** The later of two versions. */
export function laterOf(one: string, other: string): string {
  return compareVersions(one, other) < 0 ? other : one
}

/** @throws Fault `image_wrong_board`, `image_too_old` */
function refuseUnfit({ compatible, version }: Manifest, rules: FirmwareRules): void {
  if (compatible !== rules.compatible)
    throw new Fault('image_wrong_board', `the image is for ${compatible}, this board is ${rules.compatible}`)
  if (compareVersions(version, rules.floor) < 0)
    throw new Fault('image_too_old', `the image has version ${version}, this board takes ${rules.floor} and later`)
}

/**
 * Checks the length of an image before its payload arrives.
 * @param saidBytes the length that the client declares, undefined if it declares none
 * @throws Fault `image_length`
 */
function refuseOtherLength(saidBytes: number | undefined, wholeBytes: number): void {
  if (saidBytes !== undefined && saidBytes !== wholeBytes)
    throw new Fault('image_length', `the image has ${wholeBytes} bytes by its manifest, ${saidBytes} are being sent`)
}

// Reads bytes that arrive in pieces of any size: first by number, then as they come.

/** A body from its beginning. */
interface ByteSource {
  /** The next `count` bytes; fewer if the body ends before. */
  take(count: number): Promise<Uint8Array>
  /** The rest, piece by piece; no piece is empty. */
  rest(): AsyncGenerator<Uint8Array>
}

/** @param chunks pieces that nobody else reads; its errors are passed on */
export function createByteSource(chunks: AsyncIterable<Uint8Array>): ByteSource {
  const iterator = chunks[Symbol.asyncIterator]()
  let held: Uint8Array = new Uint8Array()

  async function more(): Promise<boolean> {
    const { done, value } = await iterator.next()
    if (!done) held = held.length === 0 ? value : joinBytes([held, value])
    return !done
  }
  return {
    async take(count) {
      while (held.length < count && (await more())) {
        // until there is enough, or no more
      }
      const taken = held.subarray(0, count)
      held = held.subarray(taken.length)
      return taken
    },
    async *rest() {
      do {
        const piece = held
        held = new Uint8Array()
        if (piece.length > 0) yield piece
      } while (await more())
    },
  }
}

// The head of an image: read within its limit, verified, then parsed.

/**
 * @param source nothing of it may have been read yet; the payload is next when this resolves
 * @param isSigned whether a trusted key signed these bytes
 * @returns the head as sent, and its manifest
 * @throws Fault `image_unknown`, `image_untrusted`, `image_length`
 */
async function readHead(
  source: ByteSource,
  isSigned: (signed: Uint8Array, signature: Uint8Array) => boolean,
): Promise<{ head: Uint8Array; manifest: Manifest }> {
  const start = await source.take(START_BYTES)
  const length = headLength(start)
  const head = new Uint8Array(length)
  const rest = await source.take(length - start.length)
  head.set(start)
  head.set(rest, start.length)
  if (start.length + rest.length < length)
    throw new Fault('image_length', `the image ends after ${start.length + rest.length} bytes, within its head`)
  const { signed, signature, manifest } = splitHead(head)
  // Nothing unsigned is parsed any further than this.
  if (!isSigned(signed, signature))
    throw new Fault('image_untrusted', 'the image is signed by none of the keys that this board knows')
  return { head, manifest: openManifest(manifest) }
}

// State table of a firmware update: state x event -> next state.

type OtaState = 'idle' | 'receiving' | 'verifying' | 'installing' | 'installed' | 'failed'

/**
 * - `begun` an upload was accepted
 * - `received` as many bytes as the manifest says were written
 * - `proven` their checksum is the signed one
 * - `handedOver` the installer took the image
 * - `failure` the upload was refused, cut, or could not be stored; or the installer refused it
 */
type OtaEvent = 'begun' | 'received' | 'proven' | 'handedOver' | 'failure'

/** Events not listed leave the state as it is. `installed` is only left by a restart. */
export const otaStateTable: Readonly<Record<OtaState, Partial<Record<OtaEvent, OtaState>>>> = {
  idle: { begun: 'receiving' },
  receiving: { received: 'verifying', failure: 'failed' },
  verifying: { proven: 'installing', failure: 'failed' },
  installing: { handedOver: 'installed', failure: 'failed' },
  installed: {},
  failed: { begun: 'receiving' },
}

/** Whether an upload may begin. */
function mayBegin(state: OtaState): boolean {
  return otaStateTable[state].begun !== undefined
}

/** @returns the next state; the same if the table has no such pair */
function nextOtaState(state: OtaState, event: OtaEvent): OtaState {
  return otaStateTable[state][event] ?? state
}

// The updates of a board.

/** Dependencies of updates. */
interface OtaParts {
  clock: Clock
  log: Log
  installer: Installer
  keys: FirmwareKeys
  floors: FloorBook
  rules: FirmwareRules
  createDigest(): Digest
  /** The state has changed. */
  onChange(): void
}

/** An image as it arrives. */
interface ImageUpload {
  /** The length that the client declares. */
  lengthBytes: number | undefined
  /** Errors with a Fault if it is cut or too slow. */
  stream: AsyncIterable<Uint8Array>
}

/** State of updates, as in `GET /api/status`. */
export interface OtaStatus {
  state: OtaState
  /** Bytes of the current or last upload, head included. */
  received_bytes: number
  /** Null until the manifest has arrived. */
  total_bytes: number | null
  version: string | null
  /** Why the last one failed. */
  fault: { code: string; message: string } | null
  /** When it entered this state, epoch ms; null at first. */
  at: number | null
}

/** The updates of a board. */
export interface Ota {
  status(): OtaStatus
  /** What the board lacks to accept any image, `ota_not_set_up` with what to do; null if nothing. */
  missing(): Promise<{ code: string; message: string } | null>
  /**
   * Receives, verifies and installs one image. The caller restarts the board.
   * @throws Fault `ota_busy`, `ota_not_set_up` before a byte is read; `image_unknown`, `image_untrusted`,
   * `image_wrong_board`, `image_too_old`, `image_length`, `image_no_room` before the payload is; `image_damaged`,
   * `image_not_kept`, `image_not_installed`, and what the stream errors with
   */
  take(upload: ImageUpload): Promise<Manifest>
  /**
   * Call before a restart: nothing is installed from now on. Resolves when a running installation has finished or
   * failed.
   */
  rest(): Promise<void>
}

/** The status of a board that has received no image since it started. */
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

  /** Everything before the payload: what is refused here has cost only the head. */
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

  /** @returns the checksum of a payload of the right length, once all of it is in the slot */
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
        throw new Fault('image_damaged', 'the payload is not the one that was signed: its checksum differs')
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

/** @throws Fault `ota_not_set_up` @returns a check whether a trusted key signed a head */
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

/** Gate to the installer: open until a restart, which waits for a running installation. */
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
      // The upload's own answer reports the error.
      return inIt.catch(() => {})
    },
  }
}

/** The image is installed already: failing to raise the floor must not make the update fail. */
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
