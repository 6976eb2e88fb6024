import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createUserList } from '#kit/pure/users.ts'
import {
  type AccountRecord,
  createAccountBook,
  firstAccount,
  isOver,
  mayHear,
  maySee,
} from '../../../core/access/accounts.ts'

const ada = firstAccount({ username: 'ada', passwordHash: 'hash of ada' }, { id: 'a', createdAt: 0 })

function bookOf(accounts: AccountRecord[] = [ada], most = 8) {
  const clock = fakeClock(1000)
  const removed: string[] = []
  const list = createUserList(accounts, async () => {})
  let ids = 0
  const book = createAccountBook({
    ...{ clock, list, most, newId: () => `id${++ids}`, hash: async (text) => `hash of ${text}` },
    isRight: async ({ password, user }) => user?.passwordHash === `hash of ${password}`,
    onRemoved: async (id) => void removed.push(id),
  })
  return { book, clock, list, removed }
}

const guard = { username: 'guard', password: 'long enough', role: 'viewer' } as const
const own = { remoteAddress: '10.0.0.7', signal: new AbortController().signal }

t.test('the first account is an administrator who sees and may do everything', async (t) => {
  t.match(ada, { role: 'administrator', cameras: 'all', permissions: ['export', 'talk', 'outputs'], expiresAt: null })
})

t.test('an account sees the cameras of its list, by their whole ids', async (t) => {
  const { book } = bookOf()
  const made = await book.add({ ...guard, cameras: ['c1', 'c2', 'c1'] })
  t.same([made.cameras, made.permissions], [['c1', 'c2'], []])
  t.same(
    ['c1', 'c2', 'c', 'c11', 'C1', ''].filter((id) => maySee(made, id)),
    ['c1', 'c2'],
  )
  t.ok(maySee(ada, 'c9'))
  const names = { what: 'alarm_undelivered' }
  t.ok(mayHear(ada, names))
  t.notOk(mayHear({ ...ada, role: 'operator' }, names), 'its sentence names a host')
  t.ok(mayHear({ ...ada, role: 'viewer' }, { what: 'disk_lost' }))
  t.same(
    ['c1', 'c2', undefined].map((about) => mayHear(made, { what: 'camera_lost', about })),
    [true, true, false],
  )
})

t.test('what does not fit together is refused', async (t) => {
  const { book, clock } = bookOf()
  const past = clock.epochMs() - 1
  for (const wrong of [
    { ...guard, role: 'administrator' as const, cameras: ['c1'] },
    { ...guard, installer: true },
    { ...guard, expiresAt: past },
  ])
    await t.rejects(book.add(wrong), { code: 'bad_account' })
  await t.rejects(book.change('a', { cameras: ['c1'] }), { code: 'bad_account' })
  await t.rejects(book.add({ ...guard, username: 'ADA' }), { code: 'user_exists' })
  await t.rejects(bookOf([ada], 1).book.add(guard), { code: 'too_many_users' })
})

t.test('a last administrator can be neither removed nor made less nor temporary', async (t) => {
  const { book, clock } = bookOf()
  const temporary = { ...guard, role: 'administrator', installer: true, expiresAt: clock.epochMs() + 1000 } as const
  await book.add(temporary)
  t.ok(book.isLastAdmin(ada), 'one that ends some day does not count')
  await t.rejects(book.remove('a'), { code: 'last_admin' })
  await t.rejects(book.change('a', { role: 'viewer' }), { code: 'last_admin' })
  await t.rejects(book.change('a', { expiresAt: clock.epochMs() + 1000 }), { code: 'last_admin' })
})

t.test('a change keeps what it does not name, and a name may become another', async (t) => {
  const { book, list } = bookOf()
  const { id } = await book.add({ ...guard, cameras: ['c1'], permissions: ['export'] })
  t.match(await book.change(id, { username: 'night', password: 'another one' }), {
    ...{ username: 'night', cameras: ['c1'], permissions: ['export'], passwordHash: 'hash of another one' },
  })
  t.equal(list.find('guard'), undefined)
  await t.rejects(book.change(id, { username: 'Ada' }), { code: 'user_exists' })
  t.match(await book.change(id, { username: 'Night' }), { username: 'Night' }, 'the own name in other letters')
  await t.rejects(book.change('nobody', {}), { code: 'unknown_account' })
})

t.test('an account ends at its time, and one that is removed takes its tokens along', async (t) => {
  const { book, clock, removed } = bookOf()
  const made = await book.add({ ...guard, expiresAt: clock.epochMs() + 10 })
  t.notOk(isOver(made, clock.epochMs() + 9))
  t.ok(isOver(made, clock.epochMs() + 10))
  await book.remove(made.id)
  t.same(removed, [made.id])
})

t.test('the own password changes with the present one alone', async (t) => {
  const { book } = bookOf()
  await t.rejects(book.changeOwn(ada, { ...own, current: 'wrong', password: 'a new one' }), { code: 'wrong_password' })
  const changed = await book.changeOwn(ada, { ...own, current: 'ada', password: 'a new one' })
  t.equal(changed.passwordHash, 'hash of a new one')
  await t.rejects(book.changeOwn(ada, { ...own, current: 'ada', password: 'third' }), { code: 'wrong_password' })
})
