/** Puts together clocks: of this machine, and of cameras with what was written to them. */
import type { Ledger } from '#kit/records/ledger.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraRecord } from '../core/cameras/book.ts'
import { type CameraClocks, createCameraClocks } from '../core/clocks/camera-clock.ts'
import { type ClockSync, createClockSync } from '../core/clocks/clock-sync.ts'
import { createOwnClock, type OwnClock, type OwnZone } from '../core/clocks/own-clock.ts'
import { createWrites, type Writes } from '../core/clocks/writes.ts'
import { openClockSync, openOwnZone, openWrites } from '../io/clock-files.ts'
import { createClockService } from '../io/clock-service.ts'
import { onvifOf } from './discovery.ts'

type Context = AssembleContext<RecorderConfig>

export interface Clocks {
  zone: OwnZone
  clocks: CameraClocks
  ownClock: OwnClock
  sync: ClockSync
  writes: Writes
}

/** @param cameras those that are there now */
export async function clocksOf(
  context: Context,
  ledger: Ledger,
  cameras: () => readonly CameraRecord[],
): Promise<Clocks> {
  const { clock, config, log, stateFolder } = context
  const { records, save } = await openWrites(stateFolder, log)
  const { right_s: rightS, service_ms: answerMs, writes: perCamera } = config.clocks
  const writes = createWrites({ clock, records, save, perCamera, inAll: perCamera * config.cameras.max })
  const zone = openOwnZone(process.env.SVC_TZ, log)
  const clocks = createCameraClocks({ clock, onvif: onvifOf(context), writes, zone, rightS })
  const sync = createClockSync({
    ...{ clock, clocks, cameras, everyMs: config.clocks.check_s * 1000 },
    ...(await openClockSync(stateFolder, log)),
    onFound({ name }, sentence) {
      if (sentence === null) ledger.clear('camera_clock_wrong', name)
      else ledger.raise({ what: 'camera_clock_wrong', where: name, severity: 'warning', sentence })
    },
  })
  return {
    ...{ clocks, sync, writes, zone },
    ownClock: createOwnClock({
      ...{ clock, zone, service: createClockService({ clock, answerMs }) },
      isTimeServer: () => false,
      onChanged(where, sentence) {
        ledger.happened({ what: 'clock_changed', where, severity: 'notice', sentence })
        sync.checkNow()
      },
    }),
  }
}
