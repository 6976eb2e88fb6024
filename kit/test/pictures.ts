/** Pictures as bytes, for tests: a PNG that browsers show, and the frames of JPEG and WebP. */
import { crc32, deflateSync } from 'node:zlib'

const bytesOf = (...parts: (string | readonly number[] | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))))

const big32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const little32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export function chunk(type: string, data: Uint8Array = new Uint8Array()): Buffer {
  const body = bytesOf(type, data)
  return bytesOf(big32(data.length), body, big32(crc32(body)))
}

const PNG_START = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

/** White, 8 bits of grey a pixel; `more` stands between head and picture. */
export function png(width: number, height: number, more: readonly Uint8Array[] = []): Buffer {
  const head = chunk('IHDR', bytesOf(big32(width), big32(height), [8, 0, 0, 0, 0]))
  const rows = Buffer.alloc(height * (width + 1), 0xff)
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0
  return bytesOf(PNG_START, head, ...more, chunk('IDAT', deflateSync(rows)), chunk('IEND'))
}

/** Head alone says how large it is: nothing of it is decoded here. */
export function hugePng(width: number, height: number): Buffer {
  const head = chunk('IHDR', bytesOf(big32(width), big32(height), [8, 0, 0, 0, 0]))
  return bytesOf(PNG_START, head, chunk('IDAT', deflateSync(Buffer.alloc(8))), chunk('IEND'))
}

export function segment(marker: number, data: string | readonly number[] | Uint8Array): Buffer {
  const body = bytesOf(data)
  return bytesOf([0xff, marker, (body.length + 2) >> 8, (body.length + 2) & 0xff], body)
}

/** The frame of a JPEG with one scan. @param more parts behind the first two bytes */
export function jpeg(width: number, height: number, more: readonly Uint8Array[] = [], frame = 0xc0): Buffer {
  const size = [8, height >> 8, height & 0xff, width >> 8, width & 0xff, 1, 1, 0x11, 0]
  const scan = bytesOf(segment(0xda, [1, 1, 0, 0, 63, 0]), [0x12, 0xff, 0x00, 0x34, 0xff, 0xd0, 0x56])
  return bytesOf([0xff, 0xd8], ...more, segment(frame, size), scan, [0xff, 0xd9])
}

/** What a phone adds: how it was held, and where it was. @param isLittle the order of bytes */
export function exif(orientation: number, isLittle = false): Buffer {
  const two = (value: number) => (isLittle ? [value & 0xff, value >> 8] : [value >> 8, value & 0xff])
  const four = (value: number) => (isLittle ? [...two(value), 0, 0] : [0, 0, ...two(value)])
  const entry = (tag: number, value: number) => [...two(tag), ...two(3), ...four(1), ...two(value), 0, 0]
  const tiff = [...two(42), ...four(8), ...two(2), ...entry(0x010f, 7), ...entry(0x0112, orientation), ...four(0)]
  return segment(0xe1, bytesOf('Exif\0\0', isLittle ? 'II' : 'MM', tiff, 'GPS 52.37 N 4.90 E'))
}

export function riff(type: string, data: Uint8Array): Buffer {
  return bytesOf(type, little32(data.length), data, data.length % 2 === 1 ? [0] : [])
}

export function webp(...chunks: readonly Uint8Array[]): Buffer {
  const body = bytesOf('WEBP', ...chunks)
  return bytesOf('RIFF', little32(body.length), body)
}

/** A lossy picture. */
export function vp8(width: number, height: number): Buffer {
  const size = [width & 0xff, width >> 8, height & 0xff, height >> 8]
  return riff('VP8 ', bytesOf([0x10, 0, 0, 0x9d, 0x01, 0x2a], size, [1, 2, 3]))
}

/** A lossless picture. */
export function vp8l(width: number, height: number): Buffer {
  return riff('VP8L', bytesOf([0x2f], little32((width - 1) | ((height - 1) << 14)), [7]))
}

/** The head of a picture with more than pixels. */
export function vp8x(width: number, height: number, flags: number): Buffer {
  const three = (value: number) => [value & 0xff, (value >> 8) & 0xff, value >> 16]
  return riff('VP8X', bytesOf([flags, 0, 0, 0], three(width - 1), three(height - 1)))
}
