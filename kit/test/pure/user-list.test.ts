import t from 'tap'
import { createUserList, type UserRecord, userKey } from '../../pure/users.ts'

const ada: UserRecord = { username: 'Jürgen', role: 'admin', passwordHash: 'x', createdAt: 1 }

t.test('names that differ only in case or composition are the same', async (t) => {
  t.equal(userKey('Admin'), userKey('aDMIN'))
  t.equal(userKey('J\u00fcrgen'), userKey('Ju\u0308rgen'))
  t.not(userKey('ada'), userKey('adam'))
  const list = createUserList([ada], async () => {})
  for (const name of ['Jürgen', 'JÜRGEN', 'ju\u0308rgen']) t.equal(list.find(name), ada)
  for (const name of ['__proto__', 'constructor', '', 'Jurgen']) t.equal(list.find(name), undefined)
})

t.test('a change that cannot be saved changes nothing, and the next one is carried out', async (t) => {
  let isFull = true
  const list = createUserList([ada], async () => (isFull ? Promise.reject(new Error('disk full')) : undefined))
  let changes = 0
  list.onChange(() => changes++)
  await t.rejects(list.change(() => []))
  t.same([list.all(), changes], [[ada], 0])
  isFull = false
  await list.change(() => [])
  t.same([list.all(), changes], [[], 1])
})

t.test('changes run one after another, each on the result of the one before', async (t) => {
  const saved: number[] = []
  const list = createUserList<UserRecord>([], async (users) => {
    await new Promise((resolve) => setImmediate(resolve))
    saved.push(users.length)
  })
  const add = () => list.change((users) => [...users, ada])
  await Promise.all([add(), add(), list.change(() => undefined), add()])
  t.same(saved, [1, 2, 3])
})
