import t from 'tap'
import { serve } from '#kit/test/http/server-here.ts'
import { faultStatus } from '../../api/fault-status.ts'
import { unitRoutes } from '../../api/unit-routes.ts'
import type { AdapterFaces } from '../../core/adapter-faces.ts'
import type { PortRegistry } from '../../core/port-registry.ts'

/** The route over one port with these faces. */
async function routesOver(t: Parameters<typeof serve>[0], faces: AdapterFaces) {
  const registry = { require: (path: string) => ({ path, adapter: { faces } }) } as unknown as PortRegistry
  return await serve(t, { routes: unitRoutes({ registry }), faultStatus })
}

t.test('units are read by every user, as their line knows them', async (t) => {
  const list = [{ unitId: 3, state: 'well' }] as never
  const { ask } = await routesOver(t, { units: { list: () => list, states: () => ({}) } })
  const answer = await ask('/api/ports/%2Fdev%2FttyUSB0/units', { as: 'viewer' })
  t.equal(answer.status, 200)
  t.same(await answer.json(), list)
})

t.test('a line without units says so by its protocol', async (t) => {
  const { ask } = await routesOver(t, {})
  const answer = await ask('/api/ports/%2Fdev%2FttyUSB0/units', { as: 'viewer' })
  t.equal(answer.status, 409)
  t.match(await answer.json(), { error: 'wrong_protocol', message: /no units/ })
})
