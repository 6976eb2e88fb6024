/** The protocol equipment on a fake line: commands, polls, values as events, and what goes wrong. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { shippedSets } from '#kit/test/device/shipped-sets.ts'
import { heapBytesOf } from '#kit/test/heap.ts'
import { fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import {
  EquipmentAdapter,
  type EquipmentSettings,
  equipmentProtocol,
  MOST_VALUES,
} from '../../../core/equipment/equipment.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { act } from '../act.ts'
import { whyNotOpen } from '../modbus/line-of-others.ts'

const defaults: EquipmentSettings = {
  ...{ definition: 'samsung-mdc', config: {}, zones: [], poll_ms: 0, hold_ms: 3000, queue: 2, send_limit_ms: 2000 },
}

function equipmentOn(changes: Partial<EquipmentSettings> = {}) {
  const events: { event: string; payload: unknown }[] = []
  const clock = fakeClock()
  const sets = shippedSets()
  const adapter = new EquipmentAdapter(
    {
      port: '/dev/ttyS0',
      lineSettings: plainLine,
      whyNotOpen,
      clock,
      publish: (event, payload) => events.push({ event, payload: typeof payload === 'function' ? payload() : payload }),
    },
    { ...defaults, ...changes },
    {
      retry: { firstMs: 500, maxMs: 1000 },
      silenceFramer: () => ({ feed: () => {}, onFrame: () => {}, close: () => {} }),
      definitionOf: (name) => sets.get(name),
      digest: sets.digest,
    },
  )
  const line = fakeLine()
  const sent = () => line.written.map((bytes) => Buffer.from(bytes).toString('latin1'))
  const hear = (text: string) => line.arrive(Buffer.from(text, 'latin1'))
  const told = (name: string) => events.filter(({ event }) => event === name).map(({ payload }) => payload)
  return { adapter, clock, events, line, sent, hear, told }
}

t.test('A.equipment sends a command of the definition, and returns the values of its answer', async (t) => {
  const { adapter, clock, hear, line, sent, told } = equipmentOn({ definition: 'extron-sis-switcher' })
  adapter.attach(line)
  await clock.run(0)
  t.strictSame(sent(), ['!'], 'its own question goes first')
  hear('2\r\n')
  await clock.run(0)
  const done = act(adapter, 'command', { command: 'video_mute', args: { video_mute: true } })
  await clock.run(0)
  t.equal(sent()[1], '1B')
  hear('Vmt1\r\n')
  t.same(await done, { command: 'video_mute', values: { video_mute: true } })
  t.match(told('value'), [
    { name: 'input', zone: null, value: 2, previous: null },
    { name: 'video_mute', zone: null, value: true },
  ])
  t.match(told('frame'), [{ direction: 'tx', hex: '21' }, { direction: 'rx', hex: '32 0D 0A' }, {}, {}])
})

t.test('what the device says by itself is a value, told when it changes', async (t) => {
  const { adapter, clock, hear, line, told } = equipmentOn({ definition: 'kramer-protocol-3000' })
  adapter.attach(line)
  await clock.run(0)
  hear('~01@VID 3>4\r\n')
  hear('~01@VID 3>4\r\n')
  hear('~01@VID 5>4\r\n')
  t.match(told('value'), [
    { name: 'input', zone: '4', value: 3, previous: null },
    { name: 'input', zone: '4', value: 5, previous: 3 },
  ])
  t.match(adapter.faces.equipment.view().values, [{ name: 'input', zone: '4', value: 5 }])
})

t.test('zones of the settings are asked in turn', async (t) => {
  const { adapter, clock, hear, line, sent } = equipmentOn({ definition: 'kramer-protocol-3000', zones: ['1', '7'] })
  adapter.attach(line)
  await clock.run(0)
  hear('~01@VID 3>1\r\n')
  await clock.run(0)
  t.strictSame(sent(), ['#VID? 1\r', '#VID? 7\r'])
})

t.test('a refusal, wrong arguments and an unknown command say what is wrong', async (t) => {
  const { adapter, clock, hear, line } = equipmentOn({ definition: 'mettler-toledo-sics' })
  adapter.attach(line)
  await clock.run(0)
  hear('S S     100.00 g\r\n')
  await t.rejects(act(adapter, 'command', { command: 'wiegh' }), { code: 'command_unknown' })
  await t.rejects(act(adapter, 'command', { command: 'display', args: { text: 'A\r\nZ' } }), { code: 'command_args' })
  const refused = t.rejects(act(adapter, 'command', { command: 'zero' }), {
    code: 'command_refused',
    message: /the load is above the range of zeroing/,
  })
  await clock.run(0)
  hear('Z +\r\n')
  await refused
})

t.test('a device that is silent is told once, and its late answer is nobody’s', async (t) => {
  const { adapter, clock, hear, line, sent, told } = equipmentOn({ poll_ms: 86_400_000 })
  adapter.attach(line)
  await clock.run(2000)
  t.match(told('error'), [{ code: 'command_unanswered' }])
  t.equal(adapter.fault()?.code, 'command_unanswered')
  await clock.run(3100)
  t.equal(sent().length, 2, 'held for the late answer, then the next question')
  hear('\xaa\xff\x00\x03A\x12\x28\x7d')
  await clock.run(100)
  t.equal(adapter.fault(), undefined)
  t.equal(told('error').length, 1)
  t.match(adapter.counters(), { unanswered: 1, badChecksums: 0, rxFrames: 1 })
})

t.test('numbers and switches have a history, by zone, good while the device answers; texts have none', async (t) => {
  const { adapter, clock, hear, line, told } = equipmentOn({ definition: 'kramer-protocol-3000', zones: ['1', '7'] })
  const { about, list } = adapter.faces.recorded
  adapter.attach(line)
  await clock.run(0)
  hear('~01@AUD-LVL 1, 2, -12\r\n')
  t.same(list(), [{ name: 'volume (2)', value: -12, quality: 'good' }])
  t.match(told('value'), [{ name: 'volume', zone: '2', series: 'volume (2)' }])
  t.same(about('volume (2)'), { unit: 'dB' })
  t.same(about('input'), { unit: null })
  for (const name of ['model', 'no_such_value', 'volume (2)\n', `volume (${'9'.repeat(64)})`, ''])
    t.equal(about(name), undefined)
  await clock.run(5000)
  t.ok(adapter.fault(), 'it did not answer what it was asked')
  t.same(list(), [{ name: 'volume (2)', value: -12, quality: 'stale' }])
  for (let tries = 0; tries < 100 && adapter.fault(); tries++) {
    await clock.run(100)
    hear('~01@VID 3>1\r\n')
    hear('~01@VID 4>7\r\n')
  }
  t.equal(adapter.fault(), undefined)
  t.match(list(), [
    { name: 'volume (2)', quality: 'good' },
    { name: 'input (1)', value: 3 },
    { name: 'input (7)', value: 4 },
  ])
  adapter.detach()
  t.match(list(), [{ quality: 'stale' }, { quality: 'stale' }, { quality: 'stale' }])
  const balance = equipmentOn({ definition: 'mettler-toledo-sics' })
  balance.adapter.attach(balance.line)
  await balance.clock.run(0)
  balance.hear('S S     100.00 g\r\n')
  t.same(
    balance.adapter.faces.recorded.list().map(({ name, value }) => [name, value]),
    [
      ['stable', true],
      ['weight', 100],
    ],
  )
})

t.test('more commands than may wait are refused, and the closing of the line tells all', async (t) => {
  const { adapter, clock, line } = equipmentOn()
  adapter.attach(line)
  await clock.run(0)
  const waiting = [1, 2].map(() => act(adapter, 'command', { command: 'read_power' }))
  await t.rejects(act(adapter, 'command', { command: 'read_power' }), { code: 'command_queue_full' })
  const told = Promise.all(waiting.map((one) => t.rejects(one, { code: 'line_closed' })))
  adapter.detach()
  await told
  await t.rejects(act(adapter, 'command', { command: 'read_power' }), { code: 'line_closed' })
  t.equal(clock.pending(), 0, 'nothing goes on')
})

t.test('a definition that there is not, or settings that it does not take, are the fault of the port', async (t) => {
  const rows: [Partial<EquipmentSettings>, string, RegExp][] = [
    [{ definition: 'samsung-mcd' }, 'definition_unknown', /the nearest is samsung-mdc/],
    [{ config: { id: 999 } }, 'command_args', /id is another number/],
    [{ config: { ids: 1 } }, 'command_args', /no argument "ids"; the nearest is id/],
    [{ definition: 'pjlink-class-1', config: { password: 'x' } }, 'command_args', /password is secret/],
  ]
  for (const [changes, code, message] of rows) {
    const { adapter, line } = equipmentOn(changes)
    adapter.attach(line)
    t.match(adapter.fault(), { code, message })
    await t.rejects(act(adapter, 'command', { command: 'power' }), { code })
    adapter.detach()
  }
  t.match(equipmentProtocol.faults?.(defaults), [])
  t.match(equipmentProtocol.faults?.({ ...defaults, definition: '' }), [{ field: 'definition' }])
})

t.test('a login that the device refuses is tried again with growing waits', async (t) => {
  const { adapter, clock, hear, line, sent, told } = equipmentOn({ definition: 'pjlink-class-1' })
  adapter.attach(line)
  hear('PJLINK 1 498e4a67\r')
  await clock.run(0)
  hear('PJLINK ERRA\r')
  await clock.run(0)
  t.equal(adapter.fault()?.code, 'device_login')
  t.match(told('error'), [{ code: 'device_login', message: 'the projector refuses the password' }])
  await clock.run(500)
  hear('PJLINK 0\r')
  await clock.run(0)
  t.equal(sent().at(-1), '%1POWR ?\r')
})

t.test('the view lists the commands with what they take', async (t) => {
  const { adapter } = equipmentOn()
  const { commands, title } = adapter.faces.equipment.view()
  t.equal(title, 'Samsung display, MDC')
  t.match(commands.find(({ name }) => name === 'volume')?.args, [
    { name: 'volume', expected: 'a whole number from 0 to 100', choices: null },
  ])
  t.ok(commands.find(({ name }) => name === 'input')?.args[0]?.choices?.includes('hdmi1'))
})

t.test('values are kept up to their bound, and take no more than their row', async (t) => {
  const many = Array.from({ length: 8 }, () => equipmentOn({ definition: 'kramer-protocol-3000' }))
  for (const { adapter, clock, line } of many) {
    adapter.attach(line)
    await clock.run(0)
  }
  const held = await heapBytesOf(() => {
    for (const { events, hear } of many) {
      for (let output = 1; output <= MOST_VALUES + 10; output++) hear(`~01@VID 3>${output}\r\n`)
      events.length = 0
    }
    return many.map(({ adapter }) => adapter.faces.equipment.view().values)
  })
  const row = memoryPlan().rows.find(({ what }) => what === 'values of devices by definition')
  t.ok(held < many.length * Number(row?.each), `${held} bytes`)
  for (const { adapter } of many) {
    t.equal(adapter.faces.equipment.view().values.length, MOST_VALUES)
    t.ok((adapter.counters().valuesLeftOut ?? 0) >= 10)
    adapter.detach(new Error('over') as Fault)
  }
})
