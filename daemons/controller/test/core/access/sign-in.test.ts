import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { Row } from '../../../core/site/book.ts'
import { ADA, AWAY, HERE, jsonOf, OPERATOR, peopleWorld, RIGHT, tokenIn } from './people-world.ts'

const KEPT_IN: Row = { ...OPERATOR, allow_remote: false }

t.test('1 Token response: a right password gives a token of 32, its life as a duration, and the sites', async (t) => {
  const { people } = peopleWorld()
  const outcome = await people.signIn(RIGHT, HERE)
  t.match(outcome, { status: 200, reason: null, user: { id: 1, username: 'Ada' } })
  t.match(jsonOf(outcome).token, /^[A-Za-z0-9]{32}$/)
  t.strictSame(
    { ...jsonOf(outcome), token: '' },
    {
      token: '',
      expires: 3_600_000,
      sites: [
        { id: 8, name: 'Annex' },
        { id: 9, name: 'Main house' },
      ],
    },
  )
})

t.test('1 Configuration keys: api_token_life is the life of tokens', async (t) => {
  const settings = () => ({ api_token_life: 60_000, api_2fa_ttl_seconds: 300 })
  const { people } = peopleWorld({}, {}, { settings })
  t.equal(jsonOf(await people.signIn(RIGHT, HERE)).expires, 60_000)
})

/** The flaw, the world that has it, the form, and the message and reason of document 1. */
const refusals: [string, Parameters<typeof peopleWorld>, unknown, string, string][] = [
  ['a name missing', [], { password: 'open sesame' }, 'missing credential', 'missing_credential'],
  ['a password missing', [], { username: 'Ada' }, 'missing credential', 'missing_credential'],
  ['an empty password', [], { username: 'Ada', password: '' }, 'missing credential', 'missing_credential'],
  ['a password that is no text', [], { username: 'Ada', password: 7 }, 'missing credential', 'missing_credential'],
  ['a body that is a list', [], ['Ada', 'open sesame'], 'missing credential', 'missing_credential'],
  ['a body that is null', [], null, 'missing credential', 'missing_credential'],
  ['a body that is a text', [], 'Ada', 'missing credential', 'missing_credential'],
  ['an unknown name', [], { ...RIGHT, username: 'Eve' }, 'invalid credential', 'invalid_credential'],
  ['a wrong password', [], { ...RIGHT, password: 'x' }, 'invalid credential', 'invalid_credential'],
  ['an account without a password', [{ hash: null }], RIGHT, 'invalid credential', 'invalid_credential'],
  ['a disabled account', [{ enabled: false }], RIGHT, 'invalid credential', 'invalid_credential'],
  ['a revoked account', [{ revoked_at: 5 }], RIGHT, 'invalid credential', 'invalid_credential'],
  ['a passed Valid Until', [{ valid_until: 1_899_999_999_999 }], RIGHT, 'invalid credential', 'invalid_credential'],
  ['a Valid From to come', [{ valid_from: 1_900_000_000_001 }], RIGHT, 'invalid credential', 'invalid_credential'],
  ['a Valid Until that is no instant', [{ valid_until: 'soon' }], RIGHT, 'invalid credential', 'invalid_credential'],
  ['no sites', [{}, { auth_user_site: [] }], RIGHT, 'no sites found', 'no_sites'],
  ['a site that is gone', [{}, { site: [] }], RIGHT, 'no sites found', 'no_sites'],
  ['no roles', [{}, { auth_user_role: [] }], RIGHT, 'invalid roles', 'no_roles'],
  ['a role that is gone', [{}, { auth_role: [] }], RIGHT, 'invalid roles', 'no_roles'],
  [
    '2FA without an address',
    [{ two_factor_auth: true, email: null }],
    RIGHT,
    '2FA is enabled but user has no email address',
    '2fa_no_email',
  ],
  [
    '2FA with an address that would reach others',
    [{ two_factor_auth: true, email: 'ada@example.org\r\nBcc: eve@example.org' }],
    RIGHT,
    '2FA is enabled but user has no email address',
    '2fa_no_email',
  ],
]

for (const [what, world, form, message, reason] of refusals)
  t.test(`1 POST /api/token: ${what} is 200 with '${message}'`, async (t) => {
    const outcome = await peopleWorld(...world).people.signIn(form, HERE)
    t.match(outcome, { status: 200, reason })
    t.strictSame(jsonOf(outcome), { error: reason, message })
  })

