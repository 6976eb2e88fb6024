/**
 * Takes the one file out of a form as it arrives, without holding more of it than a boundary is long.
 * @source RFC 7578; RFC 2046, 5.1.1
 */
import { Fault } from '#kit/pure/fault.ts'

/** A boundary has at most 70 characters. @source RFC 2046, 5.1.1 */
const BOUNDARY =
  /^\s*multipart\/form-data\s*;(?:[^"]*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;,"]{1,70}))\s*(?:;.*)?$/i

/** What stands before the bytes of a part; forms of real clients need a tenth of it. */
const HEAD_BYTES = 4096

/** The boundary of a form; undefined if the type is no form. @throws Fault `bad_upload` for a form without a boundary */
export function boundaryOf(contentType: string | undefined): string | undefined {
  if (!/^\s*multipart\//i.test(contentType ?? '')) return undefined
  const [, quoted, plain] = BOUNDARY.exec(contentType ?? '') ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined)
    throw new Fault(
      'bad_upload',
      'the form is no multipart/form-data with a boundary; send the bytes of the file alone',
    )
  return boundary
}

const text = (bytes: Uint8Array) => String.fromCharCode(...bytes)
const bytesOf = (ascii: string) => Uint8Array.from(ascii, (sign) => sign.charCodeAt(0))

/**
 * The bytes of the only part of a form.
 * @throws Fault `bad_upload` if it has another part, no file, or ends before its last boundary
 */
export async function* fileOfForm(form: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Uint8Array> {
  const mark = bytesOf(`\r\n--${boundary}`)
  // The first boundary may stand at the very beginning: as if a line had ended before it.
  let held: Uint8Array = bytesOf('\r\n')
  let state: 'before' | 'head' | 'file' | 'after' = 'before'
  for await (const piece of form) {
    if (state === 'after') continue
    // Of the file nothing is copied but what is held back at the end of a piece.
    if (state === 'file' && piece.length >= mark.length + 2 && !beginsIn(held, piece, mark)) {
      if (held.length > 0) yield held
      held = piece
    } else held = joined(held, piece)
    if (state === 'before') {
      if (held.length < mark.length) continue
      if (!startsWith(held, mark, 0)) throw new Fault('bad_upload', 'the form does not begin with its boundary')
      held = held.subarray(mark.length)
      state = 'head'
    }
    if (state === 'head') {
      const end = find(held, HEAD_END, 0)
      if (end < 0 && held.length > HEAD_BYTES)
        throw new Fault('bad_upload', `what the form says of its file has more than ${HEAD_BYTES} bytes`)
      if (end < 0) continue
      checkHead(text(held.subarray(0, Math.min(end, HEAD_BYTES))))
      held = held.subarray(end + HEAD_END.length)
      state = 'file'
    }
    const end = find(held, mark, 0)
    const known = end < 0 ? Math.max(0, held.length - mark.length - 2) : end
    // Whether it is the last boundary stands in the two bytes after it.
    if (end >= 0 && held.length < end + mark.length + 2) {
      if (end > 0) yield held.subarray(0, end)
      held = held.slice(end)
      continue
    }
    if (known > 0) yield held.subarray(0, known)
    held = held.slice(known)
    if (end < 0) continue
    if (text(held.subarray(mark.length, mark.length + 2)) !== '--')
      throw new Fault('bad_upload', 'the form has more than one part, expected one file')
    state = 'after'
  }
  if (state !== 'after') throw new Fault('bad_upload', 'the form ends before its last boundary')
}

const HEAD_END = bytesOf('\r\n\r\n')

function checkHead(head: string): void {
  if (!/^content-disposition\s*:[^\r\n]*;\s*filename\*?=/im.test(head))
    throw new Fault('bad_upload', 'the part of the form holds no file, expected one with a filename')
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

/** Whether a mark begins in what is held back and ends in the next piece, or before. */
function beginsIn(held: Uint8Array, piece: Uint8Array, mark: Uint8Array): boolean {
  return find(joined(held, piece.subarray(0, mark.length - 1)), mark, 0) >= 0
}

function startsWith(bytes: Uint8Array, mark: Uint8Array, at: number): boolean {
  for (let i = 0; i < mark.length; i++) if (bytes[at + i] !== mark[i]) return false
  return true
}

/** Where a mark begins; -1 if it does not stand there whole. */
function find(bytes: Uint8Array, mark: Uint8Array, from: number): number {
  const [first = 0] = mark
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (at + mark.length > bytes.length) return -1
    if (startsWith(bytes, mark, at)) return at
  }
  return -1
}
