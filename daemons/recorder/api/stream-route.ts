/** A camera as it is now, as a stream of JPEGs: for programs and players that know nothing better. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Reply, type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { StreamMeter } from '../core/access/stream-meter.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { masksOf } from '../core/cameras/masks.ts'
import type { PictureStreams, StreamedPicture } from '../core/pictures/picture-streams.ts'
import type { Callers } from './callers.ts'
import { cameraParams } from './camera-routes.ts'
import { pictureWidth, shownAtHeader } from './picture-routes.ts'

interface StreamRouteParts {
  callers: Pick<Callers, 'accountOf'>
  cameras: Pick<CameraBook, 'require'>
  /** Live streams of an account, of whatever kind. */
  meter: Pick<StreamMeter, 'take'>
  streams: PictureStreams
  /** Key `pictures.stream_fps`. */
  mostFps: number
}

const BOUNDARY = 'svc-frame'

export function streamRoute({ callers, cameras, meter, mostFps, streams }: StreamRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/cameras/:id/stream.mjpg',
    who: 'user',
    token: true,
    summary: 'What the camera shows now, JPEG after JPEG, with its masks; a client that is slow gets fewer',
    params: cameraParams,
    query: Type.Object({
      width: pictureWidth,
      fps: Type.Optional(
        Type.Number({ minimum: 0.1, maximum: 30, description: 'pictures a second, at most pictures.stream_fps' }),
      ),
    }),
    replyType: 'multipart/x-mixed-replace',
    async handle({ caller, params, query: { fps = mostFps, width }, signal }) {
      const account = callers.accountOf(caller)
      const { id } = cameras.require(params.id, account).record
      const release = meter.take(account.id, (why) => box.end(why))
      // What waits may have been painted before a mask was set, or before the camera was removed.
      const box = openMailbox((picture) => masksOf(cameras.require(id, account).record) === picture.masks)
      signal.addEventListener('abort', () => box.stream.destroy())
      const leave = streams.watch({ camera: id, width, fps }, box)
      box.stream.once('close', () => {
        leave()
        release()
      })
      if (signal.aborted) box.stream.destroy()
      await box.first
      return new Reply(200, box.stream, {
        'content-type': `multipart/x-mixed-replace;boundary=${BOUNDARY}`,
        'cache-control': 'no-store',
      })
    },
  })
}

/** Has room for one picture: one that is newer takes its place. */
function openMailbox(isStillRight: (picture: StreamedPicture) => boolean) {
  const first = Promise.withResolvers<void>()
  let slot: StreamedPicture | undefined
  let isWanted = false
  let hasBegun = false
  let isShown = false
  let isOver = false
  const stream = new Readable({
    highWaterMark: 0,
    read() {
      isWanted = true
      give()
    },
  })
  stream.once('close', () => first.reject(new Fault('no_picture', 'Nobody waits for this picture any more.')))

  function give(): void {
    if (!isWanted || !slot || stream.destroyed) return
    const picture = slot
    slot = undefined
    try {
      if (!isStillRight(picture)) return
    } catch (gone) {
      end(gone as Error)
      return
    }
    isWanted = false
    if (!hasBegun) stream.push(`--${BOUNDARY}\r\n`)
    hasBegun = true
    for (const bytes of partOf(picture)) stream.push(bytes)
  }

  /** What was sent before is whole, so that a client takes it for an end and not for a cut. */
  function end(why: Error): void {
    first.reject(why)
    if (isOver) return
    isOver = true
    slot = undefined
    if (isShown) stream.push(null)
    else stream.destroy()
  }

  return {
    stream,
    /** @throws Fault that says why there is no picture */
    first: first.promise,
    show(picture: StreamedPicture): void {
      if (isOver) return
      isShown = true
      slot = picture
      first.resolve()
      give()
    },
    end,
  }
}

/** The boundary of the next part follows at once: a browser shows a picture only when that came. */
function partOf({ jpeg, shownAt }: StreamedPicture): (string | Uint8Array)[] {
  const head = ['Content-Type: image/jpeg', `Content-Length: ${jpeg.length}`, `${shownAtHeader}: ${shownAt}`, '', '']
  // The JPEG is the same for all who watch, and not copied.
  return [head.join('\r\n'), jpeg, `\r\n--${BOUNDARY}\r\n`]
}
