/** Listening to others: everything is reported, nothing is sent. */

import fc from 'fast-check'
import t from 'tap'
import { holdsLater } from '#kit/test/holds.ts'
import type { SeenReply } from '../../../core/bus/transactions.ts'
import { requireFace } from '../../../core/lines/port-registry.ts'
import { createModbusListener } from '../../../core/modbus/listener.ts'
import type { ModbusReply } from '../../../core/modbus/protocol.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { sealed } from '../../../wire/modbus-request.ts'
import { anyTransaction, frameOf, pieces, replyOf } from '../../wire/modbus-talk.ts'
import { act } from '../act.ts'
import { type LineOfOthers, lineOfOthers } from './line-of-others.ts'
import { settingsWith } from './modbus-line.ts'
import { modbusRtu } from './rtu.ts'

function listener(): LineOfOthers & { seen: SeenReply<ModbusRequest, ModbusReply>[] } {
  const seen: SeenReply<ModbusRequest, ModbusReply>[] = []
  const rig = lineOfOthers((context) => {
    return createModbusListener(context, settingsWith({ mode: 'listen' }), modbusRtu, {
      onReply: (one) => void seen.push(one),
    })
  })
  const broken = async () => {
    throw new Error('a listener wrote')
  }
  Object.assign(rig.line, { write: broken, flush: broken, drain: broken })
  return { ...rig, seen }
}

const asked = { unitId: 3, fc: 3, address: 40, quantity: 2 }

t.test('a reply carries its request, its meaning and how long it took', async (t) => {
  const { say, clock, frames, seen, count } = listener()
  say(frameOf(asked))
  await clock.run(12)
  say(sealed([3, 3, 4, 0, 1, 0, 2]))
  await clock.run(5)
  t.match(frames, [
    { direction: 'rx', decoded: { kind: 'request', name: 'Read Holding Registers', ...asked } },
    { direction: 'rx', decoded: { kind: 'reply', ...asked, values: [1, 2], tookMs: 12 } },
  ])
  t.match(seen, [{ request: asked, tookMs: 12, atMs: 12 }])
  t.match({ requests: count('requests'), replies: count('replies') }, { requests: 1, replies: 1 })
})

t.test('a write reply carries the values of its request', async (t) => {
  const { say, frames } = listener()
  const write = { unitId: 3, fc: 16, address: 4, quantity: 2, values: [7, 9] }
  say(frameOf(write), replyOf(write, 0))
  t.match(frames.at(-1)?.decoded, { kind: 'reply', address: 4, quantity: 2, values: [7, 9] })
})

t.test('an exception is a reply', async (t) => {
  const { say, frames, count } = listener()
  say(frameOf(asked), sealed([3, 0x83, 2]))
  t.match(frames.at(-1)?.decoded, {
    kind: 'exception',
    address: 40,
    exception: { code: 2, name: 'Illegal Data Address' },
  })
  t.equal(count('exceptions'), 1)
})

t.test('a unit that does not answer is a timeout, one that answers with rubbish is not', async (t) => {
  const { say, clock, count } = listener()
  say(frameOf(asked))
  await clock.run(310)
  t.equal(count('timeouts'), 1)
  say(frameOf(asked))
  await clock.run(10)
  say(sealed([3, 3, 4, 0, 1, 0, 2]).map((byte, at) => (at === 4 ? byte ^ 4 : byte)))
  await clock.run(600)
  t.match(
    { timeouts: count('timeouts'), badReplies: count('badReplies'), crcErrors: count('crcErrors') },
    {
      timeouts: 1,
      badReplies: 1,
      crcErrors: 1,
    },
  )
})

t.test('a reply after its time is late, and makes no pair', async (t) => {
  const { say, clock, count, seen, frames } = listener()
  say(frameOf(asked))
  await clock.run(400)
  say(replyOf(asked, 1))
  await clock.run(10)
  t.strictSame(seen, [])
  t.equal(count('lateReplies'), 1)
  t.match(frames.at(-1)?.decoded, { kind: 'late', address: 40 })
})

t.test('the late reply to one read is not the reply to the next', async (t) => {
  const { say, clock, seen, count } = listener()
  say(frameOf(asked))
  await clock.run(310)
  say(frameOf({ ...asked, address: 99 }))
  await clock.run(20)
  say(replyOf(asked, 1))
  await clock.run(20)
  t.strictSame(seen, [])
  t.equal(count('lateReplies'), 1)
  await clock.run(1300)
  say(frameOf(asked), replyOf(asked, 2))
  t.equal(seen.length, 1, 'after the quarantine it is believed again')
})

