/** Has cameras speak: one message at a time of each camera, some cameras at once. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { SPEECH_RATE } from '../../wire/wav.ts'
import type { CameraRecord, Talkback } from '../cameras/book.ts'
import type { TalkMessages } from './messages.ts'
import { speak, type Talker, type TalkLine } from './speaking.ts'

interface TalkParts {
  clock: Clock
  log: Log
  talker: Talker
  messages: Pick<TalkMessages, 'require' | 'soundOf'>
  /** Keeps what a camera said of its loudspeaker. */
  keep(camera: string, talkback: Talkback): Promise<void>
  /** Cameras at once; key `talk.cameras`. */
  most: number
  /** From the last sample to the end of the session; key `talk.end_ms`. */
  endMs: number
}

/** What is being said. */
export interface Speaking {
  seconds: number
  /** Resolves once it was said; with a fault if it was stopped (`talk_stopped`) or the camera was lost over it. */
  done: Promise<Fault | undefined>
}

export interface Talk {
  /** Asks a camera for its loudspeaker. @throws Fault `talk_busy`, and why it could not be asked; `store_write_failed` */
  probe(record: CameraRecord): Promise<Talkback>
  /**
   * Begins to say a message.
   * @param repeat how often, 1..3
   * @throws Fault `unknown_message`, `talk_busy`, `no_talkback`, and why the camera is not reached
   */
  say(record: CameraRecord, message: string, repeat: number): Promise<Speaking>
  /** Has a camera say nothing more. @returns whether it spoke */
  stop(camera: string): boolean
  close(): void
}

export function createTalk(parts: TalkParts): Talk {
  const { clock, endMs, log, messages, most, talker } = parts
  const busy = new Map<string, { abort: AbortController; speaks: boolean }>()

  /** A camera that is asked or speaks. */
  function begin(camera: string, speaks: boolean): AbortController {
    if (busy.has(camera)) throw new Fault('talk_busy', 'The camera speaks already. Stop it, or wait until it is done.')
    if (busy.size >= most)
      throw new Fault('talk_busy', `${busy.size} cameras speak already; talk.cameras allows ${most} at once.`)
    const abort = new AbortController()
    busy.set(camera, { abort, speaks })
    return abort
  }

  function open({ password, url, username }: CameraRecord, signal: AbortSignal): Promise<TalkLine> {
    return talker.open({ url, username: username ?? undefined, password: password ?? undefined }, signal)
  }

  async function foundOf(record: CameraRecord, signal: AbortSignal): Promise<Talkback> {
    try {
      const line = await open(record, signal)
      line.close()
      return { probedAt: clock.epochMs(), codec: line.law, reason: null }
    } catch (error) {
      // Only the camera itself can say that it has none; one that is away has said nothing.
      if (!(error instanceof Fault && error.code === 'no_talkback')) throw error
      return { probedAt: clock.epochMs(), codec: null, reason: error.message }
    }
  }

  return {
    async probe(record) {
      const abort = begin(record.id, false)
      try {
        const found = await foundOf(record, abort.signal)
        await parts.keep(record.id, found)
        return found
      } finally {
        busy.delete(record.id)
      }
    },
    async say(record, id, repeat) {
      messages.require(id)
      const abort = begin(record.id, true)
      try {
        const samples = await messages.soundOf(id)
        const line = await open(record, abort.signal)
        const done = sayAll({ clock, endMs, line, signal: abort.signal }, samples, repeat).then((fault) => {
          busy.delete(record.id)
          if (fault && fault.code !== 'talk_stopped')
            log.warning('a camera was lost while it spoke', { camera: record.name, fault })
          return fault
        })
        return { seconds: (samples.length / SPEECH_RATE) * repeat, done }
      } catch (error) {
        busy.delete(record.id)
        throw error
      }
    },
    stop(camera) {
      const speaking = busy.get(camera)
      if (!speaking?.speaks) return false
      speaking.abort.abort(stopped())
      return true
    },
    close() {
      for (const { abort } of busy.values()) abort.abort(stopped())
    },
  }
}

function stopped(): Fault {
  return new Fault('talk_stopped', 'It was stopped before all of it was said.')
}

/** @returns why not all of it was said */
async function sayAll(
  to: Parameters<typeof speak>[0] & { endMs: number },
  samples: Int16Array,
  repeat: number,
): Promise<Fault | undefined> {
  try {
    for (let time = 0; time < repeat && !to.signal.aborted; time++) await speak(to, samples)
    if (to.signal.aborted) return stopped()
    await isHeard(to)
    return undefined
  } catch (error) {
    return faultOf(error, 'camera_ended', 'The camera was lost while it spoke.')
  } finally {
    to.line.close()
  }
}

/** A loudspeaker plays from a buffer, and drops the last words if the session ends before it has played them. */
async function isHeard({ clock, endMs, line, signal }: Parameters<typeof sayAll>[0]): Promise<void> {
  const played = Promise.withResolvers<void>()
  const timer = clock.after(endMs, played.resolve)
  const end = () => played.resolve()
  signal.addEventListener('abort', end, { once: true })
  await Promise.race([played.promise, line.over])
  signal.removeEventListener('abort', end)
  timer.cancel()
}
