/** Rings of real nodes on one cable: how a token begins, goes round, is lost and found again. */
import t from 'tap'
import { encodeMstpFrame, FRAME_TYPES } from '../../../wire/mstp/frame.ts'
import { cable, framesOf, saidOn, tokensOf } from './cable.ts'

const none = new Uint8Array(0)
const token = (source: number, destination: number) =>
  encodeMstpFrame({ frameType: FRAME_TYPES.TOKEN, source, destination, data: none })

t.test('9.5.6.7 a lone node makes a token after Tno_token and its slots, and polls for the next address', async (t) => {
  const on = cable()
  on.attach({ mac: 3, max_master: 5 })
  on.clock.advance(529)
  t.same(saidOn(on), [])
  on.clock.advance(10)
  t.same(saidOn(on), ['POLL_FOR_MASTER 3>4'])
  t.equal(on.log[0]?.fromMs, 530, 'Tno_token 500 ms, Tslot 10 ms, TS 3')
})

t.test('9.5.6.8 a node that nobody answers declares itself the sole master, and goes on polling', async (t) => {
  const on = cable()
  const { node } = on.attach({ mac: 3, max_master: 5 })
  on.clock.advance(1000)
  t.match(node.view(), { isSoleMaster: true, nextStation: null, order: [3], rotationMs: null })
  t.same(
    saidOn(on).slice(0, 5),
    [4, 5, 0, 1, 2].map((mac) => `POLL_FOR_MASTER 3>${mac}`),
  )
  on.clock.advance(5000)
  const polled = new Set(framesOf(on, 1000).map(({ destination }) => destination))
  t.same([...polled].sort(), [0, 1, 2, 4, 5], 'every other address, again and again')
  t.equal(node.counters().tokensLost, 0, 'a node that begins has lost nothing')
})

t.test('9.5.6 32 nodes that are switched on together make one ring, with one token', async (t) => {
  const on = cable()
  const nodes = Array.from({ length: 32 }, (_, mac) => on.attach({ mac, max_master: 31 }))
  on.clock.advance(20_000)
  const fromMs = on.clock.monotonicMs()
  on.clock.advance(3000)
  const passed = tokensOf(on, fromMs)
  const expected = Array.from({ length: passed.length }, (_, at) => {
    const from = (Number(passed[0]?.split('>')[0]) + at) % 32
    return `${from}>${(from + 1) % 32}`
  })
  t.ok(passed.length > 300)
  t.same(passed, expected, 'each passes to the next, none is left out, and there is no second token')
  t.equal(on.collisions, 0)
  for (const [mac, { node }] of nodes.entries()) t.equal(node.view().nextStation, (mac + 1) % 32)
  const [first] = nodes
  t.same(
    first?.node.view().order,
    Array.from({ length: 32 }, (_, mac) => mac),
  )
  const { rotationMs } = first?.node.view() ?? {}
  t.ok(rotationMs && rotationMs.median > 50 && rotationMs.median < 200, `a turn takes ${rotationMs?.median} ms`)
  t.equal(first?.node.counters().tokensRetried, 0)
})

t.test('9.5.6.5 a node that is switched on later is found by the poll of the node before it', async (t) => {
  const on = cable()
  on.attach({ mac: 1, max_master: 10 })
  on.attach({ mac: 8, max_master: 10 })
  on.clock.advance(5000)
  const late = on.attach({ mac: 5, max_master: 10 })
  on.clock.advance(5000)
  const fromMs = on.clock.monotonicMs()
  on.clock.advance(200)
  t.same(new Set(tokensOf(on, fromMs)), new Set(['1>5', '5>8', '8>1']))
  t.ok((late.node.counters().pollsAnswered ?? 0) >= 1)
})

t.test('9.5.6.6 a node that is pulled out is given the token twice, then the next is sought', async (t) => {
  const on = cable()
  const [one, two, three] = [0, 1, 2].map((mac) => on.attach({ mac, max_master: 5 }))
  on.clock.advance(5000)
  if (two) two.isOff = true
  const fromMs = on.clock.monotonicMs()
  on.clock.advance(500)
  const said = saidOn(on, fromMs)
  const at = said.findIndex((each, index) => each === 'TOKEN 0>1' && said[index + 1] === 'TOKEN 0>1')
  t.ok(at >= 0, said.join(', '))
  t.equal(said[at + 2], 'POLL_FOR_MASTER 0>2')
  t.equal(one?.node.view().nextStation, 2)
  t.match(one?.node.counters(), { tokensRetried: 1, successorsLost: 1, tokensLost: 0 })
  on.clock.advance(15_000)
  t.same(three?.node.view().order, [0, 2], 'it is no part of the ring any more')
  t.match(three?.node.view().nodes[1], { mac: 1, isPresent: false, isMaster: true })
})

