import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import { createCameraClocks } from '../../../core/clocks/camera-clock.ts'
import { type CameraWrite, createWrites } from '../../../core/clocks/writes.ts'
import { createOnvifClient } from '../../../io/onvif-client.ts'
import { type PeerTraits, startOnvifPeer } from '../../peer/onvif-camera.ts'

const BERLIN = 'CET-1CEST,M3.5.0,M10.5.0/3'
const user = { username: 'onvif', password: 'pass&word' }

async function stage(t: Test, wish: Partial<PeerTraits> = {}, own: string | undefined = 'UTC0') {
  const clock = systemClock
  const peer = await startOnvifPeer(t, { host: '127.0.8.1', ...wish })
  const onvif = createOnvifClient({ clock, userAgent: 'test', limits: { answerMs: 60_000, answerBytes: 65_536 } })
  const writes = createWrites({ clock, records: [] as CameraWrite[], save: async () => {}, perCamera: 9, inAll: 9 })
  // A machine that is busy holds answers up, and what it takes longer counts as drift: hours are told from that.
  const clocks = createCameraClocks({ clock, onvif, writes, zone: { posix: () => own }, rightS: 60 })
  const link = { service: peer.service, recordToken: 'main', watchToken: null, fps: null }
  const record: CameraRecord = {
    ...{
      id: 'one',
      name: 'Door',
      enabled: true,
      audio: false,
      transport: 'tcp',
      masks: [],
      url: 'rtsp://127.0.8.1/',
      subUrl: null,
    },
    ...{ ...user, onvif: link },
  }
  const set = (switchToManual = false) => clocks.set(record, { switchToManual }, 'ann')
  return { clocks, peer, record, set, writes }
}

const HOUR_MS = 3_600_000

t.test('tells how far a clock is off, its offset, and where its time comes from', async (t) => {
  const { clocks, peer, record } = await stage(t, { aheadMs: 5 * HOUR_MS, localMinutes: 330, dateTimeType: 'NTP' })
  const { dateTimeType, driftSeconds, offsetMinutes } = await clocks.read(record)
  t.ok(Math.abs(driftSeconds - 5 * 3600) < 60)
  t.same([offsetMinutes, dateTimeType], [330, 'NTP'])
  peer.traits.localMinutes = undefined
  t.equal((await clocks.read(record)).offsetMinutes, null)
  await t.rejects(clocks.read({ ...record, onvif: null }), { code: 'no_onvif', message: /Door/ })
})

t.test('a clock is set, read again, and the write is kept with who asked for it', async (t) => {
  const { peer, set, writes } = await stage(t, { aheadMs: -20 * 365 * 24 * HOUR_MS, signIn: 'wsse', timeZone: 'CST-8' })
  const result = await set()
  t.match(result, {
    ...{ verified: true, timeZoneBefore: 'CST-8', timeZoneSet: 'UTC0', timeZonePreserved: false, zoneVerified: true },
    ...{ dateTimeTypeBefore: 'Manual', dateTimeTypeSet: 'Manual', ntpServerSet: null, ntpError: /serves no time/ },
  })
  t.ok(result.driftBeforeSeconds < -600_000_000 && Math.abs(result.driftAfterSeconds) < 60)
  t.equal(peer.traits.timeZone, 'UTC0')
  t.match(writes.of('one', 9), [{ operation: 'clock', performedBy: 'ann', detail: { verified: true } }])
})

t.test('a camera that says it did and did not is found out', async (t) => {
  const { set } = await stage(t, { aheadMs: HOUR_MS, isClockStuck: true, localMinutes: 60 })
  t.match(await set(), { verified: false, zoneVerified: false })
})

t.test('a zone that means the same all year is preserved, one that only looks so today is not', async (t) => {
  const same = await stage(t, { timeZone: 'MEZ-1MESZ,M3.5.0/2,M10.5.0/3', localMinutes: undefined }, BERLIN)
  t.match(await same.set(), { timeZoneSet: null, timeZonePreserved: true, zoneVerified: null })
  t.equal(same.peer.traits.timeZone, 'MEZ-1MESZ,M3.5.0/2,M10.5.0/3')
  const other = await stage(t, { timeZone: 'CET-1' }, BERLIN)
  t.match(await other.set(), { timeZoneSet: BERLIN, timeZonePreserved: false })
})

t.test('a camera that takes its time from a server keeps it, unless it is switched to manual time', async (t) => {
  const { peer, set, writes } = await stage(t, { aheadMs: HOUR_MS, dateTimeType: 'NTP' })
  t.match(await set(), { verified: false, dateTimeTypeSet: 'NTP', ntpKept: true })
  t.equal(peer.traits.aheadMs, HOUR_MS)
  t.match(await set(true), { verified: true, dateTimeTypeSet: 'Manual', ntpKept: false, ntpError: null })
  t.same(
    writes.of('one', 9).map(({ operation }) => operation),
    ['clock_manual', 'clock'],
  )
})

t.test('one set at a time, and one that failed is told too', async (t) => {
  const { peer, set, writes } = await stage(t, { instead: { SetSystemDateAndTime: '<no>' } })
  const both = await Promise.allSettled([set(), set()])
  t.same(
    both.map((one) => (one.status === 'rejected' ? one.reason.code : 'set')),
    ['onvif_broken', 'clock_being_set'],
  )
  t.match(writes.of('one', 9), [{ detail: { error: /XML/ } }])
  peer.traits.instead = {}
  t.match(await set(), { verified: true })
})

t.test('A.clock-sync what is wrong with a clock, and whether it is the recorder that corrects it', async (t) => {
  const { clocks, peer, record } = await stage(
    t,
    { aheadMs: HOUR_MS, timeZone: 'MEZ-1MESZ,M3.5.0/2,M10.5.0/3' },
    BERLIN,
  )
  t.match(await clocks.check(record), { isRight: false, isZoneRight: true, isOurs: true })
  peer.traits.dateTimeType = 'NTP'
  t.match(await clocks.check(record), { isRight: false, isZoneRight: true, isOurs: false })
  peer.traits.timeZone = 'UTC0'
  t.match(await clocks.check(record), { isRight: false, isZoneRight: false, isOurs: true })
  Object.assign(peer.traits, { aheadMs: 0, timeZone: BERLIN })
  t.match(await clocks.check(record), { isRight: true, isZoneRight: true, isOurs: false })
})
