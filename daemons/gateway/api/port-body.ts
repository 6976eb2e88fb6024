/** Bodies and answers of the port routes. */
import { Type } from 'typebox'
import { stopBitsFault } from '#kit/bytes/stop-bits.ts'
import { createReaders, fieldsFault } from '#kit/http/check.ts'
import type { LineSettings } from '#kit/line/line.ts'
import { lineSettings } from '#kit/line/line-settings.ts'
import type { Port } from '../core/port.ts'
import { portRevision, protocols } from '../core/port-record.ts'
import type { PortView } from '../core/port-registry.ts'
import { settingsFaults, settingsOfProtocol } from '../core/protocol-settings.ts'

/** `:path` of every port route: the device path, percent-encoded. */
export const portParams = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 4096, description: 'device path' }),
})

/** Body of PUT. `settings` is checked against the protocol's own keys. */
export const portBody = Type.Object(
  {
    protocol: Type.Enum([...protocols]),
    line: lineSettings,
    settings: Type.Record(Type.String(), Type.Unknown(), { default: {}, description: 'keys of the protocol' }),
  },
  { additionalProperties: false },
)

/** Checks `settings` against the protocol's keys and fills its defaults. Each throws Fault `bad_fields`. */
export const readSettings = createReaders(settingsOfProtocol, 'settings.', settingsFaults)

/**
 * A line kept from an older version may have what is refused here: its driver took 2 stop bits for 1.5.
 * @throws Fault `bad_fields`
 */
export function refuseStopBits({ data_bits, stop_bits }: LineSettings): void {
  const message = stopBitsFault(data_bits, stop_bits)
  if (message !== undefined) throw fieldsFault([{ field: 'line.stop_bits', message }])
}

/**
 * A port as every answer gives it: what was found, what is configured, how it is.
 * Unknown is null, never 0. Instants are epoch milliseconds.
 */
export function portAnswer({ path, found, record, port }: PortView) {
  const life = port?.life()
  return {
    path,
    byId: found?.byId ?? null,
    maker: found?.maker ?? null,
    product: found?.product ?? null,
    serialNumber: found?.serialNumber ?? null,
    found: found !== null,
    configured: record !== null,
    state: life?.state ?? null,
    stateSince: life?.stateSince ?? null,
    fault: life?.fault ?? null,
    nextTryAt: life?.nextTryAt ?? null,
    enabled: record?.enabled ?? false,
    protocol: record?.protocol ?? null,
    line: record?.line ?? null,
    settings: record?.settings ?? null,
    revision: record && portRevision(record),
    counters: port ? { ...port.counters(), driver: port.driverCounts() } : null,
    errorsLastHour: port?.errorsLastHour() ?? null,
    units: port ? unitsOf(port) : null,
    unsupported: life?.unsupported ?? [],
    webhooks: record?.webhooks.length ?? 0,
  }
}

/** How many units were asked and how they do; null where a protocol knows none. What is in no list has not answered yet or is being tried again. */
function unitsOf({ adapter }: Port) {
  const states = adapter.faces?.units?.states()
  if (!states) return null
  const { well = 0, slow = 0, noisy = 0, silent = 0, failing = 0, probing = 0 } = states
  return { total: well + slow + noisy + silent + failing + probing, well, slow, noisy, silent }
}
