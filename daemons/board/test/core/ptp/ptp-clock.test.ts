/** Tests of core/ptp/clock.ts: states, and what roles get. */
import t from 'tap'
import { OTHER, OWN, THIRD } from './fake-ptp4l.ts'
import { MAC, ptpRig } from './ptp-rig.ts'

const PTP = (grandmaster: string) => ({ kind: 'ptp', grandmaster, domain: 0 })

t.test('switched off it runs on this machine, and names it', async (t) => {
  const { ptp } = ptpRig({ enabled: false })
  t.match(ptp.view(), { enabled: false, state: 'off', offset_ns: null, grandmaster: null })
  t.same(ptp.refClock(), { kind: 'localmac', mac: MAC })
  t.notOk(ptp.isLocked())
})

t.test('without ptp4l it says so, and sound runs', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.listener.missing('ptp4l is not installed.')
  t.match(rig.ptp.view(), { state: 'absent', text: /ptp4l is not installed/ })
  t.same(rig.changes, ['absent 0'])
})

t.test('alone it becomes the clock, and names itself', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hearNobody()
  t.match(rig.ptp.view(), { state: 'listening', grandmaster: null, port_state: 'LISTENING' })
  rig.ptp4l.becomeMaster()
  t.match(rig.ptp.view(), { state: 'master', grandmaster: { id: OWN, is_self: true }, offset_ns: null })
  t.same(rig.ptp.refClock(), PTP(OWN))
  t.ok(rig.ptp.isLocked())
})

t.test('a master that is heard is locked to within three seconds, and named', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear({ aheadNs: 700_000, ppb: 30_000 })
  rig.clock.advance(900)
  t.match(rig.ptp.view(), { state: 'locking', grandmaster: { id: OTHER } })
  t.same(rig.ptp.refClock(), { kind: 'localmac', mac: MAC })
  rig.clock.advance(2100)
  const view = rig.ptp.view()
  t.match(view, { state: 'locked', grandmaster: { id: OTHER, priority1: 100, is_self: false }, path_delay_ns: 3157 })
  t.ok(Math.abs(rig.errorNs()) < 10_000, `${rig.errorNs()} ns off`)
  t.ok(view.last_sync_age_ms !== null && view.last_sync_age_ms <= 126)
  t.same(rig.ptp.refClock(), PTP(OTHER))
})

t.test('a path that is not measured yet is unknown, not 0', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear()
  rig.ptp4l.listener.answer({ kind: 'current', stepsRemoved: 1, pathDelayNs: 0 })
  rig.clock.advance(3000)
  t.match(rig.ptp.view(), { state: 'locked', path_delay_ns: null })
  rig.ptp4l.listener.answer({ kind: 'current', stepsRemoved: 1, pathDelayNs: 41.5 })
  t.equal(rig.ptp.view().path_delay_ns, 41.5)
})

t.test('there is no lock to a master that is announced but sends no time', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear()
  rig.ptp4l.silence()
  rig.clock.advance(10_000)
  t.match(rig.ptp.view(), { state: 'listening', text: /announces itself/, last_sync_age_ms: null })
})

t.test('while the path to a master is not measured its offsets, which ptp4l repeats, are ignored', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hearNobody()
  for (let at = 1n; at < 40n; at++) {
    rig.clock.advance(125)
    const { realtimeNs: ingressNs } = rig.audio.read()
    rig.ptp4l.listener.answer({
      kind: 'time_status',
      offsetNs: 0n,
      ingressNs,
      isGrandmasterElsewhere: true,
      grandmaster: OTHER,
    })
  }
  t.equal(rig.ptp.view().state, 'listening')
})

t.test('a master that dies is never shown as locked: holdover in about a second, and sound continues', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear({ ppb: 50_000, aheadNs: 1_000_000 })
  rig.clock.advance(20_000)
  rig.ptp4l.silence()
  rig.clock.advance(1500)
  t.match(rig.ptp.view(), { state: 'holdover', grandmaster: { id: OTHER }, offset_ns: null })
  t.ok(rig.ptp.isLocked())
  t.same(rig.ptp.refClock(), PTP(OTHER))
  rig.clock.advance(15_000)
  t.ok(Math.abs(rig.errorNs()) < 10_000, `${rig.errorNs()} ns off after 16 s without a master`)
  t.equal(rig.ptp.view().steps, 1, 'the first lock was the only jump')
})

