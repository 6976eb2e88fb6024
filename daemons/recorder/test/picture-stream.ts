/** Watches a camera by stream.mjpg, as a test does it. */

import { createPartReader, type JpegPart } from '../web/jpeg-parts.ts'
import { type Credentials, headersOf } from './client.ts'

/** @param url of the stream */
export async function openPictureStream(url: string, credentials: Credentials) {
  const leaving = new AbortController()
  const answer = await fetch(url, { headers: headersOf(credentials), signal: leaving.signal })
  if (!answer.ok) return { status: answer.status, error: ((await answer.json()) as { error: string }).error }
  const reader = answer.body?.getReader()
  const read = createPartReader()
  const waiting: JpegPart[] = []

  /** @returns the next picture; undefined once the stream has ended */
  async function next(): Promise<JpegPart | undefined> {
    while (waiting.length === 0) {
      const piece = await reader?.read().catch(() => undefined)
      if (!piece?.value) return undefined
      waiting.push(...read(piece.value))
    }
    return waiting.shift()
  }

  return { status: answer.status, type: answer.headers.get('content-type'), next, leave: () => leaving.abort() }
}