t.test('a reply that cannot belong to an earlier request settles what its unit owed', async (t) => {
  const { say, clock, frames, seen } = listener()
  const others = [
    {
      what: 'another length',
      between: frameOf({ ...asked, quantity: 1 }),
      reply: sealed([3, 3, 2, 0, 9]),
      kind: 'reply',
    },
    { what: 'an exception', between: frameOf({ ...asked, fc: 4 }), reply: sealed([3, 0x84, 2]), kind: 'late' },
  ]
  for (const { between, kind, reply, what } of others) {
    say(frameOf(asked))
    await clock.run(400)
    say(between)
    await clock.run(12)
    say(reply)
    await clock.run(12)
    const paired = seen.length
    say(frameOf({ ...asked, address: 80 }))
    await clock.run(12)
    say(sealed([3, 3, 4, 0, 1, 0, 2]))
    t.match(frames.at(-1)?.decoded, { kind }, what)
    t.equal(seen.length - paired, kind === 'reply' ? 1 : 0)
    await clock.run(5000)
  }
})

t.test('a repeated request counts as a new one, and its reply is believed', async (t) => {
  const { say, clock, seen } = listener()
  const write = { unitId: 3, fc: 6, address: 4, quantity: 1, values: [1] }
  say(frameOf(write))
  await clock.run(310)
  say(frameOf(write))
  await clock.run(10)
  say(frameOf(write))
  await clock.run(10)
  t.match(seen, [{ request: write, tookMs: 10 }])
})

t.test('each unit has its own counts and state; a dead one is recognised', async (t) => {
  const { say, clock, adapter, events } = listener()
  for (let turn = 0; turn < 4; turn++) {
    say(frameOf(asked))
    await clock.run(10)
    say(turn === 2 ? sealed([3, 0x83, 2]) : replyOf(asked, 1))
    await clock.run(10)
    say(frameOf({ ...asked, unitId: 4 }))
    await clock.run(400)
  }
  t.match(requireFace({ path: 'p', adapter }, 'units').list(), [
    { unitId: 3, state: 'well', requests: 4, replies: 4, exceptions: 1, timeouts: 0, latencyMs: { last: 10 } },
    {
      unitId: 4,
      state: 'silent',
      requests: 4,
      replies: 0,
      timeouts: 4,
      nextTryAt: null,
      heldUntil: null,
      lastError: { code: 'modbus_timeout', message: /Unit 4 did not answer .* within 300 ms/ },
    },
  ])
  t.match(
    events.filter(({ event }) => event === 'unit').map(({ payload }) => payload),
    [
      { unitId: 3, state: 'well' },
      { unitId: 4, state: 'failing' },
      { unitId: 4, state: 'silent', message: 'Unit 4 left 3 requests in a row without a valid answer.' },
    ],
  )
  t.equal(events.filter(({ event }) => event === 'error').length, 4)
})

t.test('2.1 a broadcast has no reply and is not a timeout', async (t) => {
  const { say, clock, count } = listener()
  say(frameOf({ unitId: 0, fc: 6, address: 1, quantity: 1, values: [2] }))
  await clock.run(1000)
  t.match(
    { broadcasts: count('broadcasts'), timeouts: count('timeouts'), requests: count('requests') },
    {
      broadcasts: 1,
      timeouts: 0,
      requests: 0,
    },
  )
})

t.test('after noise the next frames between silences are reported at once', async (t) => {
  const { say, clock, seen, count } = listener()
  say(Uint8Array.of(5, 3, 250, 17, 99))
  await clock.run(10)
  say(frameOf(asked))
  await clock.run(10)
  say(replyOf(asked, 1))
  await clock.run(3)
  t.equal(seen.length, 1)
  t.equal(count('noiseBytes'), 5)
})

t.test('a frame with an unknown function ends by silence', async (t) => {
  const { say, clock, frames, count } = listener()
  say(sealed([9, 17]))
  await clock.run(5)
  say(sealed([9, 17, 3, 1, 2, 3]))
  await clock.run(5)
  t.equal(count('unknownFrames'), 2)
  t.match(frames, [{ decoded: { kind: 'stray', unitId: 9, fc: 17, name: 'Function 17' } }, {}])
})

t.test('a listener never sends: actions are refused with the name of its mode', async (t) => {
  const { adapter } = listener()
  await t.rejects(act(adapter, 'request', {}), { code: 'wrong_protocol', message: /listen/ })
  await t.rejects(act(adapter, 'tx', {}), { code: 'wrong_protocol' })
})

t.test('whatever is heard, and whenever, nothing is written, and all timers end', async (t) => {
  const turn = fc.record({
    talk: anyTransaction,
    sizes: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 }),
    waitMs: fc.nat(500),
    noise: fc.uint8Array({ maxLength: 9 }),
  })
  const law = fc.asyncProperty(fc.array(turn, { maxLength: 8 }), async (turns) => {
    const { say, clock, adapter, line } = listener()
    for (const { talk, sizes, waitMs, noise } of turns) {
      for (const piece of pieces(talk.frame, sizes)) say(piece)
      await clock.run(waitMs)
      if (talk.reply) for (const piece of pieces(talk.reply, sizes)) say(piece)
      say(noise)
      await clock.run(waitMs)
    }
    await clock.run(2000)
    t.equal(clock.pending(), 0)
    await adapter.detach()
    t.strictSame(line.written, [])
  })
  await holdsLater(t, law)
})
