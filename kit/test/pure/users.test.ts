import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { createUserList, createUsers, type UserRecord, type UsersParts } from '../../pure/users.ts'

function usersWith(
  records: UserRecord[] = [],
  { save, ...changes }: Partial<UsersParts> & { save?: () => Promise<void> } = {},
) {
  const saved: UserRecord[][] = []
  const tried: string[] = []
  const welcome: string[] = []
  const parts: UsersParts = {
    makeFirst: (of) => ({ ...of, role: 'admin', createdAt: 5000 }),
    passwords: {
      hash: async (password) => `hash of ${password}`,
      verify: async (password, hash) => hash === `hash of ${password}`,
    },
    limiter: {
      async judge({ address, account, signal, verify }) {
        tried.push(`${address} ${account}`)
        if (signal?.aborted) throw new Fault('client_gone', 'gone')
        return await verify()
      },
      succeeded: ({ address, account }) => void welcome.push(`${address} ${account}`),
    },
    list: createUserList(records, save ?? (async (users) => void saved.push(users))),
    ...changes,
  }
  return { users: createUsers(parts), list: parts.list, saved, tried, welcome }
}

const ada: UserRecord = { username: 'ada', role: 'admin', passwordHash: 'hash of open sesame', createdAt: 1 }
const bob: UserRecord = { ...ada, username: 'bob', role: 'viewer' }
const from = { remoteAddress: '10.0.0.7' }

t.test('setup creates the first administrator once, and is refused afterwards', async (t) => {
  const { users, saved } = usersWith()
  t.equal(users.isSetUp(), false)
  t.match(await users.setUp({ username: 'ada', password: 'open sesame' }), { username: 'ada', role: 'admin' })
  t.match(saved, [[{ username: 'ada', passwordHash: 'hash of open sesame', createdAt: 5000 }]])
  await t.rejects(users.setUp({ username: 'eve', password: 'x' }), { code: 'already_set_up' })
})

t.test('two setups at once create one administrator', async (t) => {
  const { users, saved } = usersWith()
  const results = await Promise.allSettled([
    users.setUp({ username: 'ada', password: 'a' }),
    users.setUp({ username: 'eve', password: 'e' }),
  ])
  t.same(
    results.map((result) => result.status),
    ['fulfilled', 'rejected'],
  )
  t.equal(saved.length, 1)
})

t.test('a setup that cannot be saved leaves the gateway without an administrator', async (t) => {
  const { users } = usersWith([], { save: async () => Promise.reject(new Error('disk full')) })
  await t.rejects(users.setUp({ username: 'ada', password: 'a' }))
  t.equal(users.isSetUp(), false)
})

t.test('A.login accepts a body with only the password when exactly one user exists', async (t) => {
  const { users } = usersWith([ada])
  t.match(await users.signIn({ password: 'open sesame', ...from }), { username: 'ada' })
})

t.test('A.login wants the name when there are two users', async (t) => {
  const { users } = usersWith([ada, bob])
  await t.rejects(users.signIn({ password: 'open sesame', ...from }), { code: 'username_needed' })
  t.match(await users.signIn({ username: 'bob', password: 'open sesame', ...from }), { role: 'viewer' })
})

t.test('a wrong name and a wrong password get the same answer', async (t) => {
  const { users } = usersWith([ada])
  const wrong = { code: 'wrong_login', message: 'The name or the password is wrong.' }
  await t.rejects(users.signIn({ username: 'ada', password: 'x', ...from }), wrong)
  await t.rejects(users.signIn({ username: 'eve', password: 'x', ...from }), wrong)
})

t.test(
  'every try counts against its address and its account, in one spelling and whether it exists or not',
  async (t) => {
    const { users, tried, welcome } = usersWith([ada])
    await t.rejects(users.signIn({ username: 'ADA', password: 'x', ...from }))
    await t.rejects(users.signIn({ password: 'x', ...from }))
    await t.rejects(users.signIn({ username: 'Eve', password: 'x', ...from }))
    t.same(tried, ['10.0.0.7 ada', '10.0.0.7 ada', '10.0.0.7 eve'])
    t.same(welcome, [])
  },
)

t.test('a user who gave the right password is known at that address from then on', async (t) => {
  const { users, welcome } = usersWith([ada])
  await users.signIn({ username: 'Ada', password: 'open sesame', ...from })
  t.same(welcome, ['10.0.0.7 ada'])
})

t.test('a try whose client has hung up is dropped', async (t) => {
  const { users } = usersWith([ada])
  const signIn = users.signIn({ password: 'open sesame', ...from, signal: AbortSignal.abort() })
  await t.rejects(signIn, { code: 'client_gone' })
})

t.test('says that a gateway without users is to be set up', async (t) => {
  const { users } = usersWith()
  await t.rejects(users.signIn({ password: 'x', ...from }), { code: 'not_set_up' })
})

t.test('names that differ only in case are the same user', async (t) => {
  const { users } = usersWith([ada, bob])
  t.match(await users.signIn({ username: 'ADA', password: 'open sesame', ...from }), { username: 'ada' })
})

t.test('a password that is changed while it is being checked lets nobody in', async (t) => {
  const checking = Promise.withResolvers<boolean>()
  const passwords = { hash: async () => '', verify: () => checking.promise }
  const { users, list } = usersWith([ada], { passwords })
  const signingIn = users.signIn({ password: 'open sesame', ...from })
  await list.change(() => [{ ...ada, passwordHash: 'another' }])
  checking.resolve(true)
  await t.rejects(signingIn, { code: 'wrong_login' })
})

t.test('a stranger is not told how many users there are', async (t) => {
  const { users } = usersWith([ada, bob])
  await t.rejects(users.signIn({ password: 'x', ...from }), {
    code: 'username_needed',
    message: 'There is more than one user here. Say which one signs in with username.',
  })
})
