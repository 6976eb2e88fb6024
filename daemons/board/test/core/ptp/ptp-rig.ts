/** A board's PTP clock on a fake clock, with a fake ptp4l. */
import { Value } from 'typebox/value'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { createPtpClock } from '../../../core/ptp/clock.ts'
import { ptpKeys } from '../../../core/ptp/keys.ts'
import { fakeAudioClock } from './fake-audio-clock.ts'
import { FakePtp4l } from './fake-ptp4l.ts'

export const MAC = '02-00-00-00-00-01'

/** @param seed of the measurement noise */
export function ptpRig({ enabled = true, seed = 1 } = {}) {
  const clock = fakeClock()
  const audio = fakeAudioClock(clock)
  const ptp4l = new FakePtp4l(clock, audio, seed)
  const ptp = createPtpClock({
    clock,
    log: silentLog,
    audio,
    program: enabled ? ptp4l : undefined,
    domain: 0,
    priority1: 128,
    limits: Value.Parse(ptpKeys, Value.Default(ptpKeys, {})),
    mac: () => MAC,
  })
  /** State and steps at each change reported to listeners. */
  const changes: string[] = []
  ptp.onChange(() => changes.push(`${ptp.view().state} ${ptp.view().steps}`))
  ptp.start()
  /** The sound clock minus the master's, now. */
  const errorNs = () => Number(audio.read().audioNs - ptp4l.masterNs())
  return { clock, audio, ptp, ptp4l, changes, errorNs }
}
