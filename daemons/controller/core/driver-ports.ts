/** What the host of drivers needs of the machine, as io/ gives it. */
import type { Clock } from '#kit/clock.ts'
import type { DriverContext } from './driver.ts'
import type { Row } from './row.ts'

/** The world of one session of one device; its connections end with it. */
export interface DeviceWorld extends Pick<DriverContext, 'log' | 'tcp'> {
  close(): void
}

export interface DriverWorld {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  open(device: Row): DeviceWorld
}
