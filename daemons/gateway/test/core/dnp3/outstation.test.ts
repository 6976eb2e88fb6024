import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { EventBuffer, OutstationDatabase } from '../../../core/dnp3/database.ts'
import {
  nextOutstationState,
  Outstation,
  type OutstationEvent,
  type OutstationSettings,
  outstationStateTable,
} from '../../../core/dnp3/outstation.ts'
import { IIN } from '../../../wire/dnp3/application.ts'
import { timeBytes } from '../../../wire/dnp3/objects.ts'

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const hex = (bytes: Iterable<number>) =>
  Buffer.from([...bytes])
    .toString('hex')
    .toUpperCase()
    .replace(/../g, '$& ')
    .trim()

const settings: OutstationSettings = {
  fragmentBytes: 2048,
  confirmTimeoutMs: 5000,
  unsolicitedRetries: 2,
  unsolicitedDelayMs: 100,
  isUnsolicitedAllowed: false,
  selectTimeoutMs: 10_000,
  unsolicitedPauseMs: 1000,
  commandAnswer: 'success',
  restartAnswer: 'no_function',
  restartDelayMs: 5000,
}

function station(over: Partial<OutstationSettings> = {}, eventsPerClass = 100) {
  const clock = fakeClock()
  const sizes = { binary: 3, double_bit: 1, analog: 2, counter: 2, frozen_counter: 2, octet_string: 1 }
  const classes = { binary: 1, double_bit: 1, analog: 2, counter: 3, frozen_counter: 3, octet_string: 3 } as const
  const events = new EventBuffer({ most: eventsPerClass, sizes, classes })
  const other = new EventBuffer({ most: eventsPerClass, sizes, classes })
  const database = new OutstationDatabase({ sizes, buffers: [events, other] })
  const facts = { bits: 0, setAt: 0 }
  const sent: string[] = []
  const told: unknown[] = []
  const outstation = new Outstation({
    clock,
    settings: { ...settings, ...over },
    database,
    events,
    facts: {
      iin: () => facts.bits,
      epochMs: () => clock.epochMs(),
      setTime: (epochMs) => void told.push(epochMs),
    },
    send: (fragment) => void sent.push(hex(fragment)),
    onCommand: (command) => void told.push(command),
    onRestart: (kind) => void told.push(kind),
    onTold: (isConfirmed) => void told.push(isConfirmed),
  })
  /** Takes a fragment; returns what is sent to it. */
  function ask(text: string): string | undefined {
    sent.length = 0
    outstation.receive(bytesOf(text), false)
    return sent.at(-1)
  }
  const at = 1_700_000_000_000
  const set = (kind: 'binary' | 'analog' | 'counter', index: number, value: boolean | number) => {
    database.set(kind, index, { value, timeMs: at })
    outstation.changed()
  }
  const hear = (text: string) => outstation.receive(bytesOf(text), false)
  return { ask, clock, database, events, facts, hear, other, outstation, sent, set, told }
}

t.test('class 0 tells every point, and the restart until it is taken back', async (t) => {
  const on = station()
  t.equal(
    on.ask('C0 01 3C 01 06'),
    'C0 81 80 00 01 02 00 00 02 02 02 02 03 02 00 00 00 02 1E 05 00 00 01 02 00 00 00 00 02 00 00 00 00 14 01 00 00 01 02 00 00 00 00 02 00 00 00 00 15 01 00 00 01 02 00 00 00 00 02 00 00 00 00 6E 01 00 00 00 00',
  )
  t.equal(on.ask('C1 02 50 01 00 07 07 00'), 'C1 81 00 00')
  t.equal(on.ask('C2 01 01 02 00 01 01'), 'C2 81 00 00 01 02 00 01 01 02')
  t.equal(
    on.ask('C3 01 01 02 00 01 09'),
    'C3 81 00 04 01 02 00 01 02 02 02',
    'beyond the last point: a parameter error, and what there is',
  )
  t.equal(on.ask('C4 01 05 00 06'), 'C4 81 00 02', 'an object that is not known')
  t.equal(on.ask('C5 63'), 'C5 81 00 01', 'a function that is not known')
})

