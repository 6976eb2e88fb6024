/** Base64 text: round trip, the standard's examples, and where it is wrong. */
import fc from 'fast-check'
import { t } from 'tap'
import { bytesOfBase64 } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')

t.test('RFC 4648, 10: the test vectors', async (t) => {
  const vectors = {
    '': '',
    f: 'Zg==',
    fo: 'Zm8=',
    foo: 'Zm9v',
    foob: 'Zm9vYg==',
    fooba: 'Zm9vYmE=',
    foobar: 'Zm9vYmFy',
  }
  for (const [plain, encoded] of Object.entries(vectors)) {
    t.equal(text(bytesOfBase64(encoded)), plain)
  }
})

t.test('reads what Node writes', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (plain) => {
      return Buffer.compare(bytesOfBase64(Buffer.from(plain).toString('base64')), plain) === 0
    }),
  )
})

t.test('names the character that is not base64 and its position', async (t) => {
  t.throws(() => bytesOfBase64('Zm9v Yg='), {
    code: 'bad_base64',
    message: /" " at position 5 is not base64/,
    details: { position: 5 },
  })
  t.throws(() => bytesOfBase64('Zm-_'), { message: /"-" at position 3/ })
  t.throws(() => bytesOfBase64('Z=9v'), { message: /"=" at position 2/ })
  t.throws(() => bytesOfBase64('===='), { message: /"=" at position 1/ })
  t.throws(() => bytesOfBase64('Zm9v\n'), { message: /"\\n" at position 5/ })
})

t.test('RFC 4648, 3.2: refuses text without its padding', async (t) => {
  t.throws(() => bytesOfBase64('Zg'), { code: 'bad_base64', message: /has 2 characters, expected a multiple of four/ })
  t.throws(() => bytesOfBase64('Zg='), { code: 'bad_base64' })
  t.throws(() => bytesOfBase64('Z'), { code: 'bad_base64' })
  t.throws(() => bytesOfBase64('='), { code: 'bad_base64' })
})

t.test('RFC 4648, 3.5: refuses bits that belong to no byte', async (t) => {
  t.throws(() => bytesOfBase64('Zh=='), { code: 'bad_base64', message: /"h" at position 2 sets bits/ })
  t.throws(() => bytesOfBase64('Zm9='), { code: 'bad_base64', message: /"9" at position 3 sets bits/ })
})

t.test('accepts exactly one text for each byte string, and throws nothing but a Fault', async () => {
  const signs = fc.constantFrom(...'AZaz09+/=', 'Q', 'g', ' ', '-')
  fc.assert(
    fc.property(fc.string({ unit: signs, maxLength: 12 }), (encoded) => {
      try {
        return Buffer.from(bytesOfBase64(encoded)).toString('base64') === encoded
      } catch (error) {
        if (error instanceof Fault && error.code === 'bad_base64') return true
        throw error
      }
    }),
    { numRuns: 2000 },
  )
})
