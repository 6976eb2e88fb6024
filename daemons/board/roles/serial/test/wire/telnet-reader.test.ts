/** A Telnet stream taken apart: torn anywhere, broken, endless, random. */
import fc from 'fast-check'
import t from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import {
  commandFrame,
  createTelnetReader,
  doubledIac,
  type OptionVerb,
  optionFrame,
  suboptionFrame,
  type TelnetEvent,
} from '../../wire/telnet.ts'
import { recordedSession } from './recorded-session.ts'

const MOST_BYTES = 64

/** Events as text, with adjacent data joined: how a stream is cut must not show. */
function said(events: readonly TelnetEvent[]): string[] {
  const lines: string[] = []
  let data = ''
  const flush = () => {
    if (data !== '') lines.push(`data ${data}`)
    data = ''
  }
  for (const event of events) {
    if (event.kind === 'data') {
      data += hexOf(event.bytes).replaceAll(' ', '')
      continue
    }
    flush()
    if (event.kind === 'option') lines.push(`${event.verb} ${event.option}`)
    else if (event.kind === 'suboption') lines.push(`sub ${event.option} ${hexOf(event.payload)}`)
    else if (event.kind === 'command') lines.push(`command ${event.command}`)
    else lines.push(event.kind)
  }
  flush()
  return lines
}

function read(...pieces: Uint8Array[]): string[] {
  const reader = createTelnetReader(MOST_BYTES)
  return said(pieces.flatMap((piece) => [...reader.feed(piece)]))
}

const readHex = (hex: string) => read(bytesOfHex(hex))

t.test('RFC 854 a doubled FF is one byte of data, also if the stream is cut between the two', async (t) => {
  t.strictSame(readHex('41 FF FF 42'), ['data 41FF42'])
  t.strictSame(read(bytesOfHex('41 FF'), bytesOfHex('FF 42')), ['data 41FF42'])
})

t.test('RFC 855 option requests, suboptions and commands come in order with the data between them', async (t) => {
  t.strictSame(readHex('41 FF FB 2C 42 FF FA 2C 01 00 00 25 80 FF F0 43 FF F3 FF FD 00'), [
    'data 41',
    'will 44',
    'data 42',
    'sub 44 01 00 00 25 80',
    'data 43',
    'command 243',
    'do 0',
  ])
})

t.test('RFC 855 a doubled FF within a suboption is one byte of it', async (t) => {
  t.strictSame(readHex('FF FA 2C 0A FF FF FF F0'), ['sub 44 0A FF'])
  t.strictSame(readHex('FF FA 2C FF FF FF FF FF F0 FF'), ['sub 44 FF FF'])
})

t.test('a suboption that another command interrupts is dropped, and the command is handled', async (t) => {
  t.strictSame(readHex('FF FA 2C 01 00 FF FD 03 41'), ['broken', 'do 3', 'data 41'])
  t.strictSame(readHex('FF FA 2C 01 FF FA 2C 07 FF F0'), ['broken', 'sub 44 07'])
  t.strictSame(readHex('FF FA 2C 01 FF 00 41'), ['broken', 'command 0', 'data 41'])
})

t.test('an SE without a beginning and an empty suboption are not faults', async (t) => {
  t.strictSame(readHex('FF F0 41'), ['command 240', 'data 41'])
  t.strictSame(readHex('FF FA 2C FF F0'), ['sub 44 '])
})

t.test('a suboption at the limit of bytes is accepted, and one more ends the stream with a fault', async (t) => {
  const payload = new Uint8Array(MOST_BYTES).fill(7)
  t.strictSame(read(suboptionFrame(44, payload)), [`sub 44 ${hexOf(payload)}`])
  const endless = Uint8Array.of(255, 250, 44, ...new Uint8Array(MOST_BYTES + 1))
  t.throws(() => read(endless), { code: 'telnet_suboption_too_long' })
})

t.test('between two messages it says so, so that plain data can bypass it', async (t) => {
  const reader = createTelnetReader(MOST_BYTES)
  t.equal(reader.isBetween, true)
  for (const byte of bytesOfHex('41 FF FD 03 FF FA 2C 07 FF F0 42')) {
    const was = reader.isBetween
    Array.from(reader.feed(Uint8Array.of(byte)))
    t.equal(reader.isBetween, byte === 0x41 || byte === 0x42 || byte === 0x03 || byte === 0xf0, `${was} ${byte}`)
  }
})

