/** QEMU's JSON sockets: QMP (the machine) and the guest agent (inside it) use the same lines. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Default timeout of an answer, ms. */
const ANSWER_MS = 30_000

/** A connection for one command at a time. */
export interface JsonLine {
  /** Resolves with the `return` of `command`. Rejects with QEMU's own description, or if nothing came in time. */
  ask(command: string, args?: object, timeoutMs?: number): Promise<unknown>
  /** The agent's way to discard remains of earlier answers: everything up to the byte 0xFF and the number sent. */
  synchronise(number: number, timeoutMs: number): Promise<void>
  close(): void
}

/** `isOurs` picks the answer, as answers to earlier commands may still come. */
interface Exchange {
  sent: string
  what: string
  timeoutMs: number
  isOurs(answer: Answer): boolean
}

interface Answer {
  return?: unknown
  error?: { class: string; desc: string }
}

/**
 * Connects to the Unix socket at `path`, which may not exist yet. Rejects if it has not appeared within `timeoutMs`.
 */
export async function openJsonLine(path: string, timeoutMs: number): Promise<JsonLine> {
  const socket = await connectWithin(path, timeoutMs)
  let text = ''
  let waiting: ((answer: Answer) => void) | undefined
  socket.setEncoding('latin1')
  socket.on('error', () => socket.destroy())
  socket.on('data', (part: string) => {
    text += part
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end)
      text = text.slice(end + 1)
      const answer = answerOf(line)
      if (answer) waiting?.(answer)
    }
  })
  // Commands wait for the one before.
  let last: Promise<unknown> = Promise.resolve()

  function exchange({ sent, what, timeoutMs, isOurs }: Exchange): Promise<unknown> {
    const turn = last.then(
      () =>
        new Promise<unknown>((resolve, reject) => {
          const late = setTimeout(() => reject(new Error(`${what}: no answer within ${timeoutMs} ms`)), timeoutMs)
          waiting = (answer) => {
            if (!isOurs(answer)) return
            clearTimeout(late)
            waiting = undefined
            if (answer.error) reject(new Error(`${what}: ${answer.error.desc}`))
            else resolve(answer.return)
          }
          socket.write(sent, 'latin1')
        }),
    )
    last = turn.catch(() => undefined)
    return turn
  }

  return {
    ask: (command, args, timeoutMs = ANSWER_MS) => {
      const sent = `${JSON.stringify({ execute: command, ...(args && { arguments: args }) })}\n`
      return exchange({ sent, what: command, timeoutMs, isOurs: () => true })
    },
    synchronise: async (number, timeoutMs) => {
      const what = 'guest-sync-delimited'
      const sent = `\xff${JSON.stringify({ execute: what, arguments: { id: number } })}\n`
      // The byte itself also causes an error answer.
      await exchange({ sent, what, timeoutMs, isOurs: (answer) => answer.return === number })
    },
    close: () => socket.destroy(),
  }
}

/** Parses one line as an answer; undefined for QMP's greeting and events, and for invalid JSON. */
function answerOf(line: string): Answer | undefined {
  const start = line.lastIndexOf('\xff') + 1
  try {
    const value = JSON.parse(Buffer.from(line.slice(start), 'latin1').toString('utf8'))
    return 'return' in value || 'error' in value ? value : undefined
  } catch {
    return undefined
  }
}

async function connectWithin(path: string, timeoutMs: number): Promise<Socket> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const socket = connect(path)
    const fault = await new Promise<Error | undefined>((resolve) => {
      socket.once('connect', () => resolve(undefined))
      socket.once('error', resolve)
    })
    if (!fault) return socket
    if (performance.now() > end) throw fault
    await sleep(50)
  }
}
