import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { UserRecord } from '#kit/pure/users.ts'
import type { SessionRecord } from '../../core/ports.ts'
import { createSessions } from '../../io/sessions.ts'

function stage(most = 3) {
  const clock = fakeClock()
  const saved = new Map<string, SessionRecord>()
  const people = { admin: user('first') }
  const open = () =>
    createSessions({
      ...{ clock, most, lifeMs: 1000, records: [...saved.values()], users: { find: () => people.admin } },
      keeper: {
        inTurn: createSerialTurn(),
        async saveSessions({ changed, removed }) {
          for (const hash of removed) saved.delete(hash)
          for (const record of changed) saved.set(record.hash, record)
        },
      },
    })
  return { clock, people, saved, open }
}

function user(passwordHash: string): UserRecord {
  return { username: 'admin', role: 'admin', passwordHash, createdAt: 1 }
}

t.test('a session is known to a daemon that starts later, and its token is written nowhere', async (t) => {
  const { clock, open, people, saved } = stage()
  const { token } = await open().begin(people.admin, undefined)
  t.notMatch(JSON.stringify([...saved]), token)
  const sessions = open()
  const caller = sessions.callerOf(token)
  t.match(caller, { name: 'admin', role: 'admin' })
  t.equal(sessions.callerOf(token), caller, 'the same object')
  t.equal(sessions.isStillSignedIn(caller as NonNullable<typeof caller>), true)
  t.equal(sessions.callerOf(`${token}x`), undefined)
  clock.advance(1000)
  t.equal(sessions.isStillSignedIn(caller as NonNullable<typeof caller>), false, 'its time is over')
})

t.test('another password, a sign-out and a newer session end it', async (t) => {
  const { open, people, saved } = stage()
  const sessions = open()
  const { token } = await sessions.begin(people.admin, undefined)
  const { token: second } = await sessions.begin(people.admin, token)
  t.same([sessions.callerOf(token), saved.size], [undefined, 1])
  await sessions.end(second)
  t.same([sessions.callerOf(second), saved.size], [undefined, 0])
  const { token: third } = await sessions.begin(people.admin, undefined)
  people.admin = user('second')
  t.equal(sessions.callerOf(third), undefined)
  await sessions.begin(people.admin, undefined)
  t.equal(saved.size, 1, 'what is over goes with the next one')
})

t.test('of more than may be the oldest ends, and what another daemon wrote counts', async (t) => {
  const { open, people, saved } = stage(2)
  const sessions = open()
  const tokens: string[] = []
  for (let many = 0; many < 3; many++) tokens.push((await sessions.begin(people.admin, undefined)).token)
  t.same([tokens.map((token) => sessions.callerOf(token) !== undefined), saved.size], [[false, true, true], 2])
  const other = open()
  const { token } = await other.begin(people.admin, undefined)
  sessions.follow({ changed: [...saved.values()], removed: [] })
  t.ok(sessions.callerOf(token))
  sessions.follow({ changed: [], removed: [...saved.keys()] })
  t.equal(sessions.callerOf(token), undefined)
})
