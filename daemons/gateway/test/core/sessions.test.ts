import t from 'tap'
import { createTokenStore } from '#kit/auth/tokens.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { createSessions, type Signed, TOKEN_LIFE_MS } from '../../core/sessions.ts'
import type { UserRecord, Users } from '../../core/users.ts'

const HOUR_MS = 60 * 60 * 1000

function sessionsOf() {
  const clock = fakeClock()
  const ada: UserRecord = { username: 'ada', role: 'admin', passwordHash: '', createdAt: 0 }
  const list = [ada]
  const users = { find: (name: string) => list.find((user) => user.username === name) } as Users
  const tokens = createTokenStore<Signed>({ clock, lifeMs: TOKEN_LIFE_MS, kind: 'sliding', max: 10 })
  return { ada, clock, list, sessions: createSessions(users, tokens) }
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

t.test('signing out, a new role and removal each end what a token may', async (t) => {
  const { ada, list, sessions } = sessionsOf()
  const { token } = sessions.begin(ada)
  const caller = sessions.callerOf(token) as Signed
  ada.role = 'viewer'
  t.equal(sessions.isStillSignedIn(caller), false)
  t.match(sessions.callerOf(token), { role: 'viewer' })
  list.pop()
  t.equal(sessions.callerOf(token), undefined)
  list.push(ada)
  sessions.end(token)
  t.equal(sessions.callerOf(token), undefined)
})
