/** Tests of kit/pure/device/session.ts: login, one question at a time, late answers, polls, and what a device says by itself. */
import t from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { loadDefinition } from '#kit/device/load.ts'
import type { DeviceDefinition } from '#kit/pure/device/definition.ts'
import { type DeviceReport, readConfig } from '#kit/pure/device/device.ts'
import { DeviceSession, deviceSessionStateTable } from '#kit/pure/device/session.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { definitionFile, shippedSets } from '../../device/shipped-sets.ts'

interface Form {
  set: string
  /** Changes the definition before it is loaded. */
  change?: (file: DeviceDefinition) => void
  config?: Record<string, unknown>
  whenLate?: 'end' | { holdMs: number }
  zones?: string[]
  queue?: number
  pollMs?: number
  /** Sending fails. */
  isCut?: boolean
}

function openStage({ set, change, config = {}, whenLate = { holdMs: 3000 }, zones = [], queue = 8, ...form }: Form) {
  const clock = fakeClock()
  const file = definitionFile(set)
  file.polls = form.pollMs === undefined ? [] : (file.polls ?? [])
  change?.(file)
  const device = loadDefinition(new TextEncoder().encode(JSON.stringify(file)))
  const sent: string[] = []
  const reports: DeviceReport[] = []
  const ended: Fault[] = []
  const session = new DeviceSession({
    ...{ device, clock, zones, whenLate, queue, pollMs: form.pollMs, digest: shippedSets().digest },
    config: readConfig(device, config),
    hooks: {
      async send(bytes) {
        if (form.isCut) throw new Error('cut')
        sent.push(Buffer.from(bytes).toString('latin1'))
      },
      report: (report) => void reports.push(report),
      answered() {},
      ended: (fault) => void ended.push(fault),
    },
  })
  const hear = (text: string) => session.hear(Buffer.from(text, 'latin1'))
  return { clock, session, sent, reports, ended, hear }
}

/** Lets promises settle. */
const settle = (clock: FakeClock) => clock.run(0)

t.test('a session goes through its states as the table says', async (t) => {
  const states = Object.keys(deviceSessionStateTable)
  t.strictSame(states, ['closed', 'login', 'ready', 'busy', 'held'])
  for (const [state, row] of Object.entries(deviceSessionStateTable)) {
    for (const next of Object.values(row)) t.ok(states.includes(next), `${state} leads to a state`)
    if (state !== 'closed') t.equal(row.ended, 'closed', `${state} can end`)
  }
  t.equal(deviceSessionStateTable.busy.late, 'held')
  t.equal(deviceSessionStateTable.held.answered, undefined, 'a late answer is no answer')
})

t.test('a projector with a password gets the digest of its random number, once', async (t) => {
  const { clock, hear, sent, session } = openStage({
    set: 'pjlink-class-1',
    config: { password: 'JBMIAProjectorLink' },
  })
  const opened = session.open()
  hear('PJLINK 1 498e4a67\r')
  t.strictSame(sent, ['5d8409bc1c3fa39749434aa3a5c38682%1CLSS ?\r'])
  await settle(clock)
  hear('%1CLSS=1\r')
  await opened
  const done = session.command('power', { power: 'on' })
  await settle(clock)
  t.equal(sent[1], '%1POWR 1\r')
  hear('%1POWR=OK\r')
  t.strictSame(await done, {})
})

t.test('a password that is refused ends the session and says so', async (t) => {
  const { clock, ended, hear, session } = openStage({ set: 'pjlink-class-1', config: { password: 'wrong' } })
  const opened = session.open()
  hear('PJLINK 1 498e4a67\r')
  await settle(clock)
  hear('PJLINK ERRA\r')
  await t.rejects(opened, { code: 'device_login', message: 'the projector refuses the password' })
  t.equal(ended.length, 1)
  await t.rejects(session.command('power', { power: true }), { code: 'device_not_connected' })
})

t.test('a login that nobody answers ends within its time', async (t) => {
  const { clock, session } = openStage({ set: 'pjlink-class-1' })
  const opened = session.open()
  const refused = t.rejects(opened, { code: 'command_unanswered' })
  await clock.run(4000)
  await refused
})

