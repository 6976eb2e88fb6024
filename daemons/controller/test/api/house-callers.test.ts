/** Tests of api/rest-surface.ts. */
import t from 'tap'
import { houseCallers } from '../../api/rest-surface.ts'
import type { Origin } from '../../core/access/accounts.ts'
import type { Rules } from '../../core/surfaces.ts'

function nameOf(authorization: string | undefined, may: readonly string[], isElevated = false) {
  const rules: Pick<Rules, 'origin' | 'resolve'> = {
    origin: (clientIp) => ({ clientIp, isRemote: false, isLocal: true }),
    resolve: (token) =>
      token === 'good'
        ? {
            userId: 1,
            username: 'ann',
            roles: [],
            isElevated,
            surface: 'api',
            mustChangePassword: false,
            may: (what) => may.includes(what),
            uis: [],
          }
        : undefined,
  }
  return houseCallers(rules)({ authorization, remoteAddress: '10.0.0.7', headers: {}, method: 'GET' })
}

t.test('metrics of the house are open to sessions that may query, each with its own role', async (t) => {
  t.same(await nameOf('Bearer good', ['query']), { name: 'ann', role: 'viewer' })
  t.same(await nameOf('Bearer good', ['query'], true), { name: 'ann', role: 'admin' })
  t.equal(await nameOf('Bearer good', ['command', 'macro']), undefined)
  t.equal(await nameOf('Bearer bad', ['query']), undefined)
  t.equal(await nameOf(undefined, ['query']), undefined)
})

t.test('1 Authentication 5: the origin of a call is judged by all of its headers, here as everywhere', async (t) => {
  const judged: unknown[] = []
  const origin: Origin = { clientIp: '203.0.113.7', isRemote: true, isLocal: false }
  const identify = houseCallers({
    origin: (...said) => {
      judged.push(said)
      return origin
    },
    resolve(_token, from) {
      t.equal(from, origin)
      return undefined
    },
  })
  const headers = { 'x-forwarded-for': '203.0.113.7', 'svc-cloud-tunnel': '1' }
  t.equal(
    await identify({ authorization: 'Bearer good', remoteAddress: '127.0.0.1', headers, method: 'GET' }),
    undefined,
  )
  t.strictSame(judged, [['127.0.0.1', headers]])
})
