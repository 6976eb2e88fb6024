/** Routes of single pictures: what a camera shows now, and what it showed at a moment. */
import { Type } from 'typebox'
import { atMost, type Clock } from '#kit/clock.ts'
import { moment, Reply, type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import type { CameraBook, CameraRecord } from '../core/cameras/book.ts'
import { masksOf } from '../core/cameras/masks.ts'
import type { ChosenPicture } from '../core/pictures/choice.ts'
import { maskedPicture } from '../core/pictures/masked-picture.ts'
import { noPicture } from '../core/pictures/picture-streams.ts'
import type { PictureDecoder } from '../core/ports.ts'
import type { Callers } from './callers.ts'
import { cameraParams } from './camera-routes.ts'
import type { Extraction } from './extraction.ts'

interface PictureRouteParts {
  clock: Clock
  cameras: CameraBook
  callers: Callers
  decoder: PictureDecoder
  extraction: Extraction
  newest(camera: string): ChosenPicture | undefined
  /** @throws Fault `no_footage`, `footage_gone` */
  pictureAt(camera: string, at: number): Promise<ChosenPicture>
  /** Reading it may take so long; key `storage.stuck_ms`. */
  readMs: number
}

export const pictureWidth = Type.Optional(
  Type.Integer({ minimum: 16, maximum: 16_384, description: 'pixels; never wider than the picture is' }),
)

export const shownAtHeader = 'X-Svc-Frame-At'

export function pictureRoutes(parts: PictureRouteParts): Route[] {
  return [stillRoute(parts), frameRoute(parts)]
}

interface Making {
  account: AccountRecord
  record: CameraRecord
  picture: ChosenPicture
  width: number | undefined
  signal: AbortSignal
}

async function make(parts: PictureRouteParts, { account, picture, record, signal, width }: Making): Promise<Reply> {
  const { cameras, decoder } = parts
  const { group, shownAt } = picture
  const masks = () => masksOf(cameras.require(record.id, account).record)
  const { jpeg } = await maskedPicture({ decoder, masks, wish: { camera: record.id, group, width } }, signal)
  return new Reply(200, Buffer.from(jpeg.buffer, jpeg.byteOffset, jpeg.length), {
    'content-type': 'image/jpeg',
    'cache-control': 'no-store',
    [shownAtHeader]: String(shownAt),
  })
}

function stillRoute(parts: PictureRouteParts): Route {
  const { callers, cameras, extraction, newest } = parts
  return route({
    method: 'GET',
    path: '/api/cameras/:id/still.jpg',
    who: 'user',
    summary: 'What the camera shows now, as a JPEG; the header X-Svc-Frame-At says when it was',
    params: cameraParams,
    query: Type.Object({ width: pictureWidth }),
    replyType: 'image/jpeg',
    async handle({ caller, params, query, signal }) {
      const account = callers.accountOf(caller)
      const { record } = cameras.require(params.id, account)
      const picture = newest(record.id)
      if (!picture) throw noPicture()
      const release = extraction.hold(account)
      try {
        return await make(parts, { account, record, picture, width: query.width, signal })
      } finally {
        release()
      }
    },
  })
}

function frameRoute(parts: PictureRouteParts): Route {
  const { callers, cameras, extraction } = parts
  // What is read for a picture is held until it is made, one after the other.
  const inTurn = createSerialTurn()
  return route({
    method: 'GET',
    path: '/api/cameras/:id/frame.jpg',
    who: 'user',
    token: true,
    summary:
      'The last recorded picture at or before a moment, as a JPEG; X-Svc-Frame-At says when it was. 30 a minute; beyond the last 120 seconds with the permission export, and into the journal',
    params: cameraParams,
    query: Type.Object({ at: moment, width: pictureWidth }),
    replyType: 'image/jpeg',
    async handle(ask) {
      const { at, width } = ask.query
      const account = callers.accountOf(ask.caller)
      const { record } = cameras.require(ask.params.id, account)
      const wish = { account, camera: record, startAt: at, facts: { at } }
      extraction.permit(wish)
      extraction.countFrame(account)
      const release = extraction.hold(account)
      try {
        return await inTurn(async () => {
          ask.signal.throwIfAborted()
          const picture = await readInTime(parts, record.id, at)
          // The journal waits for a disk that cameras write to, meanwhile the picture is made.
          const noted = extraction.note(ask, wish)
          noted.catch(() => {})
          const reply = await make(parts, { account, record, picture, width, signal: ask.signal })
          // Nothing goes out before the journal has it.
          await noted
          return reply
        })
      } finally {
        release()
      }
    },
  })
}

/** A disk that hangs would keep pictures of all other disks waiting behind its own. @throws Fault, as `pictureAt`; `footage_away` */
async function readInTime({ clock, pictureAt, readMs }: PictureRouteParts, camera: string, at: number) {
  const reading = pictureAt(camera, at)
  if (await atMost(clock, readMs, reading)) return await reading
  throw new Fault(
    'footage_away',
    `The disk with this footage has not answered for ${durationText(readMs)}. The page Health says what is wrong with it.`,
  )
}
