/** A body that is gathered whole, within its bound. */
import type { IncomingMessage } from 'node:http'

/** The bytes; or that there are more than may be, or that the connection ended before them. */
export type GatheredBody = Buffer | 'too_large' | 'cut'

/**
 * Into one buffer that grows: a body that comes in chunks of one byte would be an object for each, 300 bytes, if they
 * were kept.
 */
export function gatherBody(request: IncomingMessage, mostBytes: number): Promise<GatheredBody> {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > mostBytes) return Promise.resolve('too_large')
  if (request.destroyed && !request.complete) return Promise.resolve('cut')
  return new Promise((resolve) => {
    let held = Buffer.allocUnsafe(Math.min(mostBytes, length || 1024))
    let size = 0
    function take(chunk: Buffer): void {
      if (size + chunk.length > mostBytes) {
        request.off('data', take).resume()
        resolve('too_large')
        return
      }
      if (size + chunk.length > held.length) {
        const grown = Buffer.allocUnsafe(Math.min(mostBytes, Math.max(2 * held.length, size + chunk.length)))
        held.copy(grown, 0, 0, size)
        held = grown
      }
      size += chunk.copy(held, size)
    }
    request.on('data', take)
    request.once('end', () => resolve(held.subarray(0, size)))
    request.once('close', () => resolve('cut'))
  })
}
