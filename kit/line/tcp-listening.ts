/** A TCP port of a line: opened, tried again while it cannot be, closed with the line. */

import { type BackoffLimits, createBackoff } from '#kit/backoff.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/fault.ts'

export interface ListeningParts {
  /** @throws Fault `tcp_port_taken` */
  open(): Promise<{ close(): Promise<void> }>
  clock: Clock
  /** Waits between tries. */
  retry: BackoffLimits
  /** The port cannot be opened: once, until it could be. */
  onFault(fault: Fault): void
}

export interface Listening {
  /** Why the port is not open; undefined while it is, and while nobody wants it. */
  readonly fault: Fault | undefined
  start(): void
  /** Resolves when the port is free. */
  stop(): Promise<void>
}

/** One wish to listen, until it is taken back. */
interface Wish {
  isOver: boolean
  /** Ends a wait between two tries. */
  wake(): void
}

export function createListening({ open, clock, retry, onFault }: ListeningParts): Listening {
  let fault: Fault | undefined
  let wish: Wish | undefined
  /** Each wish is carried out after the one before has let go. Never rejects. */
  let turn: Promise<void> = Promise.resolve()

  async function serve(mine: Wish): Promise<void> {
    const backoff = createBackoff(retry)
    while (!mine.isOver) {
      try {
        const server = await open()
        fault = undefined
        await untilOver(mine)
        await server.close()
      } catch (error) {
        const { code, message } = faultOf(error, 'tcp_port_taken', 'The TCP port cannot be opened.')
        const why = new Fault(code, `${message} It is tried again, and opened by itself once it is free.`, {
          cause: error,
        })
        if (!fault) onFault(why)
        fault = why
        await untilOver(mine, backoff.next())
      }
    }
    fault = undefined
  }

  /** Resolves when the wish is over, or after `atMostMs`. */
  function untilOver(mine: Wish, atMostMs?: number): Promise<void> {
    if (mine.isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = atMostMs === undefined ? undefined : clock.after(atMostMs, resolve)
      mine.wake = () => {
        timer?.cancel()
        resolve()
      }
    })
  }

  return {
    get fault() {
      return fault
    },
    start() {
      const mine: Wish = { isOver: false, wake() {} }
      wish = mine
      turn = turn.then(() => serve(mine))
    },
    stop() {
      if (wish) {
        wish.isOver = true
        wish.wake()
      }
      return turn
    },
  }
}
