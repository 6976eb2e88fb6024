/** USB sharing as a whole: compares what is plugged in with the settings, and changes these. */
import { atMost, type Clock, type Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { RootHelper } from '../../../core/machine/ports.ts'
import { createHoldOff, createHostDesk, type HoldOff, type SharingCounts } from './host-desk.ts'
import type { AllowList, BoundMemory, HostServer, HostServerOpener, UsbBus, UsbDevice, UsbLook } from './ports.ts'
import {
  changedSettings,
  chooseDevices,
  type DeviceChoice,
  type ParseAllow,
  parseDeviceChoice,
  type UsbipChange,
  type UsbipSettings,
} from './settings.ts'
import { createHelperTurns, HOST_DRIVER, Share, type ShareWorld } from './share.ts'

// Looks at what is plugged in: one at a time, soon after an event, and at intervals.

/** Dependencies of the looks. */
interface LooksParts<Seen> {
  clock: Clock
  look(): Promise<Seen>
  /** @returns ms until the next look if nothing happens before */
  heed(seen: Seen, number: number): number
  /** A look failed. @returns as above */
  failed(error: unknown): number
  own(promise: Promise<unknown>): void
}

/** Time for devices that come together, such as a hub with all that is on it, to appear. */
const SOON_MS = 100

export class Looks<Seen> {
  readonly #parts: LooksParts<Seen>
  #number = 0
  #running: Promise<void> | undefined
  #isDue = false
  #next: Timer | undefined
  #isStopped = false

  constructor(parts: LooksParts<Seen>) {
    this.#parts = parts
  }

  /** Number of the latest look to start, from 1. */
  get number(): number {
    return this.#number
  }

  /** Resolves after a look that began no earlier than this call. A call during a look causes one more. */
  now(): Promise<void> {
    this.#isDue = true
    this.#running ??= this.#runAll()
    return this.#running
  }

  /** Schedules a look; repeated calls cause only one. */
  soon(): void {
    this.#in(SOON_MS)
  }

  /** Ends scheduled looks; `now` still works. */
  stop(): void {
    this.#isStopped = true
    this.#next?.cancel()
  }

  #in(delayMs: number): void {
    this.#next?.cancel()
    if (!this.#isStopped) this.#next = this.#parts.clock.after(delayMs, () => this.#parts.own(this.now()))
  }

  async #runAll(): Promise<void> {
    try {
      let nextMs = 0
      while (this.#isDue) {
        this.#isDue = false
        nextMs = await this.#one(++this.#number)
      }
      this.#in(nextMs)
    } finally {
      // Cleared at once: a caller a moment later must not be given a run that looks no more.
      this.#running = undefined
    }
  }

  async #one(number: number): Promise<number> {
    let seen: Seen
    try {
      seen = await this.#parts.look()
    } catch (error) {
      return this.#parts.failed(error)
    }
    return this.#parts.heed(seen, number)
  }
}

// Sharing.

/** Times of sharing; keys of the config table `usbip`. */
interface SharingTimes {
  /** Interval of looks if the kernel reports nothing. */
  lookMs: number
  /** Delay before a failed step is retried. */
  retryMs: number
  /** How long a host that was sent away is refused. */
  holdMs: number
}

/** Dependencies of sharing. */
interface SharingParts {
  clock: Clock
  log: Log
  bus: UsbBus
  helper: RootHelper
  memory: BoundMemory
  openServer: HostServerOpener
  parseAllow: ParseAllow
  times: SharingTimes
  /** The reported state has changed. */
  onChange(): void
  own(promise: Promise<unknown>): void
}

/** The latest error. */
export interface LastError {
  /** Epoch ms. */
  at: number
  code: string
  message: string
}

/** How long a change waits to take effect before it is answered with the state as it is. */
const SETTLE_MS = 2000
/** Rounds at a stop: wait for pending work, release the devices, check once more. */
const STOP_ROUNDS = 3

/** Owns the server of the first phase, the shares and the looks. */
export class UsbSharing {
  readonly #parts: SharingParts
  readonly #world: ShareWorld
  readonly #desk: ReturnType<typeof createHostDesk>
  readonly #looks: Looks<UsbLook>
  readonly #shares = new Map<string, Share>()
  readonly #bound = new Set<string>()
  readonly #holdOff: HoldOff
  #settings: UsbipSettings
  #choice: DeviceChoice
  #allow: AllowList
  #server: HostServer | undefined
  #portFault: Fault | undefined
  #seen: UsbLook = { support: 'ready', devices: [] }
  #seenText = ''
  #underWayLooks = 0
  #endWatch: (() => void) | undefined
  #lastError: LastError | undefined
  #isStopping = false

