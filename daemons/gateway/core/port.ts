/** One configured port: its state, its line, the protocol on it, and the way back after a loss. */
import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/fault.ts'
import type { Adapter } from './adapter.ts'
import { type BackoffLimits, createBackoff } from './backoff.ts'
import { countedLine } from './counted-line.ts'
import { nextPortState, type PortState, type PortStateEvent } from './port-state-table.ts'
import type { DriverCounts, Line, LineOpener, LineSettings } from './ports.ts'

/** What a port is made of. The adapter lives as long as the port; changed settings make a new port. */
export interface PortParts {
  path: string
  line: LineSettings
  adapter: Adapter
  opener: LineOpener
  clock: Clock
  /** Waits between tries to open a line that is absent or refused. */
  retry: BackoffLimits
  publish(event: string, payload: unknown): void
}

/** What a reader is told of a port's life. Instants are epoch milliseconds. */
export interface PortLife {
  state: PortState
  stateSince: number
  /** Why it is absent or failed. */
  fault: { code: string; message: string } | null
  nextTryAt: number | null
  unsupported: readonly string[]
}

export interface Port {
  readonly path: string
  readonly adapter: Adapter
  life(): PortLife
  counters(): Record<string, number> & { driver: DriverCounts | null }
  /** Opens, and keeps trying while the device is absent or refuses. @returns the state after the first try */
  open(): Promise<PortState>
  close(): Promise<void>
}

/** @returns a port in state `closed` */
export function createPort(parts: PortParts): Port {
  const { clock, path } = parts
  const backoff = createBackoff(parts.retry)
  const bytes = { rxBytes: 0, txBytes: 0 }
  let state: PortState = 'closed'
  let stateSince = clock.epochMs()
  let fault: Fault | undefined
  let line: Line | undefined
  let retry: { timer: Timer; atEpochMs: number } | undefined
  let attempt = 0

  function move(event: PortStateEvent, why?: Fault): void {
    const previous = state
    state = nextPortState(state, event)
    fault = why
    if (state === previous) return
    stateSince = clock.epochMs()
    parts.publish('port', { state, previous, fault: why ? { code: why.code, message: why.message } : null })
  }

  function retryLater(): void {
    const waitMs = backoff.next()
    const timer = clock.after(waitMs, () => {
      retry = undefined
      move('retryDue', fault)
      void tryOpen()
    })
    retry = { timer, atEpochMs: clock.epochMs() + waitMs }
  }

  function cancelRetry(): void {
    retry?.timer.cancel()
    retry = undefined
  }

  /** An attempt that was overtaken by a close gives its line back. */
  async function tryOpen(): Promise<void> {
    const mine = ++attempt
    try {
      const opened = await parts.opener.open(path, parts.line)
      if (mine !== attempt || state !== 'opening') return await opened.close()
      line = opened
      backoff.reset()
      opened.onGone(onGone)
      parts.adapter.attach(countedLine(opened, bytes))
      move('opened')
    } catch (error) {
      if (mine !== attempt || state !== 'opening') return
      const why = faultOf(error, 'line_refused', `${path} could not be opened.`)
      move(why.code === 'line_absent' ? 'notThere' : 'refused', why)
      retryLater()
    }
  }

  function onGone(why: Fault): void {
    if (state !== 'open') return
    const lost = line
    line = undefined
    move('gone', why)
    void leave(lost, why)
    retryLater()
  }

  async function leave(lost: Line | undefined, why?: Fault): Promise<void> {
    await parts.adapter.detach(why)
    await lost?.close()
  }

  return {
    path,
    adapter: parts.adapter,
    life: () => ({
      state,
      stateSince,
      fault: fault ? { code: fault.code, message: fault.message } : null,
      nextTryAt: retry?.atEpochMs ?? null,
      unsupported: line?.unsupported ?? [],
    }),
    counters: () => ({ ...bytes, ...parts.adapter.counters(), driver: line?.driverCounts() ?? null }) as never,
    async open() {
      if (state === 'open' || state === 'opening') return state
      cancelRetry()
      move('openAsked')
      await tryOpen()
      return state
    },
    async close() {
      cancelRetry()
      attempt++
      const open = line
      line = undefined
      move('closeAsked')
      await leave(open)
    },
  }
}
