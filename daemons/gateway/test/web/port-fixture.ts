/** A port and an instant for tests of what the pages say. */

import { plainLine } from '#kit/test/line/fake-line.ts'
import type { Port } from '../../web/api.ts'

/** Two in the afternoon. */
export const when = { nowMs: Date.UTC(2031, 2, 9, 14, 0), zone: 'UTC' }

/** An open Modbus line; `over` changes what matters to the test. */
export function port(over: Partial<Port> = {}): Port {
  const plain: Port = {
    path: '/dev/ttyUSB0',
    byId: null,
    maker: null,
    product: null,
    serialNumber: null,
    found: true,
    configured: true,
    state: 'open',
    stateSince: when.nowMs - 60_000,
    fault: null,
    nextTryAt: null,
    enabled: true,
    protocol: 'modbus-rtu',
    revision: 'one',
    line: { ...plainLine },
    settings: {},
    counters: {},
    errorsLastHour: 0,
    units: null,
    unsupported: [],
    webhooks: 0,
  }
  return { ...plain, ...over }
}
