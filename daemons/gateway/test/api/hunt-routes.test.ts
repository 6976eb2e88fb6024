import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { withDefaults } from '#kit/http/check.ts'
import { Fault } from '#kit/pure/fault.ts'
import { serve } from '#kit/test/http/server-here.ts'
import { faultStatus } from '../../api/fault-status.ts'
import { huntRoutes } from '../../api/hunt-routes.ts'
import { Hunts } from '../../core/hunt/hunts.ts'
import { type HuntLimits, huntKeys } from '../../core/hunt/plan.ts'
import { huntedProtocols } from '../../core/protocols.ts'
import { sealed } from '../../wire/modbus-request.ts'
import { wiredLine } from '../core/hunt/wired-line.ts'

const path = '/api/ports/%2Fdev%2FttyTEST/hunt'

/** The routes over a line at 9600 8N1; `told` is what the journal got. */
async function routesOver(t: Parameters<typeof serve>[0]) {
  const clock = fakeClock()
  const line = wiredLine({ clock, wire: { baud: 9600, data_bits: 8, parity: 'none', stop_bits: 1 } })
  const told: unknown[] = []
  const hunts = new Hunts({
    clock,
    limits: withDefaults(huntKeys, {}) as HuntLimits,
    protocols: huntedProtocols,
    opener: line,
    async lend(_path, takeOver) {
      if (!takeOver) throw new Fault('line_in_use', '/dev/ttyTEST is open')
      return { wasOpen: false, settings: undefined, giveBack: async () => {} }
    },
    onEnded: () => {},
  })
  const recorder = { changed: async (_asker: unknown, ...entry: unknown[]) => void told.push(entry) }
  const { ask } = await serve(t, { routes: huntRoutes({ hunts, recorder }), faultStatus })
  const call = async (method: string, as: string, json?: unknown) => {
    const answer = await ask(path, { method, as, json })
    return { status: answer.status, body: await answer.json() }
  }
  return { call, clock, line, told }
}

t.test('a hunt is started, read, refused a second time, and cancelled', async (t) => {
  const { call, clock, told } = await routesOver(t)
  t.match(await call('GET', 'viewer'), { status: 404, body: { error: 'no_hunt' } })
  t.match(await call('POST', 'viewer', {}), { status: 403 })
  t.match(await call('POST', 'admin', {}), { status: 409, body: { error: 'line_in_use' } })
  const body = { takeOver: true, protocols: ['modbus-rtu'] }
  t.match(await call('POST', 'admin', body), { status: 202, body: { state: 'running', tried: 0, total: 24 } })
  t.match(await call('POST', 'admin', body), { status: 409, body: { error: 'hunt_running' } })
  await clock.run(2000)
  t.match(await call('GET', 'viewer'), { status: 200, body: { current: '9600 8E1', tried: 1, phase: 'listen' } })
  t.match(await call('DELETE', 'admin'), { status: 200, body: { state: 'cancelled', current: null } })
  t.match(await call('DELETE', 'admin'), { status: 200, body: { state: 'cancelled' } })
  t.strictSame(told, [
    ['hunt started', '/dev/ttyTEST', body],
    ['hunt cancelled', '/dev/ttyTEST'],
  ])
})

t.test('what a hunt has found is told with its settings and its evidence', async (t) => {
  const { call, clock, line } = await routesOver(t)
  clock.every(100, () => line.talk(sealed([4, 3, 0, 16, 0, 2])))
  await call('POST', 'admin', { takeOver: true, bauds: [9600], parities: ['none'], protocols: ['modbus-rtu'] })
  await clock.run(3000)
  const setting = { baud: 9600, data_bits: 8, parity: 'none' }
  const found = { protocol: 'modbus-rtu', line: { ...setting, stop_bits: 1 }, also: [{ ...setting, stop_bits: 2 }] }
  const { body } = await call('GET', 'viewer')
  t.match(body, { state: 'done', found: [{ ...found, isSure: true, units: [4], wrong: 0 }] })
  t.match(body.verdict, /^9600 8N1: 8 Modbus frames heard/)
})

t.test('a hunt that asks for the impossible is refused with the field that is wrong', async (t) => {
  const { call, told } = await routesOver(t)
  for (const [body, field] of [
    [{ protocols: [] }, 'protocols'],
    [{ protocols: ['raw'] }, 'protocols[0]'],
    [{ bauds: [0] }, 'bauds[0]'],
    [{ parities: ['mark'] }, 'parities[0]'],
    [{ ask: 'yes' }, 'ask'],
    [{ from: 5, to: 4 }, 'from'],
    [{ from: 5 }, 'to'],
    [{ to: 251, from: 1 }, 'to'],
    [{ units: 3 }, 'units'],
  ] as const)
    t.match(await call('POST', 'admin', { takeOver: true, ...body }), { status: 400, body: { fields: [{ field }] } })
  t.strictSame(told, [])
})