t.test('one question is asked at a time, and each answer goes to its own', async (t) => {
  const { clock, hear, sent, session } = openStage({ set: 'extron-sis-switcher' })
  await session.open()
  const both = [session.command('video_mute', { video_mute: true }), session.command('mute', { mute: true })]
  await settle(clock)
  t.strictSame(sent, ['1B'])
  t.equal(hear('Amt1\r\n'), true, 'of somebody at the front panel')
  await settle(clock)
  t.strictSame(sent, ['1B'], 'is no answer')
  hear('Vmt1\r\n')
  await settle(clock)
  t.strictSame(sent, ['1B', '1Z'])
  hear('Amt1\r\n')
  t.strictSame(await Promise.all(both), [{ video_mute: true }, { mute: true }])
})

t.test('a refusal is a failure with the words of the definition', async (t) => {
  const { clock, hear, session } = openStage({ set: 'extron-sis-switcher' })
  await session.open()
  const refused = t.rejects(session.command('input', { input: 60 }), {
    code: 'command_refused',
    message: 'the device refuses input: there is no such input',
  })
  await settle(clock)
  hear('E01\r\n')
  await refused
})

t.test('on a line, an answer that comes late is taken for nothing, and nothing is sent before', async (t) => {
  const { clock, hear, reports, sent, session } = openStage({ set: 'extron-sis-switcher' })
  await session.open()
  const late = t.rejects(session.command('read_mute', {}), { code: 'command_unanswered' })
  await clock.run(1500)
  await late
  const next = session.command('read_video_mute', {})
  await clock.run(100)
  t.strictSame(sent, ['Z'], 'the line is held')
  hear('1\r\n')
  await settle(clock)
  t.strictSame(reports, [], 'the answer about sound says nothing about the picture')
  t.strictSame(sent, ['Z', 'B'])
  hear('0\r\n')
  t.strictSame(await next, { video_mute: false })
  t.match(session.counters(), { lateAnswers: 1, unanswered: 1 })
})

t.test('on a line, a device that stays silent is asked again when its answer can no longer come', async (t) => {
  const { clock, sent, session } = openStage({ set: 'extron-sis-switcher' })
  await session.open()
  const both = [session.command('read_mute', {}), session.command('read_mute', {})]
  const refused = Promise.all(both.map((one) => t.rejects(one, { code: 'command_unanswered' })))
  await clock.run(1500 + 2999)
  t.equal(sent.length, 1)
  await clock.run(1)
  t.equal(sent.length, 2)
  await clock.run(1500)
  await refused
})

t.test('over a connection, a missing answer ends it, and all who wait are told', async (t) => {
  const { clock, ended, session } = openStage({ set: 'extron-sis-switcher', whenLate: 'end' })
  await session.open()
  const both = [session.command('read_mute', {}), session.command('read_mute', {})]
  const refused = Promise.all(both.map((one) => t.rejects(one, { code: 'command_unanswered' })))
  await clock.run(1500)
  await refused
  t.equal(ended.length, 1)
})

t.test('a command that the device does not know, or with wrong arguments, is sent to nobody', async (t) => {
  const { sent, session } = openStage({ set: 'extron-sis-switcher' })
  await session.open()
  const rows: [string, Record<string, unknown>, RegExp][] = [
    ['inputs', {}, /the nearest is input/],
    ['input', {}, /input is missing, expected a whole number from 0 to 64/],
    ['input', { input: 65 }, /input is another number, expected/],
    ['input', { input: 1.5 }, /expected a whole number/],
    ['input', { input: '1; 2!' }, /another text/],
    ['input', { input: 1, ouput: 2 }, /no argument "ouput"/],
    ['mute', { mute: 'loud' }, /expected true or false/],
  ]
  for (const [name, args, message] of rows) await t.rejects(session.command(name, args), { message }, name)
  t.strictSame(sent, [])
})

t.test('a text with control characters or the end of a message reaches no device', async (t) => {
  const { sent, session } = openStage({ set: 'mettler-toledo-sics' })
  await session.open()
  for (const text of ['A\r\nZ', 'A\u0000', '"', 'x'.repeat(21), '\u20ac', '\u2028'])
    await t.rejects(session.command('display', { text }), { code: 'command_args' })
  t.strictSame(sent, [])
})

