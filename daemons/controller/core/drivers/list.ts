/** All drivers: each is a folder beside this file and a line here. */
import { createBoardDriver } from './board/board.ts'
import { type CommandSets, createCommandSetDriver } from './command-set/command-set.ts'
import type { Driver } from './driver.ts'
import { createGatewayDriver } from './gateway/gateway.ts'
import { createHttpDriver } from './http/http.ts'
import { createKnxDriver } from './knx/knx.ts'
import { createModbusTcpDriver } from './modbus-tcp/modbus-tcp.ts'
import { createMqttDriver } from './mqtt/mqtt.ts'
import { createRecorderDriver } from './recorder/recorder.ts'
import { createSimDriver } from './sim/sim.ts'
import { createTcpDriver, createUdpDriver } from './tcp/tcp.ts'

/** @param sets the device definitions of this machine */
export function createDrivers(sets: CommandSets): Driver[] {
  return [
    createBoardDriver(),
    createGatewayDriver(),
    createHttpDriver(),
    createKnxDriver(),
    createModbusTcpDriver(),
    createMqttDriver(),
    createRecorderDriver(),
    createSimDriver(),
    createTcpDriver(),
    createUdpDriver(),
    createCommandSetDriver(sets),
  ]
}