t.test('events of a class are told, kept until they are confirmed, and no longer', async (t) => {
  const on = station()
  on.set('binary', 1, true)
  on.set('analog', 0, 1.5)
  const first = on.ask('C0 01 3C 02 06')
  t.equal(first, 'E0 81 84 00 02 02 28 01 00 01 00 81 00 68 E5 CF 8B 01')
  t.equal(on.outstation.state, 'solicited')
  await on.clock.run(5000)
  t.equal(on.outstation.state, 'idle', 'a master that never confirms is not waited for')
  t.match(on.ask('C1 01 3C 02 06'), /^E1 81 84 00 02 02 28/, 'it is told again')
  t.equal(on.ask('C2 00'), undefined, 'a confirmation of another number is none')
  t.equal(on.outstation.state, 'solicited')
  on.hear('C1 00')
  t.equal(on.outstation.state, 'idle')
  t.equal(on.ask('C2 01 3C 02 06'), 'C2 81 84 00')
  t.match(on.ask('C3 01 3C 03 07 01'), /^E3 81 80 00 20 07 28 01 00 00 00 01 00 00 C0 3F/)
})

t.test('more events than the buffer holds are an overflow until there is room', async (t) => {
  const on = station({}, 2)
  for (const value of [true, false, true]) on.set('binary', 0, value)
  t.match(on.ask('C0 01 3C 02 06'), /^E0 81 80 08 02 02 28 02 00/)
  on.hear('C0 00')
  t.match(on.ask('C1 01 3C 02 06'), /^C1 81 80 00$/)
})

t.test('a response that is too long goes on in fragments, each confirmed', async (t) => {
  const on = station({ fragmentBytes: 30 })
  t.match(on.ask('C5 01 3C 01 06'), /^A5 81 /)
  const after = (text: string) => on.ask(text) ?? ''
  t.match(after('C5 00'), /^26 81 /)
  t.match(after('C6 00'), /^(27|67) 81 /)
  t.equal(on.outstation.state === 'solicited' || on.outstation.state === 'idle', true)
})

t.test('a command is selected first, and operated only right after and in time', async (t) => {
  const crob = '0C 01 28 01 00 01 00 03 01 64 00 00 00 64 00 00 00'
  const on = station()
  t.match(on.ask(`C0 04 ${crob} 00`), new RegExp(`^C0 81 80 00 ${crob} 02$`), 'without a selection')
  t.match(on.ask(`C1 03 ${crob} 00`), new RegExp(`${crob} 00$`))
  t.match(on.ask(`C2 04 ${crob} 00`), new RegExp(`${crob} 00$`))
  t.match(on.told, [
    { kind: 'binary_output', index: 1, operation: 'latch_on', relay: null, isDirect: false, status: 'success' },
  ])
  t.match(on.ask(`C2 04 ${crob} 00`), new RegExp(`${crob} 00$`), 'the same request again is answered')
  t.equal(on.told.length, 1, 'and not carried out again')
  on.ask(`C3 03 ${crob} 00`)
  await on.clock.run(10_001)
  t.match(on.ask(`C4 04 ${crob} 00`), new RegExp(`${crob} 01$`), 'too late')
  on.ask(`C5 03 ${crob} 00`)
  t.match(on.ask(`C7 04 ${crob} 00`), new RegExp(`${crob} 02$`), 'another number than the next')
  t.match(on.ask('C8 05 29 03 17 01 00 00 00 C0 3F 00'), /00$/)
  t.match(on.told.at(-1), { kind: 'analog_output', value: 1.5, isDirect: true })
  t.equal(on.ask('C9 06 29 03 17 01 00 00 00 C0 3F 00'), undefined)
  t.equal(on.told.length, 3)
  const closed = station({ commandAnswer: 'not_authorized' })
  t.match(closed.ask(`C0 05 ${crob} 00`), new RegExp(`${crob} 09$`))
})

t.test('IEEE 1815 10.3 the time is set, at once or for the moment that was recorded', async (t) => {
  const on = station()
  const time = hex(timeBytes(1_700_000_000_000))
  on.facts.bits = IIN.needTime
  t.match(on.ask('C0 17'), /^C0 81 90 00 34 02 07 01 00 00$/)
  t.match(on.ask(`C1 02 32 01 07 01 ${time}`), /^C1 81 90 00$/)
  t.same(on.told, [1_700_000_000_000])
  t.match(on.ask(`C2 02 32 03 07 01 ${time}`), /^C2 81 90 04$/, 'no moment was recorded')
  on.ask('C3 18')
  await on.clock.run(200)
  on.ask(`C4 02 32 03 07 01 ${time}`)
  t.equal(on.told[1], 1_700_000_000_200, 'what has gone since then is added')
})

t.test('a restart is never carried out, and answered as configured', async (t) => {
  const refusing = station()
  t.equal(refusing.ask('C5 0D'), 'C5 81 80 01')
  t.same(refusing.told, ['cold'])
  t.equal(station({ restartAnswer: 'already_executing' }).ask('C5 0E'), 'C5 81 80 10')
  t.equal(station({ restartAnswer: 'delay' }).ask('C5 0E'), 'C5 81 80 00 34 02 07 01 88 13')
})