const verb = fc.constantFrom<OptionVerb>('will', 'wont', 'do', 'dont')
const event: fc.Arbitrary<TelnetEvent> = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => ({ kind: 'data' as const, bytes })),
  fc.record({ kind: fc.constant('option' as const), verb, option: fc.nat(255) }),
  fc.record({
    kind: fc.constant('suboption' as const),
    option: fc.nat(255),
    payload: fc.uint8Array({ maxLength: MOST_BYTES }),
  }),
  fc.nat(249).map((command) => ({ kind: 'command' as const, command })),
)

function bytesOf(event: TelnetEvent): Uint8Array {
  if (event.kind === 'data') return doubledIac(event.bytes)
  if (event.kind === 'option') return optionFrame(event.verb, event.option)
  if (event.kind === 'suboption') return suboptionFrame(event.option, event.payload)
  return commandFrame(event.kind === 'command' ? event.command : 0)
}

/** The stream cut at these lengths. */
function torn(stream: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  let at = 0
  for (const length of lengths) {
    pieces.push(stream.slice(at, at + length))
    at += length
  }
  return [...pieces, stream.slice(at)]
}

t.test('the events are the same, however the stream is cut', async (t) => {
  holds(
    t,
    fc.property(fc.array(event, { maxLength: 8 }), fc.array(fc.nat(30), { maxLength: 10 }), (events, cuts) => {
      const stream = Uint8Array.from(events.flatMap((one) => [...bytesOf(one)]))
      return said(events).join('\n') === read(...torn(stream, cuts)).join('\n')
    }),
  )
})

t.test('a session of python3-serial with ser2net is the same, cut at every byte', async (t) => {
  for (const side of ['client', 'server'] as const) {
    const hex = recordedSession.filter(([who]) => who === side).map(([, bytes]) => bytes)
    const stream = bytesOfHex(hex.join(' '))
    const whole = read(stream)
    t.ok(whole.length > 50)
    t.notOk(whole.includes('broken'))
    for (let at = 0; at < stream.length; at++)
      if (read(stream.slice(0, at), stream.slice(at)).join() !== whole.join()) t.fail(`torn at ${at}`)
  }
})

const session = bytesOfHex(recordedSession.map(([, bytes]) => bytes).join(' '))

/** Feeds it in pieces. @returns false if it threw anything but a Fault, or more came out than went in */
function isBounded(stream: Uint8Array, cuts: readonly number[]): boolean {
  const reader = createTelnetReader(MOST_BYTES)
  let out = 0
  try {
    for (const piece of torn(stream, cuts))
      for (const one of reader.feed(piece)) {
        if (one.kind === 'data') out += one.bytes.length
        if (one.kind === 'suboption' && one.payload.length > MOST_BYTES) return false
      }
  } catch (error) {
    return error instanceof Fault
  }
  return out <= stream.length
}

t.test('random bytes throw nothing but a Fault, and nothing grows', async (t) => {
  const cuts = fc.array(fc.nat(200), { maxLength: 6 })
  const hostile = fc.array(fc.oneof(fc.constantFrom(255, 250, 240, 44, 253, 0), fc.nat(255)), { maxLength: 400 })
  holds(
    t,
    fc.property(hostile, cuts, (bytes, lengths) => isBounded(Uint8Array.from(bytes), lengths)),
  )
})

t.test('a recorded session with bytes turned, left out and put in throws nothing but a Fault', async (t) => {
  const change = fc.record({
    at: fc.nat(session.length - 1),
    how: fc.constantFrom('turn', 'cut', 'put'),
    byte: fc.nat(255),
  })
  holds(
    t,
    fc.property(fc.array(change, { minLength: 1, maxLength: 12 }), (changes) => {
      const bytes = [...session]
      for (const { at, how, byte } of changes) {
        if (how === 'turn') bytes[at % bytes.length] = byte
        else bytes.splice(at, how === 'cut' ? 1 : 0, ...(how === 'put' ? [byte] : []))
      }
      return isBounded(Uint8Array.from(bytes), [7, 100, 300])
    }),
  )
})
