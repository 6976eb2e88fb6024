import t from 'tap'
import { serve } from '#kit/test/http/server-here.ts'
import { faultStatus } from '../../api/fault-status.ts'
import { scanRoutes } from '../../api/unit-routes.ts'
import type { PortRegistry } from '../../core/lines/port-registry.ts'
import { modbusLine } from '../core/modbus/modbus-line.ts'

const path = '/api/ports/%2Fdev%2FttyTEST/rest/scan'

/** The routes over a line without units; `told` is what the journal got. */
async function routesOver(t: Parameters<typeof serve>[0]) {
  const { adapter, clock } = await modbusLine()
  const told: unknown[] = []
  const registry = { require: (port: string) => ({ path: port, adapter }) } as unknown as PortRegistry
  const recorder = { changed: async (_asker: unknown, ...entry: unknown[]) => void told.push(entry) }
  const { ask } = await serve(t, { routes: scanRoutes({ registry, recorder }), faultStatus })
  const call = async (method: string, as: string, json?: unknown) => {
    const answer = await ask(path, { method, as, json })
    return { status: answer.status, body: await answer.json() }
  }
  return { call, clock, told }
}

t.test('a scan is started, read, refused a second time, and cancelled', async (t) => {
  const { call, clock, told } = await routesOver(t)
  t.match(await call('GET', 'viewer'), { status: 404, body: { error: 'no_scan' } })
  const job = { state: 'running', from: 1, to: 247, fc: 3, address: 0, asked: 0, total: 247, found: [] }
  t.match(await call('POST', 'admin', {}), { status: 202, body: job })
  t.match(await call('POST', 'admin', {}), { status: 409, body: { error: 'scan_running' } })
  await clock.run(2000)
  t.match(await call('GET', 'viewer'), { status: 200, body: { state: 'running', asked: 6, current: 7 } })
  t.match(await call('DELETE', 'admin'), { status: 200, body: { state: 'cancelled', asked: 6, current: null } })
  t.match(await call('DELETE', 'admin'), { status: 200, body: { state: 'cancelled' } })
  t.match(told, [
    ['scan started', '/dev/ttyTEST', { from: 1, to: 247 }],
    ['scan cancelled', '/dev/ttyTEST'],
  ])
  t.equal(told.length, 2, 'a scan that has ended cannot be cancelled again')
})

t.test('a scan with an impossible range is refused with the field that is wrong', async (t) => {
  const { call, told } = await routesOver(t)
  for (const [body, field] of [
    [{ from: 0 }, 'from'],
    [{ to: 248 }, 'to'],
    [{ fc: 6 }, 'fc'],
    [{ address: 65_536 }, 'address'],
    [{ from: 9, to: 8 }, 'from'],
    [{ units: 3 }, 'units'],
  ] as const)
    t.match(await call('POST', 'admin', body), { status: 400, body: { fields: [{ field }] } })
  t.strictSame(told, [])
})
