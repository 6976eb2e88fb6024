/** Tests of core/drivers/stills.ts: how often a recorder is asked for the picture of a zone, and how many at once. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createStills } from '../../../core/drivers/stills.ts'
import type { Row } from '../../../core/site/book.ts'

const LIMITS = {
  ...{ stillMs: 5000, stills: 4, stillsAtOnce: 3, stillsPerDevice: 2, deadlineMs: 4000 },
  ...{ stillLookMs: 60_000, stillLooks: 2 },
}

function stage(answer: (zone: Row, signal: AbortSignal) => Promise<Uint8Array> = async ({ id }) => Buffer.from([id])) {
  const clock = fakeClock()
  const asked: number[] = []
  const stills = createStills({
    ...{ clock, limits: LIMITS },
    ask: (zone, signal) => {
      asked.push(zone.id)
      return answer(zone, signal)
    },
  })
  return { asked, clock, stills, still: stills.still }
}

const rowOf = (id: number, device = 9): Row => ({ id, device_id: device, created_at: 0, updated_at: 0 })
const turns = () => new Promise((resolve) => setImmediate(resolve))
const never = (_: Row, signal: AbortSignal) =>
  new Promise<Uint8Array>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

t.test('however many look, a recorder is asked for a picture once in its time', async (t) => {
  const { asked, clock, still } = stage()
  const gate = rowOf(1)
  t.same(await Promise.all([still(gate), still(gate), still(gate)]), Array(3).fill(Buffer.from([1])))
  clock.advance(4999)
  await still(gate)
  t.same(asked, [1])
  clock.advance(1)
  await still(gate)
  t.same(asked, [1, 1])
  await still({ ...gate, address: 'other' })
  t.same(asked, [1, 1, 1], 'a row that has changed may be another camera')
})

t.test('of more zones than are kept the oldest is asked for again', async (t) => {
  const { asked, still } = stage()
  const zones = [1, 2, 3, 4, 5].map((id) => rowOf(id))
  for (const zone of zones) await still(zone)
  for (const zone of zones.slice(1)) await still(zone)
  t.same(asked, [1, 2, 3, 4, 5])
  await still(zones[0] as Row)
  t.same(asked, [1, 2, 3, 4, 5, 1])
})

t.test(
  'everybody is told why there is no picture, without addresses, and it is not asked for again at once',
  async (t) => {
    let why = new Fault('device_unreachable', '10.20.4.9:3133 refuses connections')
    const { asked, clock, still } = stage(() => Promise.reject(why))
    const gate = rowOf(1)
    const failed = {
      code: 'still_failed',
      message: 'There is no picture of this camera: its recorder does not answer.',
    }
    await t.rejects(still(gate), failed)
    await t.rejects(still(gate), failed)
    t.same(asked, [1])
    clock.advance(5000)
    why = new Fault('answer_too_long', 'over 262144 bytes')
    await t.rejects(still(gate), { message: /it is larger than this controller takes/ })
    why = new Fault('still_failed', 'its recorder is not connected')
    await t.rejects(still(rowOf(2)), { message: 'There is no picture of this camera: its recorder is not connected.' })
    why = new Fault('no_still', 'none')
    await t.rejects(still(rowOf(3)), { code: 'no_still' })
  },
)

t.test('only so many are asked for at once, of one recorder and in all, and so many wait', async (t) => {
  const { asked, clock, still } = stage(never)
  const told = (zone: Row) => still(zone).catch(({ message }: Fault) => message)
  const first = [told(rowOf(1)), told(rowOf(2)), told(rowOf(3)), told(rowOf(4, 8))]
  await turns()
  t.same(asked, [1, 2, 4], 'the third of one recorder waits, and not for another')
  t.match(await told(rowOf(5)), /too many pictures are being fetched at once/)
  clock.advance(4000)
  const silent = 'There is no picture of this camera: its recorder does not answer.'
  t.same(await Promise.all(first), Array(4).fill(silent), 'none waits for longer, with or without a turn')
  await turns()
  // The one that waited has its turn, and gives it back.
  clock.advance(0)
  await turns()
  t.same(asked, [1, 2, 4])
  t.equal(clock.pending(), 0)
  clock.advance(5000)
  const again = told(rowOf(1))
  await turns()
  t.same(asked, [1, 2, 4, 1], 'there is room again')
  clock.advance(4000)
  await again
})

t.test('a recorder that was not asked, since others are silent, is not called silent', async (t) => {
  const { asked, clock, still } = stage(never)
  const told = (zone: Row) => still(zone).catch(({ message }: Fault) => message)
  const all = [told(rowOf(1, 7)), told(rowOf(2, 7)), told(rowOf(3, 8)), told(rowOf(4, 9))]
  await turns()
  t.same(asked, [1, 2, 3])
  clock.advance(4000)
  const silent = 'There is no picture of this camera: its recorder does not answer.'
  const crowded = 'There is no picture of this camera: too many pictures are being fetched at once.'
  t.same(await Promise.all(all), [silent, silent, silent, crowded])
})

t.test('a look at a camera begins once, however often its picture is asked for', (t) => {
  const { clock, stills } = stage()
  t.ok(stills.isNewLook(7, 1))
  clock.advance(59_999)
  t.notOk(stills.isNewLook(7, 1))
  clock.advance(59_999)
  t.notOk(stills.isNewLook(7, 1), 'it goes on')
  t.ok(stills.isNewLook(8, 1), 'of another person')
  t.ok(stills.isNewLook(7, 2))
  t.ok(stills.isNewLook(7, 1), 'with more than are remembered the oldest is forgotten')
  clock.advance(60_000)
  t.ok(stills.isNewLook(7, 1))
  t.end()
})
