import t from 'tap'
import { decoderRig } from './decoder-rig.ts'

const SETTINGS = { mcast: '239.1.2.3', port: 5006 }

t.test('B.settings a board plays the group of its settings from its first start on', async (t) => {
  const rig = decoderRig({ settings: SETTINGS })
  await rig.decoder.start()
  t.match(rig.receiver().tuning, {
    paths: [{ group: '239.1.2.3', port: 5006, source: null }],
    encoding: 'L24',
    linkMs: 10,
  })
  t.same(rig.saves, [])
})

t.test('B.states POST /api/route switches at once, and saves', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  const route = await rig.route({ mcast: '239.69.10.4', port: '5004', encoding: 'L16' })
  t.match(route, { mcast: '239.69.10.4', encoding: 'L16' })
  t.match(rig.saves, [['route', { route, settings: { mcast: '', port: 5004 } }]])
  t.equal(rig.output.listensTo, rig.receiver().id)
})

t.test('a route that cannot be saved is not played either', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  rig.files.refuses = new Error('the disk is full')
  await t.rejects(rig.play())
  t.equal(rig.receivers.length, 0)
  t.equal(rig.decoder.book.route.mcast, '')
})

t.test('a restart continues with the route; a new group in the settings wins over it', async (t) => {
  const first = decoderRig({ settings: SETTINGS })
  await first.play()
  const route = first.saves[0]?.[1] as never
  const same = decoderRig({ settings: SETTINGS, saved: { route } })
  t.equal(same.decoder.book.route.mcast, '239.69.10.4')
  const other = decoderRig({ settings: { ...SETTINGS, mcast: '239.9.9.9' }, saved: { route } })
  t.equal(other.decoder.book.route.mcast, '239.9.9.9')
  await other.decoder.start()
  const settled = other.saves[0]?.[1] as never
  const back = decoderRig({ settings: SETTINGS, saved: { route: settled } })
  t.equal(back.decoder.book.route.mcast, '239.1.2.3', 'nor does the old route come back with the old settings')
})

t.test('changes are saved one after another, and the last one plays', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  const stop = () => rig.route({ mcast: '' })
  await Promise.all([rig.play(), stop(), rig.play(), stop()])
  t.same(
    rig.saves.map(([, saved]) => (saved as { route: { mcast: string } }).route.mcast),
    ['239.69.10.4', '', '239.69.10.4', ''],
  )
  t.equal(rig.output.listensTo, 0)
})
