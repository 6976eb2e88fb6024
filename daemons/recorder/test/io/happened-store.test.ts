import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import type { CameraEvent } from '../../core/camera-events/camera-events.ts'
import { openHappened } from '../../io/happened-store.ts'

const event = (camera: string, at: number): CameraEvent => ({
  ...{ camera, at, kind: 'motion', phase: 'begin', topic: 'a/b', summary: 'Motion began.' },
})
const all = { before: Number.MAX_SAFE_INTEGER, limit: 100 }

t.test('events are there again after a restart, the newest first, no more than are kept', async (t) => {
  const stateFolder = t.testdir({})
  const faults: unknown[] = []
  const open = () =>
    openHappened({
      ...{ stateFolder, clock: fakeClock(), log: silentLog, limits: { events: 3, waiting: 4 } },
      onDisk: (fault) => faults.push(fault),
    })
  const first = open()
  for (let at = 1; at <= 6; at++) first.addEvent(event('one', at))
  t.same(
    (await first.events({ ...all, cameras: ['one'] })).map(({ at }) => at),
    [4, 3, 2],
    'of six four found room to wait, and three are kept',
  )
  first.addEvent(event('two', 9))
  await first.close()
  const second = open()
  t.same(await second.events({ ...all, cameras: ['two'] }), [event('two', 9)])
  t.same(
    (await second.events({ ...all, cameras: ['one', 'two'], before: 9, limit: 1 })).map(({ at }) => at),
    [4],
  )
  t.same(await second.events({ ...all, cameras: [] }), [])
  t.ok(faults.every((fault) => fault === undefined))
  await second.close()
})
