/** Tests of web/jpeg-parts.ts. */
import fc from 'fast-check'
import t from 'tap'
import { createPartReader } from '../../web/jpeg-parts.ts'

const partOf = (jpeg: Uint8Array, shownAt: number) => [
  ...Buffer.from(`Content-Type: image/jpeg\r\nContent-Length: ${jpeg.length}\r\nX-Svc-Frame-At: ${shownAt}\r\n\r\n`),
  ...jpeg,
  ...Buffer.from('\r\n--svc-frame\r\n'),
]

t.test('pictures come out as they went in, however the stream is cut', async () => {
  const picture = fc.record({ jpeg: fc.uint8Array({ maxLength: 300 }), shownAt: fc.nat() })
  fc.assert(
    fc.property(fc.array(picture, { maxLength: 5 }), fc.integer({ min: 1, max: 400 }), (pictures, step) => {
      const bytes = Uint8Array.from([
        ...Buffer.from('--svc-frame\r\n'),
        ...pictures.flatMap(({ jpeg, shownAt }) => partOf(jpeg, shownAt)),
      ])
      const read = createPartReader()
      const seen = []
      for (let at = 0; at < bytes.length; at += step) seen.push(...read(bytes.subarray(at, at + step)))
      const plain = (all: { jpeg: Uint8Array; shownAt: number }[]) =>
        JSON.stringify(all.map(({ jpeg, shownAt }) => [[...jpeg], shownAt]))
      return plain(seen) === plain(pictures)
    }),
  )
})

t.test('what is no such stream is refused', async (t) => {
  t.throws(() => createPartReader()(new Uint8Array(3000)))
  t.throws(() => createPartReader()(Buffer.from('--x\r\nContent-Type: image/jpeg\r\n\r\nabc')))
  t.throws(() => createPartReader()(Buffer.from('--x\r\nContent-Length: 99999999999\r\n\r\nabc')))
})
