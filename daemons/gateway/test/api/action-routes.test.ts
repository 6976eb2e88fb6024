import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { serve } from '#kit/test/http/server-here.ts'
import { actionRoutes } from '../../api/action-routes.ts'
import { faultStatus } from '../../api/fault-status.ts'
import type { PortRegistry } from '../../core/lines/port-registry.ts'

/** The action routes over a port whose bus does what `act` says; `told` is what the journal got. */
async function routesOver(t: Parameters<typeof serve>[0], act: (gone?: AbortSignal) => Promise<unknown>) {
  const told: unknown[] = []
  const actions = { tx: () => act(), request: (_body: unknown, gone?: AbortSignal) => act(gone) }
  const registry = { require: () => ({ adapter: { actions } }) } as unknown as PortRegistry
  const recorder = { sent: async (_asker: unknown, ...entry: unknown[]) => void told.push(entry) }
  const { ask } = await serve(t, { routes: actionRoutes({ registry, recorder }), faultStatus })
  const post = (action: string, json: unknown, signal?: AbortSignal) =>
    ask(`/api/ports/%2Fdev%2FttyUSB0/rest/${action}`, { method: 'POST', as: 'admin', json, ...(signal && { signal }) })
  return { told, post }
}

const write = { unitId: 1, fc: 6, address: 2, values: [3] }

t.test('a write is in the journal, a read is not', async (t) => {
  const { told, post } = await routesOver(t, async () => ({ sent: 1 }))
  await post('request', { unitId: 1, fc: 3, address: 2, quantity: 1 })
  t.same(told, [])
  await post('request', write)
  await post('tx', { hex: '41' })
  t.same(told, [
    ['modbus write', '/dev/ttyUSB0', write],
    ['bytes sent', '/dev/ttyUSB0', { sent: 1 }],
  ])
})

t.test('a request that failed but may have reached the device is in the journal, with its fault', async (t) => {
  const { told, post } = await routesOver(t, () => Promise.reject(new Fault('modbus_timeout', 'no answer')))
  t.equal((await post('request', write)).status, 504)
  t.equal((await post('request', { unitId: 1, fc: 3, address: 2, quantity: 1 })).status, 504)
  t.same(told, [['modbus write', '/dev/ttyUSB0', { ...write, error: 'modbus_timeout' }]])
})

t.test('a write that was under way when its port was closed is in the journal', async (t) => {
  const cutOff = new Fault('line_closed', 'was closed', { details: { mayBeOut: true } })
  const { told, post } = await routesOver(t, () => Promise.reject(cutOff))
  t.equal((await post('request', write)).status, 409)
  t.same(told, [['modbus write', '/dev/ttyUSB0', { ...write, error: 'line_closed' }]])
})

t.test('a request that was refused before it was sent is not in the journal', async (t) => {
  const { told, post } = await routesOver(t, () => Promise.reject(new Fault('line_closed', 'not open')))
  t.equal((await post('tx', { hex: '41' })).status, 409)
  t.same(told, [])
})

t.test('the bus hears of a caller that leaves, and a request withdrawn for it is not in the journal', async (t) => {
  const leaver = new AbortController()
  const withdrawn = Promise.withResolvers<void>()
  const { told, post } = await routesOver(t, (gone) => {
    leaver.abort()
    return new Promise((_resolve, reject) => {
      gone?.addEventListener('abort', () => {
        reject(new Fault('modbus_withdrawn', 'not sent'))
        withdrawn.resolve()
      })
    })
  })
  await t.rejects(post('request', write, leaver.signal), { name: 'AbortError' })
  await withdrawn.promise
  await new Promise((resolve) => setImmediate(resolve))
  t.same(told, [])
})
