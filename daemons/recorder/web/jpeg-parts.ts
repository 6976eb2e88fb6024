/** Reads the JPEGs out of a stream of them, as they come: `multipart/x-mixed-replace`, each part with its length. */

/** One picture. */
export interface JpegPart {
  jpeg: Uint8Array<ArrayBuffer>
  /** When it was taken, epoch milliseconds. */
  shownAt: number
}

/** No head of a part is longer. */
const MOST_HEAD_BYTES = 2048
const MOST_JPEG_BYTES = 67_108_864

/** @returns the parts that are whole with what came now. @throws Error for anything else than such a stream */
export function createPartReader(): (chunk: Uint8Array) => JpegPart[] {
  let held = new Uint8Array(0)
  let filled = 0

  /** With room for more, so that a picture that comes in many pieces is not copied with each. */
  function add(chunk: Uint8Array): void {
    if (filled + chunk.length > held.length) {
      const larger = new Uint8Array(2 * (filled + chunk.length))
      larger.set(held.subarray(0, filled))
      held = larger
    }
    held.set(chunk, filled)
    filled += chunk.length
  }

  function next(): JpegPart | undefined {
    const text = String.fromCharCode(...held.subarray(0, Math.min(filled, MOST_HEAD_BYTES)))
    const end = text.indexOf('\r\n\r\n')
    if (end < 0 && filled >= MOST_HEAD_BYTES) throw new Error('a part of the stream has no head')
    if (end < 0) return undefined
    const numberAt = (name: string) => Number(new RegExp(`^${name}: *(\\d+)`, 'im').exec(text.slice(0, end))?.[1])
    const length = numberAt('content-length')
    if (!(length <= MOST_JPEG_BYTES)) throw new Error('a part of the stream does not say how long it is')
    const from = end + 4
    if (filled < from + length) return undefined
    const part = { jpeg: held.slice(from, from + length), shownAt: numberAt('x-svc-frame-at') }
    held.copyWithin(0, from + length, filled)
    filled -= from + length
    return part
  }

  return (chunk) => {
    add(chunk)
    const whole: JpegPart[] = []
    for (let part = next(); part; part = next()) whole.push(part)
    return whole
  }
}
