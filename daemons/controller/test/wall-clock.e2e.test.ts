/** Everything with a lifetime in the built controller, while somebody changes the machine's clock. */
import t from 'tap'
import type { CallOptions, Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'
import { HOUR_MS, openTimedSite, STEPS, YEAR_MS } from './timed-site.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

const refused = { status: 401, body: { error: 'invalid_session' } }
const failed = { status: 200, body: { message: 'two factor fail' } }
const challenged = { status: 200, body: { error: 'two_factor_auth' } }

t.test('1 States and transitions, while the wall clock is set', async (t) => {
  const { clock, site } = await openTimedSite(t, {
    sets: ['people.free_tries=3', 'people.wait_ms=400', 'people.wait_max_ms=400'],
  })
  const me = (token: string): Promise<Told> => site.get('/api/me', token)
  const signIn = (username: string, more: object = {}, options: CallOptions = {}): Promise<Told> =>
    site.call('POST', '/api/token', { ...options, body: { username, password: PASSWORD, ...more } })

  await t.test(
    '1 Session token, time passes: api_token_life is elapsed time, whatever the wall clock says',
    async (t) => {
      const token = await site.tokenOf('olga')
      const { issued } = (await me(token)).body
      for (const [what, ms] of STEPS) {
        clock.stepWall(ms)
        t.match(await me(token), { status: 200, body: { issued } }, what)
      }
      clock.stepWall(-HOUR_MS)
      clock.pass(HOUR_MS - MINUTE_MS)
      t.equal((await me(token)).status, 200, 'a minute before its end')
      clock.pass(MINUTE_MS)
      t.match(await me(token), refused, 'at its end, though by the wall clock it has just been issued')
      clock.stepWall(-YEAR_MS)
      t.match(await me(token), refused, 'no step brings it back')
      clock.stepWall(HOUR_MS + YEAR_MS)
    },
  )

  await t.test('1 Two-factor code: no step of the wall clock extends the window of a mailed code', async (t) => {
    for (const [what, ms] of STEPS) {
      t.match(await signIn('tara'), challenged)
      const code = site.codeOf('tara')
      clock.stepWall(ms)
      t.match(await signIn('tara', { two_factor_token: code }), { body: { token: String } }, `${what}: good`)

      t.match(await signIn('tara'), challenged)
      const late = site.codeOf('tara')
      t.not(late, code)
      clock.stepWall(-ms)
      clock.pass(301 * SECOND_MS)
      t.match(await signIn('tara', { two_factor_token: late }), failed, `${what} and back: lapsed anyway`)
      clock.stepWall(ms)
    }
    t.match(await signIn('tara'), challenged)
    const old = site.codeOf('tara')
    clock.pass(290 * SECOND_MS)
    clock.stepWall(-280 * SECOND_MS)
    clock.pass(20 * SECOND_MS)
    t.match(await signIn('tara', { two_factor_token: old }), failed, 'by the wall clock it is half a minute old')
    clock.stepWall(280 * SECOND_MS)
  })

  await t.test('1 Handoff nonce, issued -> expired: 60 seconds pass, however the wall clock is set', async (t) => {
    const token = await site.tokenOf('olga')
    for (const [what, ms] of STEPS) {
      const [early, late] = [await nonceOf(token), await nonceOf(token)]
      clock.stepWall(ms)
      clock.pass(50 * SECOND_MS)
      t.match(await redeem(early), { status: 200, body: { signed_in: true, username: 'olga' } }, what)
      t.equal((await redeem(early)).status, 401, 'it is used up')
      clock.pass(11 * SECOND_MS)
      const told = await redeem(late)
      t.match(told, { status: 401, body: { error: 'unauthorized' } }, what)
      t.notMatch(told.headers.getSetCookie().join(), /svc_controller=[^;]/)
    }
  })

  await t.test('1 Handoff nonce, issued -> consumed: also if the check fails', async (t) => {
    await site.stage({ auth_user: [{ username: 'olga', valid_until: Math.floor(clock.epochMs()) + HOUR_MS }] })
    await site.applyAll()
    const token = await site.tokenOf('olga')
    const spoiled = await nonceOf(token)
    clock.stepWall(YEAR_MS)
    t.equal((await redeem(spoiled)).status, 401, 'its holder is past Valid Until')
    clock.stepWall(-YEAR_MS)
    t.equal((await redeem(spoiled)).status, 401, 'and is inside again')
    t.equal((await redeem(await nonceOf(token))).status, 200, 'another one is good')
  })

  await t.test(
    '1 Authentication 4 a Valid Until that passes drops the token with the next call, for good',
    async (t) => {
      await site.stage({ auth_user: [{ username: 'omar', valid_until: Math.floor(clock.epochMs()) + 10 * MINUTE_MS }] })
      await site.applyAll()
      const token = await site.tokenOf('omar')
      clock.pass(9 * MINUTE_MS)
      t.equal((await me(token)).status, 200)
      clock.pass(MINUTE_MS)
      const told = await me(token)
      t.match(told, refused)
      t.match(await site.recordOf(told), { reason: 'invalid_session', user_id: null })
      t.match(await signIn('omar'), { body: { message: 'invalid credential' } })
      clock.stepWall(-HOUR_MS)
      t.match(await me(token), refused, 'a clock that is set back does not bring it back')
      t.match(await signIn('omar'), { body: { token: String } })
      clock.stepWall(HOUR_MS)
    },
  )

  await t.test('wrong sign-ins are still answered, and as late as before, while the clock is set', async (t) => {
    const wrong = () => signIn('nora', { password: 'x' }, { from: '10.9.9.9' })
    for (let i = 0; i < 3; i++) await wrong()
    for (const [what, ms] of STEPS) {
      const beganMs = performance.now()
      const waiting = wrong()
      clock.stepWall(ms)
      t.match(await waiting, { status: 200, body: { message: 'invalid credential' } }, what)
      t.ok(performance.now() - beganMs >= 390, 'it came late')
    }
    t.match(await signIn('nora', {}, { from: '10.9.9.9' }), { body: { token: String } }, 'nobody is locked out')
  })

  await t.test(
    '1 Two-factor code, restart: one with an issue time in the future is expired, a fresh one follows',
    async (t) => {
      t.match(await signIn('tara'), challenged)
      const code = site.codeOf('tara')
      clock.stepWall(-HOUR_MS)
      await site.restart()
      t.match(await signIn('tara', { two_factor_token: code }), failed)
      t.match(await signIn('tara'), challenged)
      const fresh = site.codeOf('tara')
      t.not(fresh, code)
      t.match(await signIn('tara', { two_factor_token: fresh }), { body: { token: String } })
    },
  )

  async function nonceOf(token: string): Promise<string> {
    const told = await site.post('/api/session_handoff', {}, token)
    t.match(told, { status: 200, body: { nonce: /^.{48}$/, expires_in: 60 } })
    return String(told.body.nonce)
  }

  function redeem(nonce: string): Promise<Told> {
    return site.call('POST', '/ui/handoff', { headers: { cookie: `svc_handoff=${nonce}` } })
  }
})
