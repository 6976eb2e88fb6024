/** Tests of core/sign-in.ts, over the rate limiter of kit. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { limiterHere } from '#kit/test/auth/limiter-here.ts'
import { createAdminPassword, createBoardSignIn, type PasswordRecord, type Shown } from '../../core/sign-in.ts'

const HOME = { address: '10.0.0.9', network: '10.0.0.9' }
const ELSEWHERE = { address: '10.0.0.66', network: '10.0.0.66' }

/** A board whose hashes are the texts themselves, so that a test can count the verifications. */
function board(by: { kept?: string; held?: number; table?: number } = {}) {
  const clock = fakeClock()
  const saved: (PasswordRecord | undefined)[] = []
  const looked: string[] = []
  const signedIn: string[] = []
  const refused: string[] = []
  let gate: Promise<void> | undefined
  let disk: Fault | undefined
  const kept = by.kept === undefined ? undefined : { hash: `hash of ${by.kept}`, setAt: 0 }
  const password = createAdminPassword(kept, {
    keeper: {
      load: async () => kept,
      async save(record) {
        if (disk) throw disk
        saved.push(record)
      },
    },
    hash: async (text) => `hash of ${text}`,
    epochMs: clock.epochMs,
  })
  const { limiter } = limiterHere({ clock, freeTries: 10, waitMaxMs: 2000, places: by.held ?? 16 })
  const signIn = createBoardSignIn({
    password,
    async verify(text, hash) {
      looked.push(text)
      await gate
      return hash === `hash of ${text}`
    },
    digest: (text) => `digest of ${text.normalize('NFC')}`,
    limiter,
    table: by.table ?? 64,
    onSignedIn: ({ address }) => void signedIn.push(address),
    onRefused: ({ address }) => void refused.push(address),
  })
  const as = (text: string, username = 'admin'): Shown => ({ username, password: text })
  /** Tries, and returns the caller's name and how long that took. */
  async function attempt(shown: Shown | undefined, from = HOME) {
    const beganMs = clock.monotonicMs()
    const asked = signIn
      .callerOf(shown, from)
      .then((caller) => ({ name: caller?.name, tookMs: clock.monotonicMs() - beganMs }))
    await clock.run(2000)
    return await asked
  }
  return {
    clock,
    password,
    signIn,
    saved,
    looked,
    signedIn,
    refused,
    as,
    attempt,
    holdBack(until: Promise<void>) {
      gate = until
    },
    breakDisk(fault: Fault) {
      disk = fault
    },
  }
}

t.test('B.auth.1 before a password is set, none is required', async (t) => {
  const { signIn, as, looked } = board()
  for (const shown of [undefined, as('x'), as('x', 'root')])
    t.match(await signIn.callerOf(shown, HOME), { name: 'anyone', role: 'admin' })
  t.same(looked, [])
})

t.test('B.auth.1 once one is set, the user admin and that password are required', async (t) => {
  const { password, attempt, as, saved } = board()
  await password.change('correct horse')
  t.match(saved, [{ hash: 'hash of correct horse' }])
  t.match(await attempt(as('correct horse')), { name: 'admin', tookMs: 0 })
  for (const shown of [
    undefined,
    as('Correct horse'),
    as(''),
    as('correct horse', 'root'),
    as('correct horse', 'Admin'),
  ])
    t.match(await attempt(shown), { name: undefined })
})

t.test('B.endpoints an empty password removes it', async (t) => {
  const { password, attempt, saved } = board({ kept: 'old' })
  t.equal(password.isSet(), true)
  await password.change('')
  t.same(saved, [undefined])
  t.match(await attempt(undefined), { name: 'anyone' })
})

t.test('a password that could not be saved changes nothing', async (t) => {
  const { password, attempt, as, breakDisk } = board({ kept: 'old' })
  breakDisk(new Fault('store_write_failed', 'the disk is full'))
  await t.rejects(password.change('new'), { code: 'store_write_failed' })
  t.match(await attempt(as('old')), { name: 'admin' })
  t.match(await attempt(as('new')), { name: undefined })
})

