/** How long the line waits for slow clients. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { SlowClients } from '../../core/line-sharing.ts'

function clientsHere(...names: string[]) {
  const clock = fakeClock()
  const here = { clock, names: new Set(names), dropped: [] as string[], waits: [] as boolean[] }
  const slow = new SlowClients<string>({
    clock,
    limitMs: 2000,
    count: () => here.names.size,
    onWait: (isWaiting) => here.waits.push(isWaiting),
    drop(name) {
      here.dropped.push(name)
      here.names.delete(name)
      slow.caughtUp(name)
    },
  })
  return { ...here, slow }
}

t.test('a slow client among others is dropped at once, and the line never waits', async (t) => {
  const { slow, dropped, waits } = clientsHere('slow', 'quick')
  slow.fellBehind('slow')
  t.strictSame(dropped, ['slow'])
  t.strictSame(waits, [])
})

t.test('the line waits for a single client, and continues when it has caught up', async (t) => {
  const { slow, dropped, waits, clock } = clientsHere('only')
  slow.fellBehind('only')
  t.strictSame(waits, [true])
  clock.advance(1999)
  slow.caughtUp('only')
  t.strictSame(waits, [true, false])
  clock.advance(60_000)
  t.strictSame(dropped, [])
})

t.test('the line waits no longer than the limit, then all that are behind are dropped', async (t) => {
  const { slow, dropped, waits, clock } = clientsHere('one', 'other')
  slow.fellBehind('one')
  t.strictSame(dropped, ['one'], 'the other was still with it')
  slow.fellBehind('other')
  t.strictSame(waits, [true])
  clock.advance(2000)
  t.strictSame(dropped, ['one', 'other'])
  t.strictSame(waits, [true, false])
  t.equal(clock.pending(), 0)
})

t.test('a client that comes while the line waits is not waited for', async (t) => {
  const { slow, dropped, waits, names } = clientsHere('only')
  slow.fellBehind('only')
  names.add('new')
  slow.judge()
  t.strictSame(dropped, ['only'])
  t.strictSame(waits, [true, false])
})
