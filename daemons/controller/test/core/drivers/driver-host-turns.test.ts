import t from 'tap'
import { until } from '#kit/test/until.ts'
import { hostStage } from './host-stage.ts'

t.test('many devices are processed in turns, and a command does not wait for them', async (t) => {
  const devices = Array.from({ length: 1000 }, (_, at) => ({ id: at + 1, driver: 'fake' }))
  const { host, clock, book, opened, underWay, ask } = hostStage({ devices, limits: { opening: 1000 } })
  host.refresh()
  t.ok(host.view(1))
  t.notOk(host.view(1000), 'its turn is later')
  ask('whole on', {}, 1000)
  t.ok(host.view(1000), 'a command brings its device at once')
  await until('the command is under way', () => underWay.length === 1)
  book.set(
    'device',
    devices.filter(({ id }) => id !== 999),
  )
  host.refresh()
  for (let turn = 0; turn < 16; turn++) clock.advance(1)
  await until('all are open', () => opened.length >= 999)
  const missing = devices.filter(({ id }) => host.view(id) === undefined).map(({ id }) => id)
  t.same(missing, [999], 'a change meanwhile restarts the pass, and each device is opened once')
})
