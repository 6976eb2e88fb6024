/**
 * Headers of tar files that hold nothing but files. Times are 0 and the owner is root, so the same files give the same
 * bytes; every tar reads them.
 * @source POSIX.1-2024, pax, ustar Interchange Format
 */

export const TAR_BLOCK = 512

/** What follows the last file. */
export const TAR_END: Buffer = Buffer.alloc(2 * TAR_BLOCK)

/** What a header says. */
export interface TarEntry {
  path: string
  sizeBytes: number
}

/** Eleven octal digits. */
const LARGEST_BYTES = 8 ** 11 - 1
/** Places in a header: name, size, checksum, type, prefix of the name. */
const AT = { name: 0, size: 124, checksum: 148, type: 156, magic: 257, prefix: 345 } as const
const LONGEST = { name: 100, prefix: 155 } as const

/**
 * The header of a file.
 * @param mode such as 0o600
 * @returns undefined if its name or its size is too long for one
 */
export function tarHeader({ path, sizeBytes }: TarEntry, mode: number): Buffer | undefined {
  const names = splitName(path)
  if (names === undefined || sizeBytes > LARGEST_BYTES) return undefined
  const header = Buffer.alloc(TAR_BLOCK)
  const [prefix, name] = names
  header.write(name, AT.name)
  header.write(`${mode.toString(8).padStart(7, '0')}\x000000000\x000000000\0`, LONGEST.name)
  header.write(`${octal(sizeBytes)}\0${octal(0)}\0`, AT.size)
  header.write('0', AT.type)
  header.write('ustar\x0000', AT.magic)
  header.write(prefix, AT.prefix)
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, AT.checksum)
  return header
}

/** What a header says; `end` for the blocks of zeros at the end, undefined if it is none of a file. */
export function readTarHeader(header: Buffer): TarEntry | 'end' | undefined {
  if (header.every((byte) => byte === 0)) return 'end'
  const text = (at: number, length: number) => {
    const field = header.subarray(at, at + length)
    const end = field.indexOf(0)
    return field.toString('utf8', 0, end < 0 ? length : end)
  }
  const [size, sum] = [text(AT.size, 12), text(AT.checksum, 8)]
  if (!/^[0-7]{11}$/.test(size) || Number.parseInt(sum, 8) !== checksumOf(header) || text(AT.type, 1) !== '0')
    return undefined
  const prefix = text(AT.prefix, LONGEST.prefix)
  const path = prefix === '' ? text(AT.name, LONGEST.name) : `${prefix}/${text(AT.name, LONGEST.name)}`
  return { path, sizeBytes: Number.parseInt(size, 8) }
}

/** What follows a file, up to the next block. */
export function tarPadding(sizeBytes: number): Buffer {
  return Buffer.alloc((TAR_BLOCK - (sizeBytes % TAR_BLOCK)) % TAR_BLOCK)
}

function octal(value: number): string {
  return value.toString(8).padStart(11, '0')
}

/** The sum of all bytes, those of the checksum itself taken as blanks. */
function checksumOf(header: Buffer): number {
  let sum = 8 * 0x20
  for (const [at, byte] of header.entries()) if (at < AT.checksum || at >= AT.checksum + 8) sum += byte
  return sum
}

/** At a slash, where the whole is too long for its field. */
function splitName(path: string): [prefix: string, name: string] | undefined {
  if (Buffer.byteLength(path) <= LONGEST.name) return ['', path]
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)]
    if (Buffer.byteLength(prefix) <= LONGEST.prefix && Buffer.byteLength(name) <= LONGEST.name) return [prefix, name]
  }
  return undefined
}
