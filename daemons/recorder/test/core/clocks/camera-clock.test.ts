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
  const traitsHost = '127.0.8.1'
  const peer = await startOnvifPeer(t, { host: traitsHost, isFound: false, ...wish })
  const onvif = createOnvifClient({ clock, userAgent: 'test', limits: { answerMs: 60_000, answerBytes: 65_536 } })
  const writes = createWrites({ clock, records: [] as CameraWrite[], save: async () => {}, perCamera: 9, inAll: 9 })
  // A machine that is busy holds answers up, and what it takes longer counts as drift: hours are told from that.
  const served: { now: { address: string } | { why: string } } = { now: { why: 'It is off.' } }
  const server = { addressFor: async (host: string) => (host === traitsHost ? served.now : { why: `who is ${host}?` }) }
  const clocks = createCameraClocks({
    ...{ clock, onvif, server, writes, zone: { posix: () => own }, rightS: 60, fetchMs: 0 },
  })
  const link = { service: peer.service, recordToken: 'main', watchToken: null, fps: null }
  const record: CameraRecord = {
    ...{
      id: 'one',
      name: 'Door',
      enabled: true,
      mode: 'record',
      audio: false,
      transport: 'tcp',
      ...{ masks: [], cameraEvents: false, outputs: null, talkback: null },
      url: 'rtsp://127.0.8.1/',
      subUrl: null,
    },
    ...{ ...user, onvif: link },
  }
  const set = (switchToManual = false) => clocks.set(record, { switchToManual }, 'ann')
  return { clocks, peer, record, served, set, writes }
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
    ...{ dateTimeTypeBefore: 'Manual', dateTimeTypeSet: 'Manual', ntpServerSet: null, ntpError: 'It is off.' },
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

const OURS = '192.0.2.7'

t.test('A.clock a camera is given the recorder as its server, is right at once, and is read again', async (t) => {
  const { peer, served, set, writes } = await stage(t, { aheadMs: HOUR_MS, signIn: 'wsse' })
  served.now = { address: OURS }
  t.match(await set(), {
    ...{ verified: true, ntpServerSet: OURS, ntpError: null, ntpKept: false },
    ...{ dateTimeTypeBefore: 'Manual', dateTimeTypeSet: 'NTP' },
  })
  t.same(peer.traits.ntp, { isFromDhcp: false, servers: [OURS] })
  t.equal(peer.traits.dateTimeType, 'NTP')
  t.ok(Math.abs(peer.traits.aheadMs) < 60_000, 'before it has asked its server')
  t.match(writes.of('one', 9), [{ detail: { ntpServerSet: OURS, dateTimeTypeSet: 'NTP' } }])
  const before = peer.asked.length
  t.match(await set(), { ntpServerSet: OURS, ntpKept: true, dateTimeTypeBefore: 'NTP' })
  t.notOk(peer.asked.slice(before).includes('SetNTP'), 'it has that server already')
})

t.test('A.clock one that had another server asks the recorder from then on, also over IPv6', async (t) => {
  const ntp = { isFromDhcp: false, servers: ['198.51.100.1', OURS] }
  const { peer, served, set } = await stage(t, { aheadMs: HOUR_MS, dateTimeType: 'NTP', ntp })
  served.now = { address: 'fd00::7' }
  t.match(await set(), { verified: false, ntpServerSet: 'fd00::7', ntpKept: false, dateTimeTypeSet: 'NTP' })
  t.same(peer.traits.ntp.servers, ['fd00::7'])
  t.equal(peer.traits.aheadMs, HOUR_MS, 'its time is not set, since it fetches that')
  peer.traits.ntp.servers = ['fd00:0000:0000:0000:0000:0000:0000:0007']
  t.match(await set(), { ntpServerSet: 'fd00::7', ntpKept: true })
})

t.test('A.clock a camera that says it took the server and did not is found out, and keeps what it had', async (t) => {
  const ntp = { isFromDhcp: false, servers: ['198.51.100.1'] }
  const { peer, served, set } = await stage(t, { isNtpStuck: true, ntp, aheadMs: HOUR_MS })
  served.now = { address: OURS }
  t.match(await set(), { verified: true, ntpServerSet: null, ntpError: /Door took 192.0.2.7 .*198.51.100.1/ })
  t.equal(peer.traits.dateTimeType, 'Manual', 'with its time set by hand')
  Object.assign(peer.traits, { dateTimeType: 'NTP' })
  t.match(await set(), { ntpServerSet: null, ntpKept: true, dateTimeTypeSet: 'NTP' })
  peer.traits.ntp = { isFromDhcp: true, servers: [] }
  t.match(await set(), { ntpError: /DHCP/ })
  peer.traits.instead = { SetNTP: '<no>' }
  t.match(await set(), { ntpServerSet: null, ntpError: /XML/ }, 'and the rest of its clock is set')
})

t.test('A.clock a switch to manual time gives no server, and the recorder alone does not undo it', async (t) => {
  const { clocks, peer, record, served, set } = await stage(t, { dateTimeType: 'NTP' })
  served.now = { address: OURS }
  t.match(await clocks.check(record), { isServerRight: false, isRight: false, isOurs: true })
  t.match(await set(true), { dateTimeTypeSet: 'Manual', ntpServerSet: null, ntpError: null, ntpKept: false })
  t.notOk(peer.asked.includes('SetNTP'))
  t.match(await clocks.check(record), { isServerRight: true, isRight: true, isOurs: false })
  peer.traits.aheadMs = HOUR_MS
  t.match(await clocks.check(record), { isRight: false, isOurs: true })
  t.match(await clocks.set(record, { switchToManual: false }, null), { verified: true, dateTimeTypeSet: 'Manual' })
  t.notOk(peer.asked.includes('SetNTP'))
  t.match(await set(), { dateTimeTypeSet: 'NTP', ntpServerSet: OURS }, 'somebody does')
  t.match(await clocks.check(record), { isServerRight: true, isRight: true })
  peer.traits.aheadMs = HOUR_MS
  t.match(await clocks.check(record), { isServerRight: true, isRight: false, isOurs: true }, 'it is to ask again')
})

t.test('A.clock-sync a camera that knows no servers is right as it is', async (t) => {
  const { clocks, peer, record, served } = await stage(t, { dateTimeType: 'NTP' })
  served.now = { address: OURS }
  peer.traits.instead = { GetNTP: '<no>' }
  t.match(await clocks.check(record), { isServerRight: true, isRight: true })
})
