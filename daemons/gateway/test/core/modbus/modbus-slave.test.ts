/** A unit of ours as a master on the line sees it: when it answers, and when it is silent. */

import fc from 'fast-check'
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import { holdsLater } from '#kit/test/holds.ts'
import { sealed } from '../../../wire/modbus-request.ts'
import { anyTransaction, frameOf, pieces, replyOf } from '../../wire/modbus-talk.ts'
import { act } from '../act.ts'
import { body, request, slave } from './modbus-slave-line.ts'

t.test('2.5.1 a wrong checksum is never answered, whatever byte is wrong', async (t) => {
  const { ask, count, clock } = slave()
  const frame = frameOf({ unitId: 7, fc: 6, address: 1, quantity: 1, values: [5] })
  for (let at = 0; at < frame.length; at++) {
    t.equal(await ask(frame.map((byte, place) => (place === at ? byte ^ 0x10 : byte))), null)
    await clock.run(500)
  }
  t.equal(count('asked'), 0)
  t.equal(await ask(frame), hexOf(frame))
})

t.test('2.1 a broadcast is carried out by every unit and answered by none', async (t) => {
  const { ask, adapter, events } = slave()
  t.equal(await ask(frameOf({ unitId: 0, fc: 16, address: 5, quantity: 2, values: [3, 4] })), null)
  for (const unitId of [7, 8])
    t.strictSame(
      adapter.faces?.registers?.read({ unitId, table: 'holding_registers', address: 5, quantity: 2 }).values,
      [3, 4],
    )
  t.match(events, [{ payload: { unitId: 7 } }, { payload: { unitId: 8 } }])
  t.equal(
    await ask(frameOf({ unitId: 0, fc: 16, address: 19, quantity: 2, values: [3, 4] })),
    null,
    'nor answered with a refusal',
  )
})

t.test('2.5.1.1 the answer goes out after 3.5 characters of silence and not before', async (t) => {
  const { say, line, clock } = slave()
  say(request(3, 0, 1))
  await clock.run(1)
  t.equal(line.written.length, 0)
  await clock.run(2)
  t.equal(line.written.length, 1, '3.5 characters at 19200 are 2.005 ms')
})

t.test('a request in pieces is answered once it is whole, however long the pauses of an adapter', async (t) => {
  const { say, line, clock } = slave()
  for (const byte of request(3, 0, 1)) {
    await clock.run(16)
    t.equal(line.written.length, 0)
    say(Uint8Array.of(byte))
  }
  await clock.run(5)
  t.equal(line.written.length, 1)
})

t.test('a request is not answered once the master has sent more', async (t) => {
  const { say, line, clock, count } = slave()
  say(request(3, 0, 1))
  await clock.run(1)
  say(request(4, 0, 1))
  await clock.run(10)
  t.equal(body(hexOf(line.written[0] as Uint8Array)), '07 04 02 01 F4')
  t.equal(line.written.length, 1)
  t.equal(count('droppedAnswers'), 1)
  say(request(3, 0, 1), frameOf({ unitId: 99, fc: 3, address: 0, quantity: 1 }))
  await clock.run(500)
  t.equal(line.written.length, 1, 'also when it asks another unit')
})

t.test('an answer that comes too late is dropped and counted', async (t) => {
  const { line, clock, count } = slave({ response_timeout_ms: 50 })
  await clock.run(1000)
  // Read late: the request lay in the driver while this process was held up.
  line.arrive(request(3, 0, 1), (clock.monotonicMs() - 60) * 1000)
  await clock.run(20)
  t.equal(line.written.length, 0)
  t.equal(count('droppedAnswers'), 1)
})

t.test('frames of other units are not taken for requests', async (t) => {
  const { say, line, clock, count } = slave()
  const asked = { unitId: 3, fc: 3, address: 0, quantity: 6 }
  // Unit 3 returns registers whose bytes are a complete request to unit 7.
  const inner = frameOf({ unitId: 7, fc: 6, address: 1, quantity: 1, values: [666] })
  const carrier = sealed([3, 3, 12, 0, 0, ...inner, 0, 0])
  say(frameOf(asked))
  await clock.run(20)
  say(carrier.slice(0, 5))
  await clock.run(20)
  say(carrier.slice(5))
  await clock.run(200)
  // A reply of another unit, with as many bytes as a request to ours.
  say(
    frameOf({ unitId: 9, fc: 1, address: 3, quantity: 20 }),
    replyOf({ unitId: 9, fc: 1, address: 3, quantity: 20 }, 1),
  )
  await clock.run(500)
  t.equal(line.written.length, 0)
  t.match({ asked: count('asked'), replies: count('replies') }, { asked: 0, replies: 2 })
})

t.test('glitches of switching transmitters before and after a request do not matter', async (t) => {
  for (const unitId of [5, 6, 7, 15, 16, 22]) {
    const { line, say, clock } = slave({ slave_units: [unitId] })
    say(Uint8Array.of(0), frameOf({ unitId, fc: 3, address: 0, quantity: 1 }), Uint8Array.of(0))
    await clock.run(10)
    t.equal(line.written.length, 1, `unit ${unitId}`)
  }
})

