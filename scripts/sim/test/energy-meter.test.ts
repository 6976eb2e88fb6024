import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { energyMeter } from '../energy-meter.ts'
import { ask, askF32 } from './ask-unit.ts'

const MINUTE_MS = 60_000

t.test('volts, amperes, power and power factor are one load at every time', async (t) => {
  const clock = fakeClock()
  const meter = energyMeter(1, clock)
  const watts = new Set<number>()
  for (let turn = 0; turn < 200; turn++) {
    clock.advance(773)
    const [volts, amperes, power, apparent, reactive, factor, angle, hertz] = [0, 6, 12, 18, 24, 30, 36, 70].map((at) =>
      askF32(meter, at),
    ) as [number, number, number, number, number, number, number, number]
    watts.add(power)
    const near = (left: number, right: number, what: string) => {
      if (Math.abs(left - right) > 1e-5 * Math.abs(right)) t.equal(left, right, what)
    }
    near(volts * amperes, apparent, 'U I = S')
    near(Math.hypot(power, reactive), apparent, 'P and Q make S')
    near(power / apparent, factor, 'P / S')
    near(Math.cos((angle * Math.PI) / 180), factor, 'the angle')
    if (!(volts > 226 && volts < 234)) t.fail(`${volts} V`)
    if (!(hertz > 49.95 && hertz < 50.05)) t.fail(`${hertz} Hz`)
  }
  t.ok(watts.size > 190, 'the load moves')
  t.ok(Math.max(...watts) - Math.min(...watts) > 1400, 'the compressor comes and goes')
})

t.test('the energy counter counts the power, and never goes back', async (t) => {
  const clock = fakeClock()
  const meter = energyMeter(1, clock)
  const startKwh = askF32(meter, 72)
  let kilowattHours = 0
  let before = startKwh
  for (let second = 0; second < 2 * 3600; second++) {
    clock.advance(500)
    kilowattHours += askF32(meter, 12) / 3_600_000
    clock.advance(500)
    const now = askF32(meter, 72)
    if (now < before) t.fail(`${now} after ${before}`)
    before = now
  }
  t.ok(kilowattHours > 2)
  t.ok(Math.abs(before - startKwh - kilowattHours) < 0.005, `${before - startKwh} of ${kilowattHours} kWh`)
  t.equal(askF32(meter, 342), before, 'all of it was imported')
})

t.test('the demand is the mean of the last hour, its highest is kept', async (t) => {
  const clock = fakeClock()
  const meter = energyMeter(1, clock)
  t.equal(askF32(meter, 84), 0, 'no minute is over')
  clock.advance(90 * MINUTE_MS)
  const startKwh = askF32(meter, 342)
  clock.advance(60 * MINUTE_MS)
  const meanWatts = (askF32(meter, 342) - startKwh) * 1000
  t.ok(Math.abs(askF32(meter, 84) - meanWatts) < 2, `${askF32(meter, 84)} of ${meanWatts} W`)
  t.ok(askF32(meter, 86) >= askF32(meter, 84))
  t.ok(askF32(meter, 264) >= askF32(meter, 258))
})

t.test('the same clock and seed give the same registers again, another seed does not', async (t) => {
  const clock = fakeClock()
  const [one, same, other] = [energyMeter(1, clock, 5), energyMeter(1, clock, 5), energyMeter(1, clock, 6)]
  clock.advance(1_234_567)
  const whole = { fc: 4, address: 0, quantity: 80 }
  t.same(ask(one, whole), ask(same, whole))
  t.not(askF32(one, 0), askF32(other, 0))
})

t.test(
  'a stretch up to 80 registers is given, gaps as zeros; more, or an address that is not there, is refused',
  (t) => {
    const meter = energyMeter(1, fakeClock())
    const { values } = ask(meter, { fc: 4, address: 0, quantity: 80 })
    t.equal(values.length, 80)
    t.same(values.slice(2, 6), [0, 0, 0, 0])
    t.equal(ask(meter, { fc: 4, address: 0, quantity: 81 }).exception, 3)
    t.equal(ask(meter, { fc: 4, address: 94, quantity: 4 }).exception, 2)
    t.equal(ask(meter, { fc: 1, address: 0, quantity: 1 }).exception, 1)
    t.end()
  },
)

t.test('its settings are in holding registers', (t) => {
  const meter = energyMeter(23, fakeClock())
  t.equal(askF32(meter, 20, 3), 23)
  t.equal(askF32(meter, 28, 3), 2)
  t.equal(ask(meter, { fc: 3, address: 14, quantity: 2 }).exception, 2)
  t.equal(ask(meter, { fc: 16, address: 12, quantity: 2, values: [0x4270, 0] }).exception, null)
  t.equal(askF32(meter, 12, 3), 60)
  t.end()
})
