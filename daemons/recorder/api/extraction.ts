/** One meter for everything that is taken out of footage: how old it may be, how much at once, and how often. */
import type { Clock } from '#kit/clock.ts'
import type { Ask } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import { createStreamMeter } from '../core/access/stream-meter.ts'
import type { CameraRecord } from '../core/cameras/book.ts'
import { requirePermission } from './callers.ts'

interface ExtractionParts {
  clock: Clock
  recorder: Recorder
  /** Keys `playback.streams`, `playback.total_streams` and `playback.masked_streams`. */
  limits: { streams: number; totalStreams: number; maskedStreams: number }
}

/** What is taken out. */
interface Wish {
  account: AccountRecord
  camera: Pick<CameraRecord, 'id' | 'name'>
  /** Its first moment, epoch milliseconds. */
  startAt: number
  /** As a file to keep, which is an extraction at any age. */
  isFile?: boolean
  /** For the journal. */
  facts: Readonly<Record<string, number>>
}

/** Asked in this order: `permit`, `countFrame` for a picture, `hold`, `note`; then the first byte may go out. */
export interface Extraction {
  /** @throws Fault `permission_needed` for what is past the review window, or a file, without the permission export */
  permit(wish: Wish): void
  /** @throws Fault `too_many_frames` */
  countFrame(account: AccountRecord): void
  /**
   * Takes one of the account's places.
   * @param giveWay see `StreamMeter`
   * @returns what gives it back, once. @throws Fault `too_many_streams`
   */
  hold(account: AccountRecord, giveWay?: (why: Fault) => void): () => void
  /** As `hold`, for footage with masks: it is re-encoded, so fewer may play at once. */
  holdFilm(account: AccountRecord, giveWay?: (why: Fault) => void): () => void
  /** Writes an extraction into the journal; nothing for what may be reviewed. */
  note(ask: Pick<Ask, 'caller' | 'remoteAddress'>, wish: Wish): Promise<void>
}

/** Interface document 3, A, Limits: the review window, and frames of an account. */
const REVIEW_MS = 120_000
const FRAMES_MS = 60_000
const MOST_FRAMES = 30

export function createExtraction({ clock, limits, recorder }: ExtractionParts): Extraction {
  const isExtraction = ({ isFile, startAt }: Wish) => isFile === true || startAt < clock.epochMs() - REVIEW_MS
  const countFrame = createFrameMeter(clock)
  const meter = createStreamMeter({
    ...{ ofAccount: limits.streams, inAll: limits.totalStreams, what: 'playback' },
    keys: { ofAccount: 'playback.streams', inAll: 'playback.total_streams' },
  })
  const films = createStreamMeter({
    ...{ ofAccount: limits.streams, inAll: limits.maskedStreams, what: 'playback with masks' },
    keys: { ofAccount: 'playback.streams', inAll: 'playback.masked_streams' },
  })
  return {
    permit(wish) {
      if (isExtraction(wish))
        requirePermission(wish.account, 'export', 'Footage older than 120 seconds, or a file to keep,')
    },
    countFrame: ({ id }) => countFrame(id),
    hold: ({ id }, giveWay) => meter.take(id, giveWay),
    holdFilm({ id }, giveWay) {
      films.check(id)
      const ends = [meter.take(id, giveWay), films.take(id, giveWay)]
      return () => {
        for (const end of ends) end()
      }
    },
    async note(ask, wish) {
      const { account, camera, facts } = wish
      if (!isExtraction(wish)) return
      const about = { account: account.id, camera: camera.id, ...facts }
      await recorder.changed(ask, 'footage taken out', camera.name, about)
    },
  }
}

/** Counts the frames of the last minute. A refused one does not count. */
function createFrameMeter(clock: Clock): (account: string) => void {
  const taken = new Map<string, number[]>()
  return (account) => {
    const nowMs = clock.monotonicMs()
    for (const [id, times] of taken) if (nowMs - (times.at(-1) ?? 0) >= FRAMES_MS) taken.delete(id)
    const times = (taken.get(account) ?? []).filter((ms) => nowMs - ms < FRAMES_MS)
    if (times.length >= MOST_FRAMES) {
      const waitS = Math.ceil((FRAMES_MS - (nowMs - (times[0] ?? 0))) / 1000)
      throw new Fault(
        'too_many_frames',
        `This account has taken ${MOST_FRAMES} frames within a minute, which is all it may. Try again in ${waitS} s.`,
      )
    }
    taken.set(account, [...times, nowMs])
  }
}
