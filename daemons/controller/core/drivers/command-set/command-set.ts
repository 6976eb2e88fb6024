/** Driver for devices that a definition describes: `device.command_set` is its name. */
import type { DeviceValue } from '#kit/pure/device/definition.ts'
import {
  commandOf,
  type Device,
  type DeviceReport,
  type Digest,
  readConfig,
  zoneText,
} from '#kit/pure/device/device.ts'
import { DeviceSession } from '#kit/pure/device/session.ts'
import { type ReadArg, readArgs } from '#kit/pure/device/values.ts'
import { Fault } from '#kit/pure/fault.ts'
import { withoutTargets } from '../../control/reading.ts'
import { isObject, type Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import {
  type ConnectionPlace,
  type Driver,
  type DriverCommand,
  type DriverContext,
  type DriverSession,
  tcpPlaceOf,
  type WebPlace,
} from '../driver.ts'
import { gatewayPlaceOf, ROOT_KEY } from '../gateway/gateway-place.ts'

/** The definitions, and what their logins need. */
export interface CommandSets {
  /** @throws Fault `definition_unknown`, `definition_invalid` */
  get(name: string): Device
  digest: Digest
}

/** The lane sends one command at a time; those that it gave up stay until their answer came or is overdue. */
const COMMANDS_AT_ONCE = 4

const KINDS = ['tcp', 'udp', 'gateway'] as const

export function createCommandSetDriver(sets: CommandSets): Driver {
  /** @throws Fault `definition_unknown`, `definition_invalid` */
  const deviceOf = ({ command_set: name }: Row) => sets.get(typeof name === 'string' ? name : '')

  /** Undefined if the definition cannot be used, which opening the device tells. */
  function usable(row: Row): Device | undefined {
    try {
      return deviceOf(row)
    } catch {
      return undefined
    }
  }

  const verbs = new WeakMap<Device, ReadonlyMap<string, readonly string[]>>()

  function verbsOf(device: Device): ReadonlyMap<string, readonly string[]> {
    const known = verbs.get(device)
    if (known) return known
    const made = new Map([...device.commands].map(([name, { args }]) => [name, [...args.keys()]]))
    verbs.set(device, made)
    return made
  }

  return {
    name: 'command_set',
    reads: (row) => ({
      transport: ['host', 'port', 'tls', 'line'],
      config: [...(usable(row)?.config.keys() ?? []), ROOT_KEY],
      polls: true,
      isCommandSet: true,
    }),
    flaw: (row) => flawOf(row, deviceOf),
    verbs(row) {
      const device = usable(row)
      return device && verbsOf(device)
    },
    check(row, command) {
      const device = usable(row)
      if (device) checkCommand(device, command)
    },
    open: async (row, zones, context) =>
      openDevice(row, zones, context, { device: deviceOf(row), digest: sets.digest }),
  }
}

function flawOf(row: Row, deviceOf: (row: Row) => Device): string | undefined {
  try {
    const device = deviceOf(row)
    placeOf(row, device, null)
    // A secret may stand in its own column, which nobody but an open session sees.
    readConfig(
      device,
      configOf(row, device, () => null),
    )
    return undefined
  } catch (fault) {
    return `command_set: ${(fault as Fault).message}`
  }
}

/** @throws Fault `command_unknown`, `command_args` */
function checkCommand(device: Device, { zone, verb, args }: DriverCommand): void {
  const command = commandOf(device, verb)
  const { zoneArg } = device
  const given: Record<string, unknown> = withoutTargets(args)
  if (zoneArg !== undefined && command.args.has(zoneArg) && zone) given[zoneArg] = zone.address
  readArgs(command.args, given, device.definition.enums)
}

// The connection and the settings of one device.

/** @throws Fault `transport_invalid` */
function placeOf(row: Row, device: Device, key: string | null): ConnectionPlace {
  const transport = isObject(row.transport) ? row.transport : {}
  const kind = KINDS.find((known) => known === (transport.kind ?? 'tcp'))
  if (!kind)
    throw new Fault('transport_invalid', `transport.kind of device ${row.id} is not one of ${KINDS.join(', ')}`)
  const usual = device.definition.transports.find((one) => one.kind === kind)
  const port = transport.port ?? (usual && 'port' in usual ? usual.port : undefined)
  const placed = { ...row, transport: { ...transport, ...(port !== undefined && { port }) } }
  if (kind === 'gateway') return lineOf(row, gatewayPlaceOf(placed), device, key)
  const place = tcpPlaceOf(placed)
  if (kind === 'udp') return { kind, ...place }
  const { framing } = device
  return { kind, ...place, framing }
}

/** @throws Fault `transport_invalid` */
function lineOf(row: Row, place: WebPlace, { framing }: Device, key: string | null): ConnectionPlace {
  const { line } = isObject(row.transport) ? row.transport : {}
  if (typeof line !== 'string' || line === '')
    throw new Fault('transport_invalid', `transport.line of device ${row.id} is not the path of a line`)
  return { kind: 'gateway', ...place, line, key: key ?? '', framing }
}

/**
 * The settings that its definition knows, from `config`. Its password may stand in the column `password` instead, where
 * it is kept as a secret.
 */
function configOf(row: Row, device: Device, secret: DriverContext['secret']): Record<string, Json> {
  const given = isObject(row.config) ? row.config : {}
  const config: Record<string, Json> = {}
  for (const [name, rule] of device.config) {
    const kept = name === 'password' && rule.type === 'text' && rule.secret ? secret('password') : null
    if (kept !== null) config[name] = kept
    else if (Object.hasOwn(given, name)) config[name] = given[name] as Json
  }
  return config
}

// A session.

interface Definition {
  device: Device
  digest: Digest
}

async function openDevice(
  row: Row,
  zones: readonly Row[],
  context: DriverContext,
  { device, digest }: Definition,
): Promise<DriverSession> {
  const config: ReadonlyMap<string, ReadArg> = readConfig(
    device,
    configOf(row, device, (column) => context.secret(column)),
  )
  const stopper = new AbortController()
  let send: (bytes: Uint8Array) => Promise<void> = async () => {}
  const session = new DeviceSession({
    ...{ device, config, digest, clock: context.clock },
    zones: zones.flatMap(({ address }) => (hasAddress(address) ? [zoneText(address)] : [])),
    pollMs: typeof row.poll_ms === 'number' && row.poll_ms > 0 ? row.poll_ms : undefined,
    whenLate: 'end',
    queue: COMMANDS_AT_ONCE,
    hooks: {
      send: (bytes) => send(bytes),
      report: (report) => reportZones(report, { device, zones, context }),
      answered(fault) {
        if (!fault) context.online(true)
      },
      ended: (fault) => context.online(false, fault.message),
    },
  })
  const connection = await context.connect(placeOf(row, device, context.secret('api_key')), (frame) =>
    session.hear(frame),
  )
  send = (bytes) => connection.send(bytes, stopper.signal)
  context.hush(device.login.length > 0)
  await session.open()
  context.hush(false)
  context.online(true)
  return {
    async execute({ zone, verb, args }, signal) {
      const address = zone && hasAddress(zone.address) ? zoneText(zone.address) : undefined
      const values = await session.command(verb, withoutTargets(args), { zone: address, signal })
      return Object.keys(values).length > 0 ? { answer: values } : {}
    },
    async close() {
      session.close(new Fault('device_cut_off', `device ${row.id} is being closed`))
      stopper.abort()
    },
  }
}

function hasAddress(address: Json | undefined): boolean {
  return (typeof address === 'string' && address.trim() !== '') || typeof address === 'number'
}

/** Values of a zone go to the zones with its address; those of the device to all, or to those without an address. */
function reportZones(
  { values, zone }: DeviceReport,
  { device, zones, context }: { device: Device; zones: readonly Row[]; context: DriverContext },
): void {
  const isMeant = ({ address }: Row) => {
    if (device.zoneArg === undefined) return true
    return zone === undefined ? !hasAddress(address) : hasAddress(address) && zoneText(address) === zone
  }
  const patch: Record<string, DeviceValue> = { ...values }
  for (const row of zones) if (isMeant(row)) context.report({ zoneId: row.id }, patch)
}
