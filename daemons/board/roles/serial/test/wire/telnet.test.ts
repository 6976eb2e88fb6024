/** How data, option requests and suboptions are written. */
import fc from 'fast-check'
import t from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { holds } from '#kit/test/holds.ts'
import {
  commandFrame,
  createCrNulReader,
  doubledIac,
  OPTION,
  optionFrame,
  suboptionFrame,
  TELNET,
  withCrNul,
} from '../../wire/telnet.ts'

t.test('RFC 854 an FF in data is sent twice, and data without one is the same array', async (t) => {
  t.equal(hexOf(doubledIac(bytesOfHex('FF 00 FF FF 41'))), 'FF FF 00 FF FF FF FF 41')
  const plain = bytesOfHex('00 0D 0A FE')
  t.equal(doubledIac(plain), plain)
  t.equal(hexOf(doubledIac(new Uint8Array(0))), '')
})

t.test('RFC 855 frames are three bytes for an option, and a suboption doubles FF within', async (t) => {
  t.equal(hexOf(optionFrame('will', OPTION.binary)), 'FF FB 00')
  t.equal(hexOf(optionFrame('wont', 77)), 'FF FC 4D')
  t.equal(hexOf(optionFrame('do', OPTION.comPort)), 'FF FD 2C')
  t.equal(hexOf(optionFrame('dont', OPTION.sga)), 'FF FE 03')
  t.equal(hexOf(suboptionFrame(OPTION.comPort, bytesOfHex('01 FF 00'))), 'FF FA 2C 01 FF FF 00 FF F0')
  t.equal(hexOf(commandFrame(TELNET.nop)), 'FF F1')
})

t.test('RFC 854 without BINARY a CR is followed by LF or NUL, and read back as it was', async (t) => {
  t.equal(hexOf(withCrNul(bytesOfHex('41 0D 0A 0D 42 0D'))), '41 0D 0A 0D 00 42 0D 00')
  const plain = bytesOfHex('41 0A 00')
  t.equal(withCrNul(plain), plain)
  const data = fc.uint8Array({ maxLength: 40 })
  holds(
    t,
    fc.property(data, fc.nat(40), (bytes, cut) => {
      const sent = withCrNul(bytes)
      const read = createCrNulReader()
      const got = [...read(sent.slice(0, cut)), ...read(sent.slice(cut))]
      // A NUL after the CR LF of the data is never dropped: it does not follow a CR.
      return hexOf(Uint8Array.from(got)) === hexOf(bytes)
    }),
  )
})
