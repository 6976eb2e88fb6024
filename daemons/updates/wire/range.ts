/** Which bytes of a file a request asks for. @source RFC 9110, 14.1.2, 14.2 and 13.1.5 */

/** The bytes from `start` to `end`, both included. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * @param asked the headers `Range` and `If-Range`
 * @param etag of the file as it is now, with its quotes
 * @returns undefined: the whole file, also for several ranges and units we do not know; `outside`: no byte of it is there
 */
export function rangeOf(
  asked: { range?: string | undefined; ifRange?: string | undefined },
  etag: string,
  sizeBytes: number,
): ByteRange | 'outside' | undefined {
  const [whole, first = '', last = ''] = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(asked.range?.trim() ?? '') ?? []
  if (whole === undefined || (first === '' && last === '')) return undefined
  // A date is never the tag, and neither is a weak one: the client then gets the whole file.
  if (asked.ifRange !== undefined && asked.ifRange.trim() !== etag) return undefined
  const lastByte = sizeBytes - 1
  if (first === '') {
    const length = Number(last)
    return length === 0 || sizeBytes === 0 ? 'outside' : { start: Math.max(0, sizeBytes - length), end: lastByte }
  }
  const start = Number(first)
  const end = last === '' ? lastByte : Math.min(lastByte, Number(last))
  if (last !== '' && Number(last) < start) return undefined
  return start > lastByte ? 'outside' : { start, end }
}
