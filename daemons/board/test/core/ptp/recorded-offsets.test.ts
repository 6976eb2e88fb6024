/** Tests of core/ptp/course.ts with measurements of real ptp4l's. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Value } from 'typebox/value'
import { fakeClock } from '#kit/clock-fake.ts'
import { fitLine } from '../../../core/ptp/clock-fit.ts'
import { createAudioCourse } from '../../../core/ptp/course.ts'
import { ptpKeys } from '../../../core/ptp/keys.ts'
import { fakeAudioClock } from './fake-audio-clock.ts'

/** Microseconds since the first Sync, and the offset of this machine's clock in ns. */
type Sync = [atUs: number, offsetNs: number]

function recorded(name: string): Sync[] {
  const text = readFileSync(join(import.meta.dirname, 'recorded', `${name}.json`), 'utf8')
  return (JSON.parse(text) as { syncs: Sync[] }).syncs
}

/** The clock of sound against a line through the whole record, at each Sync from the first lock on, in ns. */
function errorsOf(syncs: readonly Sync[]) {
  const clock = fakeClock()
  const audio = fakeAudioClock(clock)
  const { monotonicNs: beganNs, realtimeNs } = audio.read()
  const events = { jumped() {}, moved() {}, timeOfDayStepped() {} }
  const course = createAudioCourse(audio, Value.Parse(ptpKeys, Value.Default(ptpKeys, {})), events)
  const measured = syncs.filter(([, offsetNs], index) => offsetNs !== syncs[index - 1]?.[1])
  const line = fitLine(
    measured.slice(1).map(([t, x]) => ({ t, x })),
    100,
  )
  const errors: number[] = []
  let lockedAfterMs: number | undefined
  for (const [atUs, offsetNs] of syncs) {
    clock.advance(Math.ceil(atUs / 1000) - clock.monotonicMs())
    const ingressNs = realtimeNs - beganNs + BigInt(atUs) * 1000n
    const status = { offsetNs: BigInt(offsetNs), ingressNs, isGrandmasterElsewhere: true, grandmaster: '' }
    if (course.measure({ kind: 'time_status', ...status }, 0) && course.aim(lockedAfterMs !== undefined) === 'there')
      lockedAfterMs ??= clock.monotonicMs()
    if (lockedAfterMs === undefined) continue
    const now = audio.read()
    const masterNs = Number(now.realtimeNs - now.audioNs) - line.x - line.slope * clock.monotonicMs() * 1000
    errors.push(-masterNs)
  }
  return { errors, lockedAfterMs, ratePpm: (course.ratePpb() ?? Number.NaN) / 1000 }
}

for (const [name, ppm] of [
  ['ptp4l-100-ppm', -100],
  ['ptp4l-same-rate', 0],
] as const)
  t.test(`${name}: locks within three seconds of the first offset, and holds 50 us`, async (t) => {
    const syncs = recorded(name)
    const firstMs = (syncs.find(([, offsetNs]) => offsetNs !== 0)?.[0] ?? Number.NaN) / 1000
    const { errors, lockedAfterMs = Number.NaN, ratePpm } = errorsOf(syncs)
    t.ok(lockedAfterMs - firstMs < 3000, `${lockedAfterMs - firstMs} ms`)
    t.ok(errors.length > 400, `${errors.length} Syncs`)
    const most = Math.max(...errors.map(Math.abs))
    t.ok(most < 50_000, `${most} ns at most`)
    t.ok(Math.abs(ratePpm - ppm) < 1, `${ratePpm} ppm`)
  })
