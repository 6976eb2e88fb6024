/** Assembles the serial server: the only file of the role that imports both io/ and api/. */

import { createLineFinder } from '#kit/line/line-finder.ts'
import { createSerialOpener } from '#kit/line/serial-line.ts'
import { networkOf, parseAllowList, type ShareOf } from '#kit/net/address.ts'
import { createPlaces } from '#kit/net/places.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { queueLimits } from '#kit/pure/line.ts'
import type { RoleHouse, RoleWorld } from '../../core/role.ts'
import { measureSerial, serialRoutes } from './api/serial-routes.ts'
import { SerialPort, SerialPorts } from './core/serial-ports.ts'
import { firstPortSettings, readPortSettings, type SerialConfig, serialSettings } from './core/settings.ts'
import { createSerialFile, findAdapters } from './io/serial-ports.ts'
import { createListenerOpener } from './io/tcp.ts'

interface SerialNeeds {
  config: SerialConfig
  /** The key that TCP clients are counted by. */
  shareOf: ShareOf
  /** Device paths of ports 1, 2 and so on. */
  devices: readonly string[]
  /** TCP port of the board's own page. */
  httpPort(): number
}

export async function assembleSerial(
  world: RoleWorld,
  { config, devices, httpPort, shareOf }: SerialNeeds,
): Promise<RoleHouse> {
  const { clock, log, onChange, parts, recorder, refusals, stateFolder } = world
  const file = createSerialFile(stateFolder, log)
  const { ports: saved } = await file.load()
  const allowRule = (text: string) => parseAllowList(text, config.allow_entries)
  const settings = serialSettings(sentenceOf(allowRule))
  const opener = createSerialOpener({ log, clock, queue: queueLimits(config) })
  const patience = {
    idleS: config.keepalive_idle_s,
    intervalS: config.keepalive_interval_s,
    count: config.keepalive_count,
    userTimeoutMs: config.user_timeout_ms,
  }
  const listen = createListenerOpener({ host: config.host, patience, log })
  const made = devices.map((path, index) => {
    const port = index + 1
    const own = readPortSettings(saved[port], firstPortSettings(port), settings)
    const onRefused = (from: string, why: string) =>
      refusals.add({
        group: networkOf(from),
        who: 'nobody',
        from,
        what: 'serial client refused',
        target: `port ${port}`,
        detail: { why },
      })
    const places = createPlaces({
      most: config.max_clients,
      mostPerAddress: config.max_clients_per_address,
      shareOf,
    })
    const shared = { places, config, clock, log, opener, listen, allowRule, onRefused, onChange }
    return new SerialPort({ ...shared, port, path, settings: own })
  })
  const ports = new SerialPorts({ ports: made, settings, httpPort, loaded: saved, file })
  parts.add({ name: 'serial', start: () => ports.start(), stop: () => ports.stop() })
  const finder = createLineFinder({ log, clock })
  return {
    verdict: () => ports.verdict(),
    state: () => ({ ports: ports.views() }),
    conditions: () => ports.conditions(),
    routes: serialRoutes({ ports, settings, recorder, devices: () => findAdapters(devices, finder) }),
    measure: (metrics) => measureSerial(metrics, ports),
  }
}

function sentenceOf(allowRule: (text: string) => unknown): (text: string) => string | undefined {
  return (text) => {
    try {
      allowRule(text)
      return undefined
    } catch (fault) {
      return (fault as Fault).message
    }
  }
}