  constructor(parts: SharingParts, settings: UsbipSettings) {
    this.#parts = parts
    this.#settings = settings
    this.#choice = parseDeviceChoice(settings.device)
    this.#allow = parts.parseAllow(settings.allow)
    this.#holdOff = createHoldOff(parts.clock, parts.times.holdMs)
    this.#desk = createHostDesk({
      clock: parts.clock,
      log: parts.log,
      allow: () => this.#allow,
      holdOff: this.#holdOff,
      share: (busId) => this.#shares.get(busId),
      shares: () => this.shares,
    })
    this.#looks = new Looks({
      clock: parts.clock,
      look: () => parts.bus.look(),
      heed: (seen, number) => this.#heed(seen, number),
      failed: (error) => this.#lookFailed(error),
      own: parts.own,
    })
    this.#world = this.#worldOfShares(parts)
  }

  get settings(): UsbipSettings {
    return this.#settings
  }

  get seen(): UsbLook {
    return this.#seen
  }

  get shares(): readonly Share[] {
    return [...this.#shares.values()]
  }

  get counts(): SharingCounts {
    return this.#desk.counts
  }

  get lastError(): LastError | undefined {
    return this.#lastError
  }

  /** The port hosts connect to; undefined while it is closed. */
  get openPort(): number | undefined {
    return this.#server?.port
  }

  /** Why hosts cannot connect. */
  get portFault(): Fault | undefined {
    return this.#portFault
  }

  /** Epoch ms at which the last host that was sent away may return. */
  get holdUntilAt(): number | null {
    return this.#holdOff.untilAt()
  }

  /** Takes the first look, knowing which devices an earlier run left bound. */
  async start(): Promise<void> {
    for (const busId of await this.#parts.memory.load()) this.#bound.add(busId)
    this.#endWatch = this.#parts.bus.watch(() => this.#looks.soon())
    await this.#looks.now()
  }

  /** Releases every device to its own driver. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#endWatch?.()
    this.#looks.stop()
    for (let round = 0; round < STOP_ROUNDS; round++) {
      await this.#looks.now()
      await this.#settled()
    }
    this.#desk.close()
  }

  /** Applies settings at once; a host that is no longer allowed is sent away. */
  async apply(settings: UsbipSettings): Promise<void> {
    this.#allow = this.#parts.parseAllow(settings.allow)
    this.#choice = parseDeviceChoice(settings.device)
    this.#settings = settings
    for (const share of this.shares) if (share.guest && !this.#allow.allows(share.guest.link.address)) share.sendAway()
    await this.#looks.now()
    await this.#settledSoon()
  }

  /** Sends every host away and holds it off for a while. @returns their addresses */
  async detach(): Promise<string[]> {
    const addresses = this.shares.flatMap((share) => share.sendAway() ?? [])
    for (const address of addresses) this.#holdOff.hold(address)
    await this.#settledSoon()
    return addresses
  }

  #worldOfShares({ clock, helper, times, own }: SharingParts): ShareWorld {
    return {
      clock,
      turns: createHelperTurns(helper),
      retryMs: times.retryMs,
      lookNumber: () => this.#looks.number,
      remember: (busId, isBound) => this.#remember(busId, isBound),
      onChange: () => {
        this.#parts.onChange()
        this.#looks.soon()
      },
      onFault: (fault) => this.#tell(fault),
      onGuestLeft: (guest) => this.#desk.guestLeft(guest),
      own,
    }
  }

  async #settled(): Promise<void> {
    await Promise.all(this.shares.map((share) => share.settled()))
  }

  async #settledSoon(): Promise<void> {
    await atMost(this.#parts.clock, SETTLE_MS, this.#settled())
  }

  /** A repeated error is not logged again. */
  #tell(fault: Fault): void {
    const isNews = this.#lastError?.message !== fault.message
    this.#lastError = { at: this.#parts.clock.epochMs(), code: fault.code, message: fault.message }
    if (isNews) this.#parts.log.warning('usb sharing', { fault })
    this.#parts.onChange()
  }

  async #remember(busId: string, isBound: boolean): Promise<void> {
    if (this.#bound.has(busId) === isBound) return
    if (isBound) this.#bound.add(busId)
    else this.#bound.delete(busId)
    try {
      await this.#parts.memory.save([...this.#bound])
    } catch (error) {
      // Sharing goes on: the record only matters if the daemon is killed.
      this.#tell(faultOf(error, 'store_write_failed', 'The list of shared devices could not be saved.'))
    }
  }

  #lookFailed(error: unknown): number {
    this.#tell(faultOf(error, 'usbip_look_failed', 'The list of plugged-in devices could not be read.'))
    return this.#parts.times.lookMs
  }

  /** @returns ms until the next look: short while something is under way */
  #heed(seen: UsbLook, number: number): number {
    this.#seen = seen
    this.#openOrClose()
    const present = new Map(seen.devices.map((device) => [device.record.busId, device]))
    for (const share of this.shares) {
      const device = present.get(share.device.record.busId)
      if (!device || !isSame(device, share.device)) this.#forget(share)
    }
    const wanted = new Set(this.#wanted(seen).map(({ record }) => record.busId))
    for (const [busId, device] of present) {
      const isOurs = wanted.has(busId) || (device.driver === HOST_DRIVER && this.#bound.has(busId))
      const share = this.#shares.get(busId) ?? (isOurs ? new Share(this.#world, device) : undefined)
      if (!share) continue
      this.#shares.set(busId, share)
      share.see(device, wanted.has(busId), number)
      if (share.state === 'local' && !wanted.has(busId)) this.#shares.delete(busId)
    }
    this.#tellNews(seen)
    return this.#nextLookMs()
  }

  /** While something is under way, looks come soon, at growing intervals. */
  #nextLookMs(): number {
    const { lookMs } = this.#parts.times
    const isUnderWay = this.shares.some((share) => share.isUnderWay)
    this.#underWayLooks = isUnderWay ? this.#underWayLooks + 1 : 0
    return isUnderWay ? Math.min(lookMs, SOON_MS * 1.5 ** (this.#underWayLooks - 1)) : lookMs
  }

  /** Reports only changes: most looks see the same as the one before. */
  #tellNews(seen: UsbLook): void {
    const text = JSON.stringify(seen)
    if (text === this.#seenText) return
    this.#seenText = text
    this.#parts.onChange()
  }

  #forget(share: Share): void {
    this.#shares.delete(share.device.record.busId)
    share.unplug()
  }

  #wanted({ support, devices }: UsbLook): UsbDevice[] {
    if (this.#isStopping || !this.#settings.enabled || support !== 'ready') return []
    return chooseDevices(this.#choice, devices, ({ record }) => this.#shares.has(record.busId))
  }

  #openOrClose(): void {
    if (!this.#settings.enabled || this.#isStopping) {
      this.#server?.close()
      this.#server = undefined
      this.#portFault = undefined
    } else if (!this.#server) this.#open()
  }

  #open(): void {
    try {
      this.#server = this.#parts.openServer(this.#desk)
      this.#portFault = undefined
    } catch (error) {
      this.#portFault = faultOf(error, 'usbip_port_taken', 'The port for hosts cannot be opened.')
      this.#tell(this.#portFault)
    }
  }
}

