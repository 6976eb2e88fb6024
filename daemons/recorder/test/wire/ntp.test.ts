import fc from 'fast-check'
import t from 'tap'
import { ntpAnswer, ntpQuestion, readNtpAnswer, readNtpQuestion, type TimeSource } from '../../wire/ntp.ts'

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
const zeros = (many: number) => '00'.repeat(many)

/** In the form of what programs send: chronyd hides its own time, ntpdig and cameras do not. */
const questions = {
  chronyd: bytesOf(`23 00 06 20 00000000 00000000 00000000 ${zeros(24)} a1b2c3d4e5f60718`),
  ntpdig: bytesOf(`23 00 00 00 00000000 00000000 00000000 ${zeros(24)} ec1a5f00 80000000`),
  camera: bytesOf(`1b 00 0a fa 00010000 00010000 00000000 ${zeros(24)} ec1a5f01 00000000`),
}

const source: TimeSource = {
  ...{ leap: 0, stratum: 3, rootDelayS: 0.5, rootDispersionS: 0.25, reference: Uint8Array.of(192, 0, 2, 1) },
  setAtMs: Date.UTC(2026, 0, 1),
}
const at = { receivedMs: Date.UTC(2026, 0, 1, 0, 0, 1, 250), sentMs: Date.UTC(2026, 0, 1, 0, 0, 1, 500) }

t.test('a question is answered byte for byte as the standard has it', async (t) => {
  const question = readNtpQuestion(questions.camera)
  t.ok(question)
  if (!question) return
  const answer = Buffer.from(ntpAnswer(question, source, at))
  // 2026-01-01T00:00:00Z is 3 976 214 400 s after 1900.
  const second = (3_976_214_400).toString(16)
  const next = (3_976_214_401).toString(16)
  t.equal(
    answer.toString('hex'),
    `1c030af60000800000004000c0000201${second}00000000ec1a5f0100000000${next}40000000${next}80000000`,
  )
})

t.test('an answer is as long as its question, in its version, and brings back its own time', async (t) => {
  for (const [name, bytes] of Object.entries(questions)) {
    const question = readNtpQuestion(bytes)
    if (!question) return t.fail(name)
    const answer = ntpAnswer(question, source, at)
    t.equal(answer.length, bytes.length, name)
    t.equal((answer[0] ?? 0) & 0x3f, (question.version << 3) | 4)
    t.same(readNtpAnswer(answer, bytes.subarray(40, 48)), { stratum: 3, sentMs: at.sentMs })
  }
})

t.test('whatever is no question of a client is left alone', async (t) => {
  const good = questions.chronyd
  for (let mode = 0; mode < 8; mode++) {
    const other = Uint8Array.from(good).fill(0x20 | mode, 0, 1)
    t.equal(readNtpQuestion(other) !== undefined, mode === 3, `mode ${mode}`)
  }
  for (const version of [0, 5, 6, 7])
    t.equal(readNtpQuestion(Uint8Array.from(good).fill((version << 3) | 3, 0, 1)), undefined)
  for (let length = 0; length < good.length; length++) t.equal(readNtpQuestion(good.subarray(0, length)), undefined)
  t.equal(readNtpQuestion(Uint8Array.from([...good, ...good])), undefined, 'one that is longer')
  // What was misused to flood others: monlist of mode 7, and readvar of mode 6.
  t.equal(readNtpQuestion(bytesOf(`17 00 03 2a ${zeros(44)}`)), undefined)
  t.equal(readNtpQuestion(bytesOf(`16 02 00 01 ${zeros(44)}`)), undefined)
})

t.test('no answer of a server is a question, so that two of them never answer each other', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 48, maxLength: 48 }), fc.constantFrom(1, 2, 3, 4), (noise, version) => {
      const question = readNtpQuestion(noise.fill((version << 3) | 3, 0, 1))
      return question !== undefined && readNtpQuestion(ntpAnswer(question, source, at)) === undefined
    }),
  )
})

t.test('times go through unchanged to a microsecond, over the turn of the era in 2036 too', async () => {
  const from = Date.UTC(2000, 0, 1)
  const to = Date.UTC(2099, 11, 31)
  const nonce = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  const question = readNtpQuestion(ntpQuestion(nonce))
  if (!question) throw new Error('no question')
  fc.assert(
    fc.property(fc.integer({ min: from, max: to }), fc.integer({ min: 1, max: 15 }), (sentMs, stratum) => {
      const answer = readNtpAnswer(ntpAnswer(question, { ...source, stratum }, { ...at, sentMs }), nonce)
      return answer?.stratum === stratum && Math.abs(answer.sentMs - sentMs) < 0.001
    }),
  )
})

t.test('an answer counts only if it is to the question that was asked, and has a time to give', async (t) => {
  const nonce = Uint8Array.of(9, 8, 7, 6, 5, 4, 3, 2)
  const question = readNtpQuestion(ntpQuestion(nonce))
  if (!question) return t.fail()
  const answer = ntpAnswer(question, source, at)
  t.ok(readNtpAnswer(answer, nonce))
  t.ok(readNtpAnswer(Uint8Array.from([...answer, 1, 2, 3, 4]), nonce), 'with something behind it')
  const but = (place: number, byte: number) =>
    readNtpAnswer(Uint8Array.from(answer).fill(byte, place, place + 1), nonce)
  t.equal(but(0, 0xe4), undefined, 'it is not synchronized')
  t.equal(but(0, 0x23), undefined, 'a question')
  t.equal(but(1, 0), undefined, 'a kiss of death')
  t.equal(but(1, 16), undefined)
  t.equal(but(24, 1), undefined, 'another question')
  t.equal(readNtpAnswer(Uint8Array.from(answer).fill(0, 40, 48), nonce), undefined, 'no time')
  t.equal(readNtpAnswer(answer.subarray(0, 47), nonce), undefined)
})

t.test('reads noise and broken packets without a fault', async () => {
  const frames = [...Object.values(questions), ntpQuestion(new Uint8Array(8))]
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 100 }),
      fc.constantFrom(...frames),
      fc.nat(47),
      fc.nat(255),
      (noise, frame, place, byte) => {
        const broken = Uint8Array.from(frame).fill(byte, place, place + 1)
        for (const bytes of [noise, broken, Uint8Array.from([...frame.subarray(0, place), ...noise])]) {
          const question = readNtpQuestion(bytes)
          if (question && ntpAnswer(question, source, at).length !== bytes.length) return false
          readNtpAnswer(bytes, noise.subarray(0, 8))
        }
        return true
      },
    ),
  )
})
