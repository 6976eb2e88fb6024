import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { createWorkerReader, writeWorkerMessage } from '../../wire/worker-message.ts'

const written = (head: object, ...body: Uint8Array[]) => Buffer.concat(writeWorkerMessage(head, body))

t.test('messages come out as they went in, however they are cut', async () => {
  const one = written({ id: 1, text: 'é' }, Uint8Array.of(1, 2), Uint8Array.of(3))
  const whole = Buffer.concat([one, written({ id: 2 }), one])
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 40 }), (steps) => {
      const read = createWorkerReader(100)
      const found = []
      let at = 0
      for (const step of [...steps, whole.length]) {
        found.push(...read(whole.subarray(at, at + step)))
        at += step
      }
      t.same(
        found.map(({ body, head }) => [head.id, [...body]]),
        [
          [1, [1, 2, 3]],
          [2, []],
          [1, [1, 2, 3]],
        ],
      )
    }),
  )
})

t.test('a message that is too long, or no message, is a fault', async (t) => {
  t.throws(() => createWorkerReader(2)(written({}, new Uint8Array(3))), { code: 'worker_broken' })
  t.throws(() => createWorkerReader(2)(Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 0, 0x31)), { code: 'worker_broken' })
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        createWorkerReader(30)(bytes)
      } catch (error) {
        t.ok(error instanceof Fault)
      }
    }),
  )
})
