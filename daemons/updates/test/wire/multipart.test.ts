import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { boundaryOf, fileOfForm } from '../../wire/multipart.ts'

const B = 'boundary'
const form = (file: Buffer, more = '') =>
  Buffer.concat([
    Buffer.from(`--${B}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: x/y\r\n\r\n`),
    file,
    Buffer.from(`\r\n--${B}--\r\n${more}`),
  ])

async function* inPieces(bytes: Buffer, sizes: readonly number[]) {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1)
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function taken(bytes: Buffer, sizes: readonly number[] = [65_536]): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of fileOfForm(inPieces(bytes, sizes), B)) pieces.push(Uint8Array.from(piece))
  return Buffer.concat(pieces)
}

t.test('takes the file out, however the form is cut into pieces', async (t) => {
  const tricky = Buffer.from(`a\r\n--${B.slice(0, -1)}\r\n\r\n--b\r\r\n-\r\n`)
  for (let size = 1; size < 40; size++) t.ok((await taken(form(tricky), [size])).equals(tricky), `pieces of ${size}`)
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 500 }),
      fc.array(fc.nat(90), { minLength: 1 }),
      async (bytes, sizes) => {
        const file = Buffer.from(bytes)
        t.ok((await taken(form(file), sizes)).equals(file))
      },
    ),
    { numRuns: 200 },
  )
  t.equal((await taken(form(Buffer.alloc(0)))).length, 0)
  t.ok((await taken(form(Buffer.from('x'), 'epilogue'))).equals(Buffer.from('x')))
})

t.test('refuses a form that is cut anywhere', async (t) => {
  const whole = form(Buffer.from('some bytes'))
  const needed = whole.length - '\r\n'.length
  for (let length = 0; length < needed; length++)
    await t.rejects(taken(whole.subarray(0, length)), { code: 'bad_upload' }, `${length} bytes`)
  t.equal(String(await taken(whole.subarray(0, needed))), 'some bytes')
})

t.test('refuses a second part, a part that is no file, a long head, and no form at all', async (t) => {
  const part = `--${B}\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nx\r\n`
  await t.rejects(taken(Buffer.from(`${part}${part}--${B}--`)), { code: 'bad_upload', message: /more than one part/ })
  await t.rejects(taken(form(Buffer.from('x')).subarray(2)), { code: 'bad_upload' })
  const field = `--${B}\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--${B}--`
  await t.rejects(taken(Buffer.from(field)), { code: 'bad_upload', message: /no file/ })
  await t.rejects(taken(Buffer.from(`--${B}\r\n${'x'.repeat(9000)}`), [100]), { code: 'bad_upload', message: /4096/ })
})

t.test('random bytes never do anything but be refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      const fault = await taken(Buffer.concat([Buffer.from(`--${B}`), bytes]), [7]).catch((error) => error)
      t.ok(fault instanceof Fault || Buffer.isBuffer(fault))
    }),
  )
})

t.test('reads the boundary of a form, and takes any other type for the file itself', async (t) => {
  t.equal(boundaryOf('multipart/form-data; boundary=abc'), 'abc')
  t.equal(boundaryOf('Multipart/Form-Data; charset=utf-8; boundary="a b"; x=y'), 'a b')
  for (const type of [undefined, '', 'application/octet-stream', 'x/multipart']) t.equal(boundaryOf(type), undefined)
  for (const type of [
    'multipart/form-data',
    'multipart/mixed; boundary=a',
    `multipart/form-data; boundary=${'a'.repeat(71)}`,
  ])
    t.throws(() => boundaryOf(type), { code: 'bad_upload' }, type)
})
