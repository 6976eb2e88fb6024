/** The page of a test read: which readings are about a typed value, and how one becomes the form of a point. */
import t from 'tap'
import { readingsOf } from '../../core/modbus/readings.ts'
import { draftOfWord, wordOfDraft } from '../../web/point-draft.ts'
import { foundOf } from '../../web/test-read-page.ts'

/** 230.1 as a single at 0 and with its halves swapped at 2, 2301 at 4, -12 at 5, B23 at 6. */
const registers = readingsOf({
  fc: 3,
  address: 0,
  values: [0x4366, 0x199a, 0x199a, 0x4366, 2301, 0xfff4, 0x4232, 0x3300],
})

function places(typed: string): string[] {
  return foundOf(registers, typed).map(
    ({ address, reading: { type, wordOrder, byteOrder }, scale }) =>
      `${address} ${type} ${wordOrder} ${byteOrder} ${scale}`,
  )
}

t.test('picks out the readings that are about the typed value, exact ones first', async (t) => {
  const found = places('230.3')
  t.strictSame(found.slice(0, 2), ['0 f32 big big 1', '2 f32 little big 1'])
  t.ok(found.includes('4 u16 big big 0.1'))
  t.strictSame(places('230,1').slice(0, 2), found.slice(0, 2), 'with a decimal comma')
  t.ok(places('-1.2').includes('5 s16 big big 0.1'))
  t.ok(places('b23').length === 0 && places('B23').includes('6 string big big 1'))
  t.strictSame(places(''), [])
  t.strictSame(places('0'), [])
})

t.test('what was chosen is in the address of the form, and nothing else of the address is', async (t) => {
  const draft = { unitId: 3, fc: 4, address: 7, type: 'f32', wordOrder: 'little', byteOrder: 'big' } as const
  const word = wordOfDraft({ ...draft, bit: null, length: null, scale: 0.1 })
  t.equal(word, 'unitId=3&fc=4&address=7&type=f32&wordOrder=little&byteOrder=big&scale=0.1')
  t.strictSame(draftOfWord(`${word}&name=x&pollMs=1`), {
    unitId: '3',
    fc: '4',
    address: '7',
    type: 'f32',
    wordOrder: 'little',
    byteOrder: 'big',
    scale: '0.1',
  })
  t.strictSame(draftOfWord('undefined'), {})
})
