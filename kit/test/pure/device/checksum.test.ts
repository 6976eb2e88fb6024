/** Tests of kit/pure/device/checksum.ts against the published check values. */
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import { type Checksum, checksumBytes, withoutChecksum } from '#kit/pure/device/checksum.ts'

const NINE = new TextEncoder().encode('123456789')

/** @source the check values of the CRC catalogue, of the text 123456789 */
const rows: [Checksum['kind'], string][] = [
  ['sum8', 'DD'],
  ['lrc', '23'],
  ['xor8', '31'],
  ['crc16-modbus', '4B 37'],
  ['crc-ccitt', '29 B1'],
  ['crc-xmodem', '31 C3'],
]

t.test('gives the check value of each kind', async (t) => {
  for (const [kind, value] of rows) t.equal(hexOf(checksumBytes({ kind, from: 0, form: 'high' }, NINE)), value, kind)
})

t.test('the low byte may come first, it may be written in digits, and bytes may be left out', async (t) => {
  t.equal(hexOf(checksumBytes({ kind: 'crc16-modbus', from: 0, form: 'low' }, NINE)), '37 4B')
  t.equal(Buffer.from(checksumBytes({ kind: 'sum8', from: 0, form: 'hex' }, NINE)).toString(), 'DD')
  t.equal(hexOf(checksumBytes({ kind: 'xor8', from: 8, form: 'high' }, NINE)), '39')
})

t.test('a message with another checksum is refused, and one that is too short too', async (t) => {
  const rule: Checksum = { kind: 'sum8', from: 0, form: 'high' }
  t.equal(hexOf(withoutChecksum(rule, Uint8Array.of(1, 2, 3))), '01 02')
  for (const bytes of [[1, 2, 4], [], [1]])
    t.throws(() => withoutChecksum(rule, Uint8Array.from(bytes)), { code: 'reply_checksum' })
})
