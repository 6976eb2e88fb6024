/** Assembles watching live: what is shown of cameras now, and the status feed. */
import type { Route } from '#kit/http/route.ts'
import type { SocketRoute } from '#kit/http/sockets.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import type { Callers } from '../api/callers.ts'
import { feedSocketRoute, toldCameras, videoSocketRoute } from '../api/live-routes.ts'
import { streamRoute } from '../api/stream-route.ts'
import type { RecorderConfig } from '../config.ts'
import { type AccountRecord, maySee } from '../core/access/accounts.ts'
import { createStreamMeter } from '../core/access/stream-meter.ts'
import type { CameraBook, CameraRecord } from '../core/cameras/book.ts'
import { masksOf } from '../core/cameras/masks.ts'
import { createStatusFeed, type StatusFeed } from '../core/live/feed.ts'
import { createLive, type Live } from '../core/live/live.ts'
import type { PlaySub } from '../core/live/sub-stream.ts'
import type { ChosenPicture } from '../core/pictures/choice.ts'
import { createPictureStreams } from '../core/pictures/picture-streams.ts'
import type { PlanChange, SitePlans } from '../core/plans/site-plans.ts'
import type { PictureDecoder, StreamOpener } from '../core/ports.ts'
import { createStream, type StreamLimits, type StreamTap } from '../core/recording/stream.ts'
import type { StreamMemory } from '../core/recording/stream-memory.ts'
import type { Wall } from '../core/recording/timeline.ts'

interface WatchingParts {
  wall: Wall
  opener: StreamOpener
  memory: StreamMemory
  /** Of recorded streams. */
  limits: StreamLimits
  cameras(): CameraBook
  plans: Pick<SitePlans, 'placementOf'>
  decoder: Pick<PictureDecoder, 'picture'>
}

/** Live viewers and the status feed. */
export interface Watching {
  tapOf(camera: string): StreamTap
  /** What a camera shows now; undefined while it does not send. */
  newest(camera: string): ChosenPicture | undefined
  /** Looks at single pictures of a camera. */
  look: Live['look']
  /** The state of a camera is another. */
  stateChanged(): void
  /** Told whenever a camera may be another, was added or removed; quick. @returns ends it */
  onCamera(listener: () => void): () => void
  feed: Pick<StatusFeed<AccountRecord>, 'changed' | 'tell' | 'tellEach' | 'tellStale'>
  /** These cameras are there now. */
  camerasAre(records: readonly CameraRecord[]): void
  /** Plans of the site are others, or where a camera is on them. */
  planChanged(change: PlanChange): void
  /** A camera has masks from now on. */
  hide(camera: string): void
  sockets(callers: Callers): SocketRoute<never>[]
  /** For who takes no sockets. */
  route(callers: Callers): Route
  part: Part
}

export function createWatching(context: AssembleContext<RecorderConfig>, parts: WatchingParts): Watching {
  const { clock, config } = context
  const { cameras, memory, opener, plans, wall } = parts
  const bounds = config.live
  // Nothing of it is kept, so no sound waits for a fragment.
  const own = { groupBytes: bounds.group_bytes, pictureBytes: bounds.group_bytes, soundBytes: 0 }
  const limits = { ...parts.limits, ...own }

  const play: PlaySub = (place, tap, signal) => {
    const stream = createStream({ camera: '', clock, wall, store: undefined, tap, memory, limits, onPicture() {} })
    return opener.play(place, stream, signal).finally(() => stream.onEnded())
  }

  const live = createLive({
    ...{ clock, wall, memory, groupBytes: bounds.group_bytes, play },
    limits: {
      ...{ idleMs: bounds.sub_idle_ms, pictureMs: config.cameras.picture_ms },
      retry: { firstMs: config.cameras.retry_first_ms, maxMs: config.cameras.retry_max_ms },
    },
  })
  const meter = createStreamMeter({
    ...{ ofAccount: bounds.streams, inAll: bounds.total_streams, what: 'live stream' },
    keys: { ofAccount: 'live.streams', inAll: 'live.total_streams' },
  })
  const listeners = new Set<() => void>()
  const seenBy = (account: AccountRecord) => toldCameras(cameras(), account, plans)
  const feed = createStatusFeed<AccountRecord>({ clock, seenBy, maySee })
  const changed = () => {
    feed.changed()
    for (const listener of listeners) listener()
  }

  return {
    tapOf: (camera) => live.tapOf(camera),
    newest: (camera) => live.newest(camera),
    look: (camera) => live.look(camera),
    stateChanged: changed,
    onCamera(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    feed,
    camerasAre(records) {
      live.keep(records.map((record) => ({ id: record.id, sub: subPlaceOf(record) })))
      changed()
    },
    planChanged({ cameraId, isFor }) {
      feed.tellStale({ type: 'site-plan-changed', ...(cameraId !== undefined && { cameraId }) }, isFor)
      feed.changed()
    },
    hide: (camera) => live.hide(camera),
    sockets: (callers) => [
      feedSocketRoute({ callers, feed }),
      videoSocketRoute({
        ...{ clock, callers, cameras: cameras(), live, meter },
        limits: { bufferBytes: bounds.buffer_bytes, lagMs: bounds.lag_ms, slowMs: bounds.slow_ms },
      }),
    ],
    route: (callers) =>
      streamRoute({
        ...{ callers, cameras: cameras(), meter, mostFps: config.pictures.stream_fps },
        streams: streamsOf(context, { ...parts, newest: (camera) => live.newest(camera) }),
      }),
    part: {
      name: 'watching',
      start() {},
      stop() {
        feed.close()
        live.close()
      },
    },
  }
}

function streamsOf(
  { clock, config: { live, pictures } }: AssembleContext<RecorderConfig>,
  { cameras, decoder, newest }: Pick<WatchingParts, 'cameras' | 'decoder'> & Pick<Watching, 'newest'>,
) {
  return createPictureStreams({
    ...{ clock, decoder, newest },
    masksOf: (camera) => masksOf(cameras().require(camera, { cameras: 'all' }).record),
    limits: {
      ...{ fps: pictures.stream_fps, totalFps: pictures.total_stream_fps, waitMs: pictures.stream_wait_s * 1000 },
      jpegBytes: live.buffer_bytes,
    },
  })
}

function subPlaceOf({ audio, enabled, onvif, password, subUrl, transport, username }: CameraRecord) {
  if (!enabled || subUrl === null) return undefined
  const login = { username: username ?? undefined, password: password ?? undefined }
  return { url: subUrl, ...login, isHashed: onvif?.isHashed === true, isHeard: audio, isUdp: transport === 'udp' }
}