t.test(
  '1 Authentication 5: a user with Allow Remote off in all roles gets no token from outside, but one inside',
  async (t) => {
    const { people } = peopleWorld({}, { auth_role: [KEPT_IN] })
    const outcome = await people.signIn(RIGHT, AWAY)
    t.match(outcome, { status: 200, reason: 'remote_denied' })
    t.strictSame(jsonOf(outcome), { error: 'remote_denied', message: 'remote access not permitted' })
    t.match(jsonOf(await people.signIn(RIGHT, HERE)), { token: String })
  },
)

t.test('1 Authentication 5: one role with Allow Remote on is enough for a token', async (t) => {
  const auth_role = [KEPT_IN, { ...OPERATOR, id: 6, allow_remote: true }]
  const links = [5, 6].map((role_id, id) => ({ id, user_id: 1, role_id }))
  const { people } = peopleWorld({}, { auth_role, auth_user_role: links })
  t.match(jsonOf(await people.signIn(RIGHT, AWAY)), { token: String })
})

/** Everything from this step on is wrong; the first error is reported. */
const everything: [string, Parameters<typeof peopleWorld>, string][] = [
  [
    'the password',
    [
      { two_factor_auth: true, email: null, hash: 'other' },
      { auth_user_site: [], auth_user_role: [] },
    ],
    'invalid_credential',
  ],
  [
    'sites',
    [
      { two_factor_auth: true, email: null },
      { auth_user_site: [], auth_user_role: [] },
    ],
    'no_sites',
  ],
  [
    'roles',
    [
      { two_factor_auth: true, email: null },
      { auth_user_role: [], auth_role: [KEPT_IN] },
    ],
    'no_roles',
  ],
  ['remote access', [{ two_factor_auth: true, email: null }, { auth_role: [KEPT_IN] }], 'remote_denied'],
  ['the address for codes', [{ two_factor_auth: true, email: null }], '2fa_no_email'],
]

for (const [step, world, reason] of everything)
  t.test(`1 POST /api/token, Order: ${step} comes before what follows it`, async (t) => {
    t.equal((await peopleWorld(...world).people.signIn(RIGHT, AWAY)).reason, reason)
  })

t.test('1 POST /api/token, Order: a sign-in that is denied from outside does not use up a code', async (t) => {
  const world = peopleWorld(
    { two_factor_auth: true, two_factor_token: 'ABC234', two_factor_issued_at: 1_900_000_000_000 },
    { auth_role: [KEPT_IN] },
  )
  const form = { ...RIGHT, two_factor_token: 'abc234' }
  t.equal((await world.people.signIn(form, AWAY)).reason, 'remote_denied')
  t.strictSame(world.tables.changes, [])
  t.match(jsonOf(await world.people.signIn(form, HERE)), { token: String })
})

t.test('a name is the same however its letters are composed', async (t) => {
  const { people } = peopleWorld({ username: 'Zo\u00eb' })
  t.match(await people.signIn({ ...RIGHT, username: 'Zoe\u0308' }, HERE), { status: 200, reason: null })
})

t.test('a name matches in any case, unless that is ambiguous', async (t) => {
  const world = peopleWorld()
  t.match(jsonOf(await world.people.signIn({ ...RIGHT, username: 'aDA' }, HERE)), { token: String })
  world.tables.put('auth_user', { ...ADA, id: 2, username: 'ada' })
  t.equal((await world.people.signIn({ ...RIGHT, username: 'ADA' }, HERE)).reason, 'invalid_credential')
  t.match(await world.people.signIn({ ...RIGHT, username: 'ada' }, HERE), { user: { id: 2 } })
})

for (const username of [
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'a\u0000b',
  '\ud800',
  'x'.repeat(250_000),
])
  t.test(`nobody is called ${JSON.stringify(username.slice(0, 20))}`, async (t) => {
    const form = JSON.parse(JSON.stringify({ ...RIGHT, username }))
    t.match(await peopleWorld().people.signIn(form, HERE), { reason: 'invalid_credential', user: undefined })
  })

t.test('fields that come from a prototype are not credentials', async (t) => {
  const form = Object.create({ username: 'Ada', password: 'open sesame' })
  t.equal((await peopleWorld().people.signIn(form, HERE)).reason, 'missing_credential')
})

t.test('every refusal compares a password once, with the hash of the account or with a dummy', async (t) => {
  for (const [ada, form, compared] of [
    [{}, { ...RIGHT, username: 'Eve' }, undefined],
    [{}, { ...RIGHT, password: 'x' }, ADA.hash],
    [{ enabled: false }, RIGHT, ADA.hash],
    [{ revoked_at: 1 }, RIGHT, ADA.hash],
    [{ hash: null }, RIGHT, undefined],
    [{}, { ...RIGHT, password: 'x'.repeat(1025) }, undefined],
  ] as const) {
    const world = peopleWorld(ada)
    await world.people.signIn(form, HERE)
    t.strictSame(world.compared, [compared])
  }
})