t.test('a request between two silences is answered, whatever noise was before it', async (t) => {
  const { say, line, clock } = slave()
  say(Uint8Array.of(5, 3, 200, 17, 99))
  await clock.run(20)
  say(request(3, 0, 1))
  await clock.run(10)
  t.equal(line.written.length, 1)
})

t.test('a value of two registers is never read half written', async (t) => {
  const { ask, adapter, say, line, clock } = slave()
  const put = (value: number) =>
    adapter.faces?.registers?.write({ unitId: 7, table: 'holding_registers', address: 0 }, [value, value])
  put(1)
  say(request(3, 0, 2).slice(0, 4))
  await clock.run(2)
  put(2)
  say(request(3, 0, 2).slice(4))
  await clock.run(1)
  put(3)
  await clock.run(10)
  t.equal(body(hexOf(line.written[0] as Uint8Array)), '07 03 04 00 03 00 03')
  t.equal(body(await ask(request(3, 0, 2))), '07 03 04 00 03 00 03')
})

t.test('an answer that the driver does not send is taken back and reported', async (t) => {
  const { say, line, clock, count, events } = slave()
  let flushed = 0
  line.drain = () => new Promise(() => {})
  line.flush = async () => void flushed++
  say(request(3, 0, 1))
  await clock.run(2000)
  t.equal(flushed, 1)
  t.equal(count('sendFailures'), 1)
  t.match(events, [{ event: 'error', payload: { code: 'modbus_send_timeout' } }])
})

t.test('every frame is published: the request, and the answer with its meaning', async (t) => {
  const { ask, frames } = slave()
  await ask(request(4, 3, 2))
  t.match(frames, [
    { direction: 'rx', decoded: { kind: 'request', unitId: 7, fc: 4, address: 3, quantity: 2 } },
    { direction: 'tx', decoded: { kind: 'reply', unitId: 7, fc: 4, address: 3, quantity: 2, values: [500, 500] } },
  ])
})

t.test('a slave sends no requests: rest/request is refused', async (t) => {
  const { adapter } = slave()
  await t.rejects(act(adapter, 'request', {}), { code: 'wrong_protocol', message: /slave/ })
})

t.test('a closed line is no longer answered, and its registers stay', async (t) => {
  const { say, line, clock, adapter } = slave()
  adapter.faces?.registers?.write({ unitId: 7, table: 'coils', address: 0 }, [1])
  say(request(3, 0, 1))
  await adapter.detach()
  await clock.run(500)
  t.equal(line.written.length, 0)
  t.equal(clock.pending(), 0)
  t.strictSame(adapter.faces?.registers?.read({ unitId: 7, table: 'coils', address: 0, quantity: 1 }).values, [1])
})

t.test('whatever others send, in whatever pieces, with whatever noise, no unit of ours answers', async (t) => {
  const turn = fc.record({
    talk: anyTransaction.filter(({ request }) => request.unitId !== 7 && request.unitId !== 8),
    sizes: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 }),
    noise: fc.uint8Array({ maxLength: 9 }),
    waitMs: fc.nat(300),
  })
  const law = fc.asyncProperty(fc.array(turn, { maxLength: 8 }), async (turns) => {
    const { say, line, clock } = slave()
    for (const { talk, sizes, noise, waitMs } of turns) {
      for (const piece of pieces(talk.frame, sizes)) say(piece)
      await clock.run(waitMs)
      if (talk.reply) for (const piece of pieces(talk.reply, sizes)) say(piece)
      say(noise)
      await clock.run(waitMs)
    }
    await clock.run(2000)
    t.strictSame(line.written, [])
    t.equal(clock.pending(), 0)
  })
  await holdsLater(t, law)
})

t.test('each answer is to a request that arrived whole, however damaged the bytes before it', async (t) => {
  const turn = fc.record({
    talk: anyTransaction,
    flip: fc.option(fc.record({ at: fc.nat(300), by: fc.integer({ min: 1, max: 255 }) })),
    waitMs: fc.integer({ min: 5, max: 300 }),
  })
  const law = fc.asyncProperty(fc.array(turn, { maxLength: 8 }), async (turns) => {
    const { say, line, clock } = slave()
    for (const { talk, flip, waitMs } of turns) {
      const good = frameOf({ ...talk.request, unitId: 7 })
      const before = line.written.length
      say(flip ? good.map((byte, at) => (at === flip.at % good.length ? byte ^ flip.by : byte)) : good)
      await clock.run(waitMs)
      const answers = line.written.slice(before)
      t.ok(answers.length <= 1)
      for (const answer of answers) t.strictSame([flip, answer[0], (answer[1] ?? 0) & 0x7f], [null, 7, good[1]])
    }
  })
  await holdsLater(t, law)
})
