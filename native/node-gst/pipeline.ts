/** Pipelines from a description, with their messages, properties and threads. */
import { addon } from './addon.ts'
import type { AudioClock, NativeClock } from './clock.ts'

declare const kind: unique symbol
/** Handle of a native pipeline. */
interface NativePipeline {
  [kind]: 'pipeline'
}

/** Handle of the bytes of a sample, where GStreamer has them. Is used up by the first call that it is handed to. */
interface NativeSample {
  [kind]: 'sample'
}

/** Native pipeline calls. They throw an Error with a code. */
interface PipelineCalls {
  openPipeline(
    ...of: [
      description: string,
      clock: NativeClock,
      realtimePriority: number,
      queue: number,
      isLooping: boolean,
      onMessage: (message: NativeMessage) => void,
    ]
  ): NativePipeline
  playPipeline(pipeline: NativePipeline): undefined
  closePipeline(pipeline: NativePipeline): undefined
  setProperty(pipeline: NativePipeline, element: string, property: string, value: PropertyValue): undefined
  getProperty(pipeline: NativePipeline, element: string, property: string): unknown
  pipelineState(pipeline: NativePipeline): Realtime & { dropped: number }
  pushBuffer(
    ...of: [
      pipeline: NativePipeline,
      element: string,
      bytes: Uint8Array | NativeSample,
      ptsNs: number,
      durationNs: number,
    ]
  ): boolean
  endStream(pipeline: NativePipeline, element: string): undefined
  drainStream(pipeline: NativePipeline, element: string, ptsNs: number): undefined
  letOnlyIn(pipeline: NativePipeline, element: string, ptsNs: number): undefined
  takeSample(pipeline: NativePipeline, element: string): HeldSample | null
  readSample(sample: NativeSample): Uint8Array
}

type NativeMessage = GstMessage | { type: 'played'; error: string | null } | { type: 'closed' }

/** Whole numbers beyond 2^53 as bigint; text for enumerations (by nick), caps and fractions. */
type PropertyValue = number | bigint | string | boolean

/** Messages of a pipeline. `element` is a name in the description, or GStreamer's own (filesrc0). */
export type GstMessage =
  | {
      type: 'error' | 'warning'
      element: string
      /** GStreamer's code: `resource_not_found`. */
      code: string
      message: string
      debug: string
    }
  | { type: 'eos' }
  /** An appsink has something to pull. */
  | { type: 'sample'; element: string }
  /** What was pushed before `drain` has come to an appsink, or will not. */
  | { type: 'drained'; element: string }
  /** One number per channel, in dB below full scale. */
  | { type: 'level'; element: string; peakDb: number[]; rmsDb: number[] }
  | { type: 'element'; element: string; name: string; fields: Record<string, unknown> }

/** What is said of a sample. */
interface SampleFacts {
  /** Its format, as GStreamer writes it. */
  caps: string
  /** Nanoseconds since the beginning of the stream; null: none. */
  ptsNs: number | null
}

/** What an appsink gave. */
export interface Sample extends SampleFacts {
  /** Its own copy. */
  bytes: Uint8Array
}

/** What an appsink gave, its bytes not copied: `push` hands them on, `read` copies them, each once. */
export interface HeldSample extends SampleFacts {
  /** Bytes. */
  length: number
  held: NativeSample
}

/** A buffer for an appsrc. */
export interface PushedBuffer {
  /** Copied; of a held sample handed on as they are. */
  bytes: Uint8Array | NativeSample
  /** Whole nanoseconds below 2^53. */
  ptsNs: number
  durationNs: number
}

/** Whether the streaming threads run at real-time priority. */
interface Realtime {
  /** 0: not requested. */
  asked: number
  /** False until the first thread has started. */
  granted: boolean
  /** The system's error if a thread was refused. */
  error: string | null
}

/** How a pipeline is opened. */
export interface PipelineOptions {
  clock: AudioClock
  /** SCHED_FIFO 1..99 for the streaming threads, 0 for ordinary ones. */
  realtimePriority: number
  /** Restarts at the end, without a gap. */
  loop?: boolean
  /**
   * Messages that may be queued for this process before they are dropped and counted; a quarter of it for levels.
   * Default: 256.
   */
  queue?: number
  onMessage(message: GstMessage): void
}