t.test('packed states are sent only where every point is online and nothing else', async (t) => {
  const on = station()
  t.equal(on.ask('C0 01 01 01 06'), 'C0 81 80 00 01 02 00 00 02 02 02 02', 'restart is a flag')
  for (const index of [0, 1, 2]) on.set('binary', index, index !== 1)
  t.equal(on.ask('C1 01 01 01 06'), 'C1 81 82 00 01 01 00 00 02 05')
  t.match(on.ask('C2 01 02 00 06'), /^E2 81 80 00 02 02 28 03 00 /, 'and their events, of their group')
})

t.test('a request to all outstations is carried out, not answered, and said in the next response', async (t) => {
  const on = station()
  on.set('counter', 0, 9)
  on.outstation.receive(bytesOf('C0 08 14 00 06'), true)
  t.same(on.sent, [])
  t.equal(on.ask('C1 01 15 01 00 00 00'), 'C1 81 89 00 15 01 00 00 00 01 09 00 00 00')
  t.match(on.ask('C2 01 15 01 00 00 00'), /^C2 81 88 00/)
})

t.test('IEEE 1815 function 22: a master assigns points to other classes, for itself alone', async (t) => {
  const on = station()
  t.equal(on.ask('C0 16 3C 04 06 01 00 00 01 02 3C 01 06 1E 00 17 01 00'), 'C0 81 80 00')
  t.equal(on.events.assigned, 3)
  on.set('binary', 0, true)
  on.set('binary', 1, true)
  on.set('analog', 0, 1.5)
  on.set('analog', 1, 2.5)
  const counts = (buffer: typeof on.events) => ([1, 2, 3] as const).map((one) => buffer.count(one))
  t.same(counts(on.events), [1, 1, 1], 'analog 0 is in class 0 now, and its changes are no events')
  t.same(counts(on.other), [2, 2, 0])
  t.match(on.ask('C1 01 3C 04 06'), /^E1 81 86 00 02 02 28 01 00 01 00 81/)
  on.hear('C1 00')
  t.match(on.ask('C2 01 3C 01 06'), /1E 05 00 00 01 01 00 00 C0 3F/, 'all points are in class 0')
  t.equal(on.ask('C3 16 3C 02 06 01 00 06 3C 03 06 1E 00 06'), 'C3 81 86 00')
  t.equal(on.events.assigned, 0)
})

t.test('what of an assignment is wrong is said, and the rest is done', async (t) => {
  const rows: [string, string, number][] = [
    ['01 00 06', '81 80 04', 0],
    ['3C 04 06 01 00 00 02 09', '81 80 04', 1],
    ['3C 04 06 01 02 06', '81 80 02', 0],
    ['3C 04 06 02 00 06', '81 80 02', 0],
    ['3C 05 06 01 00 06', '81 80 06', 0],
    ['3C 04 06 01 00 07 02', '81 80 04', 0],
    ['3C 04 06 6E 00 06 01 00 28 02 00 01 00 08 00', '81 80 04', 1],
    ['3C 04 06 01 00 00 02', '81 80 04', 0],
    ['3C 04 06', '81 80 00', 0],
  ]
  for (const [objects, said, assigned] of rows) {
    const on = station()
    t.equal(on.ask(`C0 16 ${objects}`), `C0 ${said}`, objects)
    t.equal(on.events.assigned, assigned, objects)
  }
})

t.test('counters are frozen, and cleared where that is asked', async (t) => {
  const on = station()
  on.set('counter', 0, 42)
  t.match(on.ask('C0 07 14 00 06'), /^C0 81 88 00$/)
  t.match(on.ask('C1 01 15 01 00 00 00'), /15 01 00 00 00 01 2A 00 00 00$/)
  t.match(on.ask('C2 09 14 00 00 00 00'), /^C2 81/)
  t.match(on.ask('C3 01 14 01 00 00 00'), /14 01 00 00 00 01 00 00 00 00$/)
})

t.test('events are told unasked once they are enabled, again without a confirmation, and kept', async (t) => {
  const on = station({ isUnsolicitedAllowed: true })
  on.outstation.connected()
  await on.clock.run(1)
  t.same(on.sent, ['F0 82 80 00'], 'first that it has started')
  on.sent.length = 0
  on.hear('D0 00')
  t.equal(on.outstation.state, 'idle')
  on.set('binary', 0, true)
  await on.clock.run(200)
  t.same(on.sent, [], 'nothing is enabled')
  t.equal(on.ask('C0 14 3C 02 06'), 'C0 81 82 00')
  on.sent.length = 0
  await on.clock.run(200)
  t.match(on.sent[0], /^F1 82 80 00 02 02 28 01 00 00 00 81/)
  await on.clock.run(10_200)
  t.equal(on.sent.length, 3, 'twice again')
  t.equal(on.ask('C1 01 3C 01 06'), undefined, 'a read waits meanwhile')
  on.sent.length = 0
  on.hear('D1 00')
  t.match(on.sent[0], /^C1 81 80 00 01 02/, 'then the read is answered')
  t.equal(on.events.events([1]).length, 0)
  t.equal(station().ask('C0 14 3C 02 06'), 'C0 81 80 01', 'where it is not allowed it is no function')
})

