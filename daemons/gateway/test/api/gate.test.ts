import t from 'tap'
import { makeApiKey } from '#kit/auth/credentials.ts'
import type { Caller } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Refusal } from '#kit/records/records.ts'
import { createGate } from '../../api/gate.ts'

const ada: Caller = { name: 'ada', role: 'admin' }
const pump = { name: 'key:pump', role: 'viewer', isKey: true, only: ['/dev/a'] } as const

function gateOf() {
  const key = makeApiKey()
  const told: Refusal[] = []
  const live = new Set<object>([ada, pump])
  const state = { isExpired: false }
  const gate = createGate({
    sessions: { callerOf: (token) => (token === 'token' ? ada : undefined), isStillSignedIn: (who) => live.has(who) },
    keys: {
      callerOf({ id, secret }) {
        if (id !== key.id || !key.text.endsWith(secret)) return undefined
        if (state.isExpired) throw new Fault('key_expired', 'expired')
        return pump
      },
      isLive: (who) => live.has(who),
      nameOf: (id) => (id === key.id ? 'key:pump' : undefined),
    },
    takeTicket: (ticket) => ({ adas: ada, pumps: pump })[ticket] as Caller | undefined,
    refusals: { add: (refusal) => told.push(refusal), close() {} },
  })
  const as = (token: string, remoteAddress = '192.0.2.7') =>
    gate.identify({ authorization: `Bearer ${token}`, remoteAddress })
  return { as, gate, key, live, state, told }
}

t.test('a token is a user, a key is a program', async (t) => {
  const { as, gate, key, told } = gateOf()
  t.equal(as('token'), ada)
  t.equal(as(key.text), pump)
  t.equal(as('nonsense'), undefined)
  t.equal(gate.identify({ authorization: undefined, remoteAddress: '' }), undefined)
  t.same(told, [], 'a token that has expired is not an attack')
})

t.test('the journal names a wrong, broken or expired key, and holds nothing of its text', async (t) => {
  const { as, key, state, told } = gateOf()
  const wrong = key.text.slice(0, -1) + (key.text.endsWith('A') ? 'E' : 'A')
  for (const text of [wrong, 'plk_', 'plk_0123456789abcdef_x', makeApiKey().text]) t.equal(as(text), undefined)
  state.isExpired = true
  t.throws(() => as(key.text), { code: 'key_expired' })
  t.same(
    told.map(({ who, detail }) => `${who} ${detail.error}`),
    ['key:pump unauthorized', ...new Array(3).fill('nobody unauthorized'), 'key:pump key_expired'],
  )
  t.notMatch(JSON.stringify(told), /plk_|_[A-Za-z0-9_-]{40}/)
})

t.test('keys that are made up are counted by the network they come from', async (t) => {
  const { as, told } = gateOf()
  as('plk_x', '2001:db8::1')
  as('plk_y', '2001:db8::2')
  t.equal(told[0]?.group, told[1]?.group)
})

t.test('what a key may not do is open to a person', async (t) => {
  const { gate } = gateOf()
  const place = { method: 'POST', path: '/api/keys', params: {}, remoteAddress: '192.0.2.7' }
  t.throws(() => gate.fence.check(pump, place), { code: 'not_for_keys' })
  t.doesNotThrow(() => gate.fence.check(ada, place))
})

t.test('a ticket dies with the sign-in or the key that it was given to', async (t) => {
  const { gate, live } = gateOf()
  t.equal(gate.takeTicket('adas'), ada)
  t.equal(gate.takeTicket('pumps'), pump, 'and it grants no more than the key')
  live.clear()
  for (const ticket of ['adas', 'pumps', 'unknown']) t.equal(gate.takeTicket(ticket), undefined)
})

t.test('what a key is refused is recorded with route and port; a refusal of a person is not recorded', async (t) => {
  const { gate, told } = gateOf()
  const place = { method: 'GET', path: '/api/ports/:path', params: { path: '/dev/b' }, remoteAddress: '192.0.2.7' }
  t.throws(() => gate.fence.check(pump, place), { code: 'not_your_port' })
  gate.fence.refused(pump, place, new Fault('not_your_port', 'x'))
  gate.fence.refused(ada, place, new Fault('forbidden', 'x'))
  const detail = { error: 'not_your_port', route: 'GET /api/ports/:path' }
  t.match(told, [{ who: 'key:pump', from: '192.0.2.7', target: '/dev/b', detail }])
  t.equal(told.length, 1)
})

t.test('shows a key only the measurements of its own ports', async (t) => {
  const { gate } = gateOf()
  t.equal(gate.fence.showsSample(pump, { port: '/dev/a', kind: 'x' }), true)
  for (const labels of [{ port: '/dev/b' }, {}, { route: '/api/users' }, { port: 5 }])
    t.equal(gate.fence.showsSample(pump, labels), false)
  t.equal(gate.fence.showsSample(ada, {}), true)
})