t.test('a password of 250,000 letters is wrong, and never hashed', async (t) => {
  const seen: string[] = []
  const passwords = { verify: async (password: string) => Boolean(seen.push(password)) && false }
  const { people } = peopleWorld({}, {}, { passwords })
  t.equal(
    (await people.signIn({ ...RIGHT, password: '\u0315\u0300'.repeat(125_000) }, HERE)).reason,
    'invalid_credential',
  )
  t.strictSame(seen, [''])
})

t.test('an account that is closed while its password is checked is refused', async (t) => {
  const world = peopleWorld(
    {},
    {},
    {
      passwords: {
        async verify() {
          world.tables.put('auth_user', { ...ADA, enabled: false })
          return true
        },
      },
    },
  )
  t.equal((await world.people.signIn(RIGHT, HERE)).reason, 'invalid_credential')
})

t.test('if too many passwords wait, the answer is 503 with an envelope, and nothing counts as wrong', async (t) => {
  const passwords = { verify: () => Promise.reject(new Fault('busy', '32 logins are waiting already')) }
  const outcome = await peopleWorld({}, {}, { passwords }).people.signIn(RIGHT, HERE)
  t.match(outcome, { status: 503, reason: 'busy' })
  t.match(jsonOf(outcome), { error: 'busy', message: /try again/ })
})

t.test('any other failure of the machine is thrown', async (t) => {
  const passwords = { verify: () => Promise.reject(new Error('no memory')) }
  await t.rejects(peopleWorld({}, {}, { passwords }).people.signIn(RIGHT, HERE), { message: 'no memory' })
})

t.test('the hundredth wrong password is answered late; the right one at once', async (t) => {
  const world = peopleWorld()
  for (let i = 0; i < 99; i++) await world.people.signIn({ ...RIGHT, username: `nobody ${i}` }, AWAY)
  let isAnswered = false
  const late = world.people.signIn({ ...RIGHT, password: 'x' }, AWAY).then(() => (isAnswered = true))
  await world.clock.run(249)
  t.equal(isAnswered, false)
  t.match(await tokenIn(world), /^\w{32}$/)
  t.match(jsonOf(await world.people.signIn(RIGHT, AWAY)), { token: String })
  await world.clock.run(200)
  await late
})

t.test(
  'a network with too many wrong passwords has few sign-ins under way at once, and too many get 503',
  async (t) => {
    const world = peopleWorld()
    for (let i = 0; i < 110; i++) {
      void world.people.signIn({ ...RIGHT, username: `nobody ${i}` }, AWAY)
      await world.clock.run(5000)
    }
    const compared = world.compared.length
    const many = Array.from({ length: 120 }, () => world.people.signIn({ ...RIGHT, password: 'x' }, AWAY))
    await world.clock.run(4000)
    t.equal(world.compared.length - compared, 16, 'in four seconds')
    const elsewhere = world.people.signIn(RIGHT, { ...AWAY, clientIp: '203.0.113.9' })
    t.equal((await elsewhere).reason, null)
    await world.clock.run(60_000)
    const answers = await Promise.all(many)
    t.match(jsonOf(answers.find(({ status }) => status === 503) ?? { body: { json: {} } }), { error: 'busy' })
    t.ok(answers.filter(({ status }) => status === 200).length >= 32)
  },
)

t.test('a sign-in whose caller hangs up before the password is checked is dropped', async (t) => {
  const { people, compared } = peopleWorld()
  t.match(await people.signIn(RIGHT, HERE, AbortSignal.abort()), { status: 503, reason: 'busy' })
  t.same(compared, [])
})

t.test('Skip 2FA on Local Network counts only on the page, inside, and if all roles have it', async (t) => {
  const skipping = { auth_role: [{ ...OPERATOR, skip_2fa_local: true }] }
  const { people } = peopleWorld({ two_factor_auth: true }, skipping)
  t.equal((await people.signIn(RIGHT, HERE)).reason, '2fa_required')
  t.equal((await people.signInUi(RIGHT, AWAY)).outcome.reason, '2fa_required')
  // Not being remote is not enough: a carrier's NAT or an unknown peer may hide anybody.
  for (const clientIp of ['100.64.0.1', ''])
    t.equal(
      (await people.signInUi(RIGHT, { clientIp, isRemote: false, isLocal: false })).outcome.reason,
      '2fa_required',
      clientIp,
    )
  const { issued, outcome } = await people.signInUi(RIGHT, HERE)
  t.equal(outcome.reason, null)
  t.match(people.resolveUi(issued?.token, HERE), { userId: 1 })
  t.equal(people.resolve(issued?.token, HERE), undefined, 'and its session is not valid for the REST surface')
})
