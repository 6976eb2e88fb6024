import t from 'tap'
import type { Session } from '../../../core/access/accounts.ts'
import type { Row } from '../../../core/site/book.ts'
import { ADA, AWAY, codeIn, HERE, meIn, OPERATOR, peopleWorld, RIGHT, tokenIn } from './people-world.ts'

const HOUR_MS = 3_600_000
const INVALID = undefined

t.test('1 GET /api/me: the identity, with the time of issue in epoch ms', async (t) => {
  const world = peopleWorld()
  await world.clock.run(5000)
  const token = await tokenIn(world)
  await world.clock.run(60_000)
  t.strictSame(meIn(world, token), {
    id: 1,
    username: 'Ada',
    roles: ['operator'],
    sites: [{ id: 8 }, { id: 9 }],
    two_factor_auth: false,
    issued: 1_900_000_005_000,
  })
})

t.test(
  '1 Session token, active -> revoked: a token that was logged out is invalid; an unknown one is ignored',
  async (t) => {
    const world = peopleWorld()
    const token = await tokenIn(world)
    for (const shown of ['x'.repeat(32), '', undefined]) world.people.logout(shown)
    t.match(meIn(world, token), { id: 1 })
    for (const shown of [token, token]) world.people.logout(shown)
    t.equal(meIn(world, token), INVALID)
  },
)

t.test('1 Session token, active -> revoked: one logout leaves the other tokens of the account', async (t) => {
  const world = peopleWorld()
  const [one, other] = [await tokenIn(world), await tokenIn(world)]
  world.people.logout(one)
  t.match(world.people.resolve(other, HERE), { userId: Number })
})

t.test(
  '1 Session token, active -> expired: api_token_life after its issue, used or not, and whatever the wall clock does',
  async (t) => {
    const world = peopleWorld()
    const token = await tokenIn(world)
    await world.clock.run(HOUR_MS - 1)
    world.clock.stepEpoch(-10 * HOUR_MS)
    t.match(world.people.resolve(token, HERE), { userId: Number })
    await world.clock.run(1)
    t.equal(meIn(world, token), INVALID)
  },
)

t.test('1 Session token, controller restart: a token from before is invalid', async (t) => {
  const token = await tokenIn(peopleWorld())
  t.equal(meIn(peopleWorld(), token), INVALID)
})

for (const [what, columns] of [
  ['disabled', { enabled: false }],
  ['revoked', { revoked_at: 1_900_000_000_000 }],
  ['past its Valid Until', { valid_until: 1_900_000_000_000 }],
  ['before its Valid From', { valid_from: 1_900_000_000_001 }],
] as const)
  t.test(`1 Session token, active -> dropped: an account that is ${what} loses it for good`, async (t) => {
    const world = peopleWorld()
    const token = await tokenIn(world)
    world.tables.put('auth_user', { ...ADA, ...columns })
    t.equal(meIn(world, token), INVALID)
    world.tables.put('auth_user', ADA)
    t.equal(meIn(world, token), INVALID)
  })

t.test(
  '1 Session token, active -> dropped: an account that is deleted loses it, and its successor does not get it',
  async (t) => {
    const world = peopleWorld()
    const token = await tokenIn(world)
    world.tables.remove('auth_user', 1)
    t.equal(meIn(world, token), INVALID)
    world.tables.put('auth_user', ADA)
    t.equal(meIn(world, token), INVALID)
  },
)

t.test('1 Session token, active -> dropped: provably remote, with Allow Remote off in all roles', async (t) => {
  const world = peopleWorld({}, { auth_role: [{ ...OPERATOR, allow_remote: false }] })
  const token = await tokenIn(world)
  t.match(world.people.resolve(token, HERE), { userId: Number })
  t.equal(meIn(world, token, AWAY), INVALID)
  t.equal(meIn(world, token), INVALID)
})

