/** Tests of picture.ts. */
import t from 'tap'
import { Fault } from '../../pure/fault.ts'
import { isPictureName, PICTURE_KINDS, readPicture } from '../../pure/picture.ts'
import { chunk, exif, hugePng, jpeg, png, riff, segment, vp8, vp8l, vp8x, webp } from '../pictures.ts'

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')
const read = (bytes: Uint8Array) => readPicture(bytes, PICTURE_KINDS)
const why = (bytes: Uint8Array) => {
  try {
    read(bytes)
    return 'taken'
  } catch (fault) {
    return fault instanceof Fault && fault.code === 'picture_refused' ? fault.message : `threw ${fault}`
  }
}

t.test('reads the size of PNG, JPEG and WebP from their content, and gives the same picture again', async (t) => {
  const plain = png(30, 20)
  t.match(read(plain), { kind: 'png', width: 30, height: 20 })
  t.same(Buffer.from(read(plain).bytes), plain)
  t.match(read(jpeg(640, 480)), { kind: 'jpg', width: 640, height: 480 })
  t.same(Buffer.from(read(jpeg(640, 480)).bytes), jpeg(640, 480))
  for (const frame of [0xc1, 0xc2]) t.match(read(jpeg(5, 6, [], frame)), { width: 5, height: 6 })
  t.match(read(webp(vp8(320, 200))), { kind: 'webp', width: 320, height: 200 })
  t.match(read(webp(vp8l(4000, 3000))), { width: 4000, height: 3000 })
  t.match(read(webp(vp8x(320, 200, 0x10), riff('ALPH', Buffer.from([1])), vp8(320, 200))), { width: 320 })
  t.same(Buffer.from(read(webp(vp8(320, 200))).bytes), webp(vp8(320, 200)))
  t.match(read(hugePng(100_000, 100_000)), { width: 100_000 }, 'how large it may be is decided elsewhere')
})

t.test('leaves out texts, places, thumbnails and whatever stands behind the end', async (t) => {
  const note = Buffer.from('Comment\0<script>alert(1)</script>')
  const dirty = [
    png(3, 2, [chunk('tEXt', note), chunk('eXIf', note), chunk('acTL', Buffer.alloc(8))]),
    jpeg(3, 2, [segment(0xe0, 'JFIF\0'), segment(0xfe, note), segment(0xe2, note), exif(1)]),
    webp(vp8x(3, 2, 0x2c), vp8(3, 2), riff('EXIF', note), riff('XMP ', note)),
  ].map((bytes) => Buffer.concat([bytes, Buffer.from('PK<script>')]))
  for (const bytes of dirty) {
    const picture = read(bytes)
    t.notMatch(text(picture.bytes), /script|GPS|PK/, picture.kind)
    t.same(Buffer.from(read(picture.bytes).bytes), Buffer.from(picture.bytes), 'it is the same when read again')
  }
  t.equal(read(webp(vp8x(3, 2, 0x2c), vp8(3, 2))).bytes[20], 0, 'flags of what was left out are off')
})

t.test('keeps how a phone was held, and nothing else that it adds', async (t) => {
  for (const isLittle of [false, true])
    for (const turn of [1, 3, 6, 8]) {
      const { bytes, width, height } = read(jpeg(40, 30, [exif(turn, isLittle)]))
      t.same([width, height], turn >= 5 ? [30, 40] : [40, 30], `as it is shown, ${turn}`)
      t.equal(text(bytes).includes('Exif'), turn !== 1)
      t.match(read(bytes), { width, height })
    }
  t.match(read(jpeg(40, 30, [exif(77)])), { width: 40 }, 'one that is none is left out')
})