t.test('two changes at once are applied one after another', async (t) => {
  const { password, saved } = board()
  await Promise.all([password.change('one'), password.change('two'), password.change('')])
  t.match(saved, [{ hash: 'hash of one' }, { hash: 'hash of two' }, undefined])
  t.equal(password.isSet(), false)
})

t.test('after a success the same credentials are not verified again, however their letters are composed', async (t) => {
  const { signIn, as, looked } = board({ kept: 'caf\u00e9' })
  for (const text of ['caf\u00e9', 'caf\u00e9', 'cafe\u0301'])
    t.match(await signIn.callerOf(as(text), HOME), { name: 'admin' })
  t.match(await signIn.callerOf(as('caf\u00e9'), ELSEWHERE), { name: 'admin' })
  t.same(looked, ['caf\u00e9'])
})

t.test('the many requests of a page that loads are verified once, and count once', async (t) => {
  const { signIn, as, looked, refused, clock } = board({ kept: 'new' })
  const asked = Promise.all(Array.from({ length: 12 }, () => signIn.callerOf(as('old'), HOME)))
  await clock.run(0)
  t.same(await asked, new Array(12).fill(undefined))
  t.same([looked, refused], [['old'], ['10.0.0.9']])
})

t.test('a change ends earlier sign-ins: sockets, tickets, remembered credentials', async (t) => {
  const { password, signIn, as } = board()
  const before = await signIn.callerOf(undefined, HOME)
  await password.change('one')
  const first = await signIn.callerOf(as('one'), HOME)
  t.same([before && signIn.isStillSignedIn(before), first && signIn.isStillSignedIn(first)], [false, true])
  await password.change('one')
  t.equal(first && signIn.isStillSignedIn(first), false, 'also if it is the same password again')
  await password.change('two')
  t.equal(await signIn.callerOf(as('one'), HOME), undefined)
  const second = await signIn.callerOf(as('two'), HOME)
  await password.change('')
  t.equal(second && signIn.isStillSignedIn(second), false)
  t.equal(signIn.isStillSignedIn({ name: 'admin', role: 'admin' }), false, 'nor anybody who never signed in')
})

t.test('a verification under way while the password changes does not let in the old one', async (t) => {
  const { password, signIn, as, holdBack } = board({ kept: 'old' })
  const { promise, resolve } = Promise.withResolvers<void>()
  holdBack(promise)
  const asked = signIn.callerOf(as('old'), HOME)
  await password.change('new')
  const after = signIn.callerOf(as('old'), HOME)
  resolve()
  t.same(await Promise.all([asked, after]), [undefined, undefined])
  t.match(await signIn.callerOf(as('new'), HOME), { name: 'admin' })
})

t.test('from the tenth wrong password on the answer takes longer, and never more than two seconds', async (t) => {
  const { attempt, as } = board({ kept: 'right' })
  const took: number[] = []
  for (let wrong = 0; wrong < 16; wrong++) took.push((await attempt(as(`wrong ${wrong}`))).tookMs)
  t.same(took, [0, 0, 0, 0, 0, 0, 0, 0, 0, 250, 500, 1000, 2000, 2000, 2000, 2000])
})

t.test('nobody is locked out: the right password is accepted at once, whatever came before', async (t) => {
  const { attempt, as } = board({ kept: 'right' })
  for (let wrong = 0; wrong < 40; wrong++) await attempt(as(`wrong ${wrong}`))
  t.match(await attempt(as('right')), { name: 'admin', tookMs: 0 })
  t.match(await attempt(as('wrong')), { tookMs: 0 }, 'and it resets the count')
})

t.test('a guesser does not slow down others, nor itself for ever', async (t) => {
  const { attempt, as, clock } = board({ kept: 'right' })
  for (let wrong = 0; wrong < 40; wrong++) await attempt(as(`wrong ${wrong}`), ELSEWHERE)
  t.match(await attempt(as('a slip')), { tookMs: 0 })
  clock.advance(600_000)
  t.match(await attempt(as('wrong'), ELSEWHERE), { tookMs: 0 })
})

