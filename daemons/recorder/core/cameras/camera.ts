/** One camera: keeps its stream playing, and says how it is. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import type { CameraEventsStatus } from '../camera-events/meaning.ts'
import type { StreamOpener, StreamPlace } from '../ports.ts'
import type { Stream } from '../recording/stream.ts'

// The life of a camera: state x event -> next state.

export type CameraState = 'off' | 'connecting' | 'starting' | 'recording' | 'lost' | 'refused' | 'unsupported'

/**
 * - `switchedOn` by its settings or at start
 * - `switchedOff` by its settings or at stop
 * - `opened` the camera plays
 * - `pictured` a whole picture came
 * - `failed` the camera is away, broke off or fell silent
 * - `turnedAway` it does not take the password
 * - `notUnderstood` it sends nothing that can be recorded
 */
export type CameraEvent =
  | 'switchedOn'
  | 'switchedOff'
  | 'opened'
  | 'pictured'
  | 'failed'
  | 'turnedAway'
  | 'notUnderstood'

/**
 * A pair that is not listed does not change the state. A camera stays lost, refused or unsupported until a picture comes; a
 * new try to connect changes nothing, so that people see since when.
 */
export const cameraStateTable: Readonly<Record<CameraState, Partial<Record<CameraEvent, CameraState>>>> = {
  off: { switchedOn: 'connecting' },
  connecting: {
    ...{ switchedOff: 'off', opened: 'starting' },
    ...{ failed: 'lost', turnedAway: 'refused', notUnderstood: 'unsupported' },
  },
  starting: {
    ...{ switchedOff: 'off', pictured: 'recording' },
    ...{ failed: 'lost', turnedAway: 'refused', notUnderstood: 'unsupported' },
  },
  recording: { switchedOff: 'off', failed: 'lost', turnedAway: 'refused', notUnderstood: 'unsupported' },
  lost: { switchedOff: 'off', pictured: 'recording', turnedAway: 'refused', notUnderstood: 'unsupported' },
  refused: { switchedOff: 'off', pictured: 'recording', failed: 'lost', notUnderstood: 'unsupported' },
  unsupported: { switchedOff: 'off', pictured: 'recording', failed: 'lost', turnedAway: 'refused' },
}

/** What ended a session, as an event. */
const ENDINGS: Readonly<Record<string, CameraEvent>> = {
  camera_refused: 'turnedAway',
  camera_unsupported: 'notUnderstood',
  bad_parameter_set: 'notUnderstood',
}

interface CameraParts {
  place: StreamPlace
  clock: Clock
  opener: StreamOpener
  stream: Stream
  retry: BackoffLimits
  /** A camera that plays without a picture that can be recorded for this long is given up; key `cameras.picture_ms`. */
  pictureMs: number
  /** Whether anything could be kept: else a camera is not to blame that nothing of it is. */
  isDiskReady(): boolean
  /** Called after each change. */
  onChange(): void
  /** See `StreamListener`. */
  onFlood(fault: Fault | undefined): void
  /** How listening to its own events goes; null: nobody does. */
  eventsStatus(): CameraEventsStatus | null
}

/** The state of a camera as readers see it. Times are epoch milliseconds. */
export interface CameraHealth {
  state: CameraState
  stateSince: number
  /** Why it does not record; null while it does. */
  fault: { code: string; message: string } | null
  nextTryAt: number | null
  lastPictureAt: number | null
}

/** A camera begins in state `off`. */
export class Camera {
  readonly stream: Stream
  readonly #parts: CameraParts
  readonly #backoff: Backoff
  #state: CameraState = 'off'
  #stateSince: number
  #fault: Fault | undefined
  #retry: { timer: Timer; atEpochMs: number } | undefined
  #session: { abort: AbortController; over: Promise<void> } | undefined
  #lastPictureAt: number | null = null
  #picturedMs = 0

