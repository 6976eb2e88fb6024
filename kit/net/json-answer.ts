/** Reads the answer of an HTTP server that speaks JSON. */
import type { IncomingMessage } from 'node:http'

/**
 * How long it may take is for the caller to bound, by the request.
 * @returns the body as JSON; undefined if it is no JSON, or longer than `mostBytes`: then the connection is ended
 */
export async function readJsonAnswer(
  response: IncomingMessage,
  mostBytes: number,
): Promise<{ status: number; body: unknown }> {
  const pieces: Buffer[] = []
  const status = response.statusCode ?? 0
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    // Leaving the loop destroys the response: the rest of one that never ends is not waited for.
    if (bytes > mostBytes) return { status, body: undefined }
    pieces.push(piece)
  }
  try {
    return { status, body: JSON.parse(Buffer.concat(pieces).toString('utf8')) }
  } catch {
    return { status, body: undefined }
  }
}
