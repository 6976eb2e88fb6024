/** The driver alone, and behind the host with a real socket. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { freePort } from '#kit/test/free-port.ts'
import { holds } from '#kit/test/holds.ts'
import { until } from '#kit/test/until.ts'
import { tcpPlaceOf } from '../../../../core/drivers/driver.ts'
import { Drivers } from '../../../../core/drivers/host.ts'
import { commandLine, createTcpDriver } from '../../../../core/drivers/tcp/tcp.ts'
import type { Json } from '../../../../core/json.ts'
import { LiveState } from '../../../../core/live/live-book.ts'
import type { Row } from '../../../../core/site/book.ts'
import { createDriverWorld } from '../../../../io/driver-world.ts'
import { bookOf } from '../../site/book-of.ts'
import { LIMITS, WORLD_LIMITS } from '../host-stage.ts'

const row = (columns: Record<string, unknown>) => columns as unknown as Row
const textOf = (device: Record<string, unknown>, zone: Record<string, unknown> | undefined, verb: string, args: Json) =>
  new TextDecoder().decode(
    commandLine(row(device), { zone: zone && row(zone), verb, args: args as Record<string, Json> }),
  )

const lines: [string, string][] = [
  [
    'the address of the zone, the verb, the args',
    textOf({ id: 1, address: 'D' }, { id: 2, address: '7' }, 'level', { level: 40 }),
  ],
  ['the address of the device for a device', textOf({ id: 1, address: '7' }, undefined, 'level', { level: 40 })],
  [
    'the address of the device for a zone without one',
    textOf({ id: 1, address: '7' }, { id: 2, address: null }, 'level', { level: 40 }),
  ],
]
for (const [title, line] of lines)
  t.test(`a line is ${title}`, async (t) => {
    t.equal(line, '7 level {"level":40}\n')
  })

t.test('a line end in args does not end the line', async (t) => {
  t.equal(textOf({ id: 1, address: '7' }, undefined, 'say', { text: 'a\r\nb' }), '7 say {"text":"a\\r\\nb"}\n')
})

t.test('characters that some programs treat as a line end are escaped in args, and read back the same', async (t) => {
  const args = { text: 'a\u0085b\u2028c\u2029d\u007fe\u009bf', '\u2028key': 1 }
  const line = textOf({ id: 1, address: '7' }, undefined, 'say', args)
  t.notMatch(line.slice(0, -1), /[\p{Cc}\p{Zl}\p{Zp}]/u)
  t.strictSame(JSON.parse(line.replace('7 say ', '')), args)
})

const refused: [string, Record<string, unknown>, Record<string, unknown> | undefined, string, RegExp][] = [
  ['without an address', { id: 1 }, { id: 2 }, 'on', /device 1 has no address/],
  ['for an address with a space', { id: 1 }, { id: 2, address: '7 8' }, 'on', /address of zone 2 .*space/],
  ['for an address with a line end', { id: 1, address: '7\n8' }, undefined, 'on', /address of device 1/],
  ['for a verb that is empty', { id: 1, address: '7' }, undefined, '', /the command is empty/],
  ['for a verb with a space', { id: 1, address: '7' }, undefined, 'on off', /the command .*space/],
  ['for a verb with a line end', { id: 1, address: '7' }, undefined, 'on\r', /the command/],
  ['for a verb with a separator of lines', { id: 1, address: '7' }, undefined, 'on\u2028', /the command/],
  ['for a verb with an escape', { id: 1, address: '7' }, undefined, 'on\u001b', /the command/],
]
for (const [title, device, zone, verb, message] of refused)
  t.test(`there is no line ${title}`, async (t) => {
    t.throws(() => textOf(device, zone, verb, {}), { code: 'line_invalid', message })
  })

t.test('a line that is too long is refused', async (t) => {
  t.throws(() => textOf({ id: 1, address: '7' }, undefined, 'say', { text: 'x'.repeat(8200) }), {
    code: 'line_invalid',
  })
})

/** Mostly characters of a word, plus all that would end one. */
const UNITS = [
  ...'aZ7.é{"',
  ...'aZ7.é{"',
  ' ',
  '\n',
  '\r',
  '\t',
  '\0',
  '\u001b',
  '\u2028',
  '\ud800',
  '\u00a0',
  '\ufeff',
]

