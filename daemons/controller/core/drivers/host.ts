/** The drivers of a building: one lane per enabled device in the book; a device is never driven by two at once. */
import { Fault } from '#kit/pure/fault.ts'
import type { LiveKeeper } from '../live/live-book.ts'
import { type Book, type Row, zonesByDevice } from '../site/book.ts'
import { createSlots, type InSlots } from '../turns.ts'
import {
  type Ack,
  type DeviceWebhook,
  type Driver,
  type DriverCommand,
  type DriverHost,
  type DriverWorld,
  driverNameOf,
} from './driver.ts'
import { DeviceLane, type LaneLimits, type LaneView } from './lane.ts'
import { CommandRoom } from './session.ts'

export interface HostLimits extends LaneLimits {
  /** Most devices being opened at once. */
  opening: number
  /** Most characters of all commands that are queued or in progress, for all devices. */
  commandChars: number
  /** Most webhooks of one device per second. */
  webhooksPerS: number
}

interface HostParts {
  book: Book
  live: LiveKeeper
  world: DriverWorld
  drivers: readonly Driver[]
  limits: HostLimits
}

/** Columns that no driver reads: if only these change, the session goes on. */
const NOT_DRIVEN = new Set(['updated_at', 'icon', 'position', 'elevated', 'overrides', 'zone_group_id'])

const NO_JPEG = 'its recorder sends none that can be shown'

/** States of a lane with a session. */
const HELD: ReadonlySet<string> = new Set(['ready', 'busy', 'stuck'])

/** Devices opened or closed per turn of the event loop: takes a few milliseconds. */
const DEVICES_AT_ONCE = 256

interface Driven {
  lane: DeviceLane
  device: Row
  zones: readonly Row[]
}

/** Lives as long as the daemon. Opens nothing before the first `refresh` or the first command. */
export class Drivers implements DriverHost {
  readonly #parts: HostParts
  readonly #byName: ReadonlyMap<string, Driver>
  readonly #driven = new Map<number, Driven>()
  /** Lanes that are still closing: the next lane of the same device waits for them. */
  readonly #closing = new Map<number, Promise<void>>()
  readonly #zonesOf: (deviceId: number) => readonly Row[]
  readonly #inSlots: InSlots
  readonly #room: CommandRoom
  /** Devices with an unknown driver: their live state says so for as long as they exist. */
  readonly #unknown = new Set<number>()
  #seen: readonly number[] = []
  /** The refresh in progress. */
  #steps: Iterator<void> | undefined
  #isClosed = false
  /** Of this second, by device. */
  #webhooks = { second: 0, counts: new Map<number, number>() }

  constructor(parts: HostParts) {
    this.#parts = parts
    this.#byName = new Map(parts.drivers.map((driver) => [driver.name, driver]))
    this.#zonesOf = zonesByDevice(parts.book)
    this.#room = new CommandRoom(parts.limits.commandChars)
    this.#inSlots = createSlots(parts.limits.opening, parts.world.clock)
  }

