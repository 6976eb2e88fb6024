/** Frames that callers send: through a ring of two nodes on a cable, with the replies that come, or do not. */
import t from 'tap'
import type { SendOutcome } from '../../../core/mstp/requests.ts'
import { encodeMstpFrame, FRAME_TYPES, type MstpFrame } from '../../../wire/mstp/frame.ts'
import { cable, framesOf, saidOn } from './cable.ts'

const {
  BACNET_DATA_EXPECTING_REPLY: ASKS,
  BACNET_DATA_NOT_EXPECTING_REPLY: SAYS,
  REPLY_POSTPONED,
  TEST_REQUEST,
} = FRAME_TYPES

/** A request for a property, and an answer with this invoke id. */
const asking = (invokeId: number, property = 85) =>
  Uint8Array.of(1, 4, 2, 0x44, invokeId, 12, 0x0c, 0, 0, 0, 0, 0x19, property)
const answer = (invokeId: number) =>
  Uint8Array.of(1, 0, 0x30, invokeId, 12, 0x0c, 0, 0, 0, 0, 0x19, 85, 0x3e, 0x21, 7, 0x3f)

/** A ring of nodes 1 and 2, and a slave with address 9 that answers as it is told. */
function ring(changes: Parameters<ReturnType<typeof cable>['attach']>[0] = {}) {
  const on = cable()
  const mine = on.attach({ mac: 1, max_master: 5, ...changes })
  const other = on.attach({ mac: 2, max_master: 5 })
  on.clock.advance(5000)
  const outcomes: (SendOutcome | { code: string; message: string })[] = []
  function send(frame: Partial<MstpFrame>) {
    const sent = mine.node.send({ frameType: ASKS, source: 1, destination: 9, data: asking(7), ...frame })
    sent.outcome.then(
      (outcome) => outcomes.push(outcome),
      ({ code, message }) => outcomes.push({ code, message }),
    )
    return sent
  }
  /** Runs until the last frame sent is of this type, and returns it. */
  async function heard(frameType: number): Promise<void> {
    for (let ms = 0; ms < 2000; ms++) {
      await on.clock.run(1)
      if (on.log.at(-1)?.bytes[2] === frameType && on.clock.monotonicMs() >= (on.log.at(-1)?.toMs ?? 0) + 1) return
    }
    throw new Error('it was not sent')
  }
  const say = (frame: Partial<MstpFrame>) =>
    on.speak(encodeMstpFrame({ frameType: SAYS, source: 9, destination: 1, data: answer(7), ...frame }))
  /** The same with the other node's token, so that it meets nobody. */
  const sayLater = async (frame: Partial<MstpFrame>) => {
    const said = { frameType: SAYS, source: 9, destination: 1, data: answer(7), ...frame }
    const { outcome } = other.node.send(said)
    for (let ms = 0; ms < 500; ms++) await on.clock.run(1)
    await outcome
  }
  return { ...on, on, sayLater, heard, mine, other, outcomes, say, send }
}

t.test('9.5.6.3 a frame that expects no reply is sent with the next token', async (t) => {
  const { clock, on, outcomes, send } = ring()
  send({ frameType: SAYS, destination: 255, data: Uint8Array.of(1, 0x20, 0xff, 0xff, 0, 0xff, 0x10, 8) })
  const fromMs = clock.monotonicMs()
  await clock.run(100)
  t.match(outcomes, [{ reply: null, tookMs: null, isPostponed: false }])
  t.ok(saidOn(on, fromMs).includes('BACNET_DATA_NOT_EXPECTING_REPLY 1>255'))
})

t.test('9.5.3 Nmax_info_frames bounds what is sent with one token', async (t) => {
  const { clock, on, send } = ring({ max_info_frames: 2 })
  for (const _ of [1, 2, 3]) send({ frameType: SAYS })
  const fromMs = clock.monotonicMs()
  await clock.run(200)
  const said = saidOn(on, fromMs)
  const first = said.indexOf('BACNET_DATA_NOT_EXPECTING_REPLY 1>9')
  t.same(said.slice(first, first + 3), [
    'BACNET_DATA_NOT_EXPECTING_REPLY 1>9',
    'BACNET_DATA_NOT_EXPECTING_REPLY 1>9',
    'TOKEN 1>2',
  ])
})

t.test('9.5.6.4 the reply to a request is returned', async (t) => {
  const { clock, heard, outcomes, say, send } = ring()
  send({})
  await heard(ASKS)
  say({})
  await clock.run(50)
  t.match(outcomes, [{ reply: { source: 9, destination: 1, data: answer(7) }, isPostponed: false }])
  t.ok(((outcomes[0] as SendOutcome).tookMs ?? 0) > 0)
})

