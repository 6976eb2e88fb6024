/** Tests of kit/pure/device/pattern.ts: what patterns find, and that none takes long. */
import fc from 'fast-check'
import t from 'tap'
import { matchPattern, parsePattern } from '#kit/pure/device/pattern.ts'
import { Fault } from '#kit/pure/fault.ts'
import { cpuMsOf } from '../../cpu-time.ts'
import { holds } from '../../holds.ts'

const bytes = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0))

function found(pattern: string, frame: string, sent: Record<string, number | string> = {}) {
  const captured = matchPattern(parsePattern(pattern), bytes(frame), new Map(Object.entries(sent)))
  return captured && Object.fromEntries([...captured].map(([name, { text, number }]) => [name, number ?? text]))
}

t.test('finds values by what they are made of', async (t) => {
  const rows: [string, string, Record<string, unknown> | undefined][] = [
    ['VOL={v:digits}', 'VOL=040', { v: 40 }],
    ['VOL={v:digits}', 'VOL=', undefined],
    ['VOL={v:digits:2}', 'VOL=405', undefined],
    ['VOL={v:digits:2}5', 'VOL=405', { v: 40 }],
    ['S{ }{v:number} {u:text}', 'S   -12.50 kg', { v: -12.5, u: 'kg' }],
    ['{v:number}', '12.', undefined],
    ['{v:hex:2}', 'fF', { v: 255 }],
    ['{v:hex}', 'xyz', undefined],
    ['{#AA}{v:byte}{w:word}{x:word_low}', '\xaa\x05\x01\x02\x01\x02', { v: 5, w: 258, x: 513 }],
    ['{a:letters}{b:digits}', 'HDMI12', { a: 'HDMI', b: 12 }],
    ['{a:text},{b:text}', 'one,two,three', { a: 'one', b: 'two,three' }],
    ['{:text}OK', 'is it OK', {}],
    ['{:text}OK', 'is it OKAY', undefined],
    ['{a:text:4}', 'four', { a: 'four' }],
    ['{a:text:4}', 'five!', undefined],
    ['{ }', '', {}],
    ['{{{v:digits}}}', '{7}', { v: 7 }],
  ]
  for (const [pattern, frame, values] of rows) t.strictSame(found(pattern, frame), values, `${pattern} on ${frame}`)
})

t.test('compares with what was sent, as it was written', async (t) => {
  t.strictSame(found('a {=id|hex:2} OK{v:hex:2}', 'a 0A OK01', { id: 10 }), { v: 1 })
  t.equal(found('a {=id|hex:2} OK{v:hex:2}', 'a 0B OK01', { id: 10 }), undefined, 'another display')
  t.equal(found('a {=id} OK', 'a 1 OK'), undefined, 'nothing was sent')
  t.equal(found('a {=id|byte} OK', 'a 1 OK', { id: 999 }), undefined, 'a value that cannot be written')
})

t.test('what is no pattern is refused', async (t) => {
  const rows: [string, RegExp][] = [
    ['{v:number:2', /not closed/],
    ['{v:nmber}', /it can take digits/],
    ['{v:digits:0}', /the size 0 is not 1 to 64/],
    ['{v:byte:2}', /byte has its own size/],
    ['{v:digits}{v:digits}', /v is found twice/],
    ['{v:text}{w:digits}', /text without a size/],
  ]
  for (const [pattern, message] of rows)
    t.throws(() => parsePattern(pattern), { code: 'device_text', message }, pattern)
})

t.test('any pattern on any bytes gives values, nothing, or a Fault', async (t) => {
  const piece = fc.constantFrom(
    '{a:digits}',
    '{b:text}',
    '{c:hex:2}',
    '{d:number}',
    '{ }',
    '{=v|pad:3}',
    ',',
    'A',
    '{',
    '}',
    ':',
    '{e:byte}',
  )
  holds(
    t,
    fc.property(fc.array(piece, { maxLength: 12 }), fc.uint8Array({ maxLength: 64 }), (pieces, frame) => {
      try {
        matchPattern(parsePattern(pieces.join('')), frame, new Map([['v', 5]]))
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
    { numRuns: 3000 },
  )
})

t.test('the patterns that make a backtracking matcher hang cost what their length says', async (t) => {
  const hostile = parsePattern(`{:text}${'a'.repeat(200)}b{:text}`)
  const time = (length: number) => {
    const frame = bytes('a'.repeat(length))
    return cpuMsOf(() => {
      for (let i = 0; i < 20; i++) matchPattern(hostile, frame)
    })
  }
  time(1024)
  const [short, long] = [time(1024), time(16_384)]
  t.ok(long < 64 * (short + 1), `${short} ms for 1 kB, ${long} ms for 16 kB`)
})
