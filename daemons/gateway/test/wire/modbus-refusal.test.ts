import fc from 'fast-check'
import t from 'tap'
import { bytesOfHex } from '#kit/pure/bytes.ts'
import { holds } from '#kit/test/holds.ts'
import { judgeRequest } from '../../wire/modbus-reply.ts'
import { sealed } from '../../wire/modbus-request.ts'

function refusalOf(frame: Uint8Array): number | null {
  const judged = judgeRequest(frame)
  return typeof judged === 'number' ? judged : null
}
const refusal = (hex: string) => refusalOf(sealed(bytesOfHex(hex)))

t.test('accepts every function at its smallest and its largest', async (t) => {
  for (const hex of [
    '01 01 00 00 00 01',
    '01 02 00 00 07 D0',
    '01 03 FF FF 00 01',
    '01 04 00 00 00 7D',
    '01 05 00 00 FF 00',
    '01 05 00 00 00 00',
    '01 06 00 00 FF FF',
    '01 0F 00 00 00 09 02 FF 01',
    '01 10 00 00 00 01 02 00 07',
    '01 16 00 04 00 F2 00 25',
    '01 17 00 03 00 06 00 0E 00 01 02 00 FF',
    '01 2B 0E 01 00',
    '01 2B 0E 04 FF',
    'F7 03 00 00 00 01',
    '00 06 00 01 00 03',
    '00 10 00 00 00 01 02 00 07',
  ])
    t.equal(refusal(hex), null, hex)
})

t.test('Application Protocol V1.1b3 7: 1 for a function that is not known here, also within 43', async (t) => {
  for (const hex of ['01 07', '01 00', '01 14 07', '01 2B 0D 00', '01 83 02', '01 FF', '00 08 00 00 00 00'])
    t.equal(refusal(hex), 1, hex)
})

t.test(
  '6.1 to 6.21: 3 for a quantity or a value that the function does not allow, and for too few or too many bytes',
  async (t) => {
    for (const hex of [
      '01 03 00 00 00 00',
      '01 03 00 00 00 7E',
      '01 01 00 00 07 D1',
      '01 05 00 00 12 34',
      '01 0F 00 00 00 09 01 FF',
      '01 10 00 00 00 00 00',
      '01 10 00 00 00 02 02 00 07',
      '01 17 00 03 00 7E 00 0E 00 01 02 00 FF',
      '01 17 00 03 00 01 00 0E 00 00 00',
      '01 2B 0E 00 00',
      '01 2B 0E 05 00',
      '01 2B',
      '01 03',
      '01 03 00 00 00',
      '01 03 00 00 00 01 00',
    ])
      t.equal(refusal(hex), 3, hex)
    const tooMany = [1, 0x17, 0, 0, 0, 1, 0, 0, 0, 122, 244, ...Array.from({ length: 243 }, () => 0)]
    t.equal(refusalOf(sealed(tooMany)), 3, '122 registers by function 23')
  },
)

t.test('2 for a range beyond address 65535, which a unit might take for its first registers', async (t) => {
  t.equal(refusal('01 03 FF FF 00 02'), 2)
  t.equal(refusal('01 10 FF FF 00 02 04 00 01 00 02'), 2)
  t.equal(refusal('01 17 00 00 00 01 FF FF 00 02 04 00 01 00 02'), 2)
})

t.test('10 for a unit number that no line has, and for a broadcast that needs an answer', async (t) => {
  for (const unitId of ['F8', 'FE', 'FF']) t.equal(refusal(`${unitId} 03 00 00 00 01`), 10, unitId)
  for (const hex of ['00 03 00 00 00 01', '00 2B 0E 01 00', '00 17 00 03 00 06 00 0E 00 01 02 00 FF'])
    t.equal(refusal(hex), 10, hex)
})

t.test('whatever the bytes, there is an answer', async (t) => {
  holds(
    t,
    fc.property(fc.uint8Array({ minLength: 2, maxLength: 254 }), (body) =>
      [null, 1, 2, 3, 10].includes(refusalOf(sealed(body))),
    ),
  )
})