/** One pipeline. Holds its threads and devices until `close`. */
export interface Pipeline {
  /** @throws Error with the first error of an element if it does not start; that error is also sent as a message */
  play(): Promise<void>
  /** Stops it; no message follows. A second call waits for the first. */
  close(): Promise<void>
  /**
   * Takes effect at once, also while playing. Elements of this addon accept it at any time. Some of GStreamer's do not
   * while formats are negotiated, from `play` to the first sound: setting the wave of audiotestsrc then may crash the
   * process (seen with 1.22), so put such properties in the description.
   * @throws Error with code `no_element` or `no_property` and the names available, `bad_value` and what is accepted,
   * `closed`
   */
  set(element: string, property: string, value: PropertyValue): void
  /** Lists as arrays, structures as objects, 64-bit numbers as bigint. Faults as for `set`. */
  get(element: string, property: string): unknown
  /** Hands a buffer to an appsrc. @returns false if it takes none any more. @throws Error with code `no_element` */
  push(element: string, buffer: PushedBuffer): boolean
  /** Nothing follows in this appsrc. @throws Error with code `no_element` */
  end(element: string): void
  /**
   * Has the elements behind an appsrc give out what they hold, without ending it: a message `drained` follows from each
   * appsink.
   * @param ptsNs behind all that was pushed
   * @throws Error with code `no_element`
   */
  drain(element: string, ptsNs: number): void
  /** From now on nothing enters an element but what has this time. @throws Error with code `no_element` */
  letOnlyIn(element: string, ptsNs: number): void
  /** Takes the oldest sample of an appsink; undefined: there is none now. @throws Error with code `no_element` */
  pull(element: string): Sample | undefined
  /** As `pull`, without copying its bytes: it takes GStreamer's memory until it is read or pushed. */
  take(element: string): HeldSample | undefined
  realtime(): Realtime
  /** Messages dropped because this process was too slow. */
  dropped(): number
}

/**
 * Creates a pipeline without starting it.
 * @param description in gst-launch syntax
 * @throws Error with code `no_element`, `no_property` or `bad_pipeline`
 */
export function openPipeline(description: string, options: PipelineOptions): Pipeline {
  const calls = addon() as PipelineCalls
  const { clock, realtimePriority, loop = false, queue = 256 } = options
  let played = Promise.withResolvers<void>()
  let closing: PromiseWithResolvers<void> | undefined

  function onMessage(message: NativeMessage): void {
    if (message.type === 'closed') closing?.resolve()
    else if (message.type !== 'played') options.onMessage(message)
    else if (message.error === null) played.resolve()
    else played.reject(Object.assign(new Error(message.error), { code: 'gst_play' }))
  }
  const opened = calls.openPipeline(description, clock.native, realtimePriority, queue, loop, onMessage)

  function native(): NativePipeline {
    if (closing !== undefined) throw Object.assign(new Error('the pipeline is closed'), { code: 'closed' })
    return opened
  }

  const take = (element: string) => calls.takeSample(native(), element) ?? undefined

  return {
    play() {
      const one = native()
      played = Promise.withResolvers<void>()
      calls.playPipeline(one)
      return played.promise
    },
    close() {
      if (closing === undefined) {
        closing = Promise.withResolvers<void>()
        calls.closePipeline(opened)
      }
      return closing.promise
    },
    set: (element, property, value) => void calls.setProperty(native(), element, property, value),
    get: (element, property) => calls.getProperty(native(), element, property),
    push: (element, { bytes, durationNs, ptsNs }) => calls.pushBuffer(native(), element, bytes, ptsNs, durationNs),
    end: (element) => void calls.endStream(native(), element),
    drain: (element, ptsNs) => void calls.drainStream(native(), element, ptsNs),
    letOnlyIn: (element, ptsNs) => void calls.letOnlyIn(native(), element, ptsNs),
    take,
    pull(element) {
      const sample = take(element)
      return sample && readSample(sample)
    },
    realtime() {
      const { asked, granted, error } = calls.pipelineState(opened)
      return { asked, granted, error }
    },
    dropped: () => calls.pipelineState(opened).dropped,
  }
}

/** Copies what is held. @throws Error with code `bad_value` if it was read or pushed before */
export function readSample({ caps, held, ptsNs }: HeldSample): Sample {
  return { caps, ptsNs, bytes: (addon() as PipelineCalls).readSample(held) }
}
