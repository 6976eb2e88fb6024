/**
 * The code of the thread of MS/TP: it has the lines and their nodes to itself, so that nothing that the daemon does for
 * others comes between a token and its use.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock, type Timer } from '#kit/clock.ts'
import type { Line, LineSettings } from '#kit/line/line.ts'
import { createSerialOpener } from '#kit/line/serial-line.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { enterRealtime } from '#native/serial/index.ts'
import { transitWeight } from '../core/mstp/memory.ts'
import type { MstpHealth } from '../core/mstp/mstp.ts'
import { MstpNode, type SeenBytes } from '../core/mstp/node.ts'
import type { MstpSettings } from '../core/mstp/settings.ts'
import type { MstpFrame } from '../wire/mstp/frame.ts'

/** The tasks of the thread; `line` is the daemon's number for an open line. */
export type MstpTask =
  | { kind: 'open'; line: number; path: string; settings: LineSettings; node: MstpSettings }
  | { kind: 'close'; line: number }
  | { kind: 'send'; line: number; frame: MstpFrame }
  | { kind: 'withdraw'; send: number }
  /** The oldest frames that were told together have arrived. */
  | { kind: 'heard'; line: number }

/** The result of the task with that number, or what happens on a line. */
export type MstpWord =
  | { kind: 'done'; number: number; value: unknown }
  | { kind: 'failed'; number: number; code: string; message: string; details: Record<string, unknown> | undefined }
  | { kind: 'seen'; line: number; list: readonly SeenBytes[] }
  | { kind: 'health'; line: number; health: MstpHealth }
  | { kind: 'fault' | 'gone'; line: number; code: string; message: string }
  | { kind: 'log'; level: 'info' | 'warning'; event: string; facts: Record<string, unknown> }

/** What the thread gets at its start. */
export interface MstpThreadData {
  /** Frames of one line that may be on their way to the daemon. */
  transitFrames: number
  /** 0: the thread is no more urgent than others. */
  realtimePriority: number
}

/** Frames are told together, so that a busy ring does not wake the daemon for each. */
const TELL_MS = 20
/** How often counters and the map of the ring are told. */
const HEALTH_MS = 200

/** One line with its node. */
class Served {
  readonly #number: number
  readonly #line: Line
  readonly #node: MstpNode
  readonly #timers: Timer[]
  #seen: SeenBytes[] = []
  /** What is in `#seen` and on its way, and of that the frames that were told together. */
  #inTransit = 0
  #held = 0
  readonly #told: number[] = []
  #untold = 0

  constructor(number: number, line: Line, { node: settings, settings: { baud } }: Extract<MstpTask, { kind: 'open' }>) {
    this.#number = number
    this.#line = line
    this.#node = new MstpNode({
      ...{ clock: systemClock, baud, settings },
      write: (bytes) => line.write(bytes),
      onSeen: (seen) => this.#note(seen),
      onFault: (fault) => this.#word('fault', fault),
    })
    line.onBytes((bytes, atUs) => this.#node.feed(bytes, atUs))
    line.onGone((fault) => this.#gone(fault))
    this.#timers = [
      systemClock.every(TELL_MS, () => this.tell()),
      systemClock.every(HEALTH_MS, () => this.tellHealth()),
    ]
    this.tellHealth()
  }

  send(frame: MstpFrame) {
    return this.#node.send(frame)
  }

  heard(): void {
    this.#inTransit -= this.#told.shift() ?? 0
  }

  tell(): void {
    if (this.#seen.length === 0) return
    say({ kind: 'seen', line: this.#number, list: this.#seen })
    this.#seen = []
    this.#told.push(this.#held)
    this.#held = 0
  }

  tellHealth(): void {
    const counters = { ...this.#node.counters(), untoldFrames: this.#untold }
    const health = { counters, view: this.#node.view(), driver: this.#line.driverCounts(), realtime }
    say({ kind: 'health', line: this.#number, health })
  }

  async close(fault: Fault): Promise<void> {
    this.#end(fault)
    await this.#line.close()
  }

  #gone(fault: Fault): void {
    this.#end(fault)
    this.#word('gone', fault)
  }

  #end(fault: Fault): void {
    for (const timer of this.#timers) timer.cancel()
    this.#node.end(fault)
    this.tell()
  }

  #note(seen: SeenBytes): void {
    if (this.#inTransit >= limits.transitFrames) {
      this.#untold++
      return
    }
    const weight = transitWeight(seen.bytes.length)
    this.#inTransit += weight
    this.#held += weight
    this.#seen.push(seen)
  }

  #word(kind: 'fault' | 'gone', { code, message }: Fault): void {
    say({ kind, line: this.#number, code, message })
  }
}

const limits = workerData as MstpThreadData
const realtime: MstpHealth['realtime'] = {
  priority: limits.realtimePriority,
  refusal: limits.realtimePriority > 0 ? enterRealtime(limits.realtimePriority) : null,
}
const lines = new Map<number, Served>()
/** Sends under way, by the number of their task. */
const withdrawals = new Map<number, () => void>()
const opener = createSerialOpener({
  log: { info: (event, facts = {}) => say({ kind: 'log', level: 'info', event, facts }) },
})

if (realtime.refusal !== null)
  say({ kind: 'log', level: 'warning', event: 'mstp_realtime_refused', facts: { ...realtime } })

function say(word: MstpWord): void {
  parentPort?.postMessage(word)
}

function served(line: number): Served {
  const found = lines.get(line)
  if (!found) throw new Fault('line_closed', 'The line is closed, so nothing can be sent.')
  return found
}

async function send(number: number, { frame, line }: Extract<MstpTask, { kind: 'send' }>): Promise<unknown> {
  const at = served(line)
  const { outcome, withdraw } = at.send(frame)
  withdrawals.set(number, withdraw)
  try {
    return await outcome
  } finally {
    withdrawals.delete(number)
    // Who asked finds the frames of his request among the events, and its counts.
    at.tell()
    at.tellHealth()
  }
}

async function carryOut(number: number, task: MstpTask): Promise<unknown> {
  switch (task.kind) {
    case 'open': {
      const line = await opener.open(task.path, task.settings)
      lines.set(task.line, new Served(task.line, line, task))
      return line.unsupported
    }
    case 'close': {
      const line = lines.get(task.line)
      lines.delete(task.line)
      return await line?.close(new Fault('line_closed', 'The line was closed.'))
    }
    case 'send':
      return await send(number, task)
    case 'withdraw':
      return withdrawals.get(task.send)?.()
    case 'heard':
      return lines.get(task.line)?.heard()
  }
}

parentPort?.on('message', async ({ number, task }: { number: number; task: MstpTask }) => {
  try {
    const value = await carryOut(number, task)
    if (task.kind !== 'heard') say({ kind: 'done', number, value })
  } catch (error) {
    const { code, details, message } = faultOf(error, 'mstp_thread_failed', String(error))
    say({ kind: 'failed', number, code, message, details })
  }
})
