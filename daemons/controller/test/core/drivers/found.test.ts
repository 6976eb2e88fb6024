/** What announces itself on the network, and what becomes a device of it. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import { FoundDaemons } from '../../../core/drivers/found.ts'
import { createRecorderDriver } from '../../../core/drivers/recorder/recorder.ts'
import type { Row } from '../../../core/site/book.ts'
import { notDriven } from '../../../core/site/not-driven.ts'
import { bookOf } from '../site/book-of.ts'

const PEM = '-----BEGIN CERTIFICATE-----'

const LIMITS = { forgetMs: 60_000, max: 6, perSender: 4 }

const service = (label: string, more: Partial<HeardService> = {}, text: Record<string, string> = {}): HeardService => ({
  id: `${label}._plantroom._tcp.local`,
  name: label,
  ...{ host: 'lobby.local', port: 80, reach: ['10.20.4.8'], from: '10.20.4.8' },
  ...more,
  text: new Map(Object.entries({ role: 'decoder', name: 'Lobby', version: '1.2.3', path: '/', ...text })),
})

function here(devices: readonly Record<string, unknown>[] = []) {
  const clock = fakeClock()
  const found = new FoundDaemons(clock, bookOf({ device: devices }), LIMITS)
  return { clock, found }
}

t.test('boards and gateways are listed by name with what they say, others are not', async (t) => {
  const { found } = here()
  found.hear(service('board-1'))
  found.hear(
    service(
      'gateway-1',
      { host: '', port: 3132 },
      { role: 'gateway', name: 'Boiler\u0000 room\u202e', version: '<b>' },
    ),
  )
  found.hear(service('controller-1', {}, { role: 'controller' }))
  found.hear(service('board-2', { reach: [] }))
  t.match(found.list(), [
    {
      driver: 'gateway',
      role: 'gateway',
      name: 'Boiler room',
      host: '',
      address: '10.20.4.8',
      version: null,
      device: null,
    },
    { driver: 'board', role: 'decoder', name: 'Lobby', host: 'lobby.local', port: 80, version: '1.2.3' },
  ])
})

t.test('one that is not announced any more is forgotten, sooner after a goodbye', async (t) => {
  const { clock, found } = here()
  found.hear(service('board-1'))
  found.hear(service('board-2'))
  found.doubt('board-2._plantroom._tcp.local')
  clock.advance(15_001)
  t.strictSame(
    found.list().map(({ id }) => id),
    ['board-1._plantroom._tcp.local'],
  )
  clock.advance(45_000)
  t.strictSame(found.list(), [])
})

t.test('a goodbye in its name does nothing to one that goes on announcing itself', async (t) => {
  const { clock, found } = here()
  found.hear(service('board-1'))
  found.doubt('board-1._plantroom._tcp.local')
  found.hear(service('board-1'))
  clock.advance(20_000)
  t.equal(found.list().length, 1)
})

t.test('a claim from elsewhere in the name of one that is heard changes nothing', async (t) => {
  const { clock, found } = here()
  found.hear(service('board-1'))
  const other = { reach: ['10.20.4.66'], from: '10.20.4.66' }
  found.hear(service('board-1', other))
  t.match(found.list(), [{ address: '10.20.4.8' }])
  clock.advance(30_001)
  found.hear(service('board-1', other))
  t.match(found.list(), [{ address: '10.20.4.66' }], 'it has moved')
})

t.test('a flood of one sender pushes out its own, and all together are bounded', async (t) => {
  const { found } = here()
  found.hear(service('board-1'))
  for (let n = 0; n < 1000; n++) found.hear(service(`board-x${n}`, { from: '10.20.4.66' }))
  t.equal(found.list().length, 5)
  for (let n = 0; n < 1000; n++) found.hear(service(`board-y${n}`, { from: `10.20.5.${n % 250}` }))
  t.equal(found.list().length, 6)
})

t.test('one that is a device is listed as that, by its address or its name', async (t) => {
  const transport = { kind: 'board', host: '10.20.4.8', port: 80 }
  for (const host of ['10.20.4.8', 'lobby.local', 'Lobby'])
    t.match(
      withOne([{ id: 3, name: 'Bar', driver: 'board', transport: { ...transport, host } }]).list(),
      [{ device: { id: 3, name: 'Bar', isMoved: false } }],
      host,
    )
  const elsewhere = { ...transport, host: '10.20.4.9' }
  t.match(withOne([{ id: 3, name: 'Bar', driver: 'board', transport: elsewhere }]).list(), [{ device: null }])
  t.match(withOne([{ id: 3, name: 'Bar', driver: 'tcp', transport }]).list(), [{ device: null }])
})

function withOne(devices: readonly Record<string, unknown>[]) {
  const { found } = here(devices)
  found.hear(service('board-1'))
  return found
}

t.test('a device is made with driver, transport and secret, under a name of its own', async (t) => {
  const id = 'board-1._plantroom._tcp.local'
  const found = withOne([
    { id: 1, name: 'Lobby' },
    { id: 2, name: 'Lobby 2' },
  ])
  t.strictSame(found.rowOf({ id, secret: 'sound' }), {
    name: 'Lobby 3',
    driver: 'board',
    transport: { kind: 'board', host: '10.20.4.8', port: 80 },
    serial_number: 'board-1',
    model: 'decoder',
    firmware: '1.2.3',
    password: 'sound',
  })
  found.hear(service('gateway-1', { port: 3132 }, { role: 'gateway' }))
  const gateway = found.rowOf({ id: 'gateway-1._plantroom._tcp.local', name: ' Plant\u0000 ', secret: 'key' })
  t.match(gateway, { name: 'Plant', driver: 'gateway', api_key: 'key', transport: { port: 3132 } })
  t.throws(() => found.rowOf({ id: 'board-9' }), { code: 'found_gone' })
  const waiting = [{ id: 9, name: 'Lobby 3', serial_number: 'gateway-1', created_at: 0, updated_at: 0 }] as Row[]
  t.match(found.rowOf({ id }, waiting), { name: 'Lobby 4' })
  const again = () => found.rowOf({ id: 'gateway-1._plantroom._tcp.local' }, waiting)
  t.throws(again, { code: 'found_known', message: /waits for Apply All/ })
})

t.test('a gateway with HTTPS becomes a device with the root that somebody compared, and not without', async (t) => {
  const id = 'gateway-1._plantroom._tcp.local'
  const secure = service('gateway-1', { port: 3132 }, { role: 'gateway', scheme: 'https' })
  const { found } = here()
  found.hear(secure)
  t.match(found.list(), [{ hasTls: true, device: null }])
  t.throws(() => found.rowOf({ id, secret: 'key' }), { code: 'found_root' })
  t.match(found.rowOf({ id, secret: 'key', root: 'PEM' }), {
    transport: { kind: 'gateway', host: '10.20.4.8', port: 3132, tls: true },
    config: { root_ca: 'PEM' },
    api_key: 'key',
  })

  const transport = { kind: 'gateway', host: '10.20.4.8', port: 3132, line: '/dev/ttyS1' }
  const row = { id: 3, name: 'Plant', driver: 'gateway', transport, config: { feed: 'socket' } }
  const before = here([row])
  before.found.hear(secure)
  t.match(before.found.list(), [{ device: { id: 3, isMoved: false, hasRoot: false } }])
  t.throws(() => before.found.rowOf({ id }), { code: 'found_known' })
  t.strictSame(before.found.rowOf({ id, root: 'PEM', secret: 'left out' }), {
    id: 3,
    transport: { ...transport, tls: true },
    config: { feed: 'socket', root_ca: 'PEM' },
  })
})

t.test('a gateway that has moved goes on with its root, also where its host is written with https://', async (t) => {
  const config = { root_ca: 'PEM' }
  const transport = { kind: 'gateway', host: '10.20.4.7', port: 3132, tls: true }
  const row = { id: 3, name: 'Plant', driver: 'gateway', serial_number: 'gateway-1', transport, config }
  const { found } = here([row])
  const secure = service('gateway-1', { port: 3132 }, { role: 'gateway', scheme: 'https' })
  found.hear(secure)
  t.match(found.list(), [{ device: { isMoved: true, hasRoot: true } }])
  t.strictSame(found.rowOf({ id: 'gateway-1._plantroom._tcp.local' }), {
    id: 3,
    transport: { ...transport, host: '10.20.4.8' },
  })
  for (const host of ['https://10.20.4.8', 'https://10.20.4.8:3132/', 'HTTPS://10.20.4.8']) {
    const named = here([{ ...row, transport: { ...transport, host } }])
    named.found.hear(secure)
    t.match(named.found.list(), [{ device: { isMoved: false } }], host)
  }
})

t.test('a recorder is found, and made a device that its driver takes, also one with HTTPS', async (t) => {
  const id = 'recorder-1._plantroom._tcp.local'
  const said = { role: 'recorder', name: 'Cameras\u0000 of\u202e the\u0007 yard' }
  const { found } = here()
  found.hear(service('recorder-1', { port: 3133 }, said))
  t.match(found.list(), [{ driver: 'recorder', role: 'recorder', name: 'Cameras of the yard', hasTls: false }])
  const row = found.rowOf({ id, secret: 'prc_token' })
  t.strictSame(row, {
    ...{ name: 'Cameras of the yard', driver: 'recorder', serial_number: 'recorder-1', model: 'recorder' },
    ...{ transport: { kind: 'recorder', host: '10.20.4.8', port: 3133 }, firmware: '1.2.3', api_key: 'prc_token' },
  })
  found.hear(service('recorder-1', { port: 3133 }, { ...said, scheme: 'https' }))
  t.throws(() => found.rowOf({ id, secret: 'prc_token' }), { code: 'found_root' })
  const secure = found.rowOf({ id, secret: 'prc_token', root: PEM })
  t.match(secure, { transport: row.transport, config: { root_ca: PEM } })
  const driver = createRecorderDriver()
  for (const made of [row, secure]) {
    t.equal(driver.flaw?.(made as Row), undefined)
    t.strictSame(
      notDriven((table) => (table === 'device' ? [made as Row] : []), [driver]),
      [],
    )
  }
})

t.test('a recorder that was added by hand is known, its driver unnamed and its port the usual one', async (t) => {
  const transport = { kind: 'recorder', host: 'lobby.local' }
  const { found } = here([{ id: 3, name: 'Yard', transport }])
  found.hear(service('recorder-1', { port: 3133 }, { role: 'recorder' }))
  found.hear(service('recorder-2', { port: 3134 }, { role: 'recorder', name: 'Other' }))
  t.match(found.list(), [{ device: { id: 3, name: 'Yard', isMoved: false } }, { device: null }])
})

t.test('a device that has moved gets its new address, and keeps what else its transport says', async (t) => {
  const transport = { kind: 'gateway', host: '10.20.4.7', port: 3132, line: '/dev/ttyS1' }
  const row = { id: 3, name: 'Bar', driver: 'gateway', serial_number: 'gateway-1', transport }
  const { found } = here([row])
  found.hear(service('gateway-1', { port: 3132 }, { role: 'gateway' }))
  t.match(found.list(), [{ device: { id: 3, isMoved: true } }])
  const id = 'gateway-1._plantroom._tcp.local'
  t.strictSame(found.rowOf({ id, name: 'other', secret: 'other' }), {
    id: 3,
    transport: { ...transport, host: '10.20.4.8' },
  })
  const known = withOne([{ id: 3, name: 'Bar', driver: 'board', transport: { host: '10.20.4.8', port: 80 } }])
  t.throws(() => known.rowOf({ id: 'board-1._plantroom._tcp.local' }), { code: 'found_known', message: /device 3/ })
})