t.test('parallel guesses are limited, and the administrator at a known address still gets in', async (t) => {
  const { signIn, attempt, as, looked, clock } = board({ kept: 'right', held: 2 })
  t.match(await attempt(as('right')), { name: 'admin' })
  for (let wrong = 0; wrong < 14; wrong++) await attempt(as(`wrong ${wrong}`), ELSEWHERE)
  looked.length = 0
  const held = ['a', 'b', 'c'].map((text) => signIn.callerOf(as(text), ELSEWHERE))
  await clock.run(0)
  t.same(looked, ['a', 'b'], 'the third waits in the queue')
  t.match(await attempt(as('right')), { name: 'admin', tookMs: 0 })
  t.match(await attempt(as('right'), ELSEWHERE), { name: 'admin', tookMs: 0 }, 'the queue has moved on by then')
  await clock.run(2000)
  t.same(await Promise.all(held), [undefined, undefined, undefined])
})

t.test('a guesser that hangs up learns nothing faster, not even with the previous password', async (t) => {
  const { signIn, attempt, as, clock } = board({ kept: 'right', held: 2 })
  t.match(await attempt(as('right')), { name: 'admin' })
  for (let wrong = 0; wrong < 14; wrong++) await attempt(as(`wrong ${wrong}`), ELSEWHERE)
  const hanging = new AbortController()
  const from = { ...ELSEWHERE, signal: hanging.signal }
  const guesses = ['a', 'b'].map((text) => signIn.callerOf(as(text), from).catch(() => undefined))
  await clock.run(0)
  hanging.abort()
  let isIn = false
  const right = signIn.callerOf(as('right'), ELSEWHERE).then(() => {
    isIn = true
  })
  await clock.run(1900)
  t.notOk(isIn, 'both places are taken for as long as if their clients had waited')
  await clock.run(200)
  t.ok(isIn)
  await Promise.all([...guesses, right])
})

t.test('a verification that several wait for is dropped when all of them have hung up, and not before', async (t) => {
  const { signIn, as, looked, holdBack, clock } = board({ kept: 'right' })
  const busy = Promise.withResolvers<void>()
  holdBack(busy.promise)
  const first = signIn.callerOf(as('first'), ELSEWHERE)
  const hangUps = [new AbortController(), new AbortController()]
  const asked = hangUps.map(({ signal }) =>
    signIn.callerOf(as('shared'), { ...HOME, signal }).catch(({ code }) => code),
  )
  hangUps[0]?.abort()
  const third = signIn.callerOf(as('shared'), HOME)
  hangUps[1]?.abort()
  busy.resolve()
  await clock.run(0)
  t.same(await Promise.all([...asked, third, first]), [undefined, undefined, undefined, undefined])
  t.same(looked, ['first', 'shared'])
})

t.test('a sign-in is reported once per network until the password changes, a refusal every time', async (t) => {
  const { password, attempt, as, signedIn, refused } = board({ kept: 'one', table: 2 })
  for (const from of [HOME, HOME, ELSEWHERE, HOME]) await attempt(as('one'), from)
  t.same(signedIn, [HOME.address, ELSEWHERE.address])
  await password.change('two')
  await attempt(as('one'))
  await attempt(as('two'))
  t.same(signedIn, [HOME.address, ELSEWHERE.address, HOME.address])
  t.same(refused, [HOME.address])
})

t.test('no more networks are remembered than the table has room for', async (t) => {
  const { attempt, as, signedIn } = board({ kept: 'one', table: 2 })
  const third = { address: '10.0.0.77', network: '10.0.0.77' }
  for (const from of [HOME, ELSEWHERE, third, HOME]) await attempt(as('one'), from)
  t.same(signedIn, [HOME.address, ELSEWHERE.address, third.address, HOME.address])
})
