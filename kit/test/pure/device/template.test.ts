/** Tests of kit/pure/device/template.ts: what templates become, and what they refuse. */
import fc from 'fast-check'
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import { encodeTemplate, literalBytes, parseTemplate, type WireValue } from '#kit/pure/device/template.ts'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '../../holds.ts'

function encoded(template: string, values: Record<string, WireValue> = {}): string {
  return Buffer.from(encodeTemplate(parseTemplate(template), new Map(Object.entries(values)))).toString('latin1')
}

t.test('characters are bytes, hex stands between {# and }, and doubled braces are braces', async (t) => {
  t.equal(hexOf(literalBytes('A{#0D 0a}{{}}\u00ff')), '41 0D 0A 7B 7D FF')
  t.equal(hexOf(literalBytes('{#}')), '')
})

t.test('each filter writes what its name says', async (t) => {
  const rows: [string, WireValue, string][] = [
    ['{v}', 40, '40'],
    ['{v|pad:3}', 7, '007'],
    ['{v|pad:4}', -7, '-007'],
    ['{v|pad:4: }', 7, '   7'],
    ['{v|fill:4}', 'ab', 'ab  '],
    ['{v|hex:2}', 171, 'AB'],
    ['{v|hex:2|lower}', 171, 'ab'],
    ['{v|byte}', 255, '\xff'],
    ['{v|word}', 0x0102, '\x01\x02'],
    ['{v|word_low}', 0x0102, '\x02\x01'],
    ['{v|add:110|times:10|round|pad:4}', -20.5, '0895'],
    ['{v|times:0.1|fixed:1}', 3, '0.3'],
    ['{v|upper}', 'on\xe4', 'ON\xe4'],
  ]
  for (const [template, v, text] of rows) t.equal(encoded(template, { v }), text, template)
})

t.test('a value that does not fit is refused instead of cut', async (t) => {
  const rows: [string, WireValue][] = [
    ['{v|pad:2}', 100],
    ['{v|hex:2}', 256],
    ['{v|hex:2}', -1],
    ['{v|byte}', 256],
    ['{v|byte}', 1.5],
    ['{v|fill:1}', 'ab'],
    ['{w}', 1],
  ]
  for (const [template, v] of rows) t.throws(() => encoded(template, { v }), { code: 'command_args' }, template)
})

t.test('what is no template is refused with its position', async (t) => {
  const rows: [string, RegExp][] = [
    ['A{v', /character 2: a brace is not closed/],
    ['A}', /character 2: a brace closes nothing/],
    ['{#0}', /character 1: the text ends in the middle of a pair/],
    ['{V}', /"V" is not a name/],
    ['{v|uper}', /no filter "uper", the nearest is upper/],
    ['{v|pad}', /the filter pad has 0 arguments, expected 1 to 2/],
    ['{v|add:x}', /the filter add has "x", expected a number/],
    ['{v|pad:3:ab}', /expected one printable character/],
    ['\u20ac', /is not one byte/],
  ]
  for (const [template, message] of rows)
    t.throws(() => parseTemplate(template), { code: 'device_text', message }, template)
})

t.test('any text is a template or a Fault, and what it becomes has a bound', async (t) => {
  const piece = fc.constantFrom('{', '}', '{#', '|', ':', 'v', 'pad', '3', 'hex', 'byte', 'word', ' ', '0D', '\u20ac')
  holds(
    t,
    fc.property(
      fc.array(piece, { maxLength: 30 }),
      fc.oneof(fc.double(), fc.string({ maxLength: 20 })),
      (pieces, v) => {
        try {
          encodeTemplate(parseTemplate(pieces.join('')), new Map([['v', v]]))
        } catch (error) {
          if (!(error instanceof Fault)) throw error
        }
      },
    ),
    { numRuns: 2000 },
  )
})
