/** Tests of api/extraction.ts: each limit of interface document 3, A, by its name. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createExtraction } from '../../api/extraction.ts'

type Parts = Parameters<typeof createExtraction>[0]
type Wish = Parameters<ReturnType<typeof createExtraction>['permit']>[0]

function stage() {
  const clock = fakeClock()
  const noted: string[] = []
  const recorder = { changed: async (_: unknown, what: string) => void noted.push(what) }
  const limits = { streams: 2, maskedStreams: 1, totalStreams: 3 }
  const extraction = createExtraction({ clock, recorder: recorder as unknown as Parts['recorder'], limits })
  const wish = (ageS: number, permissions: string[] = [], more: object = {}) =>
    ({
      ...{ account: { id: 'guard', username: 'guard', permissions }, camera: { id: 'door', name: 'Door' } },
      ...{ startAt: clock.epochMs() - ageS * 1000, facts: {}, ...more },
    }) as unknown as Wish
  return { clock, extraction, noted, wish, account: (id: string) => ({ id }) as unknown as Wish['account'] }
}

const ask = {} as unknown as Parameters<ReturnType<typeof createExtraction>['note']>[0]

t.test('A.Limits 119 seconds may be reviewed, and 121 need the permission export and are audited', async (t) => {
  const { extraction, noted, wish } = stage()
  for (const ageS of [0, 119, 120]) {
    extraction.permit(wish(ageS))
    await extraction.note(ask, wish(ageS))
  }
  t.same(noted, [])
  t.throws(() => extraction.permit(wish(121)), { code: 'permission_needed' })
  t.throws(() => extraction.permit(wish(1, [], { isFile: true })), { code: 'permission_needed' }, 'download=1')
  extraction.permit(wish(121, ['export']))
  await extraction.note(ask, wish(121, ['export']))
  t.same(noted, ['footage taken out'])
})

t.test('A.Limits thirty frames a minute pass, and the 31st is refused with too_many_frames', async (t) => {
  const { account, clock, extraction } = stage()
  for (let frame = 0; frame < 30; frame++) {
    extraction.countFrame(account('guard'))
    clock.advance(1000)
  }
  const refusal = { code: 'too_many_frames', message: /Try again in 30 s/ }
  for (let again = 0; again < 3; again++) t.throws(() => extraction.countFrame(account('guard')), refusal)
  extraction.countFrame(account('boss'))
  clock.advance(30_000)
  extraction.countFrame(account('guard'))
  t.throws(() => extraction.countFrame(account('guard')), { code: 'too_many_frames' }, 'one place has become free')
  clock.advance(60_000)
  for (let frame = 0; frame < 30; frame++) extraction.countFrame(account('guard'))
  t.throws(() => extraction.countFrame(account('guard')), { code: 'too_many_frames' })
})

t.test('places are counted by account and in all, and each is given back once', async (t) => {
  const { account, extraction } = stage()
  const [one] = [extraction.hold(account('guard')), extraction.hold(account('guard'))]
  t.throws(() => extraction.hold(account('guard')), { code: 'too_many_streams', message: /playback\.streams allows 2/ })
  extraction.hold(account('boss'))
  t.throws(() => extraction.hold(account('boss')), { code: 'too_many_streams', message: /total_streams allows 3/ })
  one?.()
  one?.()
  extraction.hold(account('guard'))
  t.throws(() => extraction.hold(account('guard')), { code: 'too_many_streams' })
})

t.test('films of cameras with masks count among the playbacks, and have a bound of their own', async (t) => {
  const { account, extraction } = stage()
  const release = extraction.holdFilm(account('guard'))
  t.throws(() => extraction.holdFilm(account('other')), {
    code: 'too_many_streams',
    message: /playback.masked_streams/,
  })
  extraction.hold(account('guard'))
  t.throws(() => extraction.hold(account('guard')), { code: 'too_many_streams' })
  release()
  release()
  const [one, two] = [extraction.hold(account('other')), extraction.hold(account('other'))]
  t.throws(() => extraction.holdFilm(account('third')), { code: 'too_many_streams' }, 'all places are taken')
  one()
  t.ok(extraction.holdFilm(account('third')), 'and none is kept by who was refused')
  two()
})
