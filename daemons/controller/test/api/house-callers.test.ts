/** Tests of api/house-callers.ts. */
import t from 'tap'
import { houseCallers } from '../../api/house-callers.ts'
import type { Rules } from '../../core/rules.ts'
import type { ApiFunction } from '../../core/session.ts'

function nameOf(authorization: string | undefined, may: readonly ApiFunction[], isElevated = false) {
  const rules: Pick<Rules, 'origin' | 'resolve'> = {
    origin: (clientIp) => ({ clientIp, isRemote: false }),
    resolve: (token) =>
      token === 'good'
        ? { userId: 1, username: 'ann', roles: [], isElevated, may: (what) => may.includes(what), uis: [] }
        : 'invalid_session',
  }
  return houseCallers(rules)({ authorization, remoteAddress: '10.0.0.7' })
}

t.test('what the house measures is read by sessions that may read, as what they are', async (t) => {
  t.same(await nameOf('Bearer good', ['query']), { name: 'ann', role: 'viewer' })
  t.same(await nameOf('Bearer good', ['query'], true), { name: 'ann', role: 'admin' })
  t.equal(await nameOf('Bearer good', ['command', 'macro']), undefined)
  t.equal(await nameOf('Bearer bad', ['query']), undefined)
  t.equal(await nameOf(undefined, ['query']), undefined)
})
