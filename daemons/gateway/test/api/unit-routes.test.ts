import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { serve } from '#kit/test/http/server-here.ts'
import { faultStatus } from '../../api/fault-status.ts'
import { unitRoutes } from '../../api/unit-routes.ts'
import type { AdapterFaces } from '../../core/lines/adapter.ts'
import type { PortRegistry } from '../../core/lines/port-registry.ts'

/** The route over one port with these faces. */
async function routesOver(t: Parameters<typeof serve>[0], faces: AdapterFaces) {
  const registry = { require: (path: string) => ({ path, adapter: { faces } }) } as unknown as PortRegistry
  const told: unknown[] = []
  const recorder = { changed: async (_asker: unknown, ...entry: unknown[]) => void told.push(entry) }
  const served = await serve(t, { routes: unitRoutes({ registry, recorder }), faultStatus })
  return { ...served, told }
}

t.test('units are read by every user, as their line knows them', async (t) => {
  const list = [{ unitId: 3, state: 'well' }] as never
  const { ask } = await routesOver(t, { units: { list: () => list, states: () => ({}), forget: () => {} } })
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

t.test('a unit is forgotten by an administrator, once, and the journal says who did', async (t) => {
  const known = new Set([99])
  const forget = (unitId: number) => {
    if (!known.delete(unitId)) throw new Fault('unknown_unit', `Unit ${unitId} is not known on this line.`)
  }
  const { ask, told } = await routesOver(t, { units: { list: () => [], states: () => ({}), forget } })
  const remove = async (unitId: unknown, as: string) =>
    (await ask(`/api/ports/%2Fdev%2FttyUSB0/units/${unitId}`, { method: 'DELETE', as })).status
  t.equal(await remove(99, 'viewer'), 403)
  t.equal(await remove(99, 'admin'), 204)
  t.equal(await remove(99, 'admin'), 404)
  t.equal(await remove(-1, 'admin'), 400)
  t.equal(await remove(5_294_967_296, 'admin'), 400)
  t.equal(await remove('x', 'admin'), 400)
  t.same(told, [['unit forgotten', '/dev/ttyUSB0', { unitId: 99 }]])
})
