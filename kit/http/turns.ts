/** Requests of one connection in turn: who sends many without waiting holds one answer at a time, not all of them. */
import type { Socket } from 'node:net'

/** Turns of all connections of a server. */
export interface Turns {
  /**
   * Runs at once, or when the answers before this one are out; never where the connection has ended meanwhile.
   * @returns ends the turn: to be called once, when its answer is out or never will be
   */
  take(connection: Socket, run: () => void): () => void
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

  function lineOf(connection: Socket): Line {
    let line = lines.get(connection)
    if (line === undefined) {
      line = { isBusy: false, waiting: [] }
      lines.set(connection, line)
    }
    return line
  }

  return {
    take(connection, run) {
      const line = lineOf(connection)
      if (line.isBusy && line.waiting.length >= most) {
        connection.destroy()
        return () => {}
      }
      const unlessGone = () => {
        if (!connection.destroyed) run()
      }
      if (line.isBusy) line.waiting.push(unlessGone)
      else {
        line.isBusy = true
        unlessGone()
      }
      return () => next(line)
    },
  }
}
