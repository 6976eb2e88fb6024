/** Replies of our units: each is what the request asked for, and passes the checks of a master. */
import fc from 'fast-check'
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import { holds } from '#kit/test/holds.ts'
import {
  checkReply,
  describeReply,
  exceptionFrame,
  identificationFrame,
  replyFlaw,
  replyFrame,
} from '../../wire/modbus-reply.ts'
import { modbusFunctions, openIdentification } from '../../wire/modbus-request.ts'
import { anyRequest, frameOf } from './modbus-talk.ts'

t.test('each reply passes the checks of a master, with the values that were given', async (t) => {
  const law = fc.property(
    anyRequest,
    fc.array(fc.nat(65_535), { minLength: 2000, maxLength: 2000 }),
    (request, words) => {
      const shape = modbusFunctions.get(request.fc)?.shape
      if (shape === 'identify') return
      const isRead = shape === 'readBits' || shape === 'readWords' || shape === 'readWriteWords'
      const values = words.slice(0, request.quantity).map((word) => (shape === 'readBits' ? word & 1 : word))
      const reply = replyFrame(request, values)
      const sent = { frame: frameOf(request), request }
      t.equal(checkReply(sent, reply), null)
      if (isRead) t.strictSame(describeReply(reply, 'reply', sent).values, values)
      for (let end = 0; end < reply.length; end++) t.ok(replyFlaw(sent, reply.subarray(0, end)))
    },
  )
  holds(t, law)
})

t.test('7 an exception has the function with its top bit set, and the code', async (t) => {
  t.equal(hexOf(exceptionFrame(10, 1, 2)), '0A 81 02 B0 53')
})

t.test(
  '6.21 a stream gives all objects, in as many replies as they need, and each says where to continue',
  async (t) => {
    const text = fc.string({
      unit: fc.integer({ min: 32, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 244,
    })
    const law = fc.property(fc.array(text, { minLength: 1, maxLength: 7 }), (texts) => {
      const objects = texts.map((value, id) => ({ id, value }))
      const heard: { id: number; value: string }[] = []
      let asked: number | null = 0
      while (asked !== null) {
        const request = { unitId: 1, fc: 43, address: asked, quantity: 2 }
        const reply = identificationFrame(request, objects)
        t.equal(checkReply({ frame: frameOf(request), request }, reply), null)
        const found = openIdentification(reply)
        heard.push(...found.objects.map(({ id, value }) => ({ id, value })))
        asked = found.nextObjectId
      }
      t.strictSame(heard, objects)
    })
    holds(t, law)
  },
)