t.test('9.5.6.2 a token that is lost with its node is made anew by the lowest address', async (t) => {
  const on = cable()
  const [lowest, holder] = [2, 5, 9].map((mac) => on.attach({ mac, max_master: 10 }))
  on.clock.advance(5000)
  // It has shown that it has the token, and is pulled out before it passes it on.
  const isPolling = () => saidOn(on).at(-1)?.startsWith('POLL_FOR_MASTER 5') === true
  for (let ms = 0; ms < 5000 && !isPolling(); ms++) on.clock.advance(1)
  if (holder) holder.isOff = true
  const fromMs = on.log.at(-1)?.toMs ?? 0
  on.clock.advance(2000)
  const [first] = on.log.filter((said) => said.fromMs >= fromMs)
  const silentMs = (first?.fromMs ?? 0) - fromMs
  t.ok(silentMs >= 510 && silentMs <= 530, `after ${silentMs} ms: Tno_token 500, Tslot 10, TS 2`)
  t.equal(saidOn(on, fromMs)[0], 'POLL_FOR_MASTER 2>3')
  t.same(new Set(tokensOf(on, fromMs + 1500)), new Set(['2>9', '9>2']), 'and the ring goes on')
  t.match(lowest?.node.counters(), { tokensLost: 1, tokensMade: 2 })
  t.match(lowest?.faults, [{ code: 'mstp_token_lost' }])
  t.ok(lowest?.node.view().tokenLostAt)
})

t.test('9.5.6.4 two tokens on one line become one: who hears another speak lets go', async (t) => {
  const on = cable()
  for (const mac of [0, 1, 2, 3]) on.attach({ mac, max_master: 5 })
  on.clock.advance(5000)
  on.speak(token(3, 2))
  on.clock.advance(4000)
  const fromMs = on.clock.monotonicMs()
  on.clock.advance(500)
  const passed = tokensOf(on, fromMs)
  const expected = passed.map((_, at) => {
    const from = (Number(passed[0]?.split('>')[0]) + at) % 4
    return `${from}>${(from + 1) % 4}`
  })
  t.same(passed, expected)
})

t.test('two masters with one address are named as the fault of the port, and the ring goes on', async (t) => {
  const on = cable()
  const mine = on.attach({ mac: 4, max_master: 10 })
  on.attach({ mac: 1, max_master: 10 })
  on.clock.advance(5000)
  const twin = on.attach({ mac: 4, max_master: 10 })
  on.clock.advance(10_000)
  const codes = [mine, twin].map(({ node }) => node.view().fault?.code)
  t.ok(codes.includes('mstp_duplicate_mac') || on.collisions > 0, codes.join())
  const { node } = cable().attach({ mac: 4 })
  node.feed(token(4, 7), 0)
  t.match(node.view(), { fault: { code: 'mstp_duplicate_mac', message: /Another node has address 4/ } })
  t.equal(node.counters().duplicateMacs, 1)
})

t.test('a node that never stops is named, nothing is sent into it, and the ring comes back after it', async (t) => {
  const on = cable()
  const mine = on.attach({ mac: 0, max_master: 5 })
  on.attach({ mac: 1, max_master: 5 })
  on.clock.advance(5000)
  const before = mine.node.counters()
  const babble = Uint8Array.from({ length: 40 }, (_, at) => (at * 37) % 256)
  for (let at = 0; at < 1000; at++) {
    on.speak(babble)
    on.clock.advance(5)
  }
  const during = mine.node.counters()
  t.match(mine.node.view().fault, { code: 'mstp_no_frames', message: /not one frame/ })
  t.ok((during.noiseBytes ?? 0) > 10_000)
  t.ok((during.txFrames ?? 0) - (before.txFrames ?? 0) <= 3, 'it holds its tongue')
  on.clock.advance(5000)
  t.equal(mine.node.view().fault, null)
  t.same(mine.node.view().order, [0, 1])
})

