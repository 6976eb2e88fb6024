import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { climateSensor } from '../climate-sensor.ts'
import { ask } from './ask-unit.ts'

t.test('temperature and humidity are input registers 1 and 2 in tenths, and they move', (t) => {
  const clock = fakeClock()
  const sensor = climateSensor(3, clock)
  const seen = new Set<number>()
  for (let turn = 0; turn < 60; turn++) {
    clock.advance(5000)
    const [tenths = 0, humidity = 0] = ask(sensor, { fc: 4, address: 1, quantity: 2 }).values
    seen.add(tenths)
    if (!(tenths >= 190 && tenths <= 240)) t.fail(`${tenths} tenths of a degree`)
    if (!(humidity >= 380 && humidity <= 500)) t.fail(`${humidity} tenths of a percent`)
  }
  t.ok(seen.size > 10)
  t.equal(ask(sensor, { fc: 4, address: 0, quantity: 2 }).exception, 2)
  t.equal(ask(sensor, { fc: 4, address: 1, quantity: 3 }).exception, 2)
  t.end()
})

t.test('a correction counts at once; a temperature below zero is a negative word', (t) => {
  const sensor = climateSensor(3, fakeClock())
  const before = ask(sensor, { fc: 4, address: 1, quantity: 1 }).values[0] ?? 0
  ask(sensor, { fc: 6, address: 0x0103, quantity: 1, values: [0x1_0000 - 400] })
  t.equal(ask(sensor, { fc: 4, address: 1, quantity: 1 }).values[0], 0x1_0000 + before - 400)
  t.same(ask(sensor, { fc: 3, address: 0x0101, quantity: 2 }).values, [3, 0])
  t.end()
})
