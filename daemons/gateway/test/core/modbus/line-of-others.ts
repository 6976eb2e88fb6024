/** A line in memory on which the test plays everybody but the adapter. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type FakeLine, fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import type { Adapter, AdapterContext } from '../../../core/lines/adapter.ts'
import type { FramePayload } from '../../../core/lines/ports.ts'

export interface LineOfOthers {
  clock: FakeClock
  line: FakeLine
  adapter: Adapter
  frames: FramePayload[]
  /** All events except `frame`, in order. */
  events: { event: string; payload: unknown }[]
  /** Lets bytes arrive now, in these pieces. */
  say(...pieces: Uint8Array[]): void
  count(name: string): number
}

/** The fault of a port that was closed. */
export const whyNotOpen = () => new Fault('line_closed', 'The line is closed.')

/** Attaches the adapter to its line. */
export function lineOfOthers(make: (context: AdapterContext) => Adapter, baud = 19_200): LineOfOthers {
  const clock = fakeClock()
  const line = fakeLine()
  const frames: FramePayload[] = []
  const events: { event: string; payload: unknown }[] = []
  const adapter = make({
    port: '/dev/ttyTEST',
    lineSettings: { ...plainLine, baud },
    clock,
    whyNotOpen,
    publish(event, payload) {
      const made = typeof payload === 'function' ? payload() : payload
      if (event === 'frame') frames.push(made)
      else events.push({ event, payload: made })
    },
  })
  adapter.attach(line)
  return {
    clock,
    line,
    adapter,
    frames,
    events,
    say(...parts) {
      for (const part of parts) line.arrive(part, clock.monotonicMs() * 1000)
    },
    count: (name) => adapter.counters()[name] ?? Number.NaN,
  }
}
