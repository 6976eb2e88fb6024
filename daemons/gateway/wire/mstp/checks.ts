/** The checksums of MS/TP frames, and the COBS encoding of extended ones. */
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'

/** A table of the register after one octet, for a polynomial that is written from its lowest power on. */
function tableOf(polynomial: number): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, octet) => {
    let register = octet
    for (let bit = 0; bit < 8; bit++) register = register & 1 ? (register >>> 1) ^ polynomial : register >>> 1
    return register >>> 0
  })
}

const DATA_CRC = tableOf(0x8408)
const CRC_32K = tableOf(0xeb31d82e)

/**
 * One octet more in the register of the header's CRC-8, X^8 + X^7 + 1.
 * @param register 0xFF before the first octet; 0x55 after header and checksum
 * @source ANSI/ASHRAE 135-2016, Annex G.1
 */
export function headerCrc(register: number, octet: number): number {
  const mixed = (register ^ octet) & 0xff
  // The exclusive or of all bits, in the highest place, and of each with its neighbours.
  const sum =
    mixed ^ (mixed << 1) ^ (mixed << 2) ^ (mixed << 3) ^ (mixed << 4) ^ (mixed << 5) ^ (mixed << 6) ^ (mixed << 7)
  return (sum & 0xfe) ^ ((sum >> 8) & 1)
}

/**
 * One octet more in the register of the data's CRC-16, X^16 + X^12 + X^5 + 1.
 * @param register 0xFFFF before the first octet; 0xF0B8 after data and checksum
 * @source ANSI/ASHRAE 135-2016, Annex G.2
 */
export function dataCrc(register: number, octet: number): number {
  return (register >>> 8) ^ (DATA_CRC[(register ^ octet) & 0xff] ?? 0)
}

/**
 * The register after checksum and its data: what a good header, data and extended data leave.
 * @source ANSI/ASHRAE 135-2016, Annex G
 */
export const RESIDUE = { header: 0x55, data: 0xf0b8, extended: 0x0843_323b } as const

/** @returns the register, 0..0xFFFFFFFF. @source ANSI/ASHRAE 135-2016, Annex G.3 */
function crc32k(octets: Uint8Array, register = 0xffff_ffff): number {
  let crc = register
  for (const octet of octets) crc = ((crc >>> 8) ^ (CRC_32K[(crc ^ octet) & 0xff] ?? 0)) >>> 0
  return crc
}

/** Every octet goes over the line mixed with this, so that none is the preamble's 0x55. */
const MASK = 0x55

/** Octets of the encoded CRC-32K: four, and one of overhead. @source ANSI/ASHRAE 135-2016, 9.10.1 */
const EXTENDED_CRC_OCTETS = 5

/** A block of this many octets has no zero at its end. */
const FULL_BLOCK = 255

/**
 * Encodes data and its CRC-32K for an extended frame.
 * @param data at least one octet
 * @returns encoded data, then 5 octets of encoded checksum; none of them is 0x55
 * @source ANSI/ASHRAE 135-2016, 9.10 and Annex T
 */
export function encodeExtended(data: Uint8Array): Uint8Array {
  const body = encodeCobs(data)
  // The checksum is that of the data as they go over the line.
  const check = ~crc32k(body) >>> 0
  const checked = Uint8Array.of(check & 0xff, (check >>> 8) & 0xff, (check >>> 16) & 0xff, check >>> 24)
  return joinBytes([body, encodeCobs(checked)])
}

/**
 * @param encoded encoded data, then 5 octets of encoded checksum
 * @throws Fault `mstp_cobs`, `mstp_data_crc`
 * @source ANSI/ASHRAE 135-2016, 9.10 and Annex T
 */
export function decodeExtended(encoded: Uint8Array): Uint8Array {
  const cut = encoded.length - EXTENDED_CRC_OCTETS
  if (cut < 1) throw cobsFault(`has ${encoded.length} octets, needs at least ${EXTENDED_CRC_OCTETS + 1}`)
  const body = encoded.subarray(0, cut)
  const data = decodeCobs(body)
  const check = decodeCobs(encoded.subarray(cut))
  if (check.length !== 4) throw cobsFault(`holds a checksum of ${check.length} octets, expected 4`)
  if (crc32k(check, crc32k(body)) !== RESIDUE.extended)
    throw new Fault('mstp_data_crc', `the data of the extended frame fails its checksum (CRC-32K)`)
  return data
}

function encodeCobs(octets: Uint8Array): Uint8Array {
  const encoded = new Uint8Array(octets.length + Math.floor(octets.length / (FULL_BLOCK - 1)) + 1)
  let codeAt = 0
  let at = 1
  const close = () => {
    encoded[codeAt] = (at - codeAt) ^ MASK
    codeAt = at++
  }
  for (const [index, octet] of octets.entries()) {
    if (octet !== 0) encoded[at++] = octet ^ MASK
    const isFull = at - codeAt === FULL_BLOCK
    // A full block needs no mark of an end that follows.
    if (octet === 0 || (isFull && index < octets.length - 1)) close()
  }
  encoded[codeAt] = (at - codeAt) ^ MASK
  return encoded.subarray(0, at)
}

function decodeCobs(encoded: Uint8Array): Uint8Array {
  const octets = new Uint8Array(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; ) {
    const code = (encoded[at] ?? 0) ^ MASK
    const end = at + code
    if (code === 0 || end > encoded.length)
      throw cobsFault(`has a block of ${code} octets at ${at}, and ${encoded.length - at} are there`)
    for (at++; at < end; at++) octets[length++] = (encoded[at] ?? 0) ^ MASK
    if (code !== FULL_BLOCK && at < encoded.length) octets[length++] = 0
  }
  return octets.subarray(0, length)
}

function cobsFault(sentence: string): Fault {
  return new Fault('mstp_cobs', `the extended frame ${sentence}`)
}
