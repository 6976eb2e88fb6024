import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { fanDrive } from '../fan-drive.ts'
import { ask } from './ask-unit.ts'

function driveFor(t: { fail(message: string): unknown }) {
  const clock = fakeClock()
  const drive = fanDrive(4, clock)
  const read = (address: number) => ask(drive, { fc: 3, address, quantity: 1 }).values[0]
  const write = (address: number, value: number) => {
    if (ask(drive, { fc: 6, address, quantity: 1, values: [value] }).exception) t.fail(`${address} takes no write`)
  }
  return { clock, drive, read, write }
}

t.test('it runs up and down by 5 Hz a second, and tells its state', async (t) => {
  const { clock, read, write } = driveFor(t)
  t.same([0x2101, 0x2102, 0x2103].map(read), [3, 3500, 3500])
  write(0x2001, 4500)
  clock.advance(1000)
  t.same([read(0x2102), read(0x2103)], [4500, 4000])
  clock.advance(5000)
  t.same([0x2103, 0x2104, 0x2105, 0x2106].map(read), [4500, 34, 5657, 3600])
  write(0x2000, 1)
  clock.advance(1000)
  t.same([read(0x2101), read(0x2103)], [1, 4000])
  clock.advance(60_000)
  t.same([0x2101, 0x2103, 0x2104, 0x2106].map(read), [0, 0, 0, 0])
})

t.test('a tripped drive stops and runs again only after a reset', async (t) => {
  const { clock, read, write } = driveFor(t)
  write(0x2002, 1)
  clock.advance(10_000)
  t.same([0x2100, 0x2101].map(read), [49, 0])
  write(0x2000, 2)
  clock.advance(10_000)
  t.equal(read(0x2103), 0)
  write(0x2002, 2)
  write(0x2000, 2)
  clock.advance(10_000)
  t.same([0x2100, 0x2101, 0x2103].map(read), [0, 3, 3500])
})

t.test('what it measures cannot be written', async (t) => {
  const { drive } = driveFor(t)
  t.equal(ask(drive, { fc: 6, address: 0x2103, quantity: 1, values: [1] }).exception, 2)
  t.equal(ask(drive, { fc: 3, address: 0x2003, quantity: 1 }).exception, 2)
})
