/** A gateway with Modbus TCP to a line of simulated units, for end-to-end tests. */
import type { Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { freePort } from '#kit/test/free-port.ts'
import { type ModbusLineParts, simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { ptyOfFile, sharedGateway } from './shared-gateway.ts'

interface Setup {
  units?: number[]
  say?: ModbusLineParts['say']
  settings?: object
  sets?: string[]
  tcpPort?: number
}

/** A line with Modbus TCP to simulated units. Register n of unit u holds 100 * u + n. */
export async function lineOf(t: Test, setup: Setup = {}) {
  const gateway = await sharedGateway(['modbus_tcp.host=127.0.0.1', ...(setup.sets ?? [])])
  const pty = ptyOfFile()
  const units = (setup.units ?? [1, 2]).map((unitId) =>
    simulatedUnit({
      unitId,
      holding: Array.from({ length: 100 }, (_, address) => 100 * unitId + address),
      coils: Array.from({ length: 16 }, () => 0),
      identity: ['Plantroom', `unit ${unitId}`, '1.0'],
    }),
  )
  t.teardown(simulateModbusLine({ duplex: pty, clock: systemClock, units, say: setup.say }))
  const tcpPort = setup.tcpPort ?? (await freePort())
  const settings = { tcp_port: tcpPort, response_timeout_ms: 1000, ...setup.settings }
  const put = await gateway.openPort(t, pty.path, {
    protocol: 'modbus-rtu',
    line: { baud: 115_200 },
    settings,
  })
  if (put.status !== 200) throw new Error(`the line was refused: ${JSON.stringify(put.body)}`)
  const view = async () => (await gateway.call('GET', gateway.portPath(pty.path))).body
  const ask = (body: object) => gateway.call('POST', gateway.portPath(pty.path, '/rest/request'), body)
  return { ask, gateway, path: pty.path, tcpPort, view }
}

/** Two hex digits, such as `0A`. */
export function hexByte(value: number): string {
  return value.toString(16).toUpperCase().padStart(2, '0')
}
