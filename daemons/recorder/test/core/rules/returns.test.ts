import t from 'tap'
import type { PendingReturn } from '../../../core/rules/returns.ts'
import { seen, stage, wish } from './rules-stage.ts'

t.test('3A.action-rule a camera goes back after a restart too, and where nobody answers at first', async (t) => {
  const before = stage()
  const goes = { type: 'ptz_preset', cameraId: 'door', preset: 'gate', returnAfterSeconds: 60 } as const
  const there = await before.book.add(wish({ type: 'button' }, [{ ...goes, returnPreset: 'home' }]))
  const stays = await before.book.add(wish({ type: 'button' }, [{ ...goes, returnPreset: null }], { name: 'Stays' }))
  before.rules.press(there.id, 'ann')
  await before.settle()
  const dueAt = before.clock.epochMs() + 60_000
  t.same(before.disk.returns, [{ camera: 'door', preset: 'home', rule: 'Night', dueAt }])
  const kept = before.disk.returns
  before.rules.press(stays.id, 'ann')
  await before.settle()
  t.same(before.disk.returns, [], 'who is moved again goes by the newer rule')

  const { clock, disk, done, pass, trouble } = stage([
    ...kept,
    { ...kept[0], camera: 'yard', dueAt: 5 } as PendingReturn,
  ])
  trouble.recall = 'camera_unreachable'
  await pass(0)
  t.same(done, [], 'what was due meanwhile is done at once, if the camera answers')
  trouble.recall = null
  await pass(30_000)
  t.same(done, ['yard to home as ptz_return of Night'])
  t.same(disk.returns, kept)
  await pass(dueAt - clock.epochMs())
  t.same(done.slice(1), ['door to home as ptz_return of Night'])
  t.same(disk.returns, [])

  const lost = stage([{ camera: 'yard', preset: 'home', rule: 'Night', dueAt: 5 }])
  lost.trouble.recall = 'camera_unreachable'
  for (let at = 0; at < 12; at++) await lost.pass(30_000)
  t.same(lost.done, ['yard did not go back: camera_unreachable'])
  t.same(lost.disk.returns, [])
})

t.test('3A.action-rule a camera does not go back while a person steers it, and why is written down', async (t) => {
  const { clock, disk, done, pass, settle, steering } = stage([
    { camera: 'yard', preset: 'home', rule: 'Night', dueAt: 5 },
  ])
  const steer = (ms: number) => void steering.set('yard', clock.monotonicMs() + ms)
  steer(30_000)
  await pass(0)
  const waits = 'yard noted ptz_return of Night: {"preset":"home","waits":"ann steers the camera."}'
  t.same(done, [waits])
  await pass(20_000)
  steer(30_000)
  await pass(10_000)
  t.equal(disk.returns.length, 1, 'a restart would not forget it')
  t.same(done, [waits], 'once')
  await pass(20_000)
  await settle()
  t.same(done, [waits, 'yard to home as ptz_return of Night'])
  t.same(disk.returns, [])

  const long = stage([{ camera: 'yard', preset: 'home', rule: 'Night', dueAt: clock.epochMs() }])
  for (let at = 0; at < 70; at++) {
    long.steering.set('yard', long.clock.monotonicMs() + 61_000)
    await long.pass(60_000)
  }
  t.equal(long.done.length, 3)
  t.match(long.done[1], /noted .*"error":"ann steers the camera. It did not go back within 1 h/)
  t.equal(long.done[2], 'yard did not go back: ptz_steered')
})

t.test(
  '3A.action-rule of two rules that fight over a camera the later one has it, and no way back undoes it',
  async (t) => {
    const { book, done, pass, rules, settle, slow } = stage()
    const goes = { type: 'ptz_preset', cameraId: 'yard', returnAfterSeconds: 5 } as const
    await book.add(wish({ type: 'detection' }, [{ ...goes, preset: 'gate', returnPreset: 'home' }], { name: 'Gate' }))
    const late = wish({ type: 'departure' }, [{ ...goes, preset: 'door', returnPreset: 'hall' }], { name: 'Door' })
    await book.add(late)
    rules.detected(seen('1'), 'begin')
    await pass(4999)
    slow.recall = Promise.withResolvers<void>()
    rules.detected(seen('1'), 'end')
    await settle()
    await pass(1)
    slow.recall.resolve()
    await settle()
    t.same(done, ['yard to gate', 'yard to door'], 'the way back of before is not wished any more')
    await pass(5000)
    t.same(done.slice(2), ['yard to hall as ptz_return of Door'])
  },
)
