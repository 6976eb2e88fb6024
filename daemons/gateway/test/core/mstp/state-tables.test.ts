/** The two tables row by row, and that the machines take no other way. */
import t from 'tap'
import { type MasterEvent, type MasterState, MstpMaster, mstpMasterTable, N_POLL } from '../../../core/mstp/master.ts'
import { MstpReceiver, mstpReceiveTable, type ReceiveState } from '../../../core/mstp/receiver.ts'
import { encodeMstpFrame, FRAME_TYPES, type MstpFrame } from '../../../wire/mstp/frame.ts'

const none = new Uint8Array(0)

/** A machine whose frames and transitions are written down. @param waiting frames that want the token */
function machine(mac: number, maxMaster: number, waiting: MstpFrame[] = []) {
  const took: [MasterState, MasterEvent, MasterState][] = []
  const sent: MstpFrame[] = []
  const ends: string[] = []
  const pending: [MasterState, MasterEvent][] = []
  const master: MstpMaster<MstpFrame> = new MstpMaster(
    { mac, maxMaster, maxInfoFrames: 2, replyTimeoutMs: 255, usageTimeoutMs: 20 },
    {
      send: (frame) => void sent.push(frame),
      sendNext() {
        const frame = waiting.shift()
        return frame && { outgoing: frame, frame }
      },
      onReply: () => void ends.push('reply'),
      onPostponed: () => void ends.push('postponed'),
      onNoReply: (_, why) => void ends.push(why),
      onTransition: (event, previous) => void pending.push([previous, event]),
    },
  )
  const settle = () => {
    for (const [previous, event] of pending.splice(0))
      took.push([previous, event, mstpMasterTable[previous][event] ?? previous])
    return took
  }
  const hear = (frameType: number, source: number, destination: number, data: Uint8Array = none) => {
    master.octets(8)
    master.frame({ frameType, source, destination, data }, destination === mac || destination === 255)
    return settle()
  }
  return { ends, hear, master, sent, settle, took }
}

const { POLL_FOR_MASTER, REPLY_POSTPONED, REPLY_TO_POLL_FOR_MASTER, TEST_REQUEST, TEST_RESPONSE, TOKEN } = FRAME_TYPES
const request: MstpFrame = { frameType: 5, source: 1, destination: 9, data: none }
const notice: MstpFrame = { frameType: 6, source: 1, destination: 255, data: none }

/** Each way through the machine is named by the clause of the states that it passes. */
const ways: [string, () => ReturnType<typeof machine>][] = [
  [
    '9.5.6.2 and 9.5.6.7 a token is lost, made, and answered',
    () => {
      const on = machine(1, 5)
      on.master.silence(500)
      on.master.silence(510)
      on.hear(REPLY_TO_POLL_FOR_MASTER, 2, 1)
      on.hear(TOKEN, 2, 3)
      return on
    },
  ],
  [
    '9.5.6.8 a token is made while there is one',
    () => {
      const on = machine(1, 5)
      on.master.silence(500)
      on.master.silence(510)
      on.hear(TOKEN, 3, 4)
      return on
    },
  ],
  [
    'a node that cannot send in its time lets go of the token',
    () => {
      const on = machine(1, 5, [{ ...request }])
      on.hear(TOKEN, 0, 1)
      on.master.giveUpTurn()
      on.hear(TOKEN, 0, 1)
      on.master.giveUpTurn()
      on.hear(TOKEN, 0, 1)
      on.hear(REPLY_TO_POLL_FOR_MASTER, 2, 1)
      on.master.giveUpTurn()
      on.master.giveUpTurn()
      return on
    },
  ],
  [
    '9.5.6.7 another node was sooner',
    () => {
      const on = machine(4, 5)
      on.master.silence(500)
      on.hear(POLL_FOR_MASTER, 0, 1)
      on.master.invalidFrame()
      return on
    },
  ],
  [
    '9.5.6.8 nobody answers, and the node is alone',
    () => {
      const on = machine(1, 3, [{ ...notice }])
      on.master.silence(500)
      on.master.silence(510)
      for (const _ of [0, 2, 3]) on.master.silence(20)
      for (let turns = 0; turns < 8; turns++) on.master.silence(20)
      on.hear(REPLY_TO_POLL_FOR_MASTER, 2, 1)
      return on
    },
  ],
  [
    '9.5.6.3 to 9.5.6.6 frames are sent with the token, and it is passed',
    () => {
      const on = machine(1, 5, [{ ...notice }, { ...request }])
      on.hear(REPLY_TO_POLL_FOR_MASTER, 2, 1)
      on.hear(TOKEN, 0, 1)
      on.hear(FRAME_TYPES.BACNET_DATA_NOT_EXPECTING_REPLY, 9, 1)
      on.hear(REPLY_TO_POLL_FOR_MASTER, 4, 1)
      on.master.silence(20)
      on.master.silence(20)
      return on
    },
  ],
  [
    '9.5.6.4 a reply is missing, damaged, postponed, or another node speaks',
    () => {
      const on = machine(
        1,
        5,
        Array.from({ length: 6 }, () => ({ ...request })),
      )
      on.hear(TOKEN, 0, 1)
      on.hear(REPLY_POSTPONED, 9, 1)
      on.master.invalidFrame()
      on.hear(REPLY_TO_POLL_FOR_MASTER, 3, 1)
      on.hear(TOKEN, 0, 1)
      on.master.silence(255)
      on.hear(TOKEN, 3, 4)
      on.hear(TOKEN, 0, 1)
      on.hear(TOKEN, 3, 4)
      return on
    },
  ],
  [
    '9.5.6.5 addresses between this node and the next are polled once in Npoll tokens',
    () => {
      const on = machine(1, 7)
      on.hear(TOKEN, 0, 1)
      on.hear(REPLY_TO_POLL_FOR_MASTER, 4, 1)
      for (let turns = 0; turns < 3 * N_POLL; turns++) {
        if (on.master.state === 'pollForMaster') on.master.silence(20)
        on.hear(TOKEN, 0, 1)
      }
      return on
    },
  ],
  [
    '9.5.6.9 requests are answered: a test at once, all others later',
    () => {
      const on = machine(1, 5)
      on.hear(TEST_REQUEST, 3, 1, Uint8Array.of(7))
      on.hear(FRAME_TYPES.BACNET_DATA_EXPECTING_REPLY, 3, 1)
      on.hear(FRAME_TYPES.BACNET_DATA_NOT_EXPECTING_REPLY, 3, 255)
      on.hear(TEST_RESPONSE, 3, 4)
      on.hear(POLL_FOR_MASTER, 3, 1)
      return on
    },
  ],
]

