/** Puts together cameras that turn. */

import { Fault } from '#kit/pure/fault.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import { followMessage, patrolMessage } from '../api/ptz-patrol-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { Writes } from '../core/clocks/writes.ts'
import type { StatusFeed } from '../core/live/feed.ts'
import type { ChosenPicture } from '../core/pictures/choice.ts'
import type { PictureDecoder } from '../core/ports.ts'
import { Follows } from '../core/ptz/follow.ts'
import type { PtzGeometry } from '../core/ptz/geometry.ts'
import { createHeads } from '../core/ptz/head.ts'
import { CameraMoves } from '../core/ptz/moves.ts'
import { Patrols } from '../core/ptz/patrol.ts'
import type { PtzBook } from '../core/ptz/ptz-book.ts'
import { createSteering, type Eyes, type Steering } from '../core/ptz/steering.ts'
import { createTraining, type Train } from '../core/ptz/training.ts'
import { openOpenMoves, openPtzBook } from '../io/ptz-files.ts'
import { onvifOf } from './discovery.ts'

type Context = AssembleContext<RecorderConfig>

/** What turns cameras. */
export interface Turning {
  moves: CameraMoves
  book: PtzBook
  steering: Steering
  train: Train
  patrols: Patrols
  /** `follows.sighted` takes what the detector sees. */
  follows: Follows
  /** Cameras were added, changed or removed: those that are gone are forgotten. */
  camerasChanged(): void
  part: Part
}

interface PtzParts {
  ledger: Ledger
  cameras: CameraBook
  writes: Pick<Writes, 'add'>
  decoder: Pick<PictureDecoder, 'shades'>
  /** What a camera shows now. */
  newest(camera: string): ChosenPicture | undefined
  feed: Pick<StatusFeed<AccountRecord>, 'tell'>
  /** IANA name of the zone of this machine. */
  zone(): string
}

const ALL = { cameras: 'all' } as const

/** Width of pictures that are compared, in pixels: enough to measure a shift of a thousandth of the picture. */
const COMPARED = 256

function eyesOf({ decoder, newest }: PtzParts): Eyes {
  return {
    async look(camera, signal) {
      const picture = newest(camera)
      if (!picture) throw new Fault('no_picture', 'The camera shows no picture now.')
      const shades = await decoder.shades({ camera, group: picture.group, width: COMPARED }, signal)
      return { ...shades, shownAt: picture.shownAt }
    },
  }
}

export async function ptzOf(context: Context, parts: PtzParts): Promise<Turning> {
  const { cameras, ledger, writes } = parts
  const { clock, config, log, stateFolder } = context
  const { ptz } = config
  const book = await openPtzBook(stateFolder, log)
  const { open, saveOpen } = await openOpenMoves(stateFolder, log)
  const onvif = onvifOf(context, { answerMs: ptz.answer_ms })
  const heads = createHeads({ clock, onvif, mostPresets: ptz.presets, factsMs: ptz.facts_s * 1000 })
  const record = (camera: string) => cameras.require(camera, ALL).record
  const geometry = (camera: string) => book.of(camera).geometry ?? undefined
  const moves = new CameraMoves({
    ...{ clock, heads, writes, record, open, saveOpen, geometry },
    limits: { moveMs: ptz.move_ms, overtakeMs: ptz.overtake_ms, stopTries: ptz.stop_tries, holdMs: ptz.hold_ms },
    onStopFailed(camera, { message: sentence }) {
      const where = record(camera).name
      ledger.happened({ what: 'camera_not_stopped', where, about: camera, severity: 'fault', sentence })
    },
  })
  const steering = createSteering({
    ...{ clock, moves, eyes: eyesOf(parts), geometry },
    limits: { arriveMs: ptz.arrive_ms, behindMs: ptz.behind_ms },
  })
  const save = (camera: string, learned: PtzGeometry) => book.put(camera, { geometry: learned })
  const { follows, patrols } = byThemselves(context, parts, { moves, book })
  function forget(): void {
    const known = new Set(cameras.list().map(({ record }) => record.id))
    heads.keep(known)
    void book.keep(known).catch(() => {})
  }
  return {
    camerasChanged: forget,
    ...{ moves, book, steering, train: createTraining({ clock, moves, steering, save }), patrols, follows },
    part: {
      name: 'ptz',
      start() {
        forget()
        moves.start()
        patrols.start()
      },
      async stop() {
        patrols.stop()
        await moves.close()
      },
    },
  }
}

/** What moves cameras without a person. */
function byThemselves(
  { clock, config: { ptz }, log }: Context,
  { cameras, feed, zone }: PtzParts,
  { book, moves }: { book: PtzBook; moves: CameraMoves },
) {
  const follows: Follows = new Follows({
    ...{ clock, moves, book },
    limits: { everyMs: ptz.follow_ms, lostMs: ptz.lost_ms, leadMs: ptz.lead_ms },
    onChange: (camera) => feed.tell(camera, followMessage(camera, { book, follows })),
  })
  const patrols: Patrols = new Patrols({
    ...{ clock, moves, book, zone },
    whyNot(camera) {
      if (!cameras.find(camera)?.enabled) return 'The camera is switched off.'
      return follows.isBusy(camera) ? 'Auto tracking has the camera.' : null
    },
    onChange: (camera) => feed.tell(camera, patrolMessage(camera, { book, patrols })),
    onUnsaved: (fault) => log.error('the pause of a patrol is not kept', { fault }),
  })
  return { follows, patrols }
}
