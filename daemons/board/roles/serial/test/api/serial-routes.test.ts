/** What the routes of the serial server pass on, and what the journal records. */
import t from 'tap'
import type { Ask } from '#kit/http/route.ts'
import { serialRoutes } from '../../api/serial-routes.ts'
import type { SerialPorts } from '../../core/serial-ports.ts'
import { serialSettings } from '../../core/settings.ts'

function routesHere() {
  const told: unknown[][] = []
  const given: unknown[] = []
  const ports = {
    views: () => [{ port: 1 }],
    async change(port: number, fields: unknown) {
      given.push(port, fields)
      return { view: { port, baud: 300, label: 'x' }, changed: ['baud'] }
    },
    drop: () => ({ address: '192.0.2.7', client_port: 40_000 }),
  } as unknown as SerialPorts
  const devices = [
    { port: 1, path: '/dev/ttyUSB0', found: true },
    { port: 2, path: '/dev/ttyUSB1', found: false },
  ]
  const recorder = {
    changed: async (_asker: unknown, ...what: unknown[]) => void told.push(what),
    sent: async () => {},
  }
  const settings = serialSettings(() => undefined)
  const routes = serialRoutes({ ports, settings, recorder, devices: async () => devices })
  const call = (method: string, path: string, body: unknown = undefined) =>
    routes.find((one) => one.method === method && one.path === path)?.handle({ body } as Ask<never, never, never>)
  return { call, told, given, routes }
}

t.test('B.serial GET shows the adapter, and which device is missing', async (t) => {
  const { call } = routesHere()
  t.match(await call('GET', '/api/serial'), {
    adapter: { text: '/dev/ttyUSB1 (port 2) is not there.', devices: [{ found: true }, { found: false }] },
    ports: [{ port: 1 }],
  })
})

t.test('B.serial POST passes on the fields, answers with the port, and the journal has the change', async (t) => {
  const { call, told, given } = routesHere()
  t.strictSame(await call('POST', '/api/serial', { port: 2, baud: '300' }), { port: 2, baud: 300, label: 'x' })
  t.strictSame(given, [2, { baud: '300' }])
  t.strictSame(told, [['serial port set', 'port 2', { baud: 300 }]])
})

t.test('B.serial.drop names the dropped client in the journal', async (t) => {
  const { call, told } = routesHere()
  t.strictSame(await call('POST', '/api/serial/drop', { port: 1, client: 7 }), { dropped: 7 })
  t.match(told, [['serial client dropped', 'port 1', { client: 7, address: '192.0.2.7' }]])
})

t.test('every route is for the administrator only', async (t) => {
  t.ok(routesHere().routes.every(({ who }) => who === 'admin'))
})
