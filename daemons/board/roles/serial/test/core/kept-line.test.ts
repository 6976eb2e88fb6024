/** A line that is kept open: row by row, absent and back, refused, lost, overtaken. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  KeptLine,
  nextSerialPortState,
  type SerialPortEvent,
  type SerialPortState,
  serialPortTable,
} from '../../core/line.ts'
import { fakeOpener, lineSettings } from './fake-line.ts'

t.test('the table row by row', async (t) => {
  const rows: Record<SerialPortState, Partial<Record<SerialPortEvent, SerialPortState>>> = {
    off: { enabled: 'opening' },
    opening: { disabled: 'off', opened: 'open', notThere: 'absent', refused: 'failed' },
    open: { disabled: 'off', gone: 'absent' },
    absent: { disabled: 'off', retryDue: 'opening' },
    failed: { disabled: 'off', retryDue: 'opening' },
  }
  t.strictSame(serialPortTable, rows)
  const events: SerialPortEvent[] = ['enabled', 'disabled', 'opened', 'notThere', 'refused', 'gone', 'retryDue']
  for (const state of Object.keys(rows) as SerialPortState[])
    for (const event of events) t.equal(nextSerialPortState(state, event), rows[state][event] ?? state)
})

function keptHere() {
  const clock = fakeClock()
  const opener = fakeOpener()
  const told: string[] = []
  const kept = new KeptLine({
    path: '/dev/ttyX',
    opener,
    clock,
    retry: { firstMs: 500, maxMs: 2000 },
    settings: () => lineSettings,
    onOpened: () => told.push('opened'),
    onClosed: () => told.push('closed'),
    onChange: (state, fault) => told.push(fault ? `${state} ${fault.code}` : state),
  })
  return { clock, opener, told, kept }
}

t.test('an absent device is retried, with waits that grow up to a limit', async (t) => {
  const { clock, opener, told, kept } = keptHere()
  opener.fault = new Fault('line_absent', 'not there')
  await kept.open()
  t.strictSame(told, ['opening', 'absent line_absent'])
  for (const waitMs of [500, 1000, 2000, 2000]) {
    await clock.run(waitMs - 1)
    t.equal(kept.state, 'absent')
    await clock.run(1)
  }
  opener.fault = undefined
  await clock.run(2000)
  t.equal(kept.state, 'open')
  t.equal(kept.fault, undefined)
})

t.test('an unplugged device is released, and comes back on its own', async (t) => {
  const { clock, opener, told, kept } = keptHere()
  await kept.open()
  opener.line?.goes()
  await clock.run(0)
  t.strictSame(told, ['opening', 'open', 'opened', 'closed', 'absent line_gone'])
  t.equal(kept.line, undefined)
  t.match(opener.line?.did, ['close'])
  await clock.run(500)
  t.equal(kept.state, 'open')
  t.equal(opener.opened, 2)
})

t.test('a refused line says why and is tried again', async (t) => {
  const { clock, opener, kept } = keptHere()
  opener.fault = new Fault('line_busy', 'in use by process 7')
  await kept.open()
  t.equal(kept.state, 'failed')
  t.match(kept.fault, { code: 'line_busy' })
  opener.fault = undefined
  await clock.run(500)
  t.equal(kept.state, 'open')
})

t.test('a line that was closed meanwhile releases the device, and nothing is retried', async (t) => {
  const { clock, opener, kept } = keptHere()
  const opening = kept.open()
  await kept.close()
  await opening
  t.equal(kept.state, 'off')
  t.equal(kept.line, undefined)
  await clock.run(60_000)
  t.equal(clock.pending(), 0)
  await kept.open()
  t.equal(kept.state, 'open')
  await kept.close()
  t.strictSame(opener.line?.did, ['close'])
})
