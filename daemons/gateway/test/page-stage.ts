/** A gateway that is set up, a Modbus line with simulated units, and a browser signed in as its administrator. */
import type { Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { type Device, plugIn } from '#kit/test/line/named-pty.ts'
import { openRig, type Rig } from '#kit/test/web/page-rig.ts'
import { simulateModbusLine, type UnitOnLine } from '../../../scripts/sim/modbus-device.ts'
import { type RunningGateway, startGateway } from './running-gateway.ts'

/** What a test of the pages needs. */
export interface Stage extends Rig {
  gateway: RunningGateway
  bus: Device
  /** The name of the line on the pages. */
  busName: string
  /** Sends a request to a unit over HTTP. @returns the status */
  ask(unitId: number, body?: object): Promise<number>
}

/** Builds the stage; everything ends with the test. @param settings of the line */
export async function openStage(t: Test, name: string, units: readonly UnitOnLine[], settings = {}): Promise<Stage> {
  const bus = plugIn(name)
  const stopUnits = units.length > 0 ? simulateModbusLine({ duplex: bus, units, clock: systemClock }) : () => {}
  t.teardown(async () => {
    stopUnits()
    await bus.unplug()
  })
  const gateway = await startGateway(t, { sets: ['ports.allow=["/dev/shm/*"]'] })
  const token = await gateway.setUp()
  const path = gateway.portPath(bus.path)
  const body = { protocol: 'modbus-rtu', line: { baud: 19_200 }, settings }
  t.equal((await gateway.call('PUT', path, body)).status, 200, 'the line is set up')
  const rig = await openRig(t, gateway.url, { token })
  return {
    ...rig,
    gateway,
    bus,
    busName: bus.path.replace('/dev/', ''),
    async ask(unitId, more = {}) {
      const request = { unitId, fc: 4, address: 0, quantity: 2, ...more }
      return (await gateway.call('POST', `${path}/rest/request`, request)).status
    },
  }
}
