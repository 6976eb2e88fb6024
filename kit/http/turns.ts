/**
 * Whose request is looked at next: those of one connection one after the other, and no address more than its share of each
 * round of the event loop. Whoever sends thousands at once waits for the rest of them himself, and takes a part of the
 * processor while others ask: the machine has more to do than this daemon.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '#kit/clock.ts'
import type { HttpConfig } from '#kit/config/common.ts'
import { PIPELINED_HEADS } from '#kit/config/memory-plan.ts'
import type { ShareOf } from '../net/address.ts'

export interface TurnsNeeds {
  config: Pick<HttpConfig, 'turn_ms' | 'turn_rest_ms' | 'pipelined_max' | 'header_bytes'>
  /** What addresses are counted by; those without a share are not held back. */
  shareOf: ShareOf
  clock: Pick<Clock, 'monotonicMs' | 'after'>
  /** Runs when the event loop has read what lies ready. Default: `setImmediate` */
  onceAround?: (run: () => void) => void
}

/** Turns of all connections of a daemon. */
export interface Turns {
  /** Puts a listener of requests behind the turns: it hears of a request when its turn comes, or never where the client has gone. */
  inTurn(listener: RequestListener): RequestListener
}

/** The requests of one connection. */
interface Line {
  isBusy: boolean
  /** Characters of the heads that wait, and what their fields take beside. */
  headChars: number
  waiting: (() => void)[]
}

/** The requests of one address. */
interface Share {
  /** When its first request of this round began. */
  beganMs: number
  waiting: (() => void)[]
}

export function createTurns(needs: TurnsNeeds): Turns {
  const { config, shareOf } = needs
  const lines = new WeakMap<Socket, Line>()
  const begin = createShares(needs)
  return {
    inTurn: (listener) => (request, response) => {
      const { socket } = request
      const line = lineOf(lines, socket)
      const chars = line.isBusy ? charsOf(request) : 0
      const isLong = line.headChars + chars > PIPELINED_HEADS * config.header_bytes
      if (line.isBusy && (line.waiting.length >= config.pipelined_max || isLong)) {
        socket.destroy()
        return
      }
      const unlessGone = () => {
        if (!socket.destroyed) listener(request, response)
      }
      const run = () => {
        line.headChars -= chars
        begin(shareOf(socket.remoteAddress ?? ''), unlessGone)
      }
      // Comes once, whatever became of the answer.
      response.once('close', () => {
        const next = line.waiting.shift()
        if (next) next()
        else line.isBusy = false
      })
      if (line.isBusy) {
        line.headChars += chars
        line.waiting.push(run)
      } else {
        line.isBusy = true
        run()
      }
    },
  }
}

/** Others are there while addresses have taken turns within so long. */
const OTHERS_MS = 1000

/** @returns runs a request of that address when its turn comes; at once where it is not held back */
function createShares({ config, clock, onceAround = setImmediate }: TurnsNeeds) {
  /** Those that asked in this round, or wait for the next. */
  const shares = new Map<string, Share>()
  /** Who asked last; null before anybody did. */
  let latest: string | undefined | null = null
  let changedMs = Number.NEGATIVE_INFINITY
  let isRoundComing = false
  let isResting = false

  function isSpent({ beganMs }: Share): boolean {
    return clock.monotonicMs() - beganMs >= config.turn_ms
  }

  function begin(name: string | undefined, run: () => void): void {
    if (latest !== null && name !== latest) changedMs = clock.monotonicMs()
    latest = name
    const share = shares.get(name ?? '')
    if (name === undefined) run()
    else if (share === undefined) {
      shares.set(name, { beganMs: clock.monotonicMs(), waiting: [] })
      comeRound()
      run()
    } else if (share.waiting.length > 0 || isSpent(share)) share.waiting.push(run)
    else run()
  }

  function comeRound(): void {
    if (isRoundComing) return
    isRoundComing = true
    onceAround(() => {
      isRoundComing = false
      nextRound()
    })
  }

  function nextRound(): void {
    const nowMs = clock.monotonicMs()
    const areOthersThere = nowMs - changedMs < OTHERS_MS
    const restMs = areOthersThere ? config.turn_rest_ms : 0
    for (const [name, share] of shares) {
      if (share.waiting.length === 0) shares.delete(name)
      else if (restMs === 0 || nowMs - share.beganMs >= config.turn_ms + restMs) {
        share.beganMs = clock.monotonicMs()
        goOn(share)
      }
    }
    if (shares.size === 0) return
    if (restMs === 0) comeRound()
    else if (!isResting) {
      isResting = true
      clock.after(restMs, () => {
        isResting = false
        nextRound()
      })
    }
  }

  /** One at least. What a request costs is known when its promises have run as well. */
  function goOn(share: Share): void {
    share.waiting.shift()?.()
    if (share.waiting.length === 0) return
    queueMicrotask(() =>
      process.nextTick(() => {
        if (!isSpent(share)) goOn(share)
      }),
    )
  }

  return begin
}

function lineOf(lines: WeakMap<Socket, Line>, connection: Socket): Line {
  let line = lines.get(connection)
  if (line === undefined) {
    line = { isBusy: false, headChars: 0, waiting: [] }
    lines.set(connection, line)
  }
  return line
}

/** A name or a value beside its characters, however short it is. @source measured: 136 bytes a field */
const TEXT_CHARS = 48

function charsOf({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, { length }) => sum + length + TEXT_CHARS, url.length)
}