  constructor(parts: CameraParts) {
    this.stream = parts.stream
    this.#parts = parts
    this.#backoff = new Backoff(parts.retry)
    this.#stateSince = parts.clock.epochMs()
  }

  health(): CameraHealth {
    return {
      state: this.#state,
      stateSince: this.#stateSince,
      fault: this.#fault ? { code: this.#fault.code, message: this.#fault.message } : null,
      nextTryAt: this.#retry?.atEpochMs ?? null,
      lastPictureAt: this.#lastPictureAt,
    }
  }

  eventsStatus(): CameraEventsStatus | null {
    return this.#parts.eventsStatus()
  }

  start(): void {
    if (this.#state !== 'off') return
    this.#move('switchedOn')
    this.#connect()
  }

  /** Resolves once its session is over and its file is handed to the disk. */
  async stop(): Promise<void> {
    this.#retry?.timer.cancel()
    this.#retry = undefined
    this.#fault = undefined
    this.#move('switchedOff')
    this.#session?.abort.abort()
    await this.#session?.over
  }

  /** Called with each picture of its stream that is recorded. */
  pictured(): void {
    this.#lastPictureAt = this.#parts.clock.epochMs()
    this.#picturedMs = this.#parts.clock.monotonicMs()
    if (this.#state === 'recording') return
    this.#fault = undefined
    this.#backoff.reset()
    this.#move('pictured')
  }

  #connect(): void {
    const abort = new AbortController()
    this.#session = { abort, over: this.#play(abort) }
  }

  async #play(abort: AbortController): Promise<void> {
    const { clock, isDiskReady, onFlood, opener, pictureMs, place, stream } = this.#parts
    let useless: Fault | undefined
    let watch: Timer | undefined
    const listener = {
      onOpened: (opened: Parameters<Stream['onOpened']>[0]) => {
        stream.onOpened(opened)
        this.#move('opened')
        this.#picturedMs = clock.monotonicMs()
        watch = clock.every(pictureMs / 4, () => {
          if (clock.monotonicMs() - this.#picturedMs < pictureMs) return
          useless = isDiskReady() ? noPicture(pictureMs) : noDisk(pictureMs)
          abort.abort()
        })
      },
      onFlood,
      onPacket: stream.onPacket,
      onReport: stream.onReport,
    }
    const ending = await opener.play(place, listener, abort.signal)
    watch?.cancel()
    stream.onEnded()
    this.#session = undefined
    if (this.#state !== 'off') this.#wait(useless ?? faultOf(ending, 'camera_ended', 'The camera ended the session.'))
  }

  #wait(fault: Fault): void {
    const { clock, retry } = this.#parts
    this.#fault = fault
    const event = ENDINGS[fault.code] ?? 'failed'
    // Cameras lock an account after some wrong passwords, and what is not understood is not understood soon either.
    const waitMs = event === 'failed' ? this.#backoff.next() : retry.maxMs
    const timer = clock.after(waitMs, () => {
      this.#retry = undefined
      this.#connect()
      this.#parts.onChange()
    })
    this.#retry = { timer, atEpochMs: clock.epochMs() + waitMs }
    if (!this.#move(event)) this.#parts.onChange()
  }

  /** @returns whether the state is another */
  #move(event: CameraEvent): boolean {
    const next = cameraStateTable[this.#state][event]
    if (next === undefined) return false
    this.#state = next
    this.#stateSince = this.#parts.clock.epochMs()
    this.#parts.onChange()
    return true
  }
}

function noPicture(afterMs: number): Fault {
  return new Fault(
    'camera_no_picture',
    `The camera sends, but nothing that can be recorded for ${durationText(afterMs)}. Set its key frame interval to a few seconds.`,
  )
}

function noDisk(afterMs: number): Fault {
  return new Fault(
    'camera_not_kept',
    `No disk has taken what the camera sends for ${durationText(afterMs)}. Look at the disks: GET /api/health says what is wrong with each.`,
  )
}
