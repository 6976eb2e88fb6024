/** Tests of web/state.ts: polling goes on whatever happens to the session. */
import t, { type Test } from 'tap'
import { signCallsWith } from '#kit/web/call.ts'
import { isSignedOut, keepToken, signOut, token, tokenCredentials } from '#kit/web/session.ts'
import { look, me, ports } from '../../web/state.ts'

const PERSON = { username: 'night shift', role: 'viewer' }

/** A gateway that accepts one token; `fetch` of this process finds it. `heard` is called with each path. */
function gateway(
  t: Test,
  { accepts, heard = () => {} }: { accepts: string; heard?: (path: string) => void },
): string[] {
  const asked: string[] = []
  const answers: Record<string, unknown> = {
    '/api/status': { name: 'office', version: '1.0.0', adminConfigured: true },
    '/api/me': PERSON,
    '/api/system': { name: 'office', epochMs: 0, timeZone: 'UTC' },
    '/api/ports': [],
  }
  t.intercept(globalThis, 'fetch', {
    value: async (target: string, init?: RequestInit) => {
      const [path = ''] = target.split('?')
      asked.push(path)
      heard(path)
      const isAllowed =
        path === '/api/status' || new Headers(init?.headers).get('authorization') === `Bearer ${accepts}`
      return Response.json(isAllowed ? answers[path] : { error: 'unauthorized' }, { status: isAllowed ? 200 : 401 })
    },
  })
  return asked
}

t.teardown(() => signCallsWith(undefined))
t.beforeEach((t) => {
  const kept = new Map<string, string>()
  const sessionStorage = { setItem: (key: string, value: string) => kept.set(key, value), removeItem: () => {} }
  t.intercept(globalThis, 'sessionStorage', { value: sessionStorage })
  signCallsWith(tokenCredentials)
  keepToken('old')
})

t.test('while the session is refused, polling goes on without it and asks for a sign-in', async (t) => {
  const asked = gateway(t, { accepts: 'new' })
  await look()
  t.ok(isSignedOut.value)
  await look()
  t.equal(asked.at(-1), '/api/status')
  keepToken('new')
  await look()
  t.same(me.value, PERSON)
  t.same(ports.value, [])
})

t.test('a look that meets the sign-out ends, and the next user is met', async (t) => {
  const asked = gateway(t, {
    accepts: 'new',
    heard: (path) => {
      if (path === '/api/me' && token.value === 'old') signOut()
    },
  })
  await look()
  t.equal(me.value, null)
  keepToken('new')
  await look()
  t.same(me.value, PERSON)
  t.same(ports.value, [])
  t.match(asked, ['/api/me', '/api/me', '/api/system', '/api/ports'])
})

t.test('nothing of one user is left for the next after a sign-out', async (t) => {
  gateway(t, { accepts: 'old' })
  await look()
  t.same(me.value, PERSON)
  signOut()
  t.equal(me.value, null)
  t.equal(ports.value, null)
})
