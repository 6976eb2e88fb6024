/** What drivers get of this machine: connections that are kept for a moment, a log that does not overflow. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { createLogGate } from '#kit/log-gate.ts'
import type { DriverWorld } from '../core/driver-ports.ts'
import { type ConnectionLimits, DeviceConnection } from './device-connection.ts'

export interface DriverWorldLimits extends ConnectionLimits {
  /** One line of a driver's own a device and period; the others are counted. */
  logEveryMs: number
}

export interface DriverWorldParts {
  clock: Clock
  log: Log
  /** 0 <= n < 1 */
  chance(): number
  limits: DriverWorldLimits
}

export function createDriverWorld({ clock, log, chance, limits }: DriverWorldParts): DriverWorld {
  return {
    clock,
    chance,
    open(device) {
      const connection = new DeviceConnection(clock, limits)
      const said = createLogGate(clock, limits.logEveryMs, (count, facts) =>
        log.info('driver_said', { device: device.id, count, ...facts }),
      )
      return {
        log: (sentence) => said.note({ sentence }),
        tcp: (place, bytes, signal) => connection.send(place, bytes, signal),
        close() {
          connection.close()
          said.close()
        },
      }
    },
  }
}
