/** Third-party peers: libmodbus answers our master, mbpoll asks our simulated units, over pairs of ptys. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { createSerialOpener } from '#kit/line/serial-line.ts'
import { createLog } from '#kit/log.ts'
import { plainLine } from '#kit/test/line/fake-line.ts'
import { openPty } from '#native/serial/index.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { simulateModbusLine, startModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { relayBoard } from '../../../scripts/sim/relay-board.ts'
import type { Adapter } from '../core/lines/adapter.ts'
import { createModbusMaster } from '../core/modbus/master.ts'
import { act } from './core/act.ts'
import { whyNotOpen } from './core/modbus/line-of-others.ts'
import { settingsWith } from './core/modbus/modbus-line.ts'
import { modbusRtu } from './core/modbus/rtu.ts'
import { noLibmodbus, nullModem, startLibmodbus } from './peer/libmodbus.ts'

const run = promisify(execFile)
const lineSettings = { ...plainLine, baud: 19_200 }

async function masterOn(t: Test, path: string): Promise<Adapter> {
  const opener = createSerialOpener({ log: createLog({ level: 'error' }) })
  const line = await opener.open(path, lineSettings)
  const settings = settingsWith({ response_timeout_ms: 1000 })
  const context = { port: path, lineSettings, clock: systemClock, whyNotOpen, publish() {} }
  const adapter = createModbusMaster(context, settings, modbusRtu)
  adapter.attach(line)
  t.teardown(async () => {
    await adapter.detach()
    await line.close()
  })
  return adapter
}

const noMbpoll = existsSync('/usr/bin/mbpoll') ? false : 'needs mbpoll'

/** Our master, and libmodbus as unit 17 at the other end of the line. */
async function masterOfLibmodbus(t: Test): Promise<Adapter> {
  const [ours, theirs] = nullModem(t)
  await startLibmodbus(t, theirs.path, 17)
  return await masterOn(t, ours.path)
}

t.test(
  'libmodbus as unit is read, written and refuses as the standard says',
  { timeout: 60_000, skip: noLibmodbus },
  async (t) => {
    const master = await masterOfLibmodbus(t)
    const ask = (body: object) => act(master, 'request', { unitId: 17, ...body })

    t.match(await ask({ fc: 1, address: 0, quantity: 10 }), { values: [1, 0, 0, 1, 0, 0, 1, 0, 0, 1] })
    t.match(await ask({ fc: 2, address: 3, quantity: 2 }), { values: [1, 0] })
    t.match(await ask({ fc: 3, address: 10, quantity: 3 }), { values: [30, 33, 36] })
    t.match(await ask({ fc: 4, address: 99, quantity: 1 }), { values: [297] })
    await ask({ fc: 5, address: 1, values: [1] })
    await ask({ fc: 6, address: 1, values: [4711] })
    await ask({ fc: 15, address: 20, values: [1, 1, 0, 1] })
    await ask({ fc: 16, address: 20, values: [7, 8, 9] })
    t.match(await ask({ fc: 1, address: 1, quantity: 1 }), { values: [1] })
    t.match(await ask({ fc: 3, address: 1, quantity: 1 }), { values: [4711] })
    t.match(await ask({ fc: 1, address: 20, quantity: 4 }), { values: [1, 1, 0, 1] })
    await ask({ fc: 6, address: 4, values: [0x12] })
    await ask({ fc: 22, address: 4, and_mask: 0xf2, or_mask: 0x25 })
    t.match(await ask({ fc: 3, address: 4, quantity: 1 }), { values: [0x17] })
    t.match(await ask({ fc: 23, address: 20, quantity: 3, write_address: 21, values: [500] }), { values: [7, 500, 9] })
    await t.rejects(ask({ fc: 3, address: 99, quantity: 2 }), {
      code: 'modbus_exception',
      details: { exception: { code: 2 } },
    })
    await t.rejects(act(master, 'request', { unitId: 18, fc: 3, address: 0, quantity: 1 }), { code: 'modbus_timeout' })
    t.match(master.counters(), { exceptions: 1, timeouts: 1, crcErrors: 0, noiseBytes: 0 })
  },
)

t.test(
  'many callers of a libmodbus unit each get their own registers',
  { timeout: 60_000, skip: noLibmodbus },
  async (t) => {
    const master = await masterOfLibmodbus(t)
    const asks = Array.from({ length: 24 }, (_, address) =>
      act(master, 'request', { unitId: 17, fc: 3, address, quantity: 2 }),
    )
    for (const [address, answer] of (await Promise.all(asks)).entries())
      t.match(answer, { values: [3 * address, 3 * address + 3] })
  },
)

t.test(
  'mbpoll as master reads the simulated units and switches the simulated relays',
  { timeout: 60_000, skip: noMbpoll },
  async (t) => {
    const pty = openPty()
    t.teardown(() => pty.close())
    t.teardown(startModbusLine(pty))
    const mbpoll = async (...words: string[]) => {
      const { stdout } = await run('mbpoll', ['-m', 'rtu', '-b', '19200', '-P', 'none', '-0', '-1', ...words])
      return stdout
    }
    const volts = await mbpoll('-a', '1', '-t', '3:float', '-B', '-r', '0', '-c', '3', pty.path)
    t.match(volts, /\[0\]:\s+2(2[6-9]|3[0-4])/)
    const climate = await mbpoll('-a', '3', '-t', '3', '-r', '1', '-c', '2', pty.path)
    t.match(climate, /\[1\]:\s+(19|2[0-4])\d\s+\[2\]:\s+(3[89]|4\d|50)\d/)
    await mbpoll('-a', '4', '-t', '4', '-r', '8193', pty.path, '4000')
    t.match(await mbpoll('-a', '4', '-t', '4', '-r', '8193', '-c', '1', pty.path), /\[8193\]:\s+4000/)
    await mbpoll('-a', '2', '-t', '0', '-r', '2', pty.path, '1')
    t.match(
      await mbpoll('-a', '2', '-t', '0', '-r', '0', '-c', '4', pty.path),
      /\[0\]:\s+0\s+\[1\]:\s+0\s+\[2\]:\s+1\s+\[3\]:\s+0/,
    )
  },
)

t.test('the demo line answers our master: both units, one line', { timeout: 60_000 }, async (t) => {
  const pty = openPty()
  t.teardown(() => pty.close())
  t.teardown(
    simulateModbusLine({ duplex: pty, clock: systemClock, units: [energyMeter(1, systemClock), relayBoard(2)] }),
  )
  const master = await masterOn(t, pty.path)
  const [high, low] = (
    (await act(master, 'request', { unitId: 1, fc: 4, address: 0, quantity: 2 })) as { values: number[] }
  ).values
  const view = new DataView(new ArrayBuffer(4))
  view.setUint16(0, high ?? 0)
  view.setUint16(2, low ?? 0)
  t.ok(Math.abs(view.getFloat32(0) - 230) <= 4)
  await act(master, 'request', { unitId: 2, fc: 5, address: 3, values: [true] })
  t.match(await act(master, 'request', { unitId: 2, fc: 2, address: 0, quantity: 8 }), {
    values: [0, 0, 0, 1, 0, 0, 0, 0],
  })
  t.match(await act(master, 'request', { unitId: 2, fc: 43, address: 0, quantity: 2 }), {
    values: [
      { id: 0, name: 'VendorName', value: 'Plantroom' },
      {},
      {},
      {},
      { name: 'ProductName', value: 'Relay board' },
    ],
  })
})
