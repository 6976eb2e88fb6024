/** Tests of core/drivers/traffic.ts: what is kept of a device's traffic, and what is shown of it. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { Traffic } from '../../../core/drivers/traffic.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { Row } from '../../../core/site/book.ts'

const LIMITS = { devices: 2, messages: 5, messageBytes: 64, forgetMs: 1000 }
const bytes = (text: string) => new TextEncoder().encode(text)

function here(limits = LIMITS) {
  const clock = fakeClock()
  return { clock, traffic: new Traffic(clock, limits) }
}

const device = (more: object = {}) => ({ id: 1, name: 'Projector', ...more }) as Row

t.test('nothing is kept of a device before somebody looks, and again after a while', async (t) => {
  const { clock, traffic } = here()
  traffic.note(1, 'out', bytes('before'))
  t.same(traffic.look(device(), 0), { entries: [], next: 0, dropped: 0 })
  traffic.note(1, 'out', bytes('%1POWR 1\r'))
  clock.advance(50)
  traffic.note(1, 'in', bytes('%1POWR=OK\r'))
  traffic.note(2, 'in', bytes('another'))
  const seen = traffic.look(device(), 0)
  t.match(seen, {
    next: 2,
    entries: [
      { n: 1, way: 'out', text: '%1POWR 1\\r', hex: '25 31 50 4F 57 52 20 31 0D', size: 9, isCut: false },
      { n: 2, way: 'in', text: '%1POWR=OK\\r' },
    ],
  })
  t.same(traffic.look(device(), 2).entries, [])
  clock.advance(1001)
  traffic.note(1, 'in', bytes('late'))
  t.same(traffic.look(device(), 2), { entries: [], next: 0, dropped: 0 }, 'watched anew')
})

t.test('what comes in pieces is one message, until it was told', async (t) => {
  const { clock, traffic } = here()
  traffic.look(device(), 0)
  for (const piece of ['GET ', 'TEMP', '=21\r']) traffic.note(1, 'in', bytes(piece))
  t.match(traffic.look(device(), 0).entries, [{ text: 'GET TEMP=21\\r', size: 12 }])
  traffic.note(1, 'in', bytes('more'))
  t.match(traffic.look(device(), 1).entries, [{ n: 2, text: 'more' }])
  clock.advance(40)
  traffic.note(1, 'in', bytes('later'))
  t.equal(traffic.look(device(), 1).entries.length, 2)
})

t.test('a device that says nothing but a short secret costs a look no more than another', async (t) => {
  const { traffic } = here({ devices: 1, messages: 2000, messageBytes: 1024, forgetMs: 1000 })
  const own = device({ password: '0' })
  traffic.look(own, 0)
  for (let n = 0; n < 2000; n++) traffic.note(1, 'in', bytes('0'.repeat(1024)), { about: '200' })
  const before = process.cpuUsage()
  const { entries } = traffic.look(own, 0)
  const { user, system } = process.cpuUsage(before)
  t.ok(user + system < 3_000_000, `${user + system} µs of the processor`)
  t.same([...new Set(entries.map(({ text }) => text))], ['•••'])
})

t.test('the oldest go, a long message is cut, and both are counted', async (t) => {
  const { traffic } = here()
  traffic.look(device(), 0)
  for (let n = 0; n < 8; n++) traffic.note(1, 'out', bytes(`m${n}`))
  t.match(traffic.look(device(), 1), { dropped: 2, entries: [{ n: 4 }, { n: 5 }, { n: 6 }, { n: 7 }, { n: 8 }] })
  traffic.note(1, 'in', new Uint8Array(1_000_000).fill(0x41))
  t.match(traffic.look(device(), 8).entries, [{ size: 1_000_000, isCut: true, text: 'A'.repeat(64) }])
})

t.test('control characters, marks that turn text, and bytes that are no text stand escaped', async (t) => {
  const { traffic } = here()
  traffic.look(device(), 0)
  traffic.note(1, 'out', bytes('<b>\u0007\u202e\u0000é\t'))
  traffic.note(1, 'out', Uint8Array.of(0x02, 0xff, 0x41, 0x0a))
  traffic.note(1, 'out', bytes('x'), { about: 'GET /a\n<i>' })
  const [one, two, three] = traffic.look(device(), 0).entries
  t.equal(one?.text, '<b>\\u0007\\u202e\\u0000é\\t')
  t.equal(two?.text, '\\u0002\\xFFA\\n')
  t.equal(three?.about, 'GET /a\\n<i>')
})

t.test('no secret of the device is shown, however it is written, nor in pieces', async (t) => {
  const { clock, traffic } = here({ ...LIMITS, messages: 50 })
  const row = device({
    ...{ username: 'ada', password: 'päss"1', api_key: 'KEY-77' },
    config: { deep: { wifiPassword: 'hush-hush', port: 21 } },
    transport: { host: '10.0.0.1', token: 'tok/en' },
  })
  traffic.look(row, 0)
  const latin = Buffer.from('päss"1').toString('latin1')
  const written = [
    'LOGIN päss"1 now',
    `Basic ${Buffer.from('ada:päss"1').toString('base64')}`,
    `?k=${encodeURIComponent('tok/en')}`,
    JSON.stringify({ p: 'päss"1' }),
    Buffer.from('KEY-77').toString('hex'),
    'hush-hush KEY-77 hush-hush',
  ]
  for (const text of written) traffic.note(1, 'out', bytes(text))
  for (const sign of 'hush-hush') {
    traffic.note(1, 'in', bytes(sign))
    clock.advance(100)
  }
  traffic.note(1, 'in', bytes('port 21'), { about: 'KEY-77/state' })
  traffic.say(1, 'it refuses KEY-77')
  const said = JSON.stringify(traffic.look(row, 0).entries)
  for (const secret of ['päss', latin, 'KEY-77', 'hush', 'tok/en', 'tok%2Fen', '4b45592d3737', '68 75 73 68'])
    t.notOk(said.includes(secret), secret)
  t.ok(said.includes('LOGIN ••• now'))
  t.ok(said.includes('port 21'))
  t.ok(said.includes('•••/state'))
})

t.test('of a sign-in only the size is shown', async (t) => {
  const { traffic } = here()
  traffic.look(device(), 0)
  traffic.note(1, 'out', bytes('5d8409bc1c3fa39749434aa3a5c38682%1POWR ?\r'), { isWithheld: true })
  t.match(traffic.look(device(), 0).entries, [{ text: '', hex: '', size: 41, isWithheld: true, isCut: false }])
})

t.test('only so many devices are watched at once', async (t) => {
  const { clock, traffic } = here()
  traffic.look(device(), 0)
  traffic.look({ ...device(), id: 2 }, 0)
  t.throws(() => traffic.look({ ...device(), id: 3 }, 0), { code: 'traffic_busy' })
  clock.advance(1001)
  t.doesNotThrow(() => traffic.look({ ...device(), id: 3 }, 0), 'nobody looks at the others any more')
})

t.test('what is kept stays within its row of the memory plan', async (t) => {
  const limits = { devices: 4, messages: 1000, messageBytes: 1024, forgetMs: 1_000_000 }
  const line = new Uint8Array(4096).fill(0x41)
  const grown = await heapBytesOf(() => {
    const { traffic } = here(limits)
    for (let id = 1; id <= limits.devices; id++) {
      traffic.look({ ...device(), id }, 0)
      for (let n = 0; n < 2 * limits.messages; n++) traffic.note(id, 'out', line, { about: `GET /${n}` })
    }
    return traffic
  })
  const settings = { 'traffic.devices': 4, 'traffic.messages': 1000, 'traffic.message_bytes': 1024 }
  const { allBytes } = rowOf(memoryPlan().rows, 'traffic of devices', settings)
  t.ok(grown <= allBytes, `${grown} of ${allBytes} bytes`)
})
