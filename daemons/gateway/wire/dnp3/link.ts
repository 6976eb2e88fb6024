/** The link layer of DNP3: frames with a checksum after the header and after each sixteen bytes. @source IEEE 1815-2012, 9 */

const START_LOW = 0x05
const START_HIGH = 0x64
/** Start, length, control, two addresses, checksum. */
const HEADER_BYTES = 10
const BLOCK_BYTES = 16
const CRC_BYTES = 2
/** What the length byte counts beside the data: control and two addresses. */
const COUNTED = 5
/** The most data of one frame. @source IEEE 1815-2012, 9.2.4.1.2 */
export const MOST_DATA = 250

/** Functions of a primary station. @source IEEE 1815-2012, Table 9-1 */
export const PRIMARY = { resetLink: 0, testLink: 2, confirmedData: 3, unconfirmedData: 4, requestStatus: 9 } as const
/** Functions of a secondary station. @source IEEE 1815-2012, Table 9-2 */
export const SECONDARY = { ack: 0, nack: 1, linkStatus: 11, notSupported: 15 } as const

const DIRECTION = 0x80
const IS_PRIMARY = 0x40
const FRAME_COUNT = 0x20
const FRAME_COUNT_VALID = 0x10

/** One frame. */
export interface LinkFrame {
  /** From a master. */
  isFromMaster: boolean
  isPrimary: boolean
  /** Of a primary: the frame count bit; null where it does not count. */
  frameCountBit: boolean | null
  function: number
  destination: number
  source: number
  data: Uint8Array
}

/** The checksum: polynomial 3D65, reflected, inverted. @source IEEE 1815-2012, 9.2.5 */
export function linkCrc(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >> 1 : (crc >> 1) ^ 0xa6bc
  }
  return ~crc & 0xffff
}

function withCrc(bytes: Uint8Array): number[] {
  const crc = linkCrc(bytes)
  return [...bytes, crc & 0xff, crc >> 8]
}

/** Builds a frame. @source IEEE 1815-2012, 9.2.4 */
export function sealFrame(frame: LinkFrame): Uint8Array {
  const { data, destination, source } = frame
  const direction = frame.isFromMaster ? DIRECTION : 0
  const count = (frame.frameCountBit ? FRAME_COUNT : 0) | (frame.frameCountBit === null ? 0 : FRAME_COUNT_VALID)
  const control = direction | (frame.isPrimary ? IS_PRIMARY | count : 0) | frame.function
  const addresses = [destination & 0xff, destination >> 8, source & 0xff, source >> 8]
  const header = Uint8Array.of(START_LOW, START_HIGH, COUNTED + data.length, control, ...addresses)
  const bytes = withCrc(header)
  for (let at = 0; at < data.length; at += BLOCK_BYTES) bytes.push(...withCrc(data.subarray(at, at + BLOCK_BYTES)))
  return Uint8Array.from(bytes)
}

/** The bytes of a whole frame by its length byte. */
function frameBytes(length: number): number {
  const data = length - COUNTED
  return HEADER_BYTES + data + CRC_BYTES * Math.ceil(data / BLOCK_BYTES)
}

function isGoodBlock(block: Uint8Array): boolean {
  const [low = 0, high = 0] = block.subarray(-CRC_BYTES)
  return linkCrc(block.subarray(0, -CRC_BYTES)) === (low | (high << 8))
}

/** What the bytes of a line begin with. */
export type LinkCut =
  | { kind: 'frame'; bytes: number; frame: LinkFrame }
  /** Bytes that are no frame: noise before the next start, or a frame with a wrong checksum. */
  | { kind: 'noise' | 'damaged'; bytes: number }

/**
 * Cuts the first piece; undefined where more bytes must come. After a header that is wrong the next start is looked for
 * right behind it; after a wrong block the whole frame is dropped, as its length is right.
 * @source IEEE 1815-2012, 9.2.4 and 9.2.6
 */
export function cutFrame(bytes: Uint8Array): LinkCut | undefined {
  const start = startOf(bytes)
  if (start > 0) return { kind: 'noise', bytes: start }
  if (bytes.length < HEADER_BYTES) return undefined
  const [, , length = 0] = bytes
  if (length < COUNTED || !isGoodBlock(bytes.subarray(0, HEADER_BYTES))) return { kind: 'damaged', bytes: 2 }
  const whole = frameBytes(length)
  if (bytes.length < whole) return undefined
  const data = openBlocks(bytes.subarray(HEADER_BYTES, whole))
  return data ? { kind: 'frame', bytes: whole, frame: openHeader(bytes, data) } : { kind: 'damaged', bytes: whole }
}

/** Where the next frame may begin. */
function startOf(bytes: Uint8Array): number {
  for (let at = 0; at < bytes.length; at++)
    if (bytes[at] === START_LOW && (at + 1 === bytes.length || bytes[at + 1] === START_HIGH)) return at
  return bytes.length
}

function openBlocks(blocks: Uint8Array): Uint8Array | undefined {
  const data: number[] = []
  for (let at = 0; at < blocks.length; at += BLOCK_BYTES + CRC_BYTES) {
    const block = blocks.subarray(at, at + BLOCK_BYTES + CRC_BYTES)
    if (!isGoodBlock(block)) return undefined
    data.push(...block.subarray(0, -CRC_BYTES))
  }
  return Uint8Array.from(data)
}

function openHeader(bytes: Uint8Array, data: Uint8Array): LinkFrame {
  const [, , , control = 0, toLow = 0, toHigh = 0, fromLow = 0, fromHigh = 0] = bytes
  const isPrimary = (control & IS_PRIMARY) !== 0
  const isCounted = isPrimary && (control & FRAME_COUNT_VALID) !== 0
  return {
    isFromMaster: (control & DIRECTION) !== 0,
    isPrimary,
    frameCountBit: isCounted ? (control & FRAME_COUNT) !== 0 : null,
    function: control & 0x0f,
    destination: toLow | (toHigh << 8),
    source: fromLow | (fromHigh << 8),
    data,
  }
}
