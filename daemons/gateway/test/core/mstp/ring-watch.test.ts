/** Who has left a ring and who is back: not at the first frame that is missed, and told once. */
import t from 'tap'
import { mstpRingNodeTable, RingWatch } from '../../../core/mstp/ring-watch.ts'

/** A ring as a thread tells it, five looks a second. @param own 1, unless it is a listener */
function stage(own: number | null = 1) {
  const told: string[] = []
  const watch = new RingWatch({
    ...{ own, goneMs: 10_000 },
    onNode: ({ message, previous, state, unitId }) => {
      told.push(`${unitId} ${previous} ${state}`)
      messages.push(message)
    },
    onAlone: (fault) => void told.push(fault ? 'alone' : 'company'),
  })
  const messages: string[] = []
  const frames = new Map<number, number>()
  let nowMs = 0

  /** @param heard who speaks in each of the looks */
  function pass(ms: number, heard: readonly number[], { isMaster = true, stepMs = 200 } = {}): void {
    for (let at = 0; at < ms; at += stepMs) {
      nowMs += stepMs
      for (const mac of heard) frames.set(mac, (frames.get(mac) ?? 0) + 1)
      const nodes = [...frames].map(([mac, count]) => ({
        ...{ mac, isMaster, isPresent: true, next: null, frames: count, tokens: count, lastSeenAt: 0 },
      }))
      watch.look(nodes, nowMs)
    }
  }
  return { told, messages, watch, pass, states: () => watch.list().map(({ state, unitId }) => `${unitId} ${state}`) }
}

t.test(
  'a node joins once it was heard a few times, leaves after node_gone_ms, and is told when it is back',
  async (t) => {
    const { messages, pass, states, told } = stage()
    pass(400, [1, 4, 9])
    t.same(told, [], 'a frame or two may be noise')
    pass(400, [1, 4, 9])
    t.same(told.splice(0), ['4 unknown well', '9 unknown well'])
    pass(9800, [1, 4])
    t.same(told, [])
    pass(400, [1, 4])
    t.same(told.splice(0), ['9 well silent'])
    t.match(messages.at(-1), /Node 9 has left the ring: it was not heard for 10 s/)
    t.same(states(), ['4 well', '9 silent'])
    pass(30_000, [4])
    t.same(told, [], 'once')
    pass(600, [4, 9])
    t.same(told, ['9 silent well'])
    t.equal(messages.at(-1), 'Node 9 is back in the ring.')
  },
)

t.test('a node that misses some turns, or speaks once in a while when it is gone, does not flicker', async (t) => {
  const { pass, told } = stage()
  pass(1000, [4, 9])
  told.length = 0
  for (let turn = 0; turn < 20; turn++) {
    pass(8000, [4])
    pass(200, [4, 9])
  }
  t.same(told, [])
  pass(11_000, [4])
  for (let turn = 0; turn < 20; turn++) {
    pass(11_000, [4])
    pass(200, [4, 9])
  }
  t.same(told, ['9 well silent'])
})

t.test('a line on which nobody else was ever heard says so; a frame of somebody is enough to end it', async (t) => {
  const { pass, told, watch } = stage()
  pass(9800, [1])
  t.same(told, [])
  pass(400, [1])
  t.same(told.splice(0), ['alone'])
  t.match(watch.alone, { code: 'mstp_alone', message: /Nobody else has been heard on this line: check the wiring/ })
  pass(600, [1, 4])
  t.same(told, ['company', '4 unknown well'])
  t.equal(watch.alone, undefined)
})

t.test('when all are gone it is the line, and who does not come back with the others is told again', async (t) => {
  const { pass, states, told, watch } = stage()
  pass(1000, [1, 4, 7, 9])
  told.length = 0
  pass(200, [1, 4])
  pass(10_400, [1])
  t.same(
    told.splice(0),
    ['alone', '4 well silent', '7 well silent', '9 well silent'],
    'no node is told before the line',
  )
  t.match(watch.alone?.message, /Nobody else is heard any more: nodes 4, 7, 9 are gone/)
  pass(60_000, [1])
  t.same(told, [])
  pass(600, [1, 4, 7])
  t.same(told.splice(0), ['company', '4 silent well', '7 silent well'])
  pass(9000, [1, 4, 7])
  t.same(told, [])
  pass(1600, [1, 4, 7])
  t.same(told, ['9 silent silent'])
  t.same(states(), ['4 well', '7 well', '9 silent'])
})

t.test('slaves speak when they are asked: their silence is no condition, and they are company', async (t) => {
  const { pass, told } = stage()
  pass(600, [1, 40], { isMaster: false })
  pass(60_000, [1], { isMaster: false })
  t.same(told, [])
})

t.test('a program that stood still has not listened meanwhile', async (t) => {
  const { pass, told } = stage()
  pass(1000, [4, 9])
  told.length = 0
  pass(60_000, [], { stepMs: 60_000 })
  pass(1000, [4, 9])
  t.same(told, [])
})

t.test('a listener watches all of them', async (t) => {
  const { pass, states } = stage(null)
  pass(1000, [1, 4])
  pass(11_000, [4])
  t.same(states(), ['1 silent', '4 well'])
})

t.test('a node that was taken away for good is forgotten; one that is there is not', async (t) => {
  const { pass, states, told, watch } = stage()
  pass(1000, [4, 9])
  pass(11_000, [4])
  t.throws(() => watch.forget(4), { code: 'unknown_unit' })
  t.throws(() => watch.forget(77), { code: 'unknown_unit' })
  watch.forget(9)
  t.same(states(), ['4 well'])
  t.ok(watch.isForgotten(9))
  told.length = 0
  pass(60_000, [4])
  t.same(told, [])
  pass(600, [4, 9])
  t.same(told, ['9 unknown well'])
  t.notOk(watch.isForgotten(9))
})

t.test('127 nodes that vanish together are 127 events and one sentence of bounded length', async (t) => {
  const { pass, told, watch } = stage(0)
  const all = Array.from({ length: 127 }, (_, at) => at + 1)
  pass(1000, all)
  pass(12_000, [0])
  t.equal(told.length, 127 + 1 + 127)
  t.ok((watch.alone?.message.length ?? 0) < 250)
  t.match(watch.alone?.message, /and 119 more are gone/)
})

t.test('the table of a node knows each event of each state', async (t) => {
  t.same(mstpRingNodeTable, {
    unknown: { joined: 'well' },
    well: { left: 'silent' },
    silent: { joined: 'well' },
  })
})