t.test('9.5.6.2 a token that was read too late, with what followed it, is not used', async (t) => {
  const on = cable()
  const { node } = on.attach({ mac: 4, max_master: 10 })
  node.feed(Buffer.concat([token(3, 4), token(3, 4), token(3, 5)]), 0)
  on.clock.advance(100)
  t.same(saidOn(on), [])
  t.match(node.counters(), { staleFrames: 2, tokensReceived: 0, rxFrames: 3 })
})

t.test('9.5.3 Tturnaround: 40 bit times pass between the last octet heard and the first one sent', async (t) => {
  const on = cable(9600)
  on.attach({ mac: 4, max_master: 10 })
  on.speak(encodeMstpFrame({ frameType: FRAME_TYPES.POLL_FOR_MASTER, source: 3, destination: 4, data: none }))
  on.clock.advance(50)
  const [asked, answered] = on.log
  t.equal(saidOn(on)[1], 'REPLY_TO_POLL_FOR_MASTER 4>3')
  const turnMs = (answered?.fromMs ?? 0) - (asked?.toMs ?? 0)
  t.ok(turnMs >= 40_000 / 9600 && turnMs <= 15, `after ${turnMs} ms, within Tusage_delay`)
})

t.test('9.5.3 Tusage_delay: who is held up until others have gone on does not speak into them', async (t) => {
  const on = cable()
  const { node } = on.attach({ mac: 4, max_master: 10 })
  // Read now, but as old as the predecessor's patience.
  on.clock.advance(100)
  node.feed(token(3, 4), (on.clock.monotonicMs() - 25) * 1000)
  on.clock.advance(5)
  t.same(saidOn(on), [])
  t.equal(node.counters().lateTurns, 1)
})

t.test('an adapter that hears itself is no second node of its address', async (t) => {
  const on = cable()
  const mine = on.attach({ mac: 4, max_master: 5, max_info_frames: 3 }, { hasEcho: true })
  on.attach({ mac: 1, max_master: 5 })
  on.clock.advance(5000)
  for (const _ of [1, 2, 3])
    void mine.node.send({ frameType: 6, destination: 255, source: 4, data: Uint8Array.of(1, 0, 0x10, 8) })
  on.clock.advance(500)
  t.match(mine.node.counters(), { duplicateMacs: 0, requests: 3 })
  t.ok((mine.node.counters().echoes ?? 0) > 50)
  t.same(mine.node.view().order, [1, 4])
  t.equal(mine.node.view().fault, null)
})

t.test('a listener draws the map, finds what is lost, and never sends a byte', async (t) => {
  const on = cable()
  const listener = on.attach({ mode: 'listen' })
  const nodes = [1, 2, 3].map((mac) => on.attach({ mac, max_master: 5 }))
  on.clock.advance(5000)
  t.match(listener.node.view(), { state: 'listening', order: [1, 2, 3], nextStation: null, fault: null })
  t.ok((listener.node.view().rotationMs?.median ?? 0) > 3)
  for (const each of nodes) each.isOff = true
  on.clock.advance(2000)
  t.match(listener.node.counters(), { tokensLost: 1, txFrames: 0, txBytes: 0 })
  t.ok(listener.seen.every(({ direction }) => direction === 'rx'))
})

t.test('the time of a turn is told of a token that goes round, and of no other', async (t) => {
  const on = cable()
  const listener = on.attach({ mode: 'listen' })
  const nodes = [1, 2, 3].map((mac) => on.attach({ mac, max_master: 3 }))
  on.clock.advance(5000)
  const turn = () => listener.node.view().rotationMs?.median ?? 0
  t.ok(turn() > 3)
  const [first, second, third] = nodes.map((each) => () => {
    each.isOff = true
    on.clock.advance(12_000)
  })
  first?.()
  t.ok(turn() > 3, 'of those who are left')
  second?.()
  t.equal(listener.node.view().rotationMs, null, 'one alone passes no token')
  t.equal(nodes[2]?.node.view().rotationMs, null, 'and knows it')
  third?.()
  t.equal(listener.node.view().rotationMs, null)
})

t.test('a frame from everybody is no node of the map', async (t) => {
  const on = cable()
  const { node } = on.attach({ mode: 'listen' })
  on.speak(token(255, 3))
  on.clock.advance(50)
  on.speak(token(3, 4))
  on.clock.advance(50)
  t.match(node.view().nodes, [{ mac: 3 }])
  t.equal(node.view().nodes.length, 1)
})
