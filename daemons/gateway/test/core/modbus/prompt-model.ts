/** A line that sends and waits by itself, and relays to and from sockets, as one of the system does. */
import type { FakeClock } from '#kit/clock-fake.ts'
import type { PromptLine, RelaySocket } from '#kit/line/line.ts'
import { isPrefixOf } from '#kit/pure/bytes.ts'
import type { FakeLine } from '#kit/test/line/fake-line.ts'
import { judgeRequest } from '../../../wire/modbus-reply.ts'
import { hasGoodCrc, sealed } from '../../../wire/modbus-request.ts'

export interface PromptSetup {
  /** How many bytes of a request it takes at once. */
  mostBytes: number
  /** What it took still has to go out by the wire. */
  isWired?: boolean
}

/** A socket that the line relays to and from. */
export interface FakeSocket {
  /** @returns how many of the bytes it took */
  take(bytes: Uint8Array): number
  /** What it sends is heard here, once the line reads it. */
  hear?(bytes: Uint8Array): void
  /** A question of it was sent by the line. */
  onAdmitted(): void
}

/**
 * What is sent at once reaches the units with the rest, which has to follow in the same turn.
 * @param sockets by descriptor; left out: nothing is relayed
 */
export function makePrompt(
  line: FakeLine,
  clock: FakeClock,
  { prompt: how, sockets }: { prompt?: PromptSetup | undefined; sockets?: Map<number, FakeSocket> | undefined },
): void {
  if (!how) return
  const { isWired = false, mostBytes } = how
  const write = line.write.bind(line)
  const arrive = line.arrive.bind(line)
  let sent: Uint8Array = new Uint8Array(0)
  let arrived = 0
  /** @param tell runs between the send and what the units hear of it */
  const sendOn = (bytes: Uint8Array, tell: (taken: number) => void = () => {}) => {
    sent = bytes.slice(0, mostBytes)
    const taken = sent.length
    if (taken < bytes.length) tell(taken)
    else {
      sent = new Uint8Array(0)
      relays.end()
      tell(taken)
      void write(bytes)
    }
    return taken
  }
  const relays = createRelays(clock, sockets, sendOn)
  const sendAll = (rest: Uint8Array) => {
    relays.end()
    const whole = Uint8Array.of(...sent, ...rest)
    sent = new Uint8Array(0)
    return write(whole)
  }
  const prompt: PromptLine = {
    send: (bytes) => (isWired ? 0 : sendOn(bytes)),
    readAfter: (delayMs, run) => clock.after(delayMs, run),
    sendAfter(delayMs, bytes, { onSent, run }) {
      const before = arrived
      const end = () => (arrived === before ? onSent(sendOn(bytes)) : run())
      if (delayMs > 0) return clock.after(delayMs, end)
      end()
      return { cancel() {} }
    },
    isWired: () => isWired,
    relayTo: (socketFd) => (sockets ? relays.join(socketFd) : undefined),
    endRelay: () => relays.end(),
  }
  Object.assign(line, {
    prompt,
    write: sendAll,
    arrive(bytes: Uint8Array, atUs?: number) {
      arrived++
      relays.arrive(bytes)
      arrive(bytes, atUs)
    },
  })
}

function createRelays(
  clock: FakeClock,
  sockets: Map<number, FakeSocket> | undefined,
  send: (question: Uint8Array, tell: (taken: number) => void) => void,
) {
  let expected: ((bytes: Uint8Array) => void) | undefined
  let admitted: { socketFd: number; unitId: number; notBeforeMs: number } | undefined

  function end(): void {
    expected = undefined
    admitted = undefined
  }

  /** @returns the question that the line sends by itself */
  function admit(socketFd: number, bytes: Uint8Array): Uint8Array | undefined {
    const now = admitted
    admitted = undefined
    if (socketFd !== now?.socketFd || clock.monotonicMs() < now.notBeforeMs) return undefined
    const question = sealed(bytes.subarray(6))
    const isRead = bytes.length === 12 && question[0] === now.unitId && (question[1] ?? 9) <= 4
    return isRead && typeof judgeRequest(question) !== 'number' ? question : undefined
  }

  return {
    end,
    arrive(bytes: Uint8Array): void {
      const now = expected
      end()
      now?.(bytes)
    },
    join: (socketFd: number): RelaySocket => ({
      expect({ begins, head, length, onSent }) {
        expected = (bytes) => {
          if (bytes.length !== length || !isPrefixOf(begins, bytes) || !hasGoodCrc(bytes)) return
          onSent(sockets?.get(socketFd)?.take(Uint8Array.of(...head, ...bytes.subarray(0, -2))) ?? 0)
        }
      },
      read({ onBytes }) {
        const socket = sockets?.get(socketFd)
        if (!socket) return
        socket.hear = (bytes) => {
          const question = admit(socketFd, bytes)
          if (!question) return onBytes(bytes, 0)
          socket.onAdmitted()
          // The line reads nothing between the send and the report of it.
          send(question, (taken) => onBytes(bytes, taken))
        }
      },
      pause() {},
      resume() {},
      admit(unitId, notBeforeMs) {
        admitted = { socketFd, unitId, notBeforeMs }
      },
      leave: () => void sockets?.delete(socketFd),
    }),
  }
}
