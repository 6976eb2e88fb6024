/** RFC 2217 messages: the standard's codes, round trip, every truncation, invalid ones. */
import fc from 'fast-check'
import t from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import {
  COMMAND,
  CONTROL,
  type ComPortCommand,
  type ComPortMessage,
  comPortFrame,
  openComPort,
} from '../../wire/com-port.ts'
import { createTelnetReader } from '../../wire/telnet.ts'
import { recordedSession } from './recorded-session.ts'

const frame = (message: ComPortMessage) => hexOf(comPortFrame(message))

/** The bytes between SB 44 and SE of these frames. */
function payloads(stream: Uint8Array): Uint8Array[] {
  return [...createTelnetReader(64).feed(stream)].flatMap((event) =>
    event.kind === 'suboption' && event.option === 44 ? [event.payload] : [],
  )
}

t.test('RFC 2217, 2 a rate is four bytes in network order, the answer has 100 more', async (t) => {
  t.equal(frame({ from: 'client', command: 'baud', value: 9600 }), 'FF FA 2C 01 00 00 25 80 FF F0')
  t.equal(frame({ from: 'server', command: 'baud', value: 0 }), 'FF FA 2C 65 00 00 00 00 FF F0')
  t.equal(
    frame({ from: 'server', command: 'baud', value: 0xffff_ffff }),
    'FF FA 2C 65 FF FF FF FF FF FF FF FF FF F0',
    'each FF of a rate is doubled',
  )
  t.strictSame(openComPort(bytesOfHex('01 FF FF FF FF')), { from: 'client', command: 'baud', value: 4_294_967_295 })
})

t.test('RFC 2217, 2 and 3 every command has its number, from client and server', async (t) => {
  const numbers: [ComPortCommand, number][] = [
    ['signature', 0],
    ['baud', 1],
    ['dataBits', 2],
    ['parity', 3],
    ['stopBits', 4],
    ['control', 5],
    ['lineState', 6],
    ['modemState', 7],
    ['suspend', 8],
    ['resume', 9],
    ['lineStateMask', 10],
    ['modemStateMask', 11],
    ['purge', 12],
  ]
  t.strictSame(Object.entries(COMMAND), numbers)
  for (const [command, code] of numbers) {
    const bytes = [0, 0, 0, 3]
    t.equal(openComPort(Uint8Array.of(code, ...bytes)).command, command)
    t.match(openComPort(Uint8Array.of(code + 100, ...bytes)), { command, from: 'server' })
  }
  t.strictSame(
    Object.values(CONTROL),
    Array.from({ length: 20 }, (_, code) => code),
  )
})

t.test('RFC 2217 a signature is any text, FF doubled, and none asks for ours', async (t) => {
  const text = bytesOfHex('41 FF 42')
  t.equal(frame({ from: 'server', command: 'signature', text }), 'FF FA 2C 64 41 FF FF 42 FF F0')
  t.strictSame(openComPort(bytesOfHex('00')), { from: 'client', command: 'signature', text: new Uint8Array(0) })
})

t.test('RFC 2217, 4 a client asks for a state without a value', async (t) => {
  t.strictSame(openComPort(bytesOfHex('07')), { from: 'client', command: 'modemState', value: null })
  t.strictSame(openComPort(bytesOfHex('06')), { from: 'client', command: 'lineState', value: null })
  t.strictSame(openComPort(bytesOfHex('08')), { from: 'client', command: 'suspend', value: null })
  t.equal(frame({ from: 'server', command: 'resume', value: null }), 'FF FA 2C 6D FF F0')
})

t.test('bytes after a value are ignored: sredird sends four after a rate', async (t) => {
  t.match(openComPort(bytesOfHex('65 00 00 25 80 00 00 00 00')), { command: 'baud', value: 9600 })
})

t.test('a message that is too short or not a command is named', async (t) => {
  t.throws(() => openComPort(new Uint8Array(0)), { code: 'com_port_short' })
  for (const hex of ['01', '01 00', '01 00 00 25', '02', '03', '04', '05', '0A', '0B', '0C', '65 00 00'])
    t.throws(() => openComPort(bytesOfHex(hex)), { code: 'com_port_short' }, hex)
  for (const hex of ['0D 00', '63 00', '71 00', 'C8 00', 'FF 00'])
    t.throws(() => openComPort(bytesOfHex(hex)), { code: 'com_port_unknown' }, hex)
})

const from = fc.constantFrom<'client' | 'server'>('client', 'server')
const message: fc.Arbitrary<ComPortMessage> = fc.oneof(
  fc.record({ from, command: fc.constant('signature' as const), text: fc.uint8Array({ maxLength: 40 }) }),
  fc.record({ from, command: fc.constant('baud' as const), value: fc.nat(0xffff_ffff) }),
  fc.record({
    from,
    command: fc.constantFrom('dataBits', 'parity', 'stopBits', 'control', 'lineState', 'modemState', 'purge'),
    value: fc.nat(255),
  }),
  fc.record({ from, command: fc.constantFrom('lineStateMask', 'modemStateMask'), value: fc.nat(255) }),
  fc.record({ from, command: fc.constantFrom('suspend', 'resume', 'lineState'), value: fc.constant(null) }),
)

t.test('a framed message is opened again', async (t) => {
  holds(
    t,
    fc.property(message, (sent) => {
      const [payload = new Uint8Array(0)] = payloads(comPortFrame(sent))
      return JSON.stringify(openComPort(payload)) === JSON.stringify(sent)
    }),
  )
})

t.test('random bytes and every truncation throw nothing but a Fault', async (t) => {
  holds(
    t,
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      for (let length = 0; length <= bytes.length; length++) {
        try {
          const { command } = openComPort(bytes.slice(0, length))
          if (!(command in COMMAND)) return false
        } catch (error) {
          if (!(error instanceof Fault)) return false
        }
      }
      return true
    }),
  )
})

t.test('every message of a session of python3-serial with ser2net is opened, and framed as it was', async (t) => {
  const stream = bytesOfHex(recordedSession.map(([, bytes]) => bytes).join(' '))
  const found = payloads(stream)
  t.ok(found.length > 100, `${found.length} messages`)
  for (const payload of found)
    t.equal(hexOf(payloads(comPortFrame(openComPort(payload)))[0] ?? payload), hexOf(payload))
})