t.test('9.5.6.4 a reply that was postponed is followed until the other node sends it with its token', async (t) => {
  const { clock, heard, mine, outcomes, say, sayLater, send } = ring()
  send({})
  await heard(ASKS)
  say({ frameType: REPLY_POSTPONED, data: new Uint8Array(0) })
  await clock.run(2000)
  t.same(outcomes, [])
  await sayLater({ data: answer(6) })
  t.same(outcomes, [], 'the answer to another request is not taken for it')
  await sayLater({ source: 8 })
  t.same(outcomes, [], 'nor that of another node')
  await sayLater({})
  t.match(outcomes, [{ reply: { data: answer(7) }, isPostponed: true }])
  t.match(mine.node.counters(), { postponed: 1, replies: 1, timeouts: 0 })
})

t.test('a reply that was postponed and never comes is a timeout', async (t) => {
  const { clock, heard, outcomes, say, send } = ring({ postponed_ms: 500 })
  send({})
  await heard(ASKS)
  say({ frameType: REPLY_POSTPONED, data: new Uint8Array(0) })
  await clock.run(600)
  t.match(outcomes, [{ code: 'mstp_timeout', message: /9 postponed its reply/ }])
})

t.test('9.5.6.4 Treply_timeout: a node that does not answer is a timeout, and the token goes on', async (t) => {
  const { clock, heard, on, outcomes, send } = ring()
  send({})
  await heard(ASKS)
  const fromMs = clock.monotonicMs()
  await clock.run(300)
  t.match(outcomes, [
    { code: 'mstp_timeout', message: 'Node 9 did not answer BACNET_DATA_EXPECTING_REPLY within 255 ms.' },
  ])
  const [first] = saidOn(on, fromMs)
  t.equal(first, 'TOKEN 1>2')
  const [next] = on.log.filter((said) => said.fromMs >= fromMs)
  t.ok((next?.fromMs ?? 0) - fromMs >= 250)
})

t.test(
  'a request is not sent while another of the same invoke id may still be answered, unless it is the same',
  async (t) => {
    const { clock, heard, mine, outcomes, say, sayLater, send } = ring({ late_reply_ms: 3000 })
    send({})
    await heard(ASKS)
    await clock.run(300)
    t.match(outcomes.splice(0), [{ code: 'mstp_timeout' }])
    t.throws(() => send({ data: asking(7, 77) }), { code: 'mstp_reply_owed', message: /invoke id 7.*use another/ })
    t.doesNotThrow(() => send({ data: asking(8, 77), destination: 9 }).withdraw())
    t.doesNotThrow(() => send({ data: asking(7, 77), destination: 8 }).withdraw())
    send({})
    await heard(ASKS)
    say({})
    await clock.run(100)
    t.match(outcomes.at(-1), { reply: { data: answer(7) } })
    send({})
    await heard(ASKS)
    await clock.run(300)
    await sayLater({})
    t.equal(mine.node.counters().lateReplies, 1, 'the late one is known for what it is')
    t.doesNotThrow(() => send({ data: asking(7, 77) }).withdraw(), 'and then nothing is owed')
    await clock.run(20)
  },
)

t.test('9.5.6.4 a damaged reply fails the request', async (t) => {
  const { clock, heard, on, outcomes, send } = ring()
  send({})
  await heard(ASKS)
  const reply = encodeMstpFrame({ frameType: SAYS, source: 9, destination: 1, data: answer(7) })
  reply[10] = 0
  on.speak(reply)
  await clock.run(50)
  t.match(outcomes, [{ code: 'mstp_bad_reply', message: /damaged/ }])
})

t.test('9.5.6.4 where another node speaks instead, the token is dropped and the request fails', async (t) => {
  const { clock, heard, outcomes, say, send } = ring()
  send({})
  await heard(ASKS)
  say({ frameType: FRAME_TYPES.TOKEN, source: 4, destination: 2, data: new Uint8Array(0) })
  await clock.run(50)
  t.match(outcomes, [{ code: 'mstp_token_dropped', message: /two tokens/ }])
})

t.test('a test is answered by the node at the other end, with its data', async (t) => {
  const { clock, outcomes, send } = ring()
  send({ frameType: TEST_REQUEST, destination: 2, data: Uint8Array.of(1, 2, 3) })
  await clock.run(200)
  t.match(outcomes, [{ reply: { frameType: FRAME_TYPES.TEST_RESPONSE, source: 2, data: Uint8Array.of(1, 2, 3) } }])
})

t.test('9.5.6.9 a request to this node is told, and its reply postponed', async (t) => {
  const { clock, mine, on, other } = ring()
  const fromMs = clock.monotonicMs()
  void other.node.send({ frameType: ASKS, source: 2, destination: 1, data: asking(3) }).outcome.catch(() => {})
  await clock.run(200)
  t.ok(saidOn(on, fromMs).includes('REPLY_POSTPONED 1>2'))
  t.equal(mine.node.counters().repliesDeferred, 1)
  t.ok(mine.seen.some(({ bytes, direction }) => direction === 'rx' && bytes[2] === ASKS))
})

