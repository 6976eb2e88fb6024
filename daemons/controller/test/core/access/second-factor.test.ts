import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { ADA, codeIn, HERE, jsonOf, type PeopleWorld, peopleWorld, RIGHT } from './people-world.ts'

const START_MS = 1_900_000_000_000
const issued = { two_factor_auth: true, two_factor_token: 'ABC234', two_factor_issued_at: START_MS }

/** Signs Ada in, with or without a code. */
async function tryIn(world: PeopleWorld, code?: unknown) {
  const outcome = await world.people.signIn({ ...RIGHT, two_factor_token: code }, HERE)
  return { ...jsonOf(outcome), status: outcome.status, reason: outcome.reason }
}

const FAILED = { status: 200, reason: '2fa_mismatch', error: '2fa_mismatch', message: 'two factor fail' }
const CHALLENGED = { status: 200, reason: '2fa_required', error: 'two_factor_auth', message: String, ttl_seconds: 300 }
const PASSED = { status: 200, reason: null, token: /^\w{32}$/ }

t.test(
  '1 Two-factor code, none -> issued: the first sign-in mails six letters and answers the challenge',
  async (t) => {
    const world = peopleWorld({ two_factor_auth: true })
    t.match(await tryIn(world), CHALLENGED)
    t.match(world.letters, [{ to: 'ada@example.org', lifeMs: 300_000 }])
    t.match(codeIn(world), /^[A-HJ-KM-NP-Z2-9]{6}$/)
    t.match(world.tables.changes, [
      { table: 'auth_user', id: 1, columns: { two_factor_token: codeIn(world), two_factor_issued_at: START_MS } },
    ])
  },
)

t.test(
  '1 Two-factor code, issued -> consumed: the code gives a token, in small letters too, and only once',
  async (t) => {
    const world = peopleWorld({ two_factor_auth: true })
    await tryIn(world)
    const code = codeIn(world).toLowerCase()
    t.match(await tryIn(world, ` ${code} `), PASSED)
    t.match(world.tables.row('auth_user', 1), { two_factor_token: null, two_factor_issued_at: null })
    t.match(await tryIn(world, code), FAILED)
  },
)

t.test(
  '1 Two-factor code, issued -> lapsed: after ttl_seconds it is refused, and the next sign-in mails a fresh one',
  async (t) => {
    const world = peopleWorld(issued)
    await world.clock.run(300_000)
    t.match(await tryIn(world, 'ABC234'), FAILED)
    t.match(await tryIn(world), CHALLENGED)
    t.not(codeIn(world), 'ABC234')
    t.match(await tryIn(world, codeIn(world)), PASSED)
  },
)

t.test('1 Two-factor code: it is accepted up to the last millisecond of ttl_seconds', async (t) => {
  const world = peopleWorld(issued)
  await world.clock.run(299_999)
  t.match(await tryIn(world, 'ABC234'), PASSED)
})

t.test('1 Configuration keys: api_2fa_ttl_seconds is the window, and what the challenge tells', async (t) => {
  const world = peopleWorld(
    { two_factor_auth: true },
    {},
    { settings: () => ({ api_token_life: 1, api_2fa_ttl_seconds: 2 }) },
  )
  t.match(await tryIn(world), { ttl_seconds: 2 })
  await world.clock.run(2000)
  t.match(await tryIn(world, codeIn(world)), FAILED)
})

t.test(
  '1 Two-factor code, issued: a wrong code is refused as 2fa_mismatch, and the right one is accepted after it',
  async (t) => {
    const world = peopleWorld(issued)
    t.match(await tryIn(world, 'ABC235'), FAILED)
    t.match(await tryIn(world, 'ABC234'), PASSED)
  },
)

t.test('five wrong codes make it void; another is mailed 30 s after it, with its own count', async (t) => {
  const world = peopleWorld({ two_factor_auth: true })
  await tryIn(world)
  const first = codeIn(world)
  await world.clock.run(10_000)
  for (let i = 0; i < 5; i++) t.match(await tryIn(world, `BAD${i}`), FAILED)
  t.match(await tryIn(world, first), FAILED)
  for (let i = 0; i < 20; i++) t.match(await tryIn(world), { ...CHALLENGED, message: /void.* a little later/ })
  t.equal(world.letters.length, 1)
  await world.clock.run(19_999)
  await tryIn(world)
  t.equal(world.letters.length, 1)
  await world.clock.run(1)
  t.match(await tryIn(world), { ...CHALLENGED, message: /was mailed to you/ })
  t.equal(world.letters.length, 2)
  for (let i = 0; i < 4; i++) t.match(await tryIn(world, `BAD${i}`), FAILED)
  t.match(await tryIn(world, codeIn(world)), PASSED)
})