  async execute(deviceId: number, command: DriverCommand): Promise<Ack> {
    if (this.#isClosed) throw new Fault('driver_failed', 'the drivers are being closed')
    this.refresh()
    if (this.#steps) this.#bring(deviceId)
    const lane = this.#driven.get(deviceId)?.lane
    if (lane) return lane.execute(command)
    const device = this.#parts.book.row('device', deviceId)
    if (!device) throw new Fault('driver_unknown', `there is no device ${deviceId}`)
    if (device.enabled === false) throw new Fault('driver_failed', `device ${deviceId} is disabled`)
    throw this.#unknownDriver(device)
  }

  /**
   * Opens devices that are new in the book, closes those that are gone, and reopens those that changed. Cheap if
   * nothing changed. Many devices are handled in several turns of the event loop; `execute` does not wait for them.
   */
  refresh(): void {
    const { book } = this.#parts
    const revisions = [book.revision('device'), book.revision('zone')]
    if (this.#isClosed || revisions.every((revision, i) => revision === this.#seen[i])) return
    this.#seen = revisions
    this.#steps = this.#refreshing()
    this.#goOn(this.#steps)
  }

  #goOn(steps: Iterator<void>): void {
    // The book has changed again: another refresh has replaced this one.
    if (this.#isClosed || steps !== this.#steps) return
    for (let at = 0; at < DEVICES_AT_ONCE; at++) {
      if (!steps.next().done) continue
      this.#steps = undefined
      return
    }
    this.#parts.world.clock.soon(() => this.#goOn(steps))
  }

  /**
   * One step per device. All outdated lanes are dropped before new ones open: two rows may be the same physical device.
   */
  *#refreshing(): Generator<void, void> {
    for (const id of [...this.#driven.keys(), ...this.#unknown]) {
      this.#letGo(id)
      yield
    }
    for (const { id } of this.#parts.book.rows('device')) {
      this.#bring(id)
      yield
    }
  }

  /** Drops the lane if the device is no longer in the book, or has changed. */
  #letGo(id: number): void {
    const { book, live } = this.#parts
    if (this.#unknown.delete(id)) live.forget(id, [])
    const held = this.#driven.get(id)
    if (!held) return
    const device = book.row('device', id)
    const zones = this.#zonesOf(id)
    if (!device || device.enabled === false || isChanged(held, device, zones)) this.#drop(id, held)
    else this.#driven.set(id, { lane: held.lane, device, zones })
  }

  #bring(id: number): void {
    this.#letGo(id)
    const device = this.#parts.book.row('device', id)
    if (device && device.enabled !== false && !this.#driven.has(id)) this.#take(device)
  }

  /** Opens a device anew: what it is driven by has changed, and its row has not. */
  reopen(id: number): void {
    const held = this.#driven.get(id)
    if (held) this.#drop(id, held)
    if (!this.#isClosed) this.#bring(id)
  }

  verbsOf(device: Row): ReadonlyMap<string, readonly string[]> | undefined {
    return this.#byName.get(driverNameOf(device))?.verbs?.(device)
  }

  check(device: Row, command: DriverCommand): void {
    this.#byName.get(driverNameOf(device))?.check?.(device, command)
  }

  /**
   * What a zone shows now, a JPEG. Only asked for while the device is held, which has shown who it is: nothing is sent
   * with its token before, and none that is lost is asked again and again.
   * @throws Fault `no_still`, `still_failed`, and those of `DriverContext.request`
   */
  async still(zone: Row, signal: AbortSignal): Promise<Uint8Array> {
    const { book, world } = this.#parts
    const device = typeof zone.device_id === 'number' ? book.row('device', zone.device_id) : undefined
    const asked = device && this.#byName.get(driverNameOf(device))?.still?.(device, zone)
    if (!device || !asked) throw new Fault('no_still', 'This zone is no camera of a recorder.')
    this.refresh()
    if (this.#steps) this.#bring(device.id)
    if (!HELD.has(this.view(device.id)?.state ?? '')) throw new Fault('still_failed', 'its recorder is not connected')
    const own = world.open(device)
    try {
      const { body, status } = await own.request(asked, signal)
      if (status === 200 && body[0] === 0xff && body[1] === 0xd8) return body
      const why = status === 404 ? 'it has sent none yet, or its recorder does not show it to this controller' : NO_JPEG
      throw new Fault('still_failed', why)
    } finally {
      own.close()
    }
  }

  /** @returns undefined if the device is not driven */
  view(deviceId: number): LaneView | undefined {
    return this.#driven.get(deviceId)?.lane.view()
  }

  /** @returns undefined for a device that takes no webhooks */
  webhookOf(deviceId: number): DeviceWebhook | undefined {
    this.refresh()
    if (this.#steps) this.#bring(deviceId)
    const held = this.#driven.get(deviceId)
    const secret = held && this.#byName.get(driverNameOf(held.device))?.webhookSecret?.(held.device)
    if (!held || secret === undefined) return undefined
    return {
      secret,
      tell: (body) => {
        this.#admit(deviceId)
        this.#parts.world.traffic?.note(deviceId, 'in', body, { about: 'webhook' })
        return held.lane.tell(body)
      },
    }
  }

  /** @throws Fault `webhook_flood` */
  #admit(deviceId: number): void {
    const { world, limits } = this.#parts
    const second = Math.floor(world.clock.monotonicMs() / 1000)
    if (this.#webhooks.second !== second) this.#webhooks = { second, counts: new Map() }
    const { counts } = this.#webhooks
    const count = (counts.get(deviceId) ?? 0) + 1
    counts.set(deviceId, count)
    if (count > limits.webhooksPerS)
      throw new Fault('webhook_flood', `device ${deviceId} sends over ${limits.webhooksPerS} webhooks a second`)
  }

  /** Resolves when every session is closed, within the time limits. Later commands fail. */
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
      room: this.#room,
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
