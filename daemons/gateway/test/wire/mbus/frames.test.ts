import fc from 'fast-check'
import t from 'tap'
import {
  frameLength,
  initFrame,
  isWholeFrame,
  LONGEST_FRAME,
  openLongFrame,
  openMasterFrame,
  readFrame,
  responseFrame,
  selectFrame,
} from '../../../wire/mbus/frames.ts'
import {
  bcdDigits,
  isMeantBy,
  manufacturerBytes,
  manufacturerName,
  mediumName,
  secondaryBytes,
  secondaryOf,
  secondaryOfBytes,
  wholeSecondary,
} from '../../../wire/mbus/identity.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex').toUpperCase()
const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'))

t.test('the requests of EN 13757-2 have the bytes that it shows', async (t) => {
  t.equal(hex(initFrame(1)), '1040014116')
  t.equal(hex(readFrame(1, true)), '107B017C16')
  t.equal(hex(readFrame(1, false)), '105B015C16')
  t.equal(hex(selectFrame(secondaryBytes('12345678'))), '680B0B6853FD5278563412FFFFFFFFB216')
})

t.test('a frame is whole only with its checksum, its stop byte and its two lengths', async (t) => {
  const frame = responseFrame(5, 0x72, bytesOf('78563412'))
  t.ok(isWholeFrame(frame))
  t.same(openLongFrame(frame), { control: 8, address: 5, ci: 0x72, data: bytesOf('78563412') })
  for (let at = 0; at < frame.length; at++) {
    t.notOk(isWholeFrame(frame.map((byte, index) => (index === at ? byte ^ 0x04 : byte))), `byte ${at}`)
    t.notOk(isWholeFrame(frame.subarray(0, at)), `${at} bytes`)
  }
  t.ok(isWholeFrame(Uint8Array.of(0xe5)))
  t.notOk(isWholeFrame(Uint8Array.of(0xe5, 0xe5)))
  t.equal(frameLength(bytesOf('68')), 'more')
  t.equal(frameLength(bytesOf('680303')), 'more')
  t.equal(frameLength(bytesOf('680202')), 'impossible')
  t.equal(frameLength(bytesOf('680304')), 'impossible')
  t.equal(frameLength(bytesOf('68030369')), 'impossible')
  t.equal(frameLength(bytesOf('68FFFF68')), LONGEST_FRAME)
  t.equal(frameLength(bytesOf('17')), 'impossible')
})

t.test('what a master asks is read back', async (t) => {
  t.same(openMasterFrame(initFrame(7)), { kind: 'init', address: 7, frameCountBit: false })
  t.same(openMasterFrame(readFrame(253, true)), { kind: 'read', address: 253, frameCountBit: true })
  const secondary = secondaryBytes('1234567824400107')
  t.same(openMasterFrame(selectFrame(secondary)), { kind: 'select', secondary })
  t.equal(openMasterFrame(responseFrame(1, 0x72, secondary)), undefined)
  t.equal(openMasterFrame(Uint8Array.of(0xe5)), undefined)
})

t.test('random bytes never throw, and a random frame is what was put into it', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      frameLength(bytes)
      isWholeFrame(bytes)
      openMasterFrame(bytes)
      openLongFrame(bytes)
    }),
    { numRuns: 2000 },
  )
  const byte = fc.integer({ min: 0, max: 255 })
  fc.assert(
    fc.property(byte, byte, fc.uint8Array({ maxLength: 252 }), (address, ci, data) => {
      const frame = responseFrame(address, ci, data)
      const opened = openLongFrame(frame)
      return isWholeFrame(frame) && opened?.address === address && opened.ci === ci && hex(opened.data) === hex(data)
    }),
  )
})

t.test('a secondary address is written as people do, and selects by wildcards', async (t) => {
  const meter = { id: '12345678', manufacturer: 'PAD', version: 1, medium: { code: 7, name: 'water' } }
  t.equal(secondaryOf(meter), '1234567824400107')
  t.equal(hex(secondaryBytes('1234567824400107')), '7856341224400107')
  t.equal(secondaryOfBytes(secondaryBytes('1234567824400107')), '1234567824400107')
  t.equal(wholeSecondary('1234567a'), '1234567AFFFFFFFF')
  t.same(manufacturerBytes('PAD'), [0x24, 0x40])
  t.equal(manufacturerName(0x24, 0x40), 'PAD')
  t.equal(bcdDigits(bytesOf('78563412')), '12345678')
  t.equal(mediumName(7), 'water')
  t.equal(mediumName(0x99), 'medium 153')
  for (const mask of ['12345678', 'FFFFFFFF', '1FFFFFF8', '12345678FFFFFF07', '123456782440FFFF'])
    t.ok(isMeantBy(mask, meter), mask)
  for (const mask of ['12345679', '2FFFFFFF', '12345678FFFFFF04', '123456782D2CFFFF', '12345678FFFF02FF'])
    t.notOk(isMeantBy(mask, meter), mask)
  const fixed = { ...meter, manufacturer: null, version: null }
  t.ok(isMeantBy('12345678FFFFFF04', fixed), 'the fixed structure names the number alone')
})