t.test('a frame in the name of another node waits for the reply to that one', async (t) => {
  const { clock, heard, outcomes, say, send } = ring()
  send({ source: 30 })
  await heard(ASKS)
  say({ destination: 30 })
  await clock.run(50)
  t.match(outcomes, [{ reply: { destination: 30, source: 9 } }])
})

t.test('what waits is bounded, in number and in time, and can be withdrawn', async (t) => {
  const on = cable()
  const { node } = on.attach({ mac: 1, queue: 2, request_deadline_ms: 300 })
  const frame = { frameType: SAYS, source: 1, destination: 255, data: asking(1) }
  const first = node.send(frame)
  const second = node.send(frame)
  t.throws(() => node.send(frame), { code: 'queue_full', message: /2 frames wait/ })
  second.withdraw()
  await t.rejects(second.outcome, { code: 'mstp_withdrawn' })
  t.doesNotThrow(() => void node.send(frame).outcome.catch(() => {}))
  const late = t.rejects(first.outcome, { code: 'mstp_no_token', message: /no token within 300/ })
  await on.clock.run(400)
  await late
  t.equal(framesOf(on).length, 0)
})

t.test('a line that is lost fails all that waits, and nothing is sent after it', async (t) => {
  const { clock, mine, on, outcomes, send } = ring()
  send({})
  const { Fault } = await import('#kit/pure/fault.ts')
  mine.node.end(new Fault('line_gone', 'the device is gone'))
  const fromMs = clock.monotonicMs()
  await clock.run(1000)
  t.match(outcomes, [{ code: 'line_gone' }])
  t.notOk(framesOf(on, fromMs).some(({ source }) => source === 1))
})

/** Runs until the frame that was asked for is taken for the token, and waits for its turnaround. */
async function taken({ clock, mine }: ReturnType<typeof ring>): Promise<void> {
  for (let steps = 0; steps < 20_000 && mine.node.view().waiting > 0; steps++) await clock.run(0.1)
}

t.test('a line that is lost fails what was about to be sent, too', async (t) => {
  const at = ring()
  at.send({})
  await taken(at)
  t.equal(at.mine.node.counters().requests, 0, 'it was not sent yet')
  const { Fault } = await import('#kit/pure/fault.ts')
  at.mine.node.end(new Fault('line_gone', 'the device is gone'))
  await at.clock.run(10)
  t.match(at.outcomes, [{ code: 'line_gone' }])
})

t.test('the answer to a request whose caller left as it was sent is not taken for that of another', async (t) => {
  const at = ring()
  const { withdraw } = at.send({})
  await taken(at)
  t.throws(() => at.send({ data: asking(7, 77) }), { code: 'mstp_reply_owed' }, 'it is about to be sent')
  withdraw()
  await at.heard(ASKS)
  t.throws(() => at.send({ data: asking(7, 77) }), { code: 'mstp_reply_owed' }, 'it was sent')
  await at.sayLater({})
  t.equal(at.mine.node.counters().lateReplies, 1)
})

t.test('only the answer that is owed ends the wait for it', async (t) => {
  const { clock, heard, mine, outcomes, sayLater, send } = ring()
  send({})
  await heard(ASKS)
  await clock.run(300)
  t.match(outcomes, [{ code: 'mstp_timeout' }])
  await sayLater({ data: asking(7) })
  await sayLater({ frameType: FRAME_TYPES.TEST_RESPONSE })
  t.throws(() => send({ data: asking(7, 77) }), { code: 'mstp_reply_owed' }, 'a question with its number is no answer')
  await sayLater({})
  t.equal(mine.node.counters().lateReplies, 1)
})

t.test('a device that postpones every reply does not let requests without end wait', async (t) => {
  const { clock, heard, say, send } = ring({ queue: 2 })
  for (const invokeId of [1, 2]) {
    send({ data: asking(invokeId) })
    await heard(ASKS)
    say({ frameType: REPLY_POSTPONED, data: new Uint8Array(0) })
    await clock.run(20)
  }
  t.throws(() => send({ data: asking(3) }), { code: 'queue_full', message: /for their reply/ })
})

t.test('a frame that is asked for here does not wait behind those that came by a router', async (t) => {
  const { clock, on, send } = ring()
  const before = on.log.length
  const routed = Uint8Array.of(1, 8, 0, 1, 6, 192, 0, 2, 5, 186, 192, 0x10, 8)
  for (let count = 0; count < 5; count++) send({ frameType: SAYS, destination: 255, data: routed })
  send({ frameType: SAYS, destination: 255, data: Uint8Array.of(1, 0, 0x10, 8) })
  await clock.run(2000)
  const mine = on.log.slice(before).filter(({ bytes }) => bytes[2] === SAYS)
  t.same(
    mine.map(({ bytes }) => bytes[9]),
    [0, 8, 8, 8, 8, 8],
  )
})
