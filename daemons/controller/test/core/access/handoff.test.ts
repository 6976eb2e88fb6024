import t from 'tap'
import type { Session } from '../../../core/access/accounts.ts'
import { ADA, AWAY, HERE, jsonOf, OPERATOR, type PeopleWorld, peopleWorld, tokenIn } from './people-world.ts'

async function nonceIn(world: PeopleWorld): Promise<string> {
  return String(jsonOf(world.people.handoff(await sessionIn(world))).nonce)
}

async function sessionIn(world: PeopleWorld): Promise<Session> {
  return world.people.resolve(await tokenIn(world), HERE) as Session
}

const REFUSED = {
  outcome: { status: 401, reason: 'unauthorized', body: { json: { error: 'unauthorized' } } },
  issued: undefined,
}

t.test('1 Handoff nonce, none -> issued: a session gets 48 letters for 60 seconds', async (t) => {
  const world = peopleWorld()
  const outcome = world.people.handoff(await sessionIn(world))
  t.match(outcome, { status: 200, reason: null })
  t.strictSame(Object.keys(jsonOf(outcome)), ['nonce', 'expires_in'])
  t.match(jsonOf(outcome), { nonce: /^[A-Za-z0-9]{48}$/, expires_in: 60 })
})

t.test('1 Handoff nonce, issued -> consumed: signs in to the page without a password, once', async (t) => {
  const world = peopleWorld()
  const nonce = await nonceIn(world)
  const { outcome, issued } = world.people.redeem(nonce, HERE)
  t.match(outcome, { status: 200, reason: null, user: { id: 1 } })
  t.match(jsonOf(outcome), { id: 1, username: 'Ada' })
  t.match(world.people.resolveUi(issued?.token, HERE), { userId: 1 })
  t.match(world.people.redeem(nonce, HERE), REFUSED)
})

t.test('a nonce ends with the session that asked for it when that logs out', async (t) => {
  const world = peopleWorld()
  const token = await tokenIn(world)
  const nonce = () => String(jsonOf(world.people.handoff(world.people.resolve(token, HERE) as Session)).nonce)
  const [before, after] = [nonce(), nonce()]
  await tokenIn(world)
  t.match(world.people.redeem(before, HERE), { outcome: { status: 200 } })
  world.people.logout(token)
  t.match(world.people.redeem(after, HERE), REFUSED)
})

t.test('1 Handoff nonce: it is good for its 60 seconds even if the token of its session expires earlier', async (t) => {
  const world = peopleWorld()
  const session = world.people.resolve(await tokenIn(world), HERE) as Session
  await world.clock.run(3_599_000)
  const { nonce } = jsonOf(world.people.handoff(session))
  await world.clock.run(2000)
  t.match(world.people.redeem(String(nonce), HERE), { outcome: { status: 200 } })
})

for (const [what, spoil, mend] of [
  ['is deleted', (world) => world.tables.remove('auth_user', 1), (world) => world.tables.put('auth_user', ADA)],
  [
    'is disabled',
    (world) => world.tables.put('auth_user', { ...ADA, enabled: false }),
    (world) => world.tables.put('auth_user', ADA),
  ],
  [
    'is outside its validity window',
    (world) => world.tables.put('auth_user', { ...ADA, valid_until: 1 }),
    (world) => world.tables.put('auth_user', ADA),
  ],
  [
    'has another password',
    (world) => world.tables.put('auth_user', { ...ADA, hash: 'hash of close sesame' }),
    (world) => world.tables.put('auth_user', ADA),
  ],
  [
    'has been replaced by another under the same id',
    (world) => world.tables.put('auth_user', { ...ADA, username: 'Mallory' }),
    (world) => world.tables.put('auth_user', ADA),
  ],
  [
    'has Allow Remote off in a role',
    (world) => world.tables.put('auth_role', { ...OPERATOR, allow_remote: false }),
    (world) => world.tables.put('auth_role', OPERATOR),
  ],
] as [string, (world: PeopleWorld) => void, (world: PeopleWorld) => void][])
  t.test(`1 Handoff nonce, issued -> consumed: if the user ${what} it is refused, and used up anyway`, async (t) => {
    const world = peopleWorld()
    const nonce = await nonceIn(world)
    spoil(world)
    t.match(world.people.redeem(nonce, HERE), REFUSED)
    mend(world)
    t.match(world.people.redeem(nonce, HERE), REFUSED)
  })

t.test(
  '1 Handoff nonce: one role with Allow Remote off is enough to refuse, though not to refuse a token',
  async (t) => {
    const auth_role = [OPERATOR, { ...OPERATOR, id: 6, allow_remote: false }]
    const auth_user_role = auth_role.map(({ id }) => ({ id, user_id: 1, role_id: id }))
    const world = peopleWorld({}, { auth_role, auth_user_role })
    t.match(jsonOf(await world.people.signIn({ username: 'Ada', password: 'open sesame' }, AWAY)), { token: String })
    t.match(world.people.redeem(await nonceIn(world), HERE), REFUSED)
  },
)

t.test('1 Handoff nonce, issued -> expired: 60 seconds after its issue', async (t) => {
  const world = peopleWorld()
  const [one, other] = [await nonceIn(world), await nonceIn(world)]
  await world.clock.run(59_999)
  t.ok(world.people.redeem(one, HERE).issued)
  await world.clock.run(1)
  t.match(world.people.redeem(other, HERE), REFUSED)
})

t.test('a nonce is not a token, and a token is not a nonce', async (t) => {
  const world = peopleWorld()
  const [token, nonce] = [await tokenIn(world), await nonceIn(world)]
  t.equal(world.people.resolve(nonce, HERE), undefined)
  t.match(world.people.redeem(token, HERE), REFUSED)
  t.match(world.people.redeem(undefined, HERE), REFUSED)
})
