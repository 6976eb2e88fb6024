/** Stills of cameras for the pages: however many people look, a recorder is asked for each of them at a bounded pace. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Row } from '../site/book.ts'
import { createSlots, createTurnsByKey, within } from '../turns.ts'

interface StillParts {
  clock: Clock
  /** Fetches the picture of a zone from its device. @throws Fault that says why it has none */
  ask(zone: Row, signal: AbortSignal): Promise<Uint8Array>
  /** As the settings of the same names in the table `drivers`. */
  limits: {
    stillMs: number
    stills: number
    stillsAtOnce: number
    stillsPerDevice: number
    stillLookMs: number
    stillLooks: number
    deadlineMs: number
  }
}

/** What was asked for last, of a zone as its row was then. */
interface Kept {
  zone: Row
  askedMs: number
  answer: Promise<Uint8Array>
  isSettled: boolean
}

export interface Stills {
  /** How often a page asks while it shows one. */
  everyMs: number
  /**
   * What a camera shows, at most `everyMs` old: until then everybody gets the same picture, or the same fault.
   * @throws Fault `no_still` if the zone is no camera, `still_failed` with a sentence
   */
  still(zone: Row): Promise<Uint8Array>
  /** Whether this person begins to look at a zone: not while a page asks for its picture again and again. */
  isNewLook(userId: number, zoneId: number): boolean
}

export function createStills({ ask, clock, limits }: StillParts): Stills {
  const fetching = createFetching({ ask, clock, limits })
  /** The one that was asked for last at the end. */
  const kept = new Map<number, Kept>()
  const looks = new Map<string, number>()

  function keep(zone: Row): Promise<Uint8Array> {
    kept.delete(zone.id)
    for (const [id, { isSettled }] of kept) {
      if (kept.size < limits.stills) break
      if (isSettled) kept.delete(id)
    }
    const answer = fetching.picture(zone)
    const one: Kept = { zone, askedMs: clock.monotonicMs(), answer, isSettled: false }
    const settled = () => {
      one.isSettled = true
    }
    void answer.then(settled, settled)
    kept.set(zone.id, one)
    return answer
  }

  return {
    everyMs: limits.stillMs,
    async still(zone) {
      const held = kept.get(zone.id)
      // A row is never changed in place: another one may name another camera.
      if (held?.zone === zone && clock.monotonicMs() - held.askedMs < limits.stillMs) return held.answer
      if (fetching.underWay() >= limits.stills) throw failed(CROWDED)
      return keep(zone)
    },
    isNewLook(userId, zoneId) {
      const key = `${userId}/${zoneId}`
      const nowMs = clock.monotonicMs()
      const beforeMs = looks.get(key) ?? Number.NEGATIVE_INFINITY
      looks.delete(key)
      for (const oldest of looks.keys()) {
        if (looks.size < limits.stillLooks) break
        looks.delete(oldest)
      }
      looks.set(key, nowMs)
      return nowMs - beforeMs >= limits.stillLookMs
    },
  }
}

const CROWDED = 'too many pictures are being fetched at once'

/** Fetches pictures: so many of one device at once, and in all, and each within its time. */
function createFetching({ ask, clock, limits }: StillParts) {
  const inAll = createSlots(limits.stillsAtOnce, clock)
  const byDevice = createTurnsByKey<unknown>(() => createSlots(limits.stillsPerDevice, clock))
  /** Those that wait, and those that are fetched. */
  let underWay = 0

  async function picture(zone: Row): Promise<Uint8Array> {
    const end = new AbortController()
    // Who waits for other recorders alone has not been asked, and is not called silent.
    let isHeldUp = false
    const late = () => {
      const fault = isHeldUp
        ? new Fault('still_failed', CROWDED)
        : new Fault('driver_timeout', 'no picture came in time')
      end.abort(fault)
      return fault
    }
    const fetchNow = async () => {
      isHeldUp = false
      end.signal.throwIfAborted()
      return await ask(zone, end.signal)
    }
    underWay++
    const fetched = byDevice
      .run(zone.device_id, () => {
        isHeldUp = true
        return inAll(fetchNow)
      })
      .finally(() => underWay--)
    try {
      return await within(fetched, { clock, limitMs: limits.deadlineMs, late })
    } catch (cause) {
      if (!(cause instanceof Fault) || cause.code === 'no_still') throw cause
      throw failed(whyOf(cause), cause)
    }
  }

  return { picture, underWay: () => underWay }
}

/** The reason as people may read it: the sentences of transports name addresses. */
function whyOf({ code, message }: Fault): string {
  if (code === 'still_failed') return message
  return code === 'answer_too_long' ? 'it is larger than this controller takes' : 'its recorder does not answer'
}

function failed(why: string, cause?: Fault): Fault {
  return new Fault('still_failed', `There is no picture of this camera: ${why}.`, cause && { cause })
}