t.test('a master that never confirms leaves the outstation with its events, and no more than the buffer', async (t) => {
  const on = station({ isUnsolicitedAllowed: true }, 10)
  on.outstation.connected()
  for (let at = 0; at < 500; at++) {
    on.set('binary', 0, at % 2 === 0)
    await on.clock.run(1000)
  }
  t.equal(on.events.events([1]).length, 10)
  t.ok(on.events.isOverflown)
  on.outstation.lost()
  t.equal(on.outstation.state, 'idle')
})

t.test('a read waits no longer than one wait for a confirmation; another request takes its place', async (t) => {
  const on = station({ isUnsolicitedAllowed: true })
  on.outstation.connected()
  await on.clock.run(1)
  t.equal(on.ask('C1 01 3C 01 06'), undefined)
  await on.clock.run(5000)
  t.match(on.sent, [/^C1 81 80 00 01 02/], 'and nothing is told again meanwhile')
  t.same(on.told, [false])
  await on.clock.run(900)
  t.equal(on.sent.length, 1, 'after a master that does not confirm there is a pause')
  await on.clock.run(200)
  t.match(on.sent[1], /^F1 82/)
  on.ask('C2 01 3C 01 06')
  t.match(on.ask('C3 17'), /^C3 81/, 'what is no read is answered at once')
  on.sent.length = 0
  on.hear('D1 00')
  t.same(on.sent, [], 'the read before it is forgotten')
})

t.test('changes that come all the time do not put off what is told, nor bring it forward', async (t) => {
  const on = station({ isUnsolicitedAllowed: true })
  on.outstation.connected()
  await on.clock.run(1)
  on.hear('D0 00')
  on.ask('C0 14 3C 02 06')
  on.sent.length = 0
  for (let at = 0; at < 8; at++) {
    on.set('binary', 0, at % 2 === 0)
    await on.clock.run(20)
  }
  t.equal(on.sent.length, 1)
  await on.clock.run(16_000)
  const before = on.sent.length
  for (let at = 0; at < 9; at++) {
    on.set('binary', 1, at % 2 === 0)
    await on.clock.run(100)
  }
  t.equal(on.sent.length, before)
})

t.test('the table of states has every pair that it lists, and no other changes anything', async (t) => {
  const events: OutstationEvent[] = ['asked', 'told', 'confirmed', 'gaveUp', 'interrupted', 'lost']
  for (const state of ['idle', 'solicited', 'unsolicited'] as const)
    for (const event of events)
      t.equal(nextOutstationState(state, event), outstationStateTable[state][event] ?? state, `${state} ${event}`)
})

/** A request that is as long as one may be, of one header again and again. */
const repeated = (head: string, header: string) =>
  `${head} ${`${header} `.repeat(Math.floor(2046 / bytesOf(header).length))}`

t.test('a request that names the same events in each of its headers looks through them once', async (t) => {
  let looks = 0
  const on = station()
  on.set('binary', 0, true)
  const { events } = on
  const looked = events.events.bind(events)
  events.events = (classes) => {
    looks++
    return looked(classes)
  }
  t.match(on.ask(repeated('C0 01', '02 00 06')), /^E0 81 80 00 02 02 28 01 00 00 00 /)
  t.equal(looks, 1)
  on.outstation.lost()
  looks = 0
  t.match(on.ask(repeated('C1 01', '3C 02 07 00')), /^C1 81 82 00$/)
  t.equal(looks, 1)
})

t.test('a request that freezes the same counters in each of its headers freezes them once', async (t) => {
  let sets = 0
  const on = station()
  on.set('counter', 1, 7)
  const { database } = on
  const set = database.set.bind(database)
  database.set = (...args) => {
    sets++
    return set(...args)
  }
  t.equal(on.ask(repeated('C0 09', '14 00 06')), 'C0 81 88 00')
  t.equal(sets, 4, 'two counters, and what they were frozen to')
  t.equal(on.ask('C1 01 15 01 00 01 01'), 'C1 81 88 00 15 01 00 01 01 01 07 00 00 00')
  sets = 0
  t.equal(on.ask(repeated('C2 07', '14 00 00 01 01')), 'C2 81 88 00')
  t.equal(sets, 1)
})