t.test('however often a code is voided, an account gets two letters a minute at most', async (t) => {
  const world = peopleWorld({ two_factor_auth: true })
  for (let tens = 0; tens < 12; tens++) {
    await tryIn(world)
    for (let i = 0; i < 5; i++) await tryIn(world, 'BAD234')
    await world.clock.run(10_000)
  }
  t.equal(world.letters.length, 4)
})

t.test('a code from before the start is void after five misses too, and delays the next one', async (t) => {
  const world = peopleWorld(issued)
  await world.clock.run(10_000)
  for (let i = 0; i < 5; i++) t.match(await tryIn(world, `BAD${i}`), FAILED)
  t.match(await tryIn(world, 'ABC234'), FAILED)
  t.match(await tryIn(world), CHALLENGED)
  t.equal(world.letters.length, 0)
  await world.clock.run(20_000)
  t.match(await tryIn(world), CHALLENGED)
  t.equal(world.letters.length, 1)
})

t.test('1 Two-factor code, consumed: a user that signed in with it is mailed the next one at once', async (t) => {
  const world = peopleWorld({ two_factor_auth: true })
  for (let i = 1; i < 4; i++) {
    t.match(await tryIn(world), CHALLENGED)
    t.equal(world.letters.length, i)
    t.match(await tryIn(world, codeIn(world)), PASSED)
  }
})

t.test(
  '1 Two-factor code, lapsed: the next sign-in mails at once, though ttl_seconds is shorter than 30 s',
  async (t) => {
    const settings = () => ({ api_token_life: 1, api_2fa_ttl_seconds: 2 })
    const world = peopleWorld({ two_factor_auth: true }, {}, { settings })
    await tryIn(world)
    await world.clock.run(2000)
    await tryIn(world)
    t.equal(world.letters.length, 2)
    t.match(await tryIn(world, codeIn(world)), PASSED)
  },
)

t.test('1 Two-factor code: no step of the wall clock extends or ends its window', async (t) => {
  const hourMs = 3_600_000
  for (const stepMs of [-hourMs, -1000, 1000, hourMs, 365 * 24 * hourMs, -START_MS])
    for (const [afterMs, told] of [
      [299_999, PASSED],
      [300_000, FAILED],
    ] as const) {
      const world = peopleWorld({ two_factor_auth: true })
      await tryIn(world)
      await world.clock.run(1000)
      world.clock.stepEpoch(stepMs)
      await world.clock.run(afterMs - 1000)
      t.match(await tryIn(world, codeIn(world)), told, `${stepMs} ms, after ${afterMs}`)
    }
})

t.test('1 Two-factor code: a step of the wall clock neither hastens nor delays the next mail', async (t) => {
  for (const stepMs of [-3_600_000, 3_600_000]) {
    const world = peopleWorld({ two_factor_auth: true })
    await tryIn(world)
    world.clock.stepEpoch(stepMs)
    t.match(await tryIn(world), CHALLENGED)
    t.equal(world.letters.length, 1, `${stepMs} ms`)
    await world.clock.run(30_000)
    await tryIn(world)
    t.equal(world.letters.length, 2, `${stepMs} ms`)
  }
})

t.test('1 Two-factor code: a code from before the start is accepted for at most one ttl after the start', async (t) => {
  const world = peopleWorld({ ...issued, two_factor_issued_at: START_MS - 200_000 })
  await world.clock.run(99_000)
  world.clock.stepEpoch(-250_000)
  await world.clock.run(201_000)
  t.match(await tryIn(world, 'ABC234'), FAILED)
})

t.test('1 Two-factor code, issued, controller restart: the code stays valid, and its clock is not reset', async (t) => {
  const before = peopleWorld({ two_factor_auth: true })
  await tryIn(before)
  const { two_factor_token = null, two_factor_issued_at = null } = before.tables.row('auth_user', 1) ?? ADA
  const after = () => peopleWorld({ two_factor_auth: true, two_factor_token, two_factor_issued_at })
  t.match(await tryIn(after(), codeIn(before)), PASSED)
  const late = after()
  await late.clock.run(300_000)
  t.match(await tryIn(late, codeIn(before)), FAILED)
})

