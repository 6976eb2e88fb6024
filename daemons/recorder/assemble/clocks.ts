/** Puts together clocks: of this machine, and of cameras with what was written to them. */

import { parseListen } from '#kit/config/tables.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraRecord } from '../core/cameras/book.ts'
import { type CameraClocks, createCameraClocks } from '../core/clocks/camera-clock.ts'
import { type ClockSync, createClockSync } from '../core/clocks/clock-sync.ts'
import { type ClockService, createOwnClock, type OwnClock, type OwnZone } from '../core/clocks/own-clock.ts'
import { createTimeServer, type TimeServer } from '../core/clocks/time-server.ts'
import { createWrites, type Writes } from '../core/clocks/writes.ts'
import { openClockSync, openOwnZone, openWrites } from '../io/clock-files.ts'
import { createClockService } from '../io/clock-service.ts'
import { createTimePorts } from '../io/time-ports.ts'
import { onvifOf } from './discovery.ts'

type Context = AssembleContext<RecorderConfig>

export interface Clocks {
  zone: OwnZone
  clocks: CameraClocks
  ownClock: OwnClock
  sync: ClockSync
  timeServer: TimeServer
  writes: Writes
  start(): void
  stop(): void
}

/** @param cameras those that are there now */
export async function clocksOf(
  context: Context,
  ledger: Ledger,
  cameras: () => readonly CameraRecord[],
): Promise<Clocks> {
  const { clock, config, log, stateFolder } = context
  const { records, save } = await openWrites(stateFolder, log)
  const { fetch_ms: fetchMs, right_s: rightS, service_ms: answerMs, writes: perCamera } = config.clocks
  const writes = createWrites({ clock, records, save, perCamera, inAll: perCamera * config.cameras.max })
  const zone = openOwnZone(process.env.SVC_TZ, log)
  const service = createClockService({ clock, answerMs })
  const timeServer = timeServerOf(context, service)
  const clocks = createCameraClocks({
    ...{ clock, onvif: onvifOf(context), server: timeServer, writes, zone, rightS, fetchMs },
  })
  const sync = createClockSync({
    ...{ clock, clocks, cameras, everyMs: config.clocks.check_s * 1000 },
    ...(await openClockSync(stateFolder, log)),
    onFound({ id, name }, sentence) {
      if (sentence === null) ledger.clear('camera_clock_wrong', name, id)
      else ledger.raise({ what: 'camera_clock_wrong', where: name, about: id, severity: 'warning', sentence })
    },
  })
  return {
    ...{ clocks, sync, timeServer, writes, zone },
    ownClock: createOwnClock({
      ...{ clock, service, zone, timeTrouble: () => timeServer.trouble() },
      onChanged(where, sentence) {
        ledger.happened({ what: 'clock_changed', where, severity: 'notice', sentence })
        void timeServer.look().then(() => sync.checkNow())
      },
    }),
    start() {
      timeServer.start()
      sync.start()
    },
    stop() {
      sync.stop()
      timeServer.stop()
    },
  }
}

function timeServerOf({ clock, config, log }: Context, service: ClockService): TimeServer {
  const { time_server: wanted } = config
  const { host } = parseListen(config.http.listen)
  const { answer_ms: answerMs, buffer_bytes: bufferBytes, port } = wanted
  return createTimeServer({
    ...{ clock, service, ports: createTimePorts({ clock, host, port, bufferBytes, answerMs }) },
    settings: {
      ...{ isEnabled: wanted.enabled, localStratum: wanted.local_stratum, lookMs: wanted.look_ms },
      ...{ perAddress: wanted.per_address, inAll: wanted.per_minute, addresses: wanted.addresses },
    },
    onTurned(why) {
      if (why === null) log.notice('cameras can take their time from this machine')
      else log.notice('cameras cannot take their time from this machine', { why })
    },
    onTooMany: (address) => log.warning('there are too many questions for the time', { address }),
  })
}
