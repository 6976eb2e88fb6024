/** The drivers of a building: a lane for each enabled device of the book, and no device driven by two. */
import { Fault } from '#kit/fault.ts'
import { zonesByDevice } from './derived.ts'
import { DeviceLane, type LaneLimits, type LaneView } from './device-lane.ts'
import type { Ack, Driver, DriverCommand, DriverHost } from './driver.ts'
import type { DriverWorld } from './driver-ports.ts'
import type { LiveKeeper } from './live-book.ts'
import type { Book, Row } from './row.ts'
import { createSlots, type InSlots } from './slots.ts'

export interface HostLimits extends LaneLimits {
  /** Devices that are being opened at once. */
  opening: number
}

export interface HostParts {
  book: Book
  live: LiveKeeper
  world: DriverWorld
  drivers: readonly Driver[]
  limits: HostLimits
}

/** Columns that no driver looks at: a change of these alone leaves the session as it is. */
const NOT_DRIVEN = new Set(['updated_at', 'icon', 'position', 'elevated', 'overrides', 'zone_group_id'])

interface Driven {
  lane: DeviceLane
  device: Row
  zones: readonly Row[]
}

/** Lives as long as the daemon. Opens nothing before the first `refresh`, or the first command. */
export class Drivers implements DriverHost {
  readonly #parts: HostParts
  readonly #byName: ReadonlyMap<string, Driver>
  readonly #driven = new Map<number, Driven>()
  /** Lanes of devices that are not closed yet: whoever drives the device next waits for it. */
  readonly #closing = new Map<number, Promise<void>>()
  readonly #zonesOf: (deviceId: number) => readonly Row[]
  readonly #inSlots: InSlots
  /** Devices whose driver is not known: said in their live state, as long as they are there. */
  readonly #unknown = new Set<number>()
  #seen: readonly number[] = []
  #isClosed = false

  constructor(parts: HostParts) {
    this.#parts = parts
    this.#byName = new Map(parts.drivers.map((driver) => [driver.name, driver]))
    this.#zonesOf = zonesByDevice(parts.book)
    this.#inSlots = createSlots(parts.limits.opening, parts.world.clock)
  }

  async execute(deviceId: number, command: DriverCommand): Promise<Ack> {
    if (this.#isClosed) throw new Fault('driver_failed', 'the drivers are being closed')
    this.refresh()
    const lane = this.#driven.get(deviceId)?.lane
    if (lane) return lane.execute(command)
    const device = this.#parts.book.row('device', deviceId)
    if (!device) throw new Fault('driver_unknown', `there is no device ${deviceId}`)
    if (device.enabled === false) throw new Fault('driver_failed', `device ${deviceId} is disabled`)
    throw this.#unknownDriver(device)
  }

  /** Opens what the book has, closes what it has no more, does both for what has changed. Cheap where nothing has. */
  refresh(): void {
    const { book, live } = this.#parts
    const revisions = [book.revision('device'), book.revision('zone')]
    if (this.#isClosed || revisions.every((revision, i) => revision === this.#seen[i])) return
    this.#seen = revisions
    for (const [id, held] of [...this.#driven]) {
      const device = book.row('device', id)
      const zones = this.#zonesOf(id)
      if (!device || device.enabled === false || isChanged(held, device, zones)) this.#drop(id, held)
      else this.#driven.set(id, { lane: held.lane, device, zones })
    }
    for (const id of this.#unknown) live.forget(id, [])
    this.#unknown.clear()
    for (const device of book.rows('device'))
      if (device.enabled !== false && !this.#driven.has(device.id)) this.#take(device)
  }

  /** @returns undefined where the device is not driven */
  view(deviceId: number): LaneView | undefined {
    return this.#driven.get(deviceId)?.lane.view()
  }

  /** Resolves when every session is closed, within the limits. What is asked afterwards fails. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const [id, held] of [...this.#driven]) this.#drop(id, held)
    await Promise.all(this.#closing.values())
  }

  #take(device: Row): void {
    const { world, live, limits } = this.#parts
    const zones = this.#zonesOf(device.id)
    const driver = this.#byName.get(driverNameOf(device))
    if (!driver) {
      this.#unknown.add(device.id)
      live.lost(device.id, [], this.#unknownDriver(device).message)
      return
    }
    const before = this.#closing.get(device.id) ?? Promise.resolve()
    const lane = new DeviceLane({
      driver,
      device,
      zones,
      world,
      live,
      limits,
      inSlots: this.#inSlots,
      before,
    })
    this.#driven.set(device.id, { lane, device, zones })
    lane.open()
  }

  #drop(id: number, { lane, zones }: Driven): void {
    this.#driven.delete(id)
    const gone = Promise.all([this.#closing.get(id), lane.close()]).then(() => {
      if (this.#closing.get(id) === gone) this.#closing.delete(id)
    })
    this.#closing.set(id, gone)
    const zoneIds = zones.map((zone) => zone.id)
    this.#parts.live.forget(id, zoneIds)
  }

  #unknownDriver(device: Row): Fault {
    const known = [...this.#byName.keys()].join(', ')
    return new Fault(
      'driver_unknown',
      `device ${device.id} has the driver "${driverNameOf(device)}", known are ${known}`,
    )
  }
}

/** By its column; a device that has none is driven by its transport. */
function driverNameOf({ driver, transport }: Row): string {
  if (typeof driver === 'string' && driver !== '') return driver
  const kind = transport !== null && typeof transport === 'object' && 'kind' in transport ? transport.kind : undefined
  return typeof kind === 'string' ? kind : ''
}

function isChanged({ device, zones }: Driven, newDevice: Row, newZones: readonly Row[]): boolean {
  if (zones.length !== newZones.length) return true
  return !isAlike(device, newDevice) || zones.some((zone, i) => !isAlike(zone, newZones[i]))
}

function isAlike(one: Row, other: Row | undefined): boolean {
  return one === other || (other !== undefined && drivenText(one) === drivenText(other))
}

function drivenText(row: Row): string {
  const entries = Object.entries(row).filter(([column]) => !NOT_DRIVEN.has(column))
  return JSON.stringify(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}
