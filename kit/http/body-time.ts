/** The time that a request's body may take. Node's own bound holds for every request alike, and an upload takes minutes. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'

/** The bodies that are under way. */
export interface BodyTime {
  /**
   * Begins with the head, whether a route answers the request or not: the rest of a body that nobody reads would hold
   * its connection for as long as it drips.
   */
  watch(request: IncomingMessage): void
  /** Leaves this one to bounds of its own. */
  exempt(request: IncomingMessage): void
  /** Whether it was ended for its slowness. */
  wasLate(request: IncomingMessage): boolean
}

/** @param by `onLate` is given an error as Node would give it, and the connection */
export function createBodyTime(by: {
  clock: Clock
  timeoutMs: number
  onLate: (error: NodeJS.ErrnoException, connection: Socket) => void
}): BodyTime {
  const timers = new WeakMap<IncomingMessage, Timer>()
  const late = new WeakSet<IncomingMessage>()
  return {
    watch(request) {
      const { 'transfer-encoding': coding, 'content-length': length = '0' } = request.headers
      if (coding === undefined && length === '0') return
      const timer = by.clock.after(by.timeoutMs, () => {
        if (request.complete || request.destroyed) return
        late.add(request)
        by.onLate(Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), request.socket)
      })
      timers.set(request, timer)
      request.once('close', () => timer.cancel())
    },
    exempt: (request) => timers.get(request)?.cancel(),
    wasLate: (request) => late.has(request),
  }
}
