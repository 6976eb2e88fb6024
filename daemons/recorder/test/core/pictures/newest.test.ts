import t from 'tap'
import { createNewest } from '../../../core/pictures/newest.ts'
import { h264 } from '../../../wire/h264.ts'

const sets = { codec: h264, units: [Uint8Array.of(0x67), Uint8Array.of(0x68)] }
const picture = (name: number, isKey: boolean, length = 10) => ({
  ...{ timestamp: 0, isKey, sets },
  units: [new Uint8Array(length).fill(name)],
})

t.test('the newest picture with all that it needs, from the last key frame on', async (t) => {
  const newest = createNewest({ mostBytes: 2000, wallAt: (ms) => 1_900_000_000_000.3 + ms })
  const tap = newest.tapOf('door')
  tap.picture(picture(1, false), { positionMs: 5, isBreak: false })
  t.equal(newest.of('door'), undefined, 'nothing can be decoded yet')
  tap.picture(picture(2, true), { positionMs: 10, isBreak: false })
  tap.picture(picture(3, false), { positionMs: 30, isBreak: false })
  tap.picture(picture(4, false), { positionMs: 20, isBreak: false })
  const names = () => newest.of('door')?.group.pictures.map(({ units: [unit] }) => unit?.[0])
  t.same(names(), [2, 3], 'the one that was decoded last is shown before')
  t.equal(newest.of('door')?.shownAt, 1_900_000_000_030)
  tap.picture(picture(5, true), { positionMs: 40, isBreak: false })
  t.same(names(), [5])
  tap.picture(picture(6, false), { positionMs: 9000, isBreak: true })
  t.equal(newest.of('door'), undefined, 'behind a hole nothing fits to what was before')
  tap.picture(picture(7, true), { positionMs: 9100, isBreak: false })
  t.same(names(), [7])
  tap.lost()
  t.equal(newest.of('door'), undefined)
})

t.test('a group of more bytes than are held stands still until the next key frame', async (t) => {
  const newest = createNewest({ mostBytes: 1100, wallAt: (ms) => ms })
  const tap = newest.tapOf('door')
  const shown = () => newest.of('door')?.shownAt
  tap.picture(picture(1, true, 80), { positionMs: 1, isBreak: false })
  tap.picture(picture(2, false, 40), { positionMs: 2, isBreak: false })
  t.equal(shown(), 1)
  tap.picture(picture(3, false, 1), { positionMs: 3, isBreak: false })
  t.equal(shown(), 1, 'it would refer to what was left out')
  tap.picture(picture(4, true, 600), { positionMs: 4, isBreak: false })
  t.equal(shown(), undefined, 'a key frame that is too large')
  tap.picture(picture(5, true, 5), { positionMs: 5, isBreak: false })
  t.equal(shown(), 5)
})
