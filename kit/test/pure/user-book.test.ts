import t from 'tap'
import { createTokenStore } from '#kit/auth/credentials.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { userRow } from '../../pure/memory-plan.ts'
import { createPageSessions, createUserBook, createUserList, type Signed, type UserRecord } from '../../pure/users.ts'
import { heapBytesOf, rowOf } from '../heap.ts'

const ada: UserRecord = { username: 'ada', role: 'admin', passwordHash: 'hash of open sesame', createdAt: 1 }
const bob: UserRecord = { ...ada, username: 'bob' }
const eve: UserRecord = { ...ada, username: 'eve', role: 'viewer' }

function bookOf(records: UserRecord[], maxUsers = 10) {
  const state = { isFull: false }
  const list = createUserList(records, async () => {
    await new Promise((resolve) => setImmediate(resolve))
    if (state.isFull) throw new Error('disk full')
  })
  const passwords = { hash: async (password: string) => `hash of ${password}`, verify: async () => false }
  const book = createUserBook({
    clock: fakeClock(5000),
    list,
    passwords,
    isRight: async ({ user, password }) => user?.passwordHash === `hash of ${password}`,
    maxUsers,
  })
  return { book, list, state }
}

const names = (list: { all(): readonly UserRecord[] }) => list.all().map(({ username, role }) => `${username} ${role}`)

t.test('makes, changes and removes users, and shows no hash', async (t) => {
  const { book, list } = bookOf([ada])
  const made = await book.add({ username: 'bob', password: 'correct horse', role: 'viewer' })
  t.same(made, { username: 'bob', role: 'viewer', createdAt: 5000, isLastAdmin: false })
  t.match(await book.change('BOB', { role: 'admin' }, 'ada'), { username: 'bob', role: 'admin' })
  await book.change('bob', { password: 'battery staple' }, 'ada')
  t.match(list.find('bob'), { role: 'admin', passwordHash: 'hash of battery staple' })
  await book.remove('bob')
  t.same(book.list(), [{ username: 'ada', role: 'admin', createdAt: 1, isLastAdmin: true }])
})

t.test('no two users have names that differ only in case, also when both are made at once', async (t) => {
  const { book, list } = bookOf([ada])
  await t.rejects(book.add({ username: 'ADA', password: 'x', role: 'viewer' }), { code: 'user_exists', message: /ada/ })
  const both = ['Max', 'max'].map((username) => book.add({ username, password: 'x', role: 'viewer' }))
  t.same((await Promise.allSettled(both)).map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.equal(list.all().length, 2)
})

t.test('no user can have a name that the journal uses for callers that are not users', async (t) => {
  const { book } = bookOf([ada])
  for (const username of ['nobody', 'Plantroom'])
    await t.rejects(book.add({ username, password: 'x', role: 'viewer' }), { code: 'user_exists', message: /journal/ })
})

t.test('takes no more users than its bound', async (t) => {
  const { book } = bookOf([ada, bob], 2)
  const wish = { username: 'max', password: 'x', role: 'viewer' } as const
  await t.rejects(book.add(wish), { code: 'too_many_users', message: /users\.max/ })
})

t.test('the last administrator is neither removed nor made a viewer', async (t) => {
  const { book, list } = bookOf([ada, eve])
  await t.rejects(book.remove('ada'), { code: 'last_admin', message: /ada/ })
  await t.rejects(book.change('ada', { role: 'viewer' }, 'ada'), { code: 'last_admin' })
  t.same(names(list), ['ada admin', 'eve viewer'])
  await book.remove('eve')
})

t.test('two administrators who remove and demote each other at the same time leave one', async (t) => {
  for (const [one, other] of [
    [(book: Book) => book.remove('ada'), (book: Book) => book.remove('bob')],
    [(book: Book) => book.remove('ada'), (book: Book) => book.change('bob', { role: 'viewer' }, 'ada')],
    [
      (book: Book) => book.change('ada', { role: 'viewer' }, 'bob'),
      (book: Book) => book.change('bob', { role: 'viewer' }, 'ada'),
    ],
  ] as const) {
    const { book, list } = bookOf([ada, bob])
    const results = await Promise.allSettled([one(book), other(book)])
    t.match(results, [{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'last_admin' } }])
    t.equal(list.all().filter(({ role }) => role === 'admin').length, 1)
  }
})

