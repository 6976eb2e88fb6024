/** Requests of one connection in turn: who sends many without waiting holds one answer at a time, not all of them. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Turns of all connections of a server. */
export interface Turns {
  /** Runs at once, or when the answers before this one are out; never where the connection has ended meanwhile. */
  take(connection: Socket, response: ServerResponse, run: () => void): void
}

interface Line {
  isBusy: boolean
  waiting: (() => void)[]
}

/** @param most requests that wait on one connection; one more ends it */
export function createTurns(most: number): Turns {
  const lines = new WeakMap<Socket, Line>()

  function next(line: Line): void {
    const run = line.waiting.shift()
    if (run) run()
    else line.isBusy = false
  }

  return {
    take(connection, response, run) {
      const line = lines.get(connection) ?? { isBusy: false, waiting: [] }
      lines.set(connection, line)
      if (line.isBusy && line.waiting.length >= most) {
        connection.destroy()
        return
      }
      const unlessGone = () => {
        if (!connection.destroyed) run()
      }
      response.once('close', () => next(line))
      if (line.isBusy) line.waiting.push(unlessGone)
      else {
        line.isBusy = true
        unlessGone()
      }
    },
  }
}
