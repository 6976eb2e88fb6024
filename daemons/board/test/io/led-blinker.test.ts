import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLedBlinker } from '../../io/led-blinker.ts'

const led = (trigger = 'none [mmc0] heartbeat', brightness = '1') => ({ trigger, brightness })

function setup(folder: string, name = '') {
  const clock = fakeClock()
  const read = (lamp: string, file: string) => readFileSync(join(folder, lamp, file), 'utf8').trim()
  return { clock, read, blinker: createLedBlinker({ clock, blinkMs: 250, name, folder }) }
}

/** Writes go to a disk: looked at until they are there. */
async function until(clock: { run(ms: number): Promise<void> }, isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !isSo(); tries++) {
    await clock.run(0)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

t.test('blinks the lamp that suits best, and gives it back as it was', async (t) => {
  const folder = t.testdir({ ACT: led(), 'input3::capslock': led(), 'board:status': led() })
  const { clock, read, blinker } = setup(folder)
  t.equal(await blinker.start(), true)
  t.equal(read('board:status', 'trigger'), 'none')
  await until(clock, () => read('board:status', 'brightness') === '255')
  await clock.run(250)
  await until(clock, () => read('board:status', 'brightness') === '0')
  t.equal(read('board:status', 'brightness'), '0')
  await blinker.stop()
  t.equal(read('board:status', 'trigger'), 'mmc0')
  t.equal(read('board:status', 'brightness'), '1')
  t.equal(read('ACT', 'trigger'), 'none [mmc0] heartbeat', 'the other one was left alone')
  t.equal(clock.pending(), 0)
})

t.test('takes the lamp that is named, and no other', async (t) => {
  const folder = t.testdir({ ACT: led(), PWR: led('[none] heartbeat') })
  const named = setup(folder, 'PWR')
  t.equal(await named.blinker.start(), true)
  await until(named.clock, () => named.read('PWR', 'brightness') === '255')
  t.equal(named.read('PWR', 'brightness'), '255')
  await named.blinker.stop()
  t.equal(await setup(folder, 'gone').blinker.start(), false)
})

t.test('lamps of keyboards, networks and cards are left alone', async (t) => {
  const folder = t.testdir({ 'input3::capslock': led(), 'eth0:link': led(), 'mmc0::': led(), 'led1:user': led() })
  rmSync(join(folder, 'led1:user'), { recursive: true })
  t.equal(await setup(folder).blinker.start(), false)
  t.equal(await setup('/nowhere').blinker.start(), false)
})

t.test('stops where there is nothing to stop', async (t) => {
  await setup('/nowhere').blinker.stop()
  t.pass('and says nothing')
})