t.test('the clock locks to the next master, and reports the change once, without a jump if it is near', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear()
  rig.clock.advance(20_000)
  rig.changes.length = 0
  rig.ptp4l.hear({ id: THIRD, aheadNs: 900_000, ppb: -20_000 })
  rig.clock.advance(1000)
  t.match(rig.ptp.view(), { state: 'holdover' })
  t.same(rig.ptp.refClock(), PTP(OTHER), 'sound still runs on the time of the previous one')
  rig.clock.advance(6000)
  t.match(rig.ptp.view(), { state: 'locked', grandmaster: { id: THIRD } })
  t.same(rig.changes, ['holdover 1', 'locked 1'])
  t.ok(Math.abs(rig.errorNs()) < 50_000, `${rig.errorNs()} ns off`)
})

t.test('a master with another epoch is one jump, reported once', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear()
  rig.clock.advance(20_000)
  rig.changes.length = 0
  rig.ptp4l.hear({ id: THIRD, aheadNs: -1_700_000_000_000_000_000 })
  rig.clock.advance(5000)
  t.same(rig.changes, ['holdover 1', 'locked 2'])
  t.ok(Math.abs(rig.errorNs()) < 10_000, `${rig.errorNs()} ns off`)
})

t.test('RFC 7273 of a master on TAI sound counts its own seconds, not those of UTC', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear({ utcOffsetS: 37, aheadNs: 200_000 })
  rig.clock.advance(4000)
  t.equal(rig.ptp.view().state, 'locked')
  t.ok(Math.abs(rig.errorNs()) < 10_000, `${rig.errorNs()} ns off`)
  const { audioNs, realtimeNs } = rig.audio.read()
  t.equal(Math.round(Number(audioNs - realtimeNs) / 1e9), 37)
})

t.test('a better master takes over from this board without a gap in the lock', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.becomeMaster()
  rig.clock.advance(5000)
  rig.ptp4l.hear({ aheadNs: 400_000 })
  rig.clock.advance(500)
  t.match(rig.ptp.view(), { state: 'holdover', grandmaster: { id: OWN } })
  rig.clock.advance(5000)
  t.match(rig.ptp.view(), { state: 'locked', grandmaster: { id: OTHER, is_self: false } })
  t.same(rig.changes, ['listening 0', 'master 0', 'holdover 0', 'locked 0'])
})

t.test('a board that takes over from a master moves to its own time of day, which others will follow', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear({ aheadNs: 800_000 })
  rig.clock.advance(10_000)
  rig.ptp4l.becomeMaster()
  t.match(rig.ptp.view(), { state: 'master', grandmaster: { id: OWN } })
  rig.clock.advance(8000)
  const { audioNs, realtimeNs } = rig.audio.read()
  t.ok(Math.abs(Number(audioNs - realtimeNs)) < 10_000, `${audioNs - realtimeNs} ns off`)
  t.equal(rig.ptp.view().steps, 1, 'it moves there without a jump')
})

t.test('if ptp4l ends while locked it is holdover, if it comes back a lock, if it stays away a fault', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.hear()
  rig.clock.advance(5000)
  rig.ptp4l.stopPolling()
  rig.ptp4l.listener.ended('ptp4l was ended by SIGKILL.')
  t.match(rig.ptp.view(), { state: 'holdover', text: /SIGKILL/, grandmaster: { id: OTHER }, port_state: null })
  rig.ptp4l.hear()
  rig.clock.advance(4000)
  t.match(rig.ptp.view(), { state: 'locked', steps: 1 })
  rig.ptp4l.stopPolling()
  rig.ptp4l.listener.ended('ptp4l ended with 1.')
  rig.ptp4l.listener.gaveUp('ptp4l ended with 1.')
  t.match(rig.ptp.view(), { state: 'fault', text: /ended with 1/ })
  t.notOk(rig.ptp.isLocked())
})

t.test('a listener that has unsubscribed gets nothing', async (t) => {
  const rig = ptpRig()
  const heard: string[] = []
  const end = rig.ptp.onChange(() => heard.push(rig.ptp.view().state))
  rig.ptp4l.hearNobody()
  end()
  rig.ptp4l.becomeMaster()
  t.same(heard, ['listening'])
})

t.test('stopped it releases ptp4l, and leaves no timer', async (t) => {
  const rig = ptpRig()
  const { pending } = rig.clock
  const before = pending()
  await rig.ptp.stop()
  t.ok(rig.ptp4l.isStopped)
  t.equal(pending(), before - 1)
})
