/** WebSockets: a camera as it is now, and how all of them are. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { type SocketRoute, socketRoute } from '#kit/http/sockets.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import type { StreamMeter } from '../core/access/stream-meter.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { isMasked } from '../core/cameras/masks.ts'
import type { StatusFeed, ToldCamera } from '../core/live/feed.ts'
import type { Live } from '../core/live/live.ts'
import { createViewer, MASKED, TRY_AGAIN_LATER, type ViewerLimits } from '../core/live/viewer.ts'
import type { SitePlans } from '../core/plans/site-plans.ts'
import type { Callers } from './callers.ts'
import { cameraAnswerOf } from './camera-routes.ts'

interface FeedRouteParts {
  callers: Pick<Callers, 'accountOf'>
  feed: Pick<StatusFeed<AccountRecord>, 'open'>
}

const feedQuery = Type.Object(
  {
    hello: Type.Enum(['cameras', 'ids'], {
      default: 'cameras',
      description: 'ids: the greeting has ids alone, and each camera follows as a message of its own',
    }),
  },
  { additionalProperties: false },
)

export function feedSocketRoute({ callers, feed }: FeedRouteParts): SocketRoute<never> {
  return socketRoute({
    path: '/ws',
    who: 'user',
    token: true,
    summary: 'The cameras that you may see, each again when it changes, and a heartbeat every 15 seconds',
    query: feedQuery,
    open(socket, caller, { hello }) {
      socket.onClose(feed.open(callers.accountOf(caller), (text) => socket.send(text), hello))
      socket.onMessage(() => {
        throw new Fault('bad_message', 'This socket only tells how cameras are; it takes no messages.')
      })
    },
  })
}

/** The cameras of the feed. A picture that came is no change. */
export function toldCameras(
  cameras: Pick<CameraBook, 'seenBy'>,
  account: AccountRecord,
  plans: Pick<SitePlans, 'placementOf'>,
): ToldCamera[] {
  return cameras.seenBy(account).map((known) => {
    const view = cameraAnswerOf(known, account, plans)
    const mark = JSON.stringify({ ...view, health: { ...view.health, lastPictureAt: null } })
    return { id: view.id, view, mark }
  })
}

interface VideoRouteParts {
  clock: Clock
  callers: Callers
  cameras: Pick<CameraBook, 'require'>
  live: Pick<Live, 'watch'>
  /** Live streams of an account, of whatever kind. */
  meter: StreamMeter
  limits: LiveRouteLimits
}

/** Bounds, by the names of their settings. */
interface LiveRouteLimits extends ViewerLimits {
  bufferBytes: number
}

const videoQuery = Type.Object(
  {
    camera: Type.String({ minLength: 1, maxLength: 64, description: 'id of a camera' }),
    profile: Type.Enum(['main', 'sub'], {
      default: 'main',
      description: 'sub: the small stream for walls, where the camera has one',
    }),
    sound: Type.Enum(['on', 'off'], {
      default: 'on',
      description: 'off: the pictures alone, also of a camera that sends sound',
    }),
  },
  { additionalProperties: false },
)

export function videoSocketRoute({
  callers,
  cameras,
  clock,
  limits,
  live,
  meter,
}: VideoRouteParts): SocketRoute<never> {
  return socketRoute({
    path: '/ws/video',
    who: 'user',
    token: true,
    bufferBytes: limits.bufferBytes,
    summary:
      'A camera as it is now: a text message with its type and size, then fragmented MP4, a picture or a frame of sound a message',
    query: videoQuery,
    check(caller, { camera }) {
      const account = callers.accountOf(caller)
      cameras.require(camera, account)
      meter.check(account.id)
    },
    open(socket, caller, { camera, profile, sound }) {
      const account = callers.accountOf(caller)
      const { record } = cameras.require(camera, account)
      if (isMasked(record)) return socket.close(...MASKED)
      // Of many that knocked at once, all were let in while none was open yet.
      const release = meter.take(account.id, ({ message }) => socket.close(TRY_AGAIN_LATER, message))
      const viewer = createViewer({ clock, limits, line: socket, isHearing: sound === 'on' })
      const leave = live.watch(record.id, profile, viewer)
      socket.onClose(() => {
        leave()
        release()
      })
      socket.onMessage(() => {
        throw new Fault('bad_message', 'This socket only shows a camera; it takes no messages.')
      })
    },
  })
}
