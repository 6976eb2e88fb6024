import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import type { CameraEvent } from '../../core/camera-events/camera-events.ts'
import { type Alert, isToldTo } from '../../core/rules/rules.ts'
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
      ...{ stateFolder, clock: fakeClock(), log: silentLog, limits: { events: 3, alerts: 2, waiting: 4 } },
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

t.test('3A.authentication.7 alerts are found by whom they concern, with what came of them since', async (t) => {
  const store = openHappened({
    ...{ stateFolder: t.testdir({}), clock: fakeClock(), log: silentLog, onDisk: (fault) => t.equal(fault, undefined) },
    limits: { events: 3, alerts: 4, waiting: 10 },
  })
  const alert = (id: string, camera: string | null, others: (string | null)[] = []): Alert => ({
    ...{
      id,
      camera,
      at: Number(id),
      rule: 'Night',
      ruleId: 'r',
      triggerType: 'button',
      sentence: 'x',
      by: null,
      notified: null,
    },
    results: others.map((one) => ({ type: 'output', camera: one, state: 'waiting', sentence: null })),
  })
  const idsOf = async (cameras: string[] | null, limit = 10) =>
    (await store.alerts({ cameras, limit })).map(({ id }) => id)
  for (const one of [
    alert('1', 'one'),
    alert('2', null, ['one', null]),
    alert('3', null, ['one', 'two']),
    alert('4', null),
    alert('5', 'two', ['one']),
  ])
    store.putAlert(one)
  t.same(await idsOf(null), ['5', '4', '3', '2'], 'no more than are kept')
  t.same(await idsOf(['one']), ['2'])
  t.same(await idsOf(['one', 'two']), ['5', '3', '2'])
  t.same(await idsOf([]), [])
  const [settled] = alert('2', null, ['one']).results
  store.putAlert({ ...alert('2', null), results: settled ? [{ ...settled, state: 'done' }] : [] })
  t.match(await store.alerts({ cameras: ['one'], limit: 1 }), [{ id: '2', results: [{ state: 'done' }] }])
  const fault: Alert = { ...alert('6', null, ['one']), triggerType: 'fault' }
  store.putAlert(fault)
  t.same(await idsOf(['one', 'two']), ['5', '3'], 'a fault of the whole recorder is for who sees all of it')
  t.same(await idsOf(null, 1), ['6'])
  const seesOne = (camera: string) => camera === 'one'
  t.same(
    [alert('1', 'one'), alert('2', null, ['one']), alert('3', null, ['one', 'two']), alert('4', null), fault].map(
      (one) => isToldTo(one, { sees: seesOne }),
    ),
    [true, true, false, false, false],
    'those that are told when they come are the same',
  )
  await store.close()
})
