/** The first phase of USB/IP, both ways. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import {
  type DeviceRecord,
  deviceBytes,
  devlistReply,
  importReply,
  interfaceBytes,
  type ListedDevice,
  OP_CODE,
  OP_STATUS,
  type OpRequest,
  type OpStatus,
  openDevice,
  openDevlistReply,
  openHeader,
  openImportReply,
  opHeader,
  readOpRequest,
  requestBytes,
  requestBytesOf,
  speedCode,
  statusOf,
} from '../../wire/op.ts'
import { isBusId } from '../../wire/usb.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const byte = fc.integer({ min: 0, max: 0xff })
const word = fc.integer({ min: 0, max: 0xffff })
const long = fc.integer({ min: 0, max: 0xffff_ffff })
const port = fc.integer({ min: 1, max: 255 })
const busId = fc
  .tuple(port, fc.array(port, { minLength: 1, maxLength: 6 }))
  .map(([bus, ports]) => `${bus}-${ports.join('.')}`)
const record: fc.Arbitrary<DeviceRecord> = fc.record(
  {
    path: fc.stringMatching(/^\/sys\/devices\/[a-z0-9/:.-]{0,200}$/),
    busId,
    busNumber: long,
    deviceNumber: long,
    speed: long,
    vendorId: word,
    productId: word,
    bcdDevice: word,
    deviceClass: byte,
    deviceSubClass: byte,
    deviceProtocol: byte,
    configurationValue: byte,
    configurations: byte,
    interfaces: byte,
  },
  { noNullPrototype: true },
)
const listed: fc.Arbitrary<ListedDevice> = record.chain((device) =>
  fc
    .array(
      fc.record({ interfaceClass: byte, interfaceSubClass: byte, interfaceProtocol: byte }, { noNullPrototype: true }),
      {
        minLength: device.interfaces,
        maxLength: device.interfaces,
      },
    )
    .map((interfaces) => ({ device, interfaces })),
)
const request: fc.Arbitrary<OpRequest> = fc.oneof(
  fc.constant({ kind: 'devlist' as const }),
  busId.map((id) => ({ kind: 'import' as const, busId: id })),
)

/** Runs a decoder on hostile bytes: it decodes them or refuses them with a Fault, and nothing else. */
function onlyFaults(decode: (bytes: Uint8Array) => unknown, bytes: Uint8Array): void {
  try {
    decode(bytes)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
}
const decoders = {
  openHeader,
  openRequest: readOpRequest,
  requestBytesOf,
  openDevice,
  openDevlistReply,
  openImportReply,
}

t.test('a request for the list is the header of the standard', (t) => {
  t.equal(hex(requestBytes({ kind: 'devlist' })), '0111800500000000')
  t.same(readOpRequest(Buffer.from('0111800500000000', 'hex')), { kind: 'devlist' })
  t.end()
})

t.test('an import is the header of the standard and 32 bytes of bus id', (t) => {
  const bytes = requestBytes({ kind: 'import', busId: '1-1.4' })
  t.equal(hex(bytes), `0111800300000000${Buffer.from('1-1.4').toString('hex')}${'00'.repeat(27)}`)
  t.same(readOpRequest(bytes), { kind: 'import', busId: '1-1.4' })
  t.end()
})

t.test('the first 8 bytes say how much is to be read', (t) => {
  t.equal(requestBytesOf(requestBytes({ kind: 'devlist' })), 8)
  t.equal(requestBytesOf(requestBytes({ kind: 'import', busId: '1-1' }).subarray(0, 8)), 40)
  t.throws(() => requestBytesOf(Buffer.from('GET / HT')), { code: 'usbip_version' })
  t.throws(() => requestBytesOf(opHeader(OP_CODE.replyImport)), { code: 'usbip_code' })
  t.throws(() => requestBytesOf(new Uint8Array(7)), { code: 'usbip_short' })
  t.end()
})

t.test('an import names a place of the bus and nothing else', (t) => {
  const named = (text: string) => {
    const bytes = requestBytes({ kind: 'import', busId: '1-1' })
    bytes.fill(0, 8)
    bytes.set(Buffer.from(text).subarray(0, 32), 8)
    return bytes
  }
  for (const text of ['', '../../etc', 'usb1', '1-1:1.0', '1-', '-1', '1-0', '1-1.', '1-1/..', '1'.repeat(32)])
    t.throws(() => readOpRequest(named(text)), { code: 'usbip_bus_id' }, text)
  t.same(readOpRequest(named('1-1\0rubbish')), { kind: 'import', busId: '1-1' }, 'bytes after the end are ignored')
  t.end()
})

t.test('a device is 312 bytes, each number in its place', (t) => {
  const bytes = deviceBytes({
    path: '/sys/devices/pci0000:00/usb1/1-1',
    busId: '1-1',
    busNumber: 1,
    deviceNumber: 2,
    speed: 3,
    vendorId: 0x0403,
    productId: 0x6001,
    bcdDevice: 0x0600,
    deviceClass: 0xff,
    deviceSubClass: 1,
    deviceProtocol: 2,
    configurationValue: 4,
    configurations: 5,
    interfaces: 6,
  })
  t.equal(bytes.length, 312)
  t.equal(hex(bytes.subarray(288)), '0000000100000002000000030403600106 00ff0102040506'.replace(' ', ''))
  t.end()
})

t.test('an interface is 4 bytes', (t) => {
  t.equal(hex(interfaceBytes({ interfaceClass: 8, interfaceSubClass: 6, interfaceProtocol: 80 })), '08065000')
  t.end()
})

t.test('speeds are those of the kernel', (t) => {
  t.same([1.5, 12, 480, 5000, 10_000, 20_000, 7, null].map(speedCode), [1, 2, 3, 5, 6, 6, 0, 0])
  t.end()
})

t.test('a path that is too long is cut, and still has an end', (t) => {
  const device = { ...openDevice(new Uint8Array(312)), path: 'x'.repeat(1000), busId: 'y'.repeat(100) }
  t.same(openDevice(deviceBytes(device)), { ...device, path: 'x'.repeat(255), busId: 'y'.repeat(31) })
  t.end()
})

t.test('a list has as many interfaces as its devices say, whatever was found', (t) => {
  const device = { ...openDevice(new Uint8Array(312)), interfaces: 2 }
  const one = { interfaceClass: 3, interfaceSubClass: 1, interfaceProtocol: 1 }
  const none = { interfaceClass: 0, interfaceSubClass: 0, interfaceProtocol: 0 }
  t.same(openDevlistReply(devlistReply([{ device, interfaces: [one] }]))[0]?.interfaces, [one, none])
  t.same(openDevlistReply(devlistReply([{ device, interfaces: [one, one, one] }]))[0]?.interfaces, [one, one])
  t.end()
})

t.test('every status has the number of the standard, and an unknown number is an error', (t) => {
  const numbers: [OpStatus, number][] = [
    ['ok', 0],
    ['not_available', 1],
    ['busy', 2],
    ['device_error', 3],
    ['no_device', 4],
    ['error', 5],
  ]
  for (const [name, number] of numbers) {
    t.equal(OP_STATUS[name], number)
    t.equal(statusOf(number), name)
  }
  t.equal(statusOf(77), 'error')
  t.equal(hex(importReply('busy')), '0111000300000002')
  t.same(openImportReply(importReply('busy')), { status: 'busy' })
  t.end()
})

t.test('round trip of requests and replies', (t) => {
  holds(
    t,
    fc.property(request, (one) => isDeepStrictEqual(readOpRequest(requestBytes(one)), one)),
  )
  holds(
    t,
    fc.property(fc.array(listed, { maxLength: 4 }), (devices) =>
      isDeepStrictEqual(openDevlistReply(devlistReply(devices)), devices),
    ),
  )
  holds(
    t,
    fc.property(record, (device) =>
      isDeepStrictEqual(openImportReply(importReply('ok', device)), { status: 'ok', device }),
    ),
  )
  t.end()
})

t.test('every accepted bus id is valid', (t) => {
  holds(
    t,
    fc.property(busId, (id) => isBusId(id) === id.length < 32),
  )
  holds(
    t,
    fc.property(fc.string(), (text) => !isBusId(text) || /^[\d.-]+$/.test(text)),
  )
  t.end()
})

t.test('every truncation is refused with a Fault', (t) => {
  const whole = devlistReply([{ device: { ...openDevice(new Uint8Array(312)), interfaces: 2 }, interfaces: [] }])
  for (let length = 0; length < whole.length; length++)
    t.throws(() => openDevlistReply(whole.subarray(0, length)), Fault)
  const asked = requestBytes({ kind: 'import', busId: '3-2.1' })
  for (let length = 0; length < asked.length; length++) t.throws(() => readOpRequest(asked.subarray(0, length)), Fault)
  const reply = importReply('ok', openDevice(new Uint8Array(312)))
  for (let length = 0; length < reply.length; length++)
    t.throws(() => openImportReply(reply.subarray(0, length)), Fault)
  t.end()
})

t.test('random bytes and changed messages throw nothing but a Fault', (t) => {
  const real = fc.oneof(
    request.map(requestBytes),
    fc.array(listed, { maxLength: 2 }).map(devlistReply),
    record.map((device) => importReply('ok', device)),
  )
  const changed = fc.tuple(real, fc.array(fc.tuple(fc.nat(2000), byte), { maxLength: 8 })).map(([bytes, changes]) => {
    const copy = bytes.slice()
    for (const [at, value] of changes) copy[at % copy.length] = value
    return copy
  })
  for (const decode of Object.values(decoders)) {
    holds(
      t,
      fc.property(fc.uint8Array({ maxLength: 700 }), (bytes) => onlyFaults(decode, bytes)),
    )
    holds(
      t,
      fc.property(changed, (bytes) => onlyFaults(decode, bytes)),
    )
  }
  t.end()
})