for (const [what, two_factor_issued_at] of [
  ['absent', null],
  ['in the future, since the clock was set back', START_MS + 1],
  ['no number', 'yesterday'],
] as const)
  t.test(
    `1 Two-factor code, issued -> expired: with an issue time ${what} it is refused, and a fresh one follows`,
    async (t) => {
      const world = peopleWorld({ ...issued, two_factor_issued_at })
      t.match(await tryIn(world, 'ABC234'), FAILED)
      t.match(await tryIn(world), CHALLENGED)
      t.match(await tryIn(world, codeIn(world)), PASSED)
    },
  )

t.test('a code when none was issued is two factor fail', async (t) => {
  const world = peopleWorld({ two_factor_auth: true })
  t.match(await tryIn(world, 'ABC234'), FAILED)
  t.strictSame(world.letters, [])
})

t.test('while a code is valid another is mailed after 30 s, and then the first is invalid', async (t) => {
  const world = peopleWorld({ two_factor_auth: true })
  await tryIn(world)
  const first = codeIn(world)
  await world.clock.run(29_999)
  t.match(await tryIn(world), CHALLENGED)
  t.equal(world.letters.length, 1)
  await world.clock.run(1)
  t.match(await tryIn(world), CHALLENGED)
  t.equal(world.letters.length, 2)
  t.match(await tryIn(world, first), FAILED)
  t.match(await tryIn(world, codeIn(world)), PASSED)
})

t.test('two sign-ins with the same code at once: one passes, however slow the disk is', async (t) => {
  const world = peopleWorld(issued)
  world.tables.beforeChange = () => new Promise((resolve) => setTimeout(resolve, 5))
  const results = await Promise.all([1, 2, 3, 4].map(() => tryIn(world, 'abc234')))
  t.equal(results.filter(({ reason }) => reason === null).length, 1)
})

t.test('two first sign-ins at once mail one code', async (t) => {
  const world = peopleWorld({ two_factor_auth: true })
  await Promise.all([tryIn(world), tryIn(world)])
  t.equal(world.letters.length, 1)
})

t.test('a code that cannot be marked as used gives no token', async (t) => {
  const world = peopleWorld(issued)
  world.tables.beforeChange = () => Promise.reject(new Fault('store_write_failed', 'the disk is full'))
  await t.rejects(tryIn(world, 'ABC234'), { code: 'store_write_failed' })
})

for (const code of [
  'ABCD234',
  'ABC23',
  '\u0391BC234',
  'AB\u0000234',
  'ABC234 ABC234',
  { length: 6 },
  ['ABC234'],
  true,
  234567,
])
  t.test(`${JSON.stringify(code)} is not the code ABC234`, async (t) => {
    t.match(await tryIn(peopleWorld(issued), code), FAILED)
  })

t.test('an empty field, or null, submits no code', async (t) => {
  for (const code of ['', '  ', null]) t.match(await tryIn(peopleWorld(issued), code), CHALLENGED)
})

t.test('a mail that cannot be sent is reported with its user, and the next sign-in mails again at once', async (t) => {
  let tries = 0
  const postman = {
    send: () => (++tries === 1 ? Promise.reject(new Fault('mail_failed', 'no server')) : Promise.resolve()),
  }
  const world = peopleWorld({ two_factor_auth: true }, {}, { postman })
  t.match(await tryIn(world), CHALLENGED)
  await world.clock.run(0)
  t.strictSame(world.undelivered, [{ userId: 1, username: 'Ada', clientIp: HERE.clientIp }])
  await tryIn(world)
  await tryIn(world)
  t.equal(tries, 2)
})

t.test('a letter holds nothing of the account but its address', async (t) => {
  const world = peopleWorld({ two_factor_auth: true, username: 'Ada\r\nBcc: eve@example.org' })
  await world.people.signIn({ ...RIGHT, username: 'Ada\r\nBcc: eve@example.org' }, HERE)
  t.notMatch(JSON.stringify(world.letters), /Bcc|Ada/)
})
