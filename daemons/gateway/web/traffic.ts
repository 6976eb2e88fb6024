/** The live traffic of one port: what came, what is shown, and whether it stands still. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { type Feed, type FeedMessage, openFeed } from '#kit/web/feed.ts'
import { now } from '#kit/web/now.ts'
import type { PortEvent } from '../core/lines/ports.ts'
import { createFrameLog, matching } from './frame-log.ts'
import type { Row } from './frame-row.ts'

/** Lines kept and shown. */
export const ROWS_KEPT = 500
/** Events that wait for the next drawing; more are left out and counted. A hidden page draws nothing. */
const QUEUE = 1000
/** The log grows at most this often. */
const DRAW_MS = 100

/** Events that are lines of the log. */
const LOGGED = ['frame', 'error', 'port']

/** How frames are written. */
export type Show = 'both' | 'decoded' | 'bytes'

/** The traffic of one port. */
export interface Traffic {
  /** Everything kept, also while paused: the verdict is about the line, not about the page. */
  readonly rows: Signal<readonly Row[]>
  /** What the log shows. */
  readonly shown: ReadonlySignal<readonly Row[]>
  /** What it would show without filter. */
  readonly frozen: ReadonlySignal<readonly Row[]>
  readonly show: Signal<Show>
  readonly filter: Signal<string>
  readonly errorsOnly: Signal<boolean>
  /** When the log was stopped, and what it showed; null while it runs. */
  readonly pause: Signal<{ rows: readonly Row[]; atMs: number; taken: number } | null>
  /** Events that came since the pause. */
  readonly missed: ReadonlySignal<number>
  togglePause(): void
  /** Hands on the events that are no line of the log: values and units. Returns what ends it. */
  onOther(hear: (event: PortEvent) => void): () => void
  close(): void
}

/** Listens to a port until closed. */
export function createTraffic(port: string): Traffic {
  const log = createFrameLog(ROWS_KEPT)
  const rows = signal<readonly Row[]>([])
  const taken = signal(0)
  const pause: Traffic['pause'] = signal(null)
  const filter = signal('')
  const errorsOnly = signal(false)
  const frozen = computed(() => pause.value?.rows ?? rows.value)
  const others = new Set<(event: PortEvent) => void>()
  let queue: PortEvent[] = []
  let leftOut = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function draw(): void {
    timer = undefined
    if (leftOut > 0) log.skipped(leftOut, queue[0]?.timestamp ?? Date.now())
    for (const event of queue) log.add(event)
    queue = []
    leftOut = 0
    rows.value = log.rows()
    taken.value = log.taken()
  }

  /** What waits belongs to the feed before. */
  function begin(): void {
    for (const event of queue) log.add(event)
    queue = []
    log.replayed()
  }

  function hear(message: FeedMessage): void {
    if (message.type === 'event' && !LOGGED.includes(message.event)) {
      for (const tell of others) tell(message)
      return
    }
    if (message.type === 'event') queue.push(message)
    else if (message.type === 'summary') leftOut += message.dropped
    if (queue.length > QUEUE) {
      queue.shift()
      leftOut += 1
    }
    timer ??= setTimeout(() => requestAnimationFrame(draw), DRAW_MS)
  }

  const feed: Feed = openFeed({ port, replay: 200 }, hear, begin)
  return {
    rows,
    frozen,
    shown: computed(() => matching(frozen.value, filter.value, errorsOnly.value)),
    show: signal<Show>('both'),
    filter,
    errorsOnly,
    pause,
    missed: computed(() => (pause.value ? taken.value - pause.value.taken : 0)),
    togglePause() {
      pause.value = pause.value ? null : { rows: rows.value, atMs: now.peek(), taken: taken.value }
    },
    onOther(tell) {
      others.add(tell)
      return () => others.delete(tell)
    },
    close() {
      clearTimeout(timer)
      feed.close()
    },
  }
}
