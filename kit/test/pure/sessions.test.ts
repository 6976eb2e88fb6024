import t from 'tap'
import { createTokenStore } from '#kit/auth/credentials.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { createPageSessions, createUserList, type Signed, TOKEN_LIFE_MS, type UserRecord } from '../../pure/users.ts'

const HOUR_MS = 60 * 60 * 1000

function sessionsOf() {
  const clock = fakeClock()
  const ada: UserRecord = { username: 'ada', role: 'admin', passwordHash: '', createdAt: 0 }
  const list = createUserList([ada], async () => {})
  const tokens = createTokenStore<Signed>({ clock, lifeMs: TOKEN_LIFE_MS, kind: 'sliding', max: 10 })
  return { ada, clock, list, sessions: createPageSessions(list, tokens) }
}

t.test('A.authentication.2 a token lives twelve hours from its last use', async (t) => {
  const { ada, clock, sessions } = sessionsOf()
  const { token, expiresInMs } = sessions.begin(ada)
  t.equal(expiresInMs, 12 * HOUR_MS)
  for (const _ of [1, 2, 3]) {
    clock.advance(12 * HOUR_MS - 1)
    t.match(sessions.callerOf(token), { name: 'ada', role: 'admin' })
  }
  clock.advance(12 * HOUR_MS)
  t.equal(sessions.callerOf(token), undefined)
})

t.test('a socket is signed in as long as the token that opened it, and does not keep it alive', async (t) => {
  const { ada, clock, sessions } = sessionsOf()
  const { token } = sessions.begin(ada)
  const caller = sessions.callerOf(token) as Signed
  clock.advance(6 * HOUR_MS)
  t.equal(sessions.isStillSignedIn(caller), true)
  clock.advance(6 * HOUR_MS)
  t.equal(sessions.isStillSignedIn(caller), false)
})

t.test('signing out ends only that token', async (t) => {
  const { ada, sessions } = sessionsOf()
  const [one, other] = [sessions.begin(ada).token, sessions.begin(ada).token]
  const caller = sessions.callerOf(one) as Signed
  sessions.end(one)
  t.equal(sessions.callerOf(one), undefined)
  t.equal(sessions.isStillSignedIn(caller), false)
  t.match(sessions.callerOf(other), { name: 'ada' })
})

for (const [change, next] of [
  ['a new role', (ada: UserRecord) => [{ ...ada, role: 'viewer' as const }]],
  ['a new password', (ada: UserRecord) => [{ ...ada, passwordHash: 'new' }]],
  ['a successor of the same name', (ada: UserRecord) => [{ ...ada }]],
  ['a removal', () => []],
] as const)
  t.test(`${change} ends every token, also one that was issued from an older copy of the user`, async (t) => {
    const { ada, list, sessions } = sessionsOf()
    const { token } = sessions.begin(ada)
    const caller = sessions.callerOf(token) as Signed
    await list.change(() => next(ada))
    t.equal(sessions.isStillSignedIn(caller), false)
    t.equal(sessions.callerOf(token), undefined)
    t.equal(sessions.callerOf(sessions.begin(ada).token), undefined)
  })
