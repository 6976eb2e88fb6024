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
