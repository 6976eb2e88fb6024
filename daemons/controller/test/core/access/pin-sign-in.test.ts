/** Tests of core/access/pin-tries.ts, and of sign-in by PIN. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Origin } from '../../../core/access/accounts.ts'
import { createPinTries } from '../../../core/access/pin-tries.ts'
import { AWAY, HERE, jsonOf, OPERATOR, peopleWorld, RIGHT } from './people-world.ts'

const PIN = { username: 'ada', pin: '4711' }
const WITH_PINS = { pin: 'hash of 4711', duress_pin: 'hash of 9999', two_factor_auth: true }
const world = (ada = {}, more = {}) => peopleWorld({ ...WITH_PINS, ...ada }, more)

t.test('1 Authentication 6: PIN logins are exempt from the code, on the page alone', async (t) => {
  const { people, letters } = world()
  const { outcome, issued } = await people.signInUi(PIN, HERE)
  t.match(outcome, { status: 200, reason: null })
  t.match(people.resolveUi(issued?.token, HERE), { username: 'Ada' })
  t.equal(people.resolve(issued?.token, HERE), undefined, 'it is no token of REST')
  t.match(
    await people.signInUi(RIGHT, HERE),
    { outcome: { reason: '2fa_required' } },
    'with the password a code is asked',
  )
  t.equal(letters.length, 1)
  t.match(await people.signIn(PIN, HERE), { reason: 'missing_credential' }, 'REST takes no PIN')
})

t.test('a PIN is taken in the building alone, and nothing is told of it elsewhere', async (t) => {
  const { people, compared } = world()
  const carrier: Origin = { clientIp: '100.64.0.9', isRemote: false, isLocal: false }
  for (const origin of [AWAY, carrier])
    for (const pin of ['4711', '0000'])
      t.match((await people.signInUi({ ...PIN, pin }, origin)).outcome, { reason: 'remote_denied' })
  t.strictSame(compared, [], 'it is not looked at')
})

t.test(
  'a wrong PIN, an account without one and a name that there is not look the same, and take as long',
  async (t) => {
    for (const [ada, form] of [
      [{}, { ...PIN, pin: '0000' }],
      [{ pin: null, duress_pin: null }, PIN],
      [{}, { ...PIN, username: 'nobody' }],
      [{ enabled: false }, PIN],
    ] as const) {
      const { people, compared } = world(ada)
      t.match(jsonOf((await people.signInUi(form, HERE)).outcome), {
        error: 'invalid_credential',
        message: 'invalid credential',
      })
      t.equal(compared.length, 2)
    }
  },
)

t.test('wrong PINs make it rest, ever longer; the password still works, and ends the rest', async (t) => {
  const { people, clock, pinEvents, compared, tables } = world({ two_factor_auth: false })
  const tried = async (pin: string) => (await people.signInUi({ ...PIN, pin }, HERE)).outcome.reason
  const until = async () => {
    for (let count = 0; count < 10; count++) if ((await tried('0000')) === 'pin_rests') return count
    return -1
  }
  t.equal(await until(), 3)
  const seen = compared.length
  t.equal(await tried('4711'), 'pin_rests', 'the right one is not looked at')
  t.equal(compared.length, seen)
  t.match(jsonOf((await people.signInUi(PIN, HERE)).outcome), {
    error: 'pin_rests',
    message: /15 minutes|900 s|15 min/,
  })
  t.strictSame(pinEvents, [{ event: 'rests', username: 'Ada', clientIp: HERE.clientIp }])
  clock.advance(900_000)
  t.equal(await until(), 3)
  clock.advance(900_000)
  t.equal(await tried('4711'), 'pin_rests', 'twice as long')
  t.match(await people.signInUi(RIGHT, HERE), { outcome: { reason: null } })
  t.equal(await tried('4711'), null)
  t.ok(tables)
})

t.test('PINs that wait for their turn together are not looked at beyond the bound', async (t) => {
  const { people, compared } = world()
  const reasons = await Promise.all(
    Array.from(
      { length: 40 },
      async (_, at) => (await people.signInUi({ ...PIN, pin: String(1000 + at) }, HERE)).outcome.reason,
    ),
  )
  t.ok(reasons.every((reason) => reason === 'invalid_credential'))
  t.equal(compared.length, 6, 'three tries, each compared with both PINs')
})

t.test('of a year of guesses at a PIN few are looked at', async (t) => {
  const clock = fakeClock()
  const limits = { pinTries: 5, pinRestMs: 900_000, pinRestMaxMs: 86_400_000, triesTable: 4096 }
  const tries = createPinTries({ clock, limits, homeOf: () => undefined })
  let seen = 0
  for (let hour = 0; hour < 365 * 24; hour++) {
    const who = { address: `10.0.${hour % 250}.${hour % 249}`, account: 'ada' }
    while (tries.restMs(who) === 0) {
      seen++
      tries.missed(who)
    }
    clock.advance(3_600_000)
  }
  t.ok(seen < 1900, `${seen} of 10000 in a year, from as many addresses as one likes`)
})

t.test('who guesses elsewhere keeps no panel out, and the table of names is bounded', async (t) => {
  const clock = fakeClock()
  const limits = { pinTries: 3, pinRestMs: 1000, pinRestMaxMs: 4000, triesTable: 10 }
  const tries = createPinTries({ clock, limits, homeOf: ({ address }) => (address === 'panel' ? address : undefined) })
  for (let at = 0; at < 3; at++) tries.missed({ address: `n${at}`, account: 'ada' })
  t.equal(tries.restMs({ address: 'anywhere', account: 'ada' }), 1000)
  t.equal(tries.restMs({ address: 'panel', account: 'ada' }), 0)
  for (let at = 0; at < 10; at++) tries.missed({ address: 'n', account: `name ${at}` })
  t.equal(tries.restMs({ address: 'anywhere', account: 'ada' }), 0, 'the one left alone for longest is forgotten')
})

t.test('a duress PIN signs in as usual, is recorded as such and noted; its session does not learn of it', async (t) => {
  const { people, pinEvents } = world()
  const plain = await people.signInUi(PIN, HERE)
  const { outcome, issued } = await people.signInUi({ ...PIN, pin: '9999' }, HERE)
  t.strictSame(Object.keys(jsonOf(outcome)), Object.keys(jsonOf(plain.outcome)))
  t.match(outcome, { status: 200, reason: null, alarm: 'duress' })
  t.notOk('alarm' in plain.outcome)
  t.strictSame(pinEvents, [{ event: 'duress', username: 'Ada', clientIp: HERE.clientIp }])
  t.equal(people.resolveUi(issued?.token, HERE)?.byPin, 'duress_pin')
  t.equal(people.resolveUi(plain.issued?.token, HERE)?.byPin, 'pin')
})

t.test('a wall panel stays one when somebody changes the password there', async (t) => {
  for (const [pin, byPin] of [
    [PIN.pin, 'pin'],
    ['9999', 'duress_pin'],
  ] as const) {
    const { people } = world({ two_factor_auth: false })
    const session = people.resolveUi((await people.signInUi({ ...PIN, pin }, HERE)).issued?.token, HERE)
    if (session === undefined) throw new Error('no session')
    const form = { current: RIGHT.password, password: 'another one' }
    const { issued } = await people.changePassword(session, form, { origin: HERE })
    t.equal(people.resolveUi(issued?.token, HERE)?.byPin, byPin)
  }
})

t.test('a new PIN ends what the old one began, and nothing else', async (t) => {
  const { people, tables } = world({ two_factor_auth: false })
  const byPin = (await people.signInUi(PIN, HERE)).issued?.token
  const byPassword = (await people.signInUi(RIGHT, HERE)).issued?.token
  await tables.change('auth_user', 1, { pin: 'hash of 1234' })
  t.equal(people.resolveUi(byPin, HERE), undefined)
  t.ok(people.resolveUi(byPassword, HERE))
})

t.test('somebody changes the own password: the new session goes on, all others end', async (t) => {
  const { people, tables } = world({ two_factor_auth: false, must_change_password: true })
  const token = String(jsonOf(await people.signIn(RIGHT, HERE)).token)
  const [mine, other] = [await people.signInUi(RIGHT, HERE), await people.signInUi(RIGHT, HERE)]
  const session = people.resolveUi(mine.issued?.token, HERE)
  if (session === undefined) throw new Error('no session')
  t.equal(session.mustChangePassword, true)
  t.equal(people.resolve(token, HERE)?.mustChangePassword, false, 'REST has no answer for it')
  const change = (current: string, password: string) =>
    people.changePassword(session, { current, password }, { origin: HERE })
  t.match((await change('wrong', 'another one')).outcome, { status: 403, reason: 'invalid_credential' })
  t.match((await change('x'.repeat(2000), 'another one')).outcome, { status: 403 })
  t.match((await change('open sesame', 'open sesame')).outcome, { status: 400, reason: 'bad_fields' })
  const { outcome, issued } = await change('open sesame', 'another one')
  t.match(outcome, { status: 200, reason: null, target: 'user 1' })
  t.match(tables.row('auth_user', 1), { hash: 'hash of another one', must_change_password: false })
  t.equal(people.resolveUi(issued?.token, HERE)?.mustChangePassword, false)
  for (const old of [mine, other]) t.equal(people.resolveUi(old.issued?.token, HERE), undefined)
  t.equal(people.resolve(token, HERE), undefined)
})

t.test('guesses at the present password are counted like sign-ins', async (t) => {
  const { people } = peopleWorld({}, { auth_role: [OPERATOR] })
  const session = people.resolveUi((await people.signInUi(RIGHT, HERE)).issued?.token, HERE)
  if (session === undefined) throw new Error('no session')
  const change = (current: string) =>
    people.changePassword(session, { current, password: 'another one' }, { origin: HERE })
  for (let at = 0; at < 99; at++) await change(`wrong ${at}`)
  let isAnswered = false
  void change('wrong').then(() => {
    isAnswered = true
  })
  await new Promise(setImmediate)
  t.equal(isAnswered, false, 'the hundredth is answered late')
})
