/** Guessing passwords of the gateway: in its own file, since its half a minute would hold up the other routes. */
import t from 'tap'
import { guessAt, type SignInWay } from '#kit/test/guessing.ts'
import { password, startGateway } from './running-gateway.ts'

t.test('a guesser is answered late, and locks nobody out', async (t) => {
  const sets = ['http.login_wait_ms=1', 'http.login_wait_max_ms=1000', 'http.max_connections=400']
  const gateway = await startGateway(t, { sets })
  await gateway.setUp()
  const statuses = new Map<number, number>()
  const guesses = Array.from({ length: 100 }, async (_, i) => {
    const { status, headers, body } = await gateway.call('POST', '/api/login', { password: `guess ${i}` }, null)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 429) t.ok(Number(headers.get('retry-after')) >= 1 && body.retryAfterMs > 0)
  })
  await Promise.all(guesses)
  t.equal((statuses.get(401) ?? 0) + (statuses.get(429) ?? 0), 100)
  t.ok((statuses.get(429) ?? 0) > 0, `too many at once are told to wait: ${JSON.stringify([...statuses])}`)
  const way: SignInWay = {
    url: gateway.url,
    password,
    shown: (shown) => ({
      method: 'POST',
      path: '/api/login',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ password: shown }),
    }),
    isIn: (status) => status === 200,
  }
  await guessAt(t, way, async () => {
    await gateway.stop()
    return (await startGateway(t, { sets, stateFolder: gateway.stateFolder })).url
  })
})