/** Whether it is the same device as before, not another in its place or itself plugged in again. */
function isSame({ record: one }: UsbDevice, { record: other }: UsbDevice): boolean {
  return one.deviceNumber === other.deviceNumber && one.vendorId === other.vendorId && one.productId === other.productId
}

// Changing the settings: checked, saved and applied, one change at a time.

/** Dependencies of the book. */
interface BookParts {
  sharing: UsbSharing
  parseAllow: ParseAllow
  /** @throws Fault `store_write_failed` */
  save(settings: UsbipSettings): Promise<void>
}

/** Changes the settings. */
export interface UsbipBook {
  /**
   * Saves, then applies: a change that cannot be saved does not take effect.
   * @returns the fields that changed
   * @throws Fault `bad_fields`, `store_write_failed`
   */
  change(change: UsbipChange): Promise<UsbipChange>
}

export function createUsbipBook({ sharing, parseAllow, save }: BookParts): UsbipBook {
  // Each change starts from the result of the one before.
  const inTurn = createSerialTurn()

  async function changeNow(change: UsbipChange): Promise<UsbipChange> {
    const before = sharing.settings
    const settings = changedSettings(before, change, parseAllow)
    const names = (Object.keys(settings) as (keyof UsbipSettings)[]).filter((name) => settings[name] !== before[name])
    if (names.length === 0) return {}
    await save(settings)
    await sharing.apply(settings)
    return Object.fromEntries(names.map((name) => [name, settings[name]]))
  }

  return {
    change: (change) => inTurn(() => changeNow(change)),
  }
}
