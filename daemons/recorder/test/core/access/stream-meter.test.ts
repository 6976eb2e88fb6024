import t from 'tap'
import { createStreamMeter } from '../../../core/access/stream-meter.ts'

const bounds = { ofAccount: 2, inAll: 3, what: 'live stream', keys: { ofAccount: 'live.streams', inAll: 'live.total' } }

t.test('A.Limits streams are bounded for each account and in all, and what ended makes room once', async (t) => {
  const meter = createStreamMeter(bounds)
  const end = meter.take('ada')
  meter.take('ada')
  t.throws(() => meter.take('ada'), {
    code: 'too_many_streams',
    message: 'This account has 2 live streams open already; live.streams allows 2. Close one first.',
  })
  meter.take('bert')
  t.throws(() => meter.check('bert'), {
    message: '3 live streams are open already; live.total allows 3. Try again later.',
  })
  end()
  end()
  meter.check('bert')
  meter.take('ada')
  t.throws(() => meter.check('bert'), { code: 'too_many_streams' })
})

t.test('where all places are taken, the oldest of who has the most gives way to who has fewer by two', async (t) => {
  const meter = createStreamMeter({ ...bounds, ofAccount: 4, inAll: 6 })
  const gone: string[] = []
  const take = (account: string, name: string) => meter.take(account, ({ code }) => gone.push(`${name} ${code}`))
  meter.take('ada')
  const ends = ['a1', 'a2', 'a3'].map((name) => take('ada', name))
  take('bert', 'b1')
  take('bert', 'b2')
  take('carl', 'c1')
  t.same(gone, ['a1 too_many_streams'], 'not the one that cannot be ended')
  ends[0]?.()
  t.throws(
    () => meter.check('bert'),
    { code: 'too_many_streams' },
    'its end was counted once: three, two and one are fair',
  )
  take('dora', 'd1')
  t.same(gone.splice(0), ['a1 too_many_streams', 'a2 too_many_streams'])
  t.throws(() => take('ada', 'a4'), { code: 'too_many_streams' }, 'it does not come back in their places')
  take('emil', 'e1')
  take('fred', 'f1')
  t.same(gone, ['a3 too_many_streams', 'b1 too_many_streams'])
  t.throws(() => take('gina', 'g1'), { code: 'too_many_streams' }, 'each of six has one')
})