t.test('1 Authentication 3: roles, sites and elevation are those of this moment', async (t) => {
  const world = peopleWorld()
  const token = await tokenIn(world)
  const now = () => world.people.resolve(token, HERE) as Session
  const uis = () => now().uis.map(({ id }) => id)
  t.match(now(), { userId: 1, username: 'Ada', isElevated: false })
  t.same(uis(), [1])
  t.strictSame([now().may('command'), now().may('macro'), now().may('query')], [true, false, true])
  world.tables.put('auth_role', { ...OPERATOR, elevated: true, rules: 'allow api macro\nallow ui *' })
  t.equal(now().isElevated, true)
  t.same(uis(), [1, 2])
  t.strictSame([now().may('command'), now().may('macro')], [false, true])
  world.tables.remove('auth_user_role', 1)
  t.equal(now().isElevated, false)
  t.same([now().roles, uis()], [[], []])
  t.equal(now().may('macro'), false)
  world.tables.remove('auth_user_site', 2)
  t.same((meIn(world, token) as { sites: unknown }).sites, [{ id: 9 }])
})

for (const token of ['', 'x', 'x'.repeat(31), 'x'.repeat(33), 'x'.repeat(100_000), '__proto__', '\u0000'.repeat(32)])
  t.test(`${JSON.stringify(token.slice(0, 8))} of ${token.length} letters is not a token`, (t) => {
    t.equal(meIn(peopleWorld(), token), INVALID)
    t.end()
  })

t.test('a user that keeps signing in ends its own sessions, and no others', async (t) => {
  const BOB = { ...ADA, id: 2, username: 'Bob' }
  const world = peopleWorld(
    {},
    {
      auth_user: [ADA, BOB],
      auth_user_role: [1, 2].map((user_id) => ({ id: user_id, user_id, role_id: 5 })),
      auth_user_site: [1, 2].map((user_id) => ({ id: user_id, user_id, site_id: 9 })),
    },
  )
  const bobs = await tokenIn(world, { username: 'Bob', password: 'open sesame' })
  const tokens: string[] = []
  for (let i = 0; i < 150; i++) tokens.push(await tokenIn(world))
  t.match(world.people.resolve(bobs, HERE), { userId: Number })
  t.equal(tokens.filter((token) => meIn(world, token) !== INVALID).length, 99)
  t.match(world.people.resolve(tokens.at(-1), HERE), { userId: 1 })
})

t.test(
  'a session of the page ends after the shortest session_timeout_min without use; a socket is not a use',
  async (t) => {
    const auth_role = [
      { ...OPERATOR, session_timeout_min: 30 },
      { ...OPERATOR, id: 6, session_timeout_min: 10 },
      { ...OPERATOR, id: 7, session_timeout_min: null },
    ]
    const auth_user_role = auth_role.map(({ id }) => ({ id, user_id: 1, role_id: id }))
    const world = peopleWorld({}, { auth_role, auth_user_role })
    const token = (await world.people.signInUi({ username: 'Ada', password: 'open sesame' }, HERE)).issued?.token
    await world.clock.run(599_999)
    t.match(world.people.resolveUi(token, HERE), { userId: 1 })
    await world.clock.run(599_999)
    t.match(world.people.resolveUi(token, HERE, false), { userId: 1 })
    await world.clock.run(1)
    t.equal(world.people.resolveUi(token, HERE), INVALID)
  },
)

t.test('session_timeout_min means nothing for a token of the REST surface', async (t) => {
  const world = peopleWorld({}, { auth_role: [{ ...OPERATOR, session_timeout_min: 1 }] })
  const token = await tokenIn(world)
  await world.clock.run(HOUR_MS - 1)
  t.match(world.people.resolve(token, HERE), { userId: Number })
})

t.test('a session of the page ends with its longest life, used or not, and at sign-out', async (t) => {
  const world = peopleWorld()
  const enter = async () =>
    (await world.people.signInUi({ username: 'Ada', password: 'open sesame' }, HERE)).issued?.token
  const one = await enter()
  for (let hour = 1; hour < 12; hour++) {
    await world.clock.run(HOUR_MS)
    t.match(world.people.resolveUi(one, HERE), { userId: 1 })
  }
  await world.clock.run(HOUR_MS)
  t.equal(world.people.resolveUi(one, HERE), INVALID)
  const other = await enter()
  world.people.logoutUi(other)
  t.equal(world.people.resolveUi(other, HERE), INVALID)
})

