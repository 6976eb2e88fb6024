import fc from 'fast-check'
import t from 'tap'
import { createByteSource } from '../../../core/machine/firmware.ts'

async function* pieces(parts: readonly Uint8Array[]) {
  yield* parts
}

t.test('whatever the pieces, the bytes come in order, first a given number, then the rest', async () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(parts, fc.nat(60), fc.nat(60), async (given, first, second) => {
      const whole = Buffer.concat(given)
      const source = createByteSource(pieces(given))
      const taken = [await source.take(first), await source.take(second)]
      const rest = []
      for await (const piece of source.rest()) {
        if (piece.length === 0) return false
        rest.push(piece)
      }
      return (
        taken[0]?.length === Math.min(first, whole.length) &&
        taken[1]?.length === Math.min(second, Math.max(0, whole.length - first)) &&
        Buffer.concat([...taken, ...rest]).equals(whole)
      )
    }),
  )
})

t.test('an error of the body is passed on', async (t) => {
  async function* cut() {
    yield new Uint8Array(3)
    throw new Error('cut')
  }
  await t.rejects(createByteSource(cut()).take(4), { message: 'cut' })
})
