/** Hex text: round trip, accepted forms, and where it is wrong. */
import fc from 'fast-check'
import { t } from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { anyText } from '../any-text.ts'

t.test('writes upper-case pairs with spaces', async (t) => {
  t.equal(hexOf(Uint8Array.of(0x01, 0xab, 0xff, 0)), '01 AB FF 00')
  t.equal(hexOf(new Uint8Array()), '')
})

t.test('reads back what it wrote', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      return Buffer.compare(bytesOfHex(hexOf(bytes)), bytes) === 0
    }),
  )
})

t.test('reads lower case and many spaces', async (t) => {
  t.same([...bytesOfHex('01 ab FF')], [1, 0xab, 0xff])
  t.same([...bytesOfHex('  01  ab ')], [1, 0xab])
  t.same([...bytesOfHex('')], [])
})

t.test('names the character that is not a digit and its position', async (t) => {
  t.throws(() => bytesOfHex('01 0G'), {
    code: 'bad_hex',
    message: /"G" at position 5 is not a hex digit/,
    details: { position: 5 },
  })
  t.throws(() => bytesOfHex('0x01'), { message: /"x" at position 2/ })
  t.throws(() => bytesOfHex('01,02'), { message: /"," at position 3/ })
  t.throws(() => bytesOfHex('0 1'), { message: /" " at position 2/ })
  t.throws(() => bytesOfHex('01\n02'), { message: /"\\n" at position 3/ })
  t.throws(() => bytesOfHex('😀'), { message: /"😀" at position 1/ })
})

t.test('refuses pairs without a space, at the position where the second begins', async (t) => {
  t.throws(() => bytesOfHex('01ab FF'), {
    code: 'bad_hex',
    message: /"a" at position 3 follows a pair without a space/,
    details: { position: 3 },
  })
  t.throws(() => bytesOfHex('01 abF'), { message: /"F" at position 6 follows/ })
})

t.test('refuses half a pair at the end', async (t) => {
  t.throws(() => bytesOfHex('01 0'), { code: 'bad_hex', message: /ends in the middle of a pair, at position 4/ })
})

t.test('throws nothing but a Fault, whatever the text', async () => {
  fc.assert(
    fc.property(anyText({ maxLength: 64 }), (text) => {
      try {
        bytesOfHex(text)
      } catch (error) {
        if (!(error instanceof Fault && error.code === 'bad_hex')) throw error
      }
    }),
  )
})
