/** Puts together cameras that turn. */
import type { Ledger } from '#kit/records/ledger.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { Writes } from '../core/clocks/writes.ts'
import { createHeads } from '../core/ptz/head.ts'
import { CameraMoves } from '../core/ptz/moves.ts'
import { openOpenMoves } from '../io/ptz-files.ts'
import { onvifOf } from './discovery.ts'

type Context = AssembleContext<RecorderConfig>

/** What turns cameras. */
export interface PtzHouse {
  moves: CameraMoves
  part: Part
}

interface PtzParts {
  ledger: Ledger
  cameras: CameraBook
  writes: Pick<Writes, 'add'>
}

const ALL = { cameras: 'all' } as const

export async function ptzOf(context: Context, { cameras, ledger, writes }: PtzParts): Promise<PtzHouse> {
  const { clock, config, log, stateFolder } = context
  const { ptz } = config
  const { open, saveOpen } = await openOpenMoves(stateFolder, log)
  const onvif = onvifOf(context, ptz.answer_ms)
  const heads = createHeads({ clock, onvif, mostPresets: ptz.presets, factsMs: ptz.facts_s * 1000 })
  const record = (camera: string) => cameras.require(camera, ALL).record
  const moves = new CameraMoves({
    ...{ clock, heads, writes, record, open, saveOpen, geometry: () => undefined },
    limits: { moveMs: ptz.move_ms, overtakeMs: ptz.overtake_ms, stopTries: ptz.stop_tries },
    onStopFailed(camera, { message: sentence }) {
      const where = record(camera).name
      ledger.happened({ what: 'camera_not_stopped', where, severity: 'fault', sentence })
    },
  })
  return {
    moves,
    part: { name: 'ptz', start: () => moves.start(), stop: () => moves.close() },
  }
}
