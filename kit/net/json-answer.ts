/** Reads the answer of an HTTP server that speaks JSON. */
import type { IncomingMessage } from 'node:http'

/** @returns the body as JSON; undefined if it is longer than `mostBytes`, or no JSON */
export async function readJsonAnswer(
  response: IncomingMessage,
  mostBytes: number,
): Promise<{ status: number; body: unknown }> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes <= mostBytes) pieces.push(piece)
  }
  const status = response.statusCode ?? 0
  try {
    return { status, body: bytes > mostBytes ? undefined : JSON.parse(Buffer.concat(pieces).toString('utf8')) }
  } catch {
    return { status, body: undefined }
  }
}
