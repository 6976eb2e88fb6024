import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createClosing, type WaitingOf } from '../../../core/access/accounts.ts'
import { ADA, AWAY, HERE, jsonOf, meIn, OPERATOR, peopleWorld, RIGHT, tablesOf, tokenIn } from './people-world.ts'

const clock = fakeClock()
const now = clock.epochMs()

/** The pending change of an open account, and whether it closes the account. */
const waits: [title: string, waiting: ReturnType<WaitingOf>, isClosing: boolean][] = [
  ['nothing', undefined, false],
  ['its end', 'removed', true],
  ['disabled', { enabled: false }, true],
  ['revoked', { revoked_at: now }, true],
  ['revoked in words', { revoked_at: 'today' }, true],
  ['a Valid Until that has passed', { valid_until: now - 1 }, true],
  ['a Valid Until of this moment', { valid_until: now }, true],
  ['a Valid Until to come', { valid_until: now + 1 }, false],
  ['a Valid From to come', { valid_from: now + 1 }, true],
  ['another name', { username: 'eve', email: null }, false],
  ['enabled', { enabled: true, revoked_at: null }, false],
]

for (const [title, waiting, expected] of waits)
  t.test(`1 Authentication 4 what waits: ${title} ${expected ? 'closes' : 'does not close'} an account`, async (t) => {
    const isClosing = createClosing(tablesOf({ auth_user: [ADA] }), clock, () => waiting)
    t.equal(isClosing(1), expected)
    t.equal(isClosing(2), false, 'an account that does not exist is not closed')
  })

t.test('1 Authentication 4 an account that is being closed loses its tokens, and gets no new ones', async (t) => {
  let waiting: ReturnType<WaitingOf>
  const world = peopleWorld({}, {}, { waitingOf: () => waiting })
  const { people } = world
  const [token, other] = [await tokenIn(world), await tokenIn(world)]
  const session = people.resolve(token, HERE)
  if (session === undefined) throw new Error('it was good')
  const nonce = String(jsonOf(people.handoff(session)).nonce)
  waiting = { enabled: false }
  t.equal(meIn(world, token), undefined)
  t.match(jsonOf(await people.signIn(RIGHT, HERE)), { message: 'invalid credential' })
  t.match(people.redeem(nonce, HERE).outcome, { status: 401 })
  waiting = undefined
  t.equal(meIn(world, token), undefined, 'it was dropped')
  t.match(meIn(world, other), { username: 'Ada' }, 'a token that was not used meanwhile was not dropped')
})

t.test('on the page the applied state decides for a user that may apply changes', async (t) => {
  const elevated = { auth_role: [{ ...OPERATOR, elevated: true }] }
  const { people } = peopleWorld({}, elevated, { waitingOf: () => 'removed' })
  const { outcome, issued } = await people.signInUi(RIGHT, HERE)
  t.equal(outcome.reason, null)
  t.match(people.resolveUi(issued?.token, AWAY), { username: 'Ada' })
})

t.test(
  '1 Authentication 4 on the page, too, a pending change signs out a user that may not apply changes',
  async (t) => {
    let waiting: ReturnType<WaitingOf>
    const { people } = peopleWorld({}, {}, { waitingOf: () => waiting })
    const pages = [
      (await people.signInUi(RIGHT, HERE)).issued?.token,
      (await people.signInUi(RIGHT, HERE)).issued?.token,
    ]
    waiting = { enabled: false }
    t.equal(people.resolveUi(pages[0], HERE), undefined)
    t.equal((await people.signInUi(RIGHT, HERE)).outcome.reason, 'invalid_credential')
    waiting = undefined
    t.equal(people.resolveUi(pages[0], HERE), undefined, 'it was dropped')
    t.match(people.resolveUi(pages[1], HERE), { username: 'Ada' })
  },
)
