/**
 * The root side of the update button: takes requests from whoever may open its socket, which its unit gives to controller
 * and recorder alone. A request is one word and decides nothing else: `check`, `apply`, or `handed`, to apply the release
 * file that lies at a place of root's own choice (`update.handed_file`). The answer is one line. What comes of it is told in
 * a file (kit/release/told.ts).
 */
import { createServer, type Server, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { shortCopy } from '#kit/pure/text.ts'

export type AskedTask = 'check' | 'apply' | 'handed'

interface AskedParts {
  clock: Clock
  /** Where requests come from: the descriptor that systemd hands in, or the path of a socket. */
  at: { fd: number } | { path: string }
  /**
   * Does it.
   * @param onBegun called once it has the lock, of a release file once its record is proven, with the time that is told
   * @throws Fault why not
   */
  perform(task: AskedTask, onBegun: (at: number) => void): Promise<unknown>
  /** Writes a line to the log. */
  say(sentence: string): void
  limits: { gapMs: number; idleMs: number }
}

/** How long a request may take to come, and how many may come at once. */
const REQUEST_MS = 5000
const MOST_REQUESTS = 8
/** The longest request, with its line break. */
const REQUEST_BYTES = 16

/** Serves until nobody has asked for `idleMs`, and at least for `gapMs` after the last run. */
export async function serveAsked(parts: AskedParts): Promise<void> {
  const { at, clock, limits } = parts
  const { promise: isOver, resolve: over } = Promise.withResolvers<void>()
  const asking = new Set<Socket>()
  let isRunning = false
  let endedMs: number | undefined
  let idle: Timer | undefined

  function rest(): void {
    idle?.cancel()
    if (!isRunning && asking.size === 0) idle = clock.after(Math.max(limits.idleMs, limits.gapMs), over)
  }

  async function answer(word: string): Promise<string> {
    if (word !== 'check' && word !== 'apply' && word !== 'handed') return 'unknown'
    if (isRunning) return 'running'
    if (endedMs !== undefined && clock.monotonicMs() - endedMs < limits.gapMs) return 'soon'
    isRunning = true
    return await new Promise<string>((resolve) => {
      parts
        .perform(word, (begunAt) => resolve(`begun ${begunAt}`))
        // Of one that has not begun: the update that was cut off before it came first.
        .then(() => resolve('refused an update that was cut off has been ended first: ask again'))
        .catch((fault) => {
          // The command by hand has the lock.
          if (fault instanceof Fault && fault.code === 'update_running') return resolve('running')
          parts.say(fault.message)
          resolve(`refused ${shortCopy(fault.message, 500)}`)
        })
        .finally(() => {
          isRunning = false
          endedMs = clock.monotonicMs()
          rest()
        })
    })
  }

  const server = createServer((socket) => {
    asking.add(socket)
    idle?.cancel()
    socket.once('close', () => {
      asking.delete(socket)
      rest()
    })
    if (asking.size > MOST_REQUESTS) socket.destroy()
    else hear(socket, clock, answer)
  })
  server.listen(at)
  rest()
  try {
    await Promise.race([isOver, failureOf(server)])
  } finally {
    idle?.cancel()
    server.close()
  }
}

function failureOf(server: Server): Promise<never> {
  return new Promise((_, reject) => server.once('error', reject))
}

/** Reads one line, answers it, and closes. */
function hear(socket: Socket, clock: Clock, answer: (word: string) => Promise<string>): void {
  let text = ''
  const late = clock.after(REQUEST_MS, () => socket.destroy())
  socket.setEncoding('latin1')
  // Whoever asked may be restarted by what was asked for.
  socket.on('error', () => socket.destroy())
  socket.on('close', () => late.cancel())
  socket.on('data', (piece) => {
    text += piece
    const end = text.indexOf('\n')
    if (end < 0 && text.length < REQUEST_BYTES) return
    socket.removeAllListeners('data')
    socket.resume()
    late.cancel()
    const word = end < 0 ? '' : text.slice(0, end)
    // Closed for both: whoever does not hang up would keep its place.
    void answer(word).then((line) => socket.end(`${line.replaceAll(/[\r\n]+/g, ' ')}\n`, () => socket.destroy()))
  })
}