t.test(
  'a session belongs to the account that signed in: an import that gives the id to another account ends it',
  async (t) => {
    const world = peopleWorld()
    const token = await tokenIn(world)
    world.tables.put('auth_user', { ...ADA, username: 'ADA' })
    t.match(meIn(world, token), { id: 1 })
    world.tables.put('auth_user', { ...ADA, username: 'Mallory' })
    t.equal(meIn(world, token), INVALID)
    world.tables.put('auth_user', ADA)
    t.equal(meIn(world, token), INVALID, 'for good')
  },
)

t.test('a new password ends all tokens and page sessions of the account, for good, and no others', async (t) => {
  const BOB = { ...ADA, id: 2, username: 'Bob' }
  const world = peopleWorld(
    {},
    {
      auth_user: [ADA, BOB],
      auth_user_role: [1, 2].map((user_id) => ({ id: user_id, user_id, role_id: 5 })),
      auth_user_site: [1, 2].map((user_id) => ({ id: user_id, user_id, site_id: 9 })),
    },
  )
  const token = await tokenIn(world)
  const page = (await world.people.signInUi(RIGHT, HERE)).issued?.token
  const bobs = await tokenIn(world, { username: 'Bob', password: 'open sesame' })
  // Any other column of the account may change.
  world.tables.put('auth_user', { ...ADA, email: 'ada@example.net', two_factor_token: 'K7MPQ2' })
  t.match(meIn(world, token), { id: 1 })
  t.match(world.people.resolveUi(page, HERE), { userId: 1 })
  world.tables.put('auth_user', { ...ADA, hash: 'hash of close sesame' })
  t.equal(meIn(world, token), INVALID)
  t.equal(world.people.resolveUi(page, HERE), INVALID)
  t.match(world.people.resolve(bobs, HERE), { userId: 2 })
  world.tables.put('auth_user', ADA)
  t.equal(meIn(world, token), INVALID, 'for good')
  t.equal(world.people.resolveUi(page, HERE), INVALID, 'for good')
})

t.test('a sign-in with a password that is replaced meanwhile gets a token that is invalid', async (t) => {
  const world = peopleWorld({ two_factor_auth: true })
  await world.people.signIn(RIGHT, HERE)
  const two_factor_token = codeIn(world)
  // The code is used up on a slow disk; the new password is set meanwhile.
  world.tables.beforeChange = async () => {
    world.tables.beforeChange = async () => {}
    const row = world.tables.row('auth_user', 1) as Row
    world.tables.put('auth_user', { ...row, hash: 'hash of close sesame' })
  }
  const token = await tokenIn(world, { ...RIGHT, two_factor_token })
  t.match(token, /^[A-Za-z0-9]{32}$/)
  t.equal(meIn(world, token), INVALID)
})

t.test('1 Session token, dropped: a token that ends with its account stays ended, used meanwhile or not', async (t) => {
  const ends: Partial<Row>[] = [{ enabled: false }, { revoked_at: 1 }, { valid_until: 1 }, { username: 'Mallory' }]
  for (const columns of ends) {
    const world = peopleWorld()
    const token = await tokenIn(world)
    const { issued } = await world.people.signInUi(RIGHT, HERE)
    world.people.endOver()
    t.match(meIn(world, token), { id: 1 }, 'while the account is open nothing ends')
    world.tables.put('auth_user', { ...ADA, ...(columns as Row), id: 1 })
    world.people.endOver()
    world.tables.put('auth_user', ADA)
    t.equal(meIn(world, token), INVALID, JSON.stringify(columns))
    t.equal(world.people.resolveUi(issued?.token, HERE), INVALID, JSON.stringify(columns))
  }
})