t.test('whatever the input, a line has one line end and three parts', async (t) => {
  const text = fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 4 })
  const law = fc.property(
    text,
    text,
    fc.dictionary(text, fc.oneof(text, fc.integer()), { maxKeys: 3 }),
    (address, verb, args) => {
      let line: string
      try {
        line = textOf({ id: 1, address }, undefined, verb, args as Json)
      } catch (error) {
        return (error as { code: string }).code === 'line_invalid'
      }
      return /^[^\s]+ [^\s]+ \{[^\r\n]*\}\n$/.test(line)
    },
  )
  holds(t, law)
})

t.test('a transport has a host and a port', async (t) => {
  t.strictSame(tcpPlaceOf(row({ id: 1, transport: { kind: 'tcp', host: '[::1]', port: 23 } })), {
    host: '[::1]',
    port: 23,
  })
  const wrong = [null, {}, { host: 'a' }, { host: 'a b', port: 1 }, { host: 'a', port: '23' }, { host: '', port: 23 }]
  for (const transport of [...wrong, { host: 'a\n', port: 1 }, { host: 'a', port: 0 }, { host: 'a', port: 65_536 }])
    t.throws(() => tcpPlaceOf(row({ id: 1, transport })), { code: 'transport_invalid' })
})

/** Device 1 with zone 7, behind the host, at a loopback port. */
function stage(port: number) {
  const zone = row({ id: 7, device_id: 1, address: 'z7' })
  const book = bookOf({
    device: [{ id: 1, driver: 'tcp', address: 'd1', transport: { kind: 'tcp', host: '127.0.0.1', port } }],
    zone: [zone],
  })
  const live = new LiveState(systemClock, { fields: 8, fieldChars: 64, totalChars: 65_536 })
  const log = { info() {} } as never
  const world = createDriverWorld({ clock: systemClock, log, chance: () => 0, limits: WORLD_LIMITS })
  const host = new Drivers({ book, live, world, drivers: [createTcpDriver()], limits: { ...LIMITS, retryFirstMs: 50 } })
  return { host, live, zone }
}

t.test('commands reach a device as lines, and it is online', async (t) => {
  let text = ''
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      text += bytes
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { host, live, zone } = stage((server.address() as AddressInfo).port)
  t.strictSame(await host.execute(1, { zone, verb: 'level', args: { level: 40 } }), {})
  t.strictSame(await host.execute(1, { verb: 'off', args: {} }), {})
  await until('both lines are there', () => text.split('\n').length === 3)
  t.equal(text, 'z7 level {"level":40}\nd1 off {}\n')
  t.equal(live.device(1).state, 'online')
  await host.close()
  server.close()
  await once(server, 'close')
})

t.test('a missing device is offline, and comes back on its own', async (t) => {
  const port = await freePort()
  const { host, live, zone } = stage(port)
  await t.rejects(host.execute(1, { zone, verb: 'on', args: {} }), {
    code: 'driver_failed',
    message: `device 1 is offline: 127.0.0.1:${port} refuses connections (ECONNREFUSED)`,
  })
  t.equal(live.device(1).state, 'offline')
  const server = createServer((socket) => socket.resume()).listen(port, '127.0.0.1')
  await once(server, 'listening')
  await until('it takes commands', () =>
    host.execute(1, { zone, verb: 'on', args: {} }).then(
      () => true,
      () => false,
    ),
  )
  t.equal(live.device(1).state, 'online')
  await host.close()
  server.close()
})

t.test('a command that makes no valid line is a failure, and the device is not lost', async (t) => {
  const { host, live, zone } = stage(await freePort())
  const spaced = { ...zone, address: 'a b' }
  await t.rejects(host.execute(1, { zone: spaced, verb: 'on', args: {} }), { message: /has a space/ })
  t.equal(live.device(1).state, 'unknown')
  await host.close()
})
