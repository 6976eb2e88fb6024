/** Tests of the clock's rules together: drift, noise, outliers, jumps, and recordings of ptp4l. */
import t from 'tap'
import { OTHER } from './fake-ptp4l.ts'
import { ptpRig } from './ptp-rig.ts'

/** The limit: the clock of sound against that of the master. */
const MOST_NS = 50_000

type Rig = ReturnType<typeof ptpRig>

/** The largest error within a time. */
function farthest(rig: Rig, ms: number): number {
  let most = 0
  for (let at = 0; at < ms; at += 50) {
    rig.clock.advance(50)
    most = Math.max(most, Math.abs(rig.errorNs()))
  }
  return most
}

function locked(given: Parameters<Rig['ptp4l']['hear']>[0], seed?: number): Rig {
  const rig = ptpRig(seed === undefined ? {} : { seed })
  rig.ptp4l.hear(given)
  rig.clock.advance(4000)
  return rig
}

for (const ppb of [100_000, -100_000, 0])
  t.test(`holds 50 us of a master at ${ppb / 1000} ppm whose times scatter by 10 us`, async (t) => {
    const rig = locked({ ppb, noiseNs: 10_000 })
    const most = farthest(rig, 60_000)
    t.ok(most < MOST_NS, `${most} ns at most`)
    t.match(rig.ptp.view(), { state: 'locked', steps: 1 })
    const { rate_ppm } = rig.ptp.view()
    t.ok(rate_ppm !== null && Math.abs(rate_ppm - ppb / 1000) < 1, `${rate_ppm} ppm`)
  })

t.test('one time in ten that is late by up to 5 ms does not move it', async (t) => {
  const rig = locked({ ppb: 20_000, noiseNs: 2000 })
  let n = 0
  rig.clock.every(130, () => {
    if (++n % 10 !== 0) return
    const { realtimeNs } = rig.audio.read()
    const offsetNs = BigInt(1_000_000 + ((n * 7919) % 4_000_000))
    rig.ptp4l.listener.answer({
      kind: 'time_status',
      offsetNs,
      ingressNs: realtimeNs - 1n,
      isGrandmasterElsewhere: true,
      grandmaster: OTHER,
    })
  })
  const most = farthest(rig, 40_000)
  t.ok(most < MOST_NS, `${most} ns at most`)
  t.equal(rig.ptp.view().steps, 1)
})

t.test('a master that jumps by a second is followed by one jump within two', async (t) => {
  const rig = locked({ noiseNs: 5000 })
  rig.changes.length = 0
  rig.ptp4l.stepMaster(1_000_000_000n)
  rig.clock.advance(2000)
  t.ok(Math.abs(rig.errorNs()) < MOST_NS, `${rig.errorNs()} ns off`)
  t.equal(rig.ptp.view().steps, 2)
  rig.clock.advance(20_000)
  t.equal(rig.ptp.view().steps, 2)
})

t.test('a master that moves by 800 us is followed without a jump', async (t) => {
  const rig = locked({ noiseNs: 5000 })
  rig.ptp4l.stepMaster(800_000n)
  rig.clock.advance(6000)
  t.ok(Math.abs(rig.errorNs()) < MOST_NS, `${rig.errorNs()} ns off`)
  t.match(rig.ptp.view(), { state: 'locked', steps: 1 })
})

t.test('a rate that changes by 100 ppm at once is held again within three seconds', async (t) => {
  const rig = locked({ noiseNs: 5000 })
  rig.clock.advance(20_000)
  rig.ptp4l.speedMaster(100_000)
  const most = farthest(rig, 3000)
  t.ok(most < 200_000, `${most} ns at most on the way`)
  const after = farthest(rig, 20_000)
  t.ok(after < MOST_NS, `${after} ns at most afterwards`)
  t.match(rig.ptp.view(), { state: 'locked', steps: 1 })
})

t.test('a time of day set by NTP does not move a board that follows a master', async (t) => {
  const rig = locked({ noiseNs: 2000, ppb: 40_000 })
  rig.clock.stepEpoch(3000)
  const most = farthest(rig, 20_000)
  t.ok(most < MOST_NS, `${most} ns at most`)
  t.match(rig.ptp.view(), { state: 'locked', steps: 1 })
})

t.test('as the clock it follows the time of day: gently if it is near, by a jump if it is far', async (t) => {
  const rig = ptpRig()
  rig.ptp4l.becomeMaster()
  rig.clock.advance(3000)
  const off = () => Number(rig.audio.read().audioNs - rig.audio.read().realtimeNs)
  rig.clock.stepEpoch(1)
  rig.clock.advance(1000)
  t.ok(Math.abs(off()) > 400_000, 'on its way')
  rig.clock.advance(9000)
  t.ok(Math.abs(off()) < 10_000, `${off()} ns off`)
  t.equal(rig.ptp.view().steps, 0)
  rig.clock.stepEpoch(-5000)
  rig.clock.advance(2000)
  t.equal(off(), 0)
  t.equal(rig.ptp.view().steps, 1)
})

t.test('times that scatter by more than the lock allows give no lock', async (t) => {
  const rig = locked({ noiseNs: 300_000 })
  rig.clock.advance(10_000)
  t.equal(rig.ptp.view().state, 'locking')
})