t.test('a caller who leaves takes a waiting command along, and leaves one that was sent to its answer', async (t) => {
  const { clock, hear, sent, session } = openStage({ set: 'extron-sis-switcher' })
  await session.open()
  const [first, second] = [new AbortController(), new AbortController()]
  const gone = [
    t.rejects(session.command('read_mute', {}, { signal: first.signal }), /left/),
    t.rejects(session.command('read_input', {}, { signal: second.signal }), /left/),
  ]
  await settle(clock)
  for (const stopper of [first, second]) stopper.abort(new Error('left'))
  await Promise.all(gone)
  const next = session.command('read_video_mute', {})
  await settle(clock)
  t.strictSame(sent, ['Z'], 'its answer is still to come')
  hear('1\r\n')
  await settle(clock)
  t.strictSame(sent, ['Z', 'B'])
  hear('1\r\n')
  t.strictSame(await next, { video_mute: true })
})

t.test('a command over the bound is refused', async (t) => {
  const { session } = openStage({ set: 'extron-sis-switcher', queue: 1 })
  await session.open()
  void session.command('read_mute', {}).catch(() => {})
  void session.command('read_mute', {}).catch(() => {})
  await t.rejects(session.command('read_mute', {}), { code: 'command_queue_full', message: /1 command wait/ })
  session.close(new Error('over') as Fault)
})

t.test('a rest between messages is kept', async (t) => {
  const { clock, sent, session } = openStage({ set: 'denon-avr' })
  await session.open()
  await Promise.all([session.command('volume_up', {}), clock.run(0)])
  const second = session.command('volume_up', {})
  await clock.run(59)
  t.equal(sent.length, 1)
  await clock.run(1)
  t.equal(sent.length, 2)
  await second
})

t.test('questions are asked by themselves, for each zone, and give way to commands', async (t) => {
  const { clock, hear, reports, sent, session } = openStage({
    set: 'kramer-protocol-3000',
    zones: ['1', '2'],
    pollMs: 1000,
  })
  await session.open()
  await settle(clock)
  t.strictSame(sent, ['#VID? 1\r'])
  const command = session.command('input', { input: 4 }, { zone: '2' })
  hear('~01@VID 3>1\r\n')
  await settle(clock)
  t.strictSame(sent.slice(1), ['#VID 4>2\r'])
  hear('~01@VID 4>2 OK\r\n')
  t.strictSame(await command, { input: 4 })
  await settle(clock)
  hear('~01@VID 4>2\r\n')
  t.strictSame(
    reports,
    [
      { values: { input: 3 }, zone: '1' },
      { values: { input: 4 }, zone: '2' },
      { values: { input: 4 }, zone: '2' },
    ].map((report) => ({ isDone: true, ...report })),
  )
  await clock.run(1000)
  t.strictSame(sent.slice(2), ['#VID? 2\r', '#VID? 1\r'])
})

t.test('what a device says by itself is reported, and what nobody knows is counted', async (t) => {
  const { hear, reports, session } = openStage({ set: 'samsung-mdc' })
  await session.open()
  t.equal(hear('\xaa\xff\x00\x03A\x11\x01\x00'), false, 'its checksum is wrong')
  t.match(session.counters(), { badChecksums: 1 })
  const other = openStage({ set: 'sony-bravia-simple-ip' })
  await other.session.open()
  t.equal(other.hear('*SNVOLU0000000000000029\n'), true)
  t.strictSame(other.reports, [{ values: { volume: 29 }, zone: undefined }])
  t.equal(other.hear('*SNXXXX0000000000000029\n'), false)
  t.match(other.session.counters(), { strangers: 1 })
  t.strictSame(reports, [])
})

t.test('a connection that takes no more ends the session', async (t) => {
  const { ended, session } = openStage({ set: 'extron-sis-switcher', isCut: true })
  await session.open()
  await t.rejects(session.command('mute', { mute: true }), { code: 'device_not_connected' })
  t.equal(ended.length, 1)
})