type Book = ReturnType<typeof createUserBook>

t.test('a change that could not be saved has not happened', async (t) => {
  const { book, list, state } = bookOf([ada, bob])
  state.isFull = true
  await t.rejects(book.add({ username: 'max', password: 'x', role: 'viewer' }))
  await t.rejects(book.change('bob', { role: 'viewer' }, 'ada'))
  await t.rejects(book.remove('bob'))
  t.same(list.all(), [ada, bob])
})

t.test('says which user does not exist', async (t) => {
  const { book } = bookOf([ada])
  await t.rejects(book.remove('__proto__'), { code: 'unknown_user' })
  await t.rejects(book.change('constructor', {}, 'ada'), { code: 'unknown_user' })
})

t.test('a change without effect signs nobody out', async (t) => {
  const { book, list } = bookOf([ada])
  await book.change('ada', { role: 'admin' }, 'ada')
  await book.change('ada', {}, 'ada')
  t.equal(list.find('ada'), ada)
})

t.test('only the present password lets users change their own', async (t) => {
  const { book, list } = bookOf([ada, eve])
  await t.rejects(book.change('ADA', { password: 'battery staple' }, 'ada'), { code: 'own_password' })
  const wish = { username: 'eve', password: 'battery staple', remoteAddress: '10.0.0.7' }
  await t.rejects(book.changeOwn({ ...wish, current: 'wrong' }), { code: 'wrong_password' })
  t.equal(list.find('eve'), eve)
  await book.changeOwn({ ...wish, current: 'open sesame' })
  t.match(list.find('eve'), { role: 'viewer', passwordHash: 'hash of battery staple' })
})

t.test(
  'a change of the own password that comes too late does not undo what an administrator did meanwhile',
  async (t) => {
    const { book, list } = bookOf([ada, bob])
    const wish = { username: 'bob', current: 'open sesame', password: 'mine', remoteAddress: '10.0.0.7' }
    const results = await Promise.allSettled([book.change('bob', { role: 'viewer' }, 'ada'), book.changeOwn(wish)])
    t.match(results, [{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'wrong_password' } }])
    t.match(list.find('bob'), { role: 'viewer', passwordHash: 'hash of open sesame' })
  },
)

t.test('the most users and tokens allowed, all with the longest names, take the memory their row says', async (t) => {
  const [maxUsers, maxTokens] = [64, 1024]
  const settings = { 'users.max': maxUsers, 'http.max_tokens': maxTokens }
  const { allBytes } = rowOf([userRow()], 'users and login tokens', settings)
  const hash = `$argon2id$v=19$m=65536,t=3,p=1$${'s'.repeat(22)}$${'h'.repeat(43)}`
  const bytes = await heapBytesOf(async () => {
    const { book, list } = bookOf([ada], maxUsers)
    const tokens = createTokenStore<Signed>({ clock: fakeClock(), lifeMs: 1e6, kind: 'sliding', max: maxTokens })
    const sessions = createPageSessions(list, tokens)
    for (let at = 0; at < maxUsers; at++) {
      const { username } = JSON.parse(JSON.stringify({ username: `${at}`.padEnd(256, 'ж') }))
      await list.change((users) => [
        ...(users.length < maxUsers ? users : users.slice(1)),
        { username, role: 'admin', passwordHash: Buffer.from(`${at}${hash}`).toString(), createdAt: 1.7e12 + at },
      ])
    }
    const users = list.all()
    for (let at = 0; at < maxTokens; at++) sessions.begin(users[at % users.length] as UserRecord)
    t.equal(book.list().length, maxUsers)
    return [book, list, sessions]
  })
  t.ok(bytes < allBytes, `${bytes / (maxUsers + maxTokens)} bytes each, of ${allBytes / (maxUsers + maxTokens)}`)
})
