import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { type AccountRecord, firstAccount } from '../../../core/access/accounts.ts'
import { createTokenBook, type TokenRecord } from '../../../core/access/tokens.ts'

const account = firstAccount({ username: 'ada', passwordHash: '' }, { id: 'a', createdAt: 0 })
const YEAR_MS = 365 * 86_400_000

function bookOf(most = 8) {
  const clock = fakeClock(1000)
  const disk: { tokens: TokenRecord[]; isFull: boolean } = { tokens: [], isFull: false }
  let made = 0
  const book = createTokenBook({
    ...{ clock, records: [], most },
    async save(tokens) {
      if (disk.isFull) throw new Error('disk full')
      disk.tokens = tokens
    },
    make: () => ({ id: `id${++made}`, text: `secret ${made}`, hash: `hash ${made}` }),
  })
  return { book, clock, disk }
}

t.test('a token is shown once, and only its hash is kept', async (t) => {
  const { book, disk } = bookOf()
  const { record, text } = await book.mint(account, { name: 'wall', readOnly: true })
  t.match(record, { id: 'id1', accountId: 'a', name: 'wall', isReadOnly: true, expiresAt: null })
  t.equal(text, 'secret 1')
  t.notMatch(JSON.stringify(disk.tokens), 'secret')
  t.equal(book.find('hash 1'), record)
})

t.test('a token that was revoked and one that has expired are both as if they never were', async (t) => {
  const { book, clock } = bookOf()
  const { record: short } = await book.mint(account, { name: 'short', expiresAt: clock.epochMs() + 10 })
  const { record: long } = await book.mint(account, { name: 'long' })
  clock.advance(9)
  t.same([book.stands(short), book.stands(long)], [true, true])
  clock.advance(1)
  await book.revoke(long.id)
  t.same(
    [book.find('hash 1'), book.find('hash 2'), book.stands(short), book.stands(long)],
    [undefined, undefined, false, false],
  )
  await t.rejects(book.revoke(long.id), { code: 'unknown_token' })
})

t.test('a token ends within five years', async (t) => {
  const { book, clock } = bookOf()
  const now = clock.epochMs()
  for (const expiresAt of [now, now - 1, now + 5.1 * YEAR_MS])
    await t.rejects(book.mint(account, { name: 'x', expiresAt }), { code: 'bad_expiry' })
  await t.resolves(book.mint(account, { name: 'x', expiresAt: now + 5 * YEAR_MS }))
})

t.test('no token is bound to a temporary account of an installer', async (t) => {
  const installer: AccountRecord = { ...account, isInstaller: true, expiresAt: 10 ** 12 }
  await t.rejects(bookOf().book.mint(installer, { name: 'x' }), { code: 'installer_token' })
})

t.test('tokens that have expired make room, and others do not', async (t) => {
  const { book, clock } = bookOf(2)
  await book.mint(account, { name: 'one' })
  await book.mint(account, { name: 'two', expiresAt: clock.epochMs() + 10 })
  await t.rejects(book.mint(account, { name: 'three' }), { code: 'too_many_tokens' })
  clock.advance(10)
  await t.resolves(book.mint(account, { name: 'three' }))
  t.same(
    book.list().map(({ name }) => name),
    ['one', 'three'],
  )
})

t.test(
  'an account that is gone takes its tokens along, and what the disk does not take has not happened',
  async (t) => {
    const { book, disk } = bookOf()
    await book.mint(account, { name: 'one' })
    await book.mint({ ...account, id: 'b' }, { name: 'other' })
    disk.isFull = true
    await t.rejects(book.revoke('id1'), { message: 'disk full' })
    t.ok(book.find('hash 1'))
    disk.isFull = false
    await book.revokeOf('a')
    t.same(
      book.list().map(({ name }) => name),
      ['other'],
    )
  },
)