t.test('says what is sent instead of a picture, and why SVG is not taken', async (t) => {
  t.match(why(Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>')), /SVG.*run scripts.*PNG/)
  t.match(why(Buffer.from('\ufeff  <SVG onload="alert(1)">')), /SVG/)
  t.match(why(Buffer.from('%PDF-1.7')), /PDF/)
  t.match(why(Buffer.from('GIF89a')), /GIF/)
  t.match(why(Buffer.from('AC1032')), /CAD/)
  t.match(why(Buffer.from('\0\0\0\x18ftypheic')), /HEIC/)
  t.match(why(new Uint8Array()), /empty/)
  t.match(why(Buffer.from('<html><img src=x.png>')), /no picture that is known/)
  t.match(why(Buffer.from('MZ\x90')), /no picture/)
})

t.test('refuses pictures that are cut, that move, that have two sizes, or that browsers do not show', async (t) => {
  t.match(why(png(0, 5)), /0 by 5/)
  t.match(why(png(5, 5, [chunk('QQQQ')])), /not known/)
  t.match(why(Buffer.concat([png(1, 1).subarray(0, 8), chunk('IEND')])), /begin/)
  t.match(why(Buffer.concat([png(1, 1).subarray(0, 33), chunk('IEND')])), /no picture in it/)
  t.match(why(jpeg(1, 1, [], 0xc3)), /do not show/)
  t.match(why(jpeg(0, 9)), /0 by 9/)
  t.match(why(Buffer.concat([jpeg(3, 3).subarray(0, -2), jpeg(3, 3).subarray(2)])), /two pictures/)
  t.match(why(Buffer.from([0xff, 0xd8, 0xff, 0xd9])), /no picture in it/)
  t.match(why(webp(vp8x(3, 2, 0x02), vp8(3, 2))), /moves/)
  t.match(why(webp(riff('ANIM', Buffer.alloc(6)), vp8(3, 2))), /moves/)
  t.match(why(webp(vp8x(300, 200, 0), vp8(3, 2))), /two different sizes/)
  t.match(why(webp(vp8(3, 2), vp8(3, 2))), /two pictures/)
  t.match(why(webp(riff('JUNK', Buffer.alloc(4)))), /no picture in it/)
})

t.test('every truncation and every changed byte is a picture or a refusal, and never anything else', async (t) => {
  const whole = [
    png(3, 2, [chunk('PLTE', Buffer.alloc(3))]),
    jpeg(3, 2, [segment(0xe0, 'JFIF\0'), exif(6)]),
    webp(vp8x(3, 2, 0x10), riff('ALPH', Buffer.from([1])), vp8(3, 2)),
    webp(vp8l(3, 2)),
  ]
  let strange = 0
  for (const bytes of whole) {
    for (let length = 0; length < bytes.length; length++) if (why(bytes.subarray(0, length)).startsWith('t')) strange++
    for (let at = 0; at < bytes.length; at++)
      for (const byte of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(bytes)
        changed[at] = byte
        if (why(changed).startsWith('threw')) strange++
      }
  }
  t.equal(strange, 0)
})

t.test('takes only the kinds that are wanted, and no more parts than a program writes', async (t) => {
  const taking = (bytes: Uint8Array) => () => readPicture(bytes, ['png', 'jpg'])
  t.equal(taking(jpeg(3, 2))().kind, 'jpg')
  t.throws(taking(webp(vp8(3, 2))), { code: 'picture_refused', message: 'This is a WebP. PNG and JPEG are taken.' })
  const empty = chunk('IDAT')
  const many = (count: number) =>
    png(
      1,
      1,
      Array.from({ length: count }, () => empty),
    )
  t.equal(why(many(19_000)), 'taken')
  t.match(why(many(20_000)), /more than 20000 parts/)
  t.match(
    why(
      jpeg(
        1,
        1,
        Array.from({ length: 20_000 }, () => segment(0xfe, '')),
      ),
    ),
    /more than 20000 parts/,
  )
})

t.test('names lead to no other file', async (t) => {
  const name = `${'a'.repeat(64)}.png`
  t.equal(isPictureName(name), true)
  for (const other of ['../controller.db', 'a.png', `${'a'.repeat(64)}.svg`, `${'A'.repeat(64)}.png`, `x/${name}`, ''])
    t.equal(isPictureName(other), false, other)
})