const passed = new Set<string>()
for (const [title, walk] of ways)
  t.test(title, async (t) => {
    const on = walk()
    const took = on.settle()
    t.ok(took.length > 1)
    let at: MasterState = 'initialize'
    for (const [previous, event, next] of took) {
      t.equal(previous, at, `${event} comes in ${at}`)
      at = next
      passed.add(`${previous} ${event}`)
    }
    t.equal(on.master.state, at)
  })

t.test('9.5.6 every row of the table was passed', async (t) => {
  const rows = Object.entries(mstpMasterTable).flatMap(([state, events]) =>
    Object.keys(events).map((event) => `${state} ${event}`),
  )
  t.same(
    rows.filter((row) => !passed.has(row)),
    [],
  )
})

t.test('9.5.6.4 what came of a request is told', async (t) => {
  const on = machine(
    1,
    5,
    Array.from({ length: 5 }, () => ({ ...request })),
  )
  on.hear(TOKEN, 0, 1)
  on.hear(REPLY_POSTPONED, 9, 1)
  on.master.invalidFrame()
  t.same(on.ends, ['postponed', 'damaged'])
})

const receives: [string, number[] | null, ReceiveState][] = [
  ['idle eatAnOctet', [0x01], 'idle'],
  ['idle preamble1', [0x55], 'preamble'],
  ['preamble repeatedPreamble1', [0x55, 0x55], 'preamble'],
  ['preamble notPreamble', [0x55, 0x01], 'idle'],
  ['preamble preamble2', [0x55, 0xff], 'header'],
  ['header headerOctet', [0x55, 0xff, 0x00], 'header'],
  ['headerCrc badCrc', [0x55, 0xff, 0, 0x10, 5, 0, 0, 0x8d], 'idle'],
  ['headerCrc noData', [0x55, 0xff, 0, 0x10, 5, 0, 0, 0x8c], 'idle'],
]
const dataFor = (destination: number) =>
  encodeMstpFrame({ frameType: 6, destination, source: 5, data: Uint8Array.of(1, 0x22, 0x30) })
receives.push(
  ['headerCrc data', [...dataFor(4).subarray(0, 8)], 'data'],
  ['headerCrc dataNotForUs', [...dataFor(9).subarray(0, 8)], 'skipData'],
  ['data dataOctet', [...dataFor(4).subarray(0, 9)], 'data'],
  ['skipData dataOctet', [...dataFor(9).subarray(0, 9)], 'skipData'],
  ['dataCrc goodCrc', [...dataFor(4)], 'idle'],
  ['dataCrc badCrc', [...dataFor(4).subarray(0, -1), 0], 'idle'],
)

for (const [title, octets, state] of receives)
  t.test(`9.5.4 ${title}`, async (t) => {
    const receiver = new MstpReceiver(4)
    receiver.feed(Uint8Array.from(octets ?? []))
    t.equal(receiver.state, state)
    receiver.timeout()
    t.equal(receiver.state, 'idle', 'a silence ends whatever it is')
  })

t.test('9.5.4 a frame that is too long is skipped to its end, and is invalid', async (t) => {
  const receiver = new MstpReceiver(4)
  const head = encodeMstpFrame({ frameType: 32, destination: 4, source: 5, data: new Uint8Array(600) }).slice(0, 8)
  head[2] = 6
  // The checksum of the header with type 6 in it.
  const checked = withHeaderCrc(head)
  t.same(receiver.feed(checked), [])
  t.equal(receiver.state, 'skipData')
  const length = (head[5] ?? 0) * 256 + (head[6] ?? 0)
  const found = receiver.feed(new Uint8Array(length + 2))
  t.match(found, [{ kind: 'invalid', fault: { code: 'mstp_length' } }])
  t.equal(receiver.state, 'idle')
})

function withHeaderCrc(head: Uint8Array): Uint8Array {
  for (let crc = 0; crc < 256; crc++) {
    const tried = Uint8Array.from([...head.subarray(0, 7), crc])
    const receiver = new MstpReceiver(4)
    receiver.feed(tried)
    if (receiver.state === 'skipData') return tried
  }
  throw new Error('no checksum fits')
}

t.test('9.5.4 every state that the table names is known', async (t) => {
  const states = Object.keys(mstpReceiveTable)
  for (const events of Object.values(mstpReceiveTable))
    for (const next of Object.values(events)) t.ok(states.includes(next))
})
