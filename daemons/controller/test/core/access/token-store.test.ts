import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createTokenStore } from '../../../core/access/sessions.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { realSecrets } from './people-world.ts'

function shelfOf(most = 3) {
  const clock = fakeClock()
  const digested: string[] = []
  const digest = (secret: string) => {
    digested.push(secret)
    return realSecrets.digest(secret)
  }
  const secrets = { ...realSecrets, digest }
  return { clock, digested, shelf: createTokenStore<{ userId: number }>({ clock, secrets, length: 32, most }) }
}

t.test('a secret stands for the object it was issued for, until it expires', (t) => {
  const { clock, shelf } = shelfOf()
  const holder = { userId: 1 }
  const secret = shelf.issue(holder, 1000)
  t.match(secret, /^[A-Za-z0-9]{32}$/)
  clock.advance(999)
  t.equal(shelf.find(secret), holder)
  clock.advance(1)
  t.equal(shelf.find(secret), undefined)
  t.equal(shelf.count(), 0)
  t.end()
})

t.test('a secret that was taken or dropped stands for nobody', (t) => {
  const { shelf } = shelfOf()
  const [one, other] = [shelf.issue({ userId: 1 }, 1000), shelf.issue({ userId: 2 }, 1000)]
  t.match(shelf.take(one), { userId: 1 })
  t.equal(shelf.take(one), undefined)
  shelf.drop(other)
  t.equal(shelf.find(other), undefined)
  t.end()
})

t.test('a full store first forgets expired entries, then the oldest of whoever holds most', (t) => {
  const { clock, shelf } = shelfOf()
  shelf.issue({ userId: 1 }, 10)
  const [bobs, adas] = [shelf.issue({ userId: 2 }, 1000), shelf.issue({ userId: 1 }, 1000)]
  clock.advance(10)
  const newest = shelf.issue({ userId: 1 }, 1000)
  t.ok([bobs, adas, newest].every((secret) => shelf.find(secret)))
  shelf.issue({ userId: 3 }, 1000)
  t.strictSame(
    [bobs, adas, newest].map((secret) => shelf.find(secret) !== undefined),
    [true, false, true],
  )
  t.equal(shelf.count(), 3)
  t.end()
})

t.test('all secrets of a holder are dropped, used or not', (t) => {
  const { shelf } = shelfOf()
  const [adas, bobs] = [shelf.issue({ userId: 1 }, 1000), shelf.issue({ userId: 2 }, 1000)]
  shelf.dropWhere(({ userId }) => userId === 1)
  t.equal(shelf.find(adas), undefined)
  t.match(shelf.find(bobs), { userId: 2 })
  t.equal(shelf.count(), 1)
  t.end()
})

t.test('a text of another length is not even hashed', (t) => {
  const { digested, shelf } = shelfOf()
  for (const text of ['', 'x'.repeat(31), 'x'.repeat(16_000_000)]) {
    t.equal(shelf.find(text), undefined)
    t.equal(shelf.take(text), undefined)
    shelf.drop(text)
  }
  t.strictSame(digested, [])
  t.end()
})

t.test('sessions take no more than their row says', async (t) => {
  const most = 2000
  const bytes = await heapBytesOf(() => {
    const { shelf, digested } = shelfOf(most)
    for (let at = 0; at < most + 10; at++) {
      const proven = { hash: `${at}`.padEnd(128, 'h'), salt: `${at}`.padEnd(64, 's') }
      shelf.issue(Object.assign({ userId: at }, proven, { issuedAt: 1.9e12 + at, usedMs: at + 0.5 }), 60_000)
    }
    digested.length = 0
    return shelf
  })
  const settings = { 'people.sessions': 0, 'people.nonces': most, 'ui.max_tickets': 0 }
  const row = rowOf(memoryPlan().rows, 'sessions, nonces', settings)
  t.ok(bytes < row.allBytes, `${bytes / most} bytes a session, of ${row.eachBytes}`)
})
