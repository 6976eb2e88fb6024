/** Firmware updates: one upload at a time, proven before it counts, and nothing of the running system touched until then. */
import { type Static, Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import {
  compareVersions,
  headLength,
  type Manifest,
  openManifest,
  START_BYTES,
  splitHead,
  VERSION_PATTERN,
} from '../../wire/firmware-image.ts'
import type { Digest, FirmwareKeys, FloorBook, ImageSlot, Installer } from './ports.ts'

// The table `ota` of board.toml.

/** Which images are taken, and what becomes of them. */
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
  },
  { additionalProperties: false, default: {}, description: 'firmware updates' },
)

export type OtaConfig = Static<typeof otaKeys>

// Which images a board takes.

/** What an image is held to. */
interface FirmwareRules {
  /** Kind of board this is. */
  compatible: string
  /** Oldest version that is taken. */
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
 * Of an image whose length is known before its payload came.
 * @param saidBytes what the client says it sends, undefined where it does not say
 * @throws Fault `image_length`
 */
function refuseOtherLength(saidBytes: number | undefined, wholeBytes: number): void {
  if (saidBytes !== undefined && saidBytes !== wholeBytes)
    throw new Fault('image_length', `the image has ${wholeBytes} bytes by its manifest, ${saidBytes} are being sent`)
}

// Bytes that arrive in pieces of any size, read first by number, then as they come.

/** A body from its beginning. */
interface ByteSource {
  /** The next `count` bytes; fewer where the body ends before. */
  take(count: number): Promise<Uint8Array>
  /** What is left, piece by piece; no piece is empty. */
  rest(): AsyncGenerator<Uint8Array>
}

/** @param chunks pieces that nobody else reads; its errors come through */
export function createByteSource(chunks: AsyncIterable<Uint8Array>): ByteSource {
  const iterator = chunks[Symbol.asyncIterator]()
  let held: Uint8Array = new Uint8Array()

  async function more(): Promise<boolean> {
    const { done, value } = await iterator.next()
    if (!done) held = joined(held, value)
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

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

// The head of an image, as it arrives: read within its bound, proven, then opened.

/**
 * @param source of which nothing was taken yet; the payload is next when this resolves
 * @param isSigned whether a key that counts signed these bytes
 * @returns the head as it came, and what it says
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
  // Nothing that a stranger wrote is looked at more closely than this.
  if (!isSigned(signed, signature))
    throw new Fault('image_untrusted', 'the image is signed by none of the keys that this board knows')
  return { head, manifest: openManifest(manifest) }
}

// The life of a firmware update: state x event -> next state.

type OtaState = 'idle' | 'receiving' | 'verifying' | 'installing' | 'installed' | 'failed'

/**
 * - `begun` an upload was let in
 * - `received` as many bytes as the manifest says were written
 * - `proven` their checksum is the signed one
 * - `handedOver` the installer took the image
 * - `failure` the upload was refused, cut, or could not be kept; or the installer did not take it
 */
type OtaEvent = 'begun' | 'received' | 'proven' | 'handedOver' | 'failure'

/** A pair that is not listed does not change the state. After `installed` comes a restart, and nothing else. */
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

/** @returns the state after the event; the same state where the table has no such pair */
function nextOtaState(state: OtaState, event: OtaEvent): OtaState {
  return otaStateTable[state][event] ?? state
}

// The updates of a board.

/** What updates are made of. */
interface OtaParts {
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
interface ImageUpload {
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
      // The upload's own answer tells the error.
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
