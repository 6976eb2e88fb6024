/** Whether the client of a request is still there. */
import type { ServerResponse } from 'node:http'

/** A signal that is aborted when the client goes away before its answer is out. */
export function hangUpSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (response.destroyed) gone.abort()
  else response.once('close', () => response.writableFinished || gone.abort())
  return gone.signal
}
