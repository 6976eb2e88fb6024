/** Tests of http/check.ts. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { readForm } from '../../http/check.ts'
import { anyText } from '../any-text.ts'

const read = (text: string, maxFields = 16) => readForm(Buffer.from(text, 'latin1'), maxFields)
const fieldsOf = (text: string) => ({ ...read(text).fields })

/** The code and the place of what it throws. */
function refusal(text: string, maxFields?: number): unknown {
  try {
    return read(text, maxFields)
  } catch (error) {
    return error instanceof Fault ? [error.code, error.details?.position] : error
  }
}

t.test('reads names and values, plus as a blank, and distinguishes empty from absent', async (t) => {
  t.same(fieldsOf('name=Lobby+ceiling&label=&mode=raw'), { name: 'Lobby ceiling', label: '', mode: 'raw' })
  t.same(fieldsOf('a=b=c&%3D=%26&u=%C3%BC%F0%9F%94%8A'), { a: 'b=c', '=': '&', u: 'ü🔊' })
  t.same(fieldsOf('on'), { on: '' })
  t.same(fieldsOf(''), {})
  t.same(fieldsOf('&&a=1&'), { a: '1' })
})

t.test('names from a prototype are ordinary names', async (t) => {
  const { fields, faults } = read('constructor=1&__proto__=2&toString=3')
  t.same(Object.entries(fields), [
    ['constructor', '1'],
    ['__proto__', '2'],
    ['toString', '3'],
  ])
  t.same(faults, [])
})

t.test('a duplicate name is a fault of that name, whatever its spelling', async (t) => {
  t.match(read('a=1&b=2&%61=1&b=3&b=4').faults, [{ field: 'a' }, { field: 'b' }])
})

t.test('input that a lenient reader would guess at is refused with its position', async (t) => {
  t.same(refusal('a=1&b=%4'), ['bad_form', 7])
  t.same(refusal('a=%zz'), ['bad_form', 3])
  t.same(refusal('%'), ['bad_form', 1])
  t.same(refusal('a=%FF'), ['bad_form', 3], 'a byte that is not UTF-8')
  t.same(refusal('a=\xff'), ['bad_form', 3], 'the same without an escape')
  t.same(refusal('a=%C3'), ['bad_form', 3], 'a character cut off')
  t.same(refusal('a=%ED%A0%80'), ['bad_form', 3], 'half of a pair of surrogates')
  t.same(refusal('a=b%00c'), ['bad_form', 3])
  t.same(refusal('=1'), ['bad_form', 1])
})

t.test('no more fields than allowed are read', async (t) => {
  t.equal(Object.keys(read('a&b&c', 3).fields).length, 3)
  t.same(refusal('a&b&c&d', 3), ['bad_form', 7])
  t.same(refusal('a&a&a&a', 3), ['bad_form', 7], 'the same one counts each time')
})

t.test('the output of URLSearchParams is read back', async (t) => {
  fc.assert(
    fc.property(fc.dictionary(anyText({ minLength: 1 }), anyText()), (given) => {
      const pairs = Object.entries(given).map(([name, value]) => [name.toWellFormed(), value.toWellFormed()])
      if (pairs.flat().some((text) => text?.includes('\0'))) return
      const form = readForm(Buffer.from(`${new URLSearchParams(pairs)}`), 1000)
      const expected = Object.fromEntries(pairs)
      if (form.faults.length === 0) t.same({ ...form.fields }, expected)
    }),
  )
})

t.test('random bytes throw nothing but a Fault', async () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.stringMatching(/^[a-c%&=+0-9F]{0,40}$/).map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(bytes, (given) => {
      try {
        readForm(given, 8)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
  )
})
