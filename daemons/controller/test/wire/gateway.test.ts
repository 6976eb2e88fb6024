/** Points of a gateway: addresses of zones, and values as registers. */
import t from 'tap'
import {
  type PointPlace,
  pointWrite,
  readGatewayMessage,
  readPointAddress,
  readPortPoints,
} from '../../wire/gateway.ts'

const place = (more: Partial<PointPlace>): PointPlace => ({
  ...{ name: 'p', unitId: 1, fc: 3, address: 0, type: 'u16', isLittleWords: false, isLittleBytes: false },
  ...{ bit: null, length: 1, scale: 1, offset: 0 },
  ...more,
})

const writes: [title: string, point: Partial<PointPlace>, value: number | string | boolean, words: number[]][] = [
  ['a signed register', { type: 's16' }, -2, [0xfffe]],
  ['the nearest step of a scale', { scale: 0.5, offset: -10 }, 11.3, [43]],
  ['a negative scale', { type: 's16', scale: -0.1 }, 5, [0xffce]],
  ['a scale that is no binary fraction', { scale: 0.01 }, 0.07, [7]],
  ['two registers', { type: 'u32' }, 0x10002, [1, 2]],
  ['two registers, the lower first', { type: 'u32', isLittleWords: true }, 0x10002, [2, 1]],
  ['bytes the other way round', { type: 'u32', isLittleBytes: true }, 0x10002, [0x100, 0x200]],
  ['a negative number of two registers', { type: 's32' }, -2, [0xffff, 0xfffe]],
  ['four registers', { type: 'u64' }, 2 ** 40, [0, 0x100, 0, 0]],
  ['a double', { type: 'f64' }, 1.5, [0x3ff8, 0, 0, 0]],
  ['a text, with zeros behind', { type: 'string', length: 3, isLittleWords: true }, 'ABC', [0x4142, 0x4300, 0]],
  ['a switch as a number', {}, true, [1]],
]
for (const [title, point, value, words] of writes)
  t.test(`a write is ${title}`, async (t) => {
    const { fc, values, quantity } = pointWrite(place(point), value)
    t.strictSame(values, words)
    t.strictSame([fc, quantity], words.length === 1 ? [6, undefined] : [16, words.length])
  })

const refused: [title: string, point: Partial<PointPlace>, value: number | string | boolean, why: RegExp][] = [
  ['an input', { fc: 2, type: 'bit' }, true, /can only be read/],
  ['more than fits', {}, 65_536, /takes 0 to 65535/],
  ['less than fits, by a negative scale', { scale: -2 }, 2, /takes -131070 to 0/],
  ['a number beyond every double', { scale: 1e-12, type: 'f64' }, 1e300, /cannot hold/],
  ['a number beyond every float', { type: 'f32' }, 1e39, /cannot hold/],
  ['a text for a number', {}, 'loud', /takes no text/],
  ['a text for a bit', { fc: 1, type: 'bit' }, 'loud', /takes no text/],
  ['a text that is too long', { type: 'string' }, 'abc', /up to 2 characters/],
]
for (const [title, point, value, why] of refused)
  t.test(`a write of ${title} is refused`, async (t) => {
    t.throws(() => pointWrite(place(point), value), { code: 'point_unwritable', message: why })
  })

t.test('a bit of a register with its bytes the other way round is the same bit', async (t) => {
  t.match(pointWrite(place({ type: 'bit', bit: 1, isLittleBytes: true }), true), { and_mask: 0xfdff, or_mask: 0x200 })
})

t.test('an address names a port and points', async (t) => {
  const one = (address: string, port = '') => readPointAddress(address, port)
  t.strictSame(one('/dev/ttyUSB0#relay 1'), { port: '/dev/ttyUSB0', links: [{ field: null, point: 'relay 1' }] })
  t.strictSame(one('#a=b=c', '/dev/ttyS1'), { port: '/dev/ttyS1', links: [{ field: 'a', point: 'b=c' }] })
  t.strictSame(one('relay 1', '/dev/ttyS1'), one('/dev/ttyS1#relay 1'), 'where the device names the line')
  t.strictSame(one('x#on=1%3B2;A=b#').links, [
    { field: 'on', point: '1;2' },
    { field: null, point: 'A=b#' },
  ])
  for (const wrong of ['', 'relay', '#relay', 'x#', 'x#on=', 'x#%', `x#${'a;'.repeat(20)}`])
    t.throws(() => one(wrong), { code: 'point_address' }, wrong)
})

t.test('what is no message of a gateway is none', async (t) => {
  const read = (text: string | Uint8Array) => readGatewayMessage(typeof text === 'string' ? Buffer.from(text) : text)
  for (const wrong of ['', '[]', '7', '{', '{}', '{"port":1,"event":"value"}', Uint8Array.of(0x22, 0xff, 0x22)])
    t.equal(read(wrong), undefined, String(wrong))
  t.strictSame(read('{"port":"p","event":"frame","payload":{}}'), { kind: 'other' })
  t.equal(read('{"port":"p","event":"value","timestamp":1,"payload":{"name":"a"}}'), undefined, 'without a quality')
  t.equal(readPortPoints(Buffer.from('{"points":{}}')), undefined)
  const odd = '{"points":[null,{"name":"a","quality":"good","value":1e999},{"name":7},{"name":"b","type":"u99"}]}'
  t.strictSame(readPortPoints(Buffer.from(odd)), {
    readings: [{ name: 'a', value: null, unit: null, quality: 'good', fault: null }],
    places: [],
    saidAt: null,
  })
  const read3 =
    '{"points":[{"readAt":9000,"ageMs":900},{"readAt":5000,"ageMs":20},{"readAt":"x","ageMs":1},{"ageMs":0}]}'
  t.equal(readPortPoints(Buffer.from(read3))?.saidAt, 5019, 'by the point that was read last')
})
