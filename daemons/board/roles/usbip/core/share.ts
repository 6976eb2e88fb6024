/** One device that is shared, or is to be: its state table and what is done in each state. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { RootHelper } from '../../../core/machine/ports.ts'
import type { HelperVerb } from '../../../wire/helper-line.ts'
import type { OpStatus } from '../wire/op.ts'
import type { HostLink, UsbDevice } from './ports.ts'

// Requests to the helper that runs as root, one at a time: binding and attaching use the same driver.

/** Verbs of this role. */
type UsbipVerb = Extract<HelperVerb, `usbip-${string}`>

/** A queue: each device has at most one request waiting in it. */
interface HelperTurns {
  /**
   * @param link its descriptor is passed along, read when the turn comes
   * @throws Fault of the helper; `usbip_host_gone` if the link has closed meanwhile
   */
  ask(verb: UsbipVerb, busId: string, link?: HostLink): Promise<void>
}

export function createHelperTurns(helper: RootHelper): HelperTurns {
  const inTurn = createSerialTurn()

  async function askNow(verb: UsbipVerb, busId: string, link?: HostLink): Promise<void> {
    if (link && link.fd < 0)
      throw new Fault('usbip_host_gone', `The host ${link.address} disconnected before it was given the device.`)
    await helper.ask(verb, [busId], link?.fd)
  }

  return { ask: (verb, busId, link) => inTurn(() => askNow(verb, busId, link)) }
}

// The states of a share: state x event -> next state.

export type ShareState =
  | 'local'
  | 'binding'
  | 'exported'
  | 'handing'
  | 'attached'
  | 'freeing'
  | 'releasing'
  | 'failed'
  | 'gone'

/**
 * - `wanted` it is to be shared, and is with its own driver
 * - `bound` usbip-host has it, without a host
 * - `refused` the helper's request failed
 * - `asked` a host requests it
 * - `taken` the kernel took over the host's connection
 * - `notTaken` the kernel did not
 * - `ended` the host left, or was sent away
 * - `foundUsed` an unknown host has it, left from an earlier run
 * - `freed` the kernel has released the host
 * - `lost` another driver has it
 * - `letGo` it is to go back to its own driver, or usbip-host reports an error
 * - `released` its own driver has it again
 * - `unplugged` it was pulled
 */
export type ShareEvent =
  | 'wanted'
  | 'bound'
  | 'refused'
  | 'asked'
  | 'taken'
  | 'notTaken'
  | 'ended'
  | 'foundUsed'
  | 'freed'
  | 'lost'
  | 'letGo'
  | 'released'
  | 'unplugged'

/** Pairs that are not listed leave the state as it is. */
export const shareStateTable: Readonly<Record<ShareState, Partial<Record<ShareEvent, ShareState>>>> = {
  local: { wanted: 'binding', bound: 'exported', foundUsed: 'freeing', letGo: 'releasing', unplugged: 'gone' },
  binding: { bound: 'exported', refused: 'failed', unplugged: 'gone' },
  exported: { asked: 'handing', foundUsed: 'freeing', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  handing: { taken: 'attached', notTaken: 'exported', unplugged: 'gone' },
  attached: { ended: 'freeing', freed: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  freeing: { freed: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  releasing: { released: 'local', refused: 'failed', unplugged: 'gone' },
  failed: { wanted: 'binding', bound: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  gone: {},
}

/** @returns the state after the event; the same state if the table has no such pair */
export function nextShareState(state: ShareState, event: ShareEvent): ShareState {
  return shareStateTable[state][event] ?? state
}

// The device.

/** The kernel's driver that shares devices. */
export const HOST_DRIVER = 'usbip-host'

/** A host that has a device. */
export interface Guest {
  link: HostLink
  /** Epoch ms. */
  sinceAt: number
}

/** Dependencies of a share. */
export interface ShareWorld {
  clock: Clock
  turns: HelperTurns
  /** Delay before a failed step is retried. */
  retryMs: number
  /** Number of the latest look to start. What a look sees may be older than what was done since. */
  lookNumber(): number
  /** Records that this daemon bound a device to usbip-host, or released it. */
  remember(busId: string, isBound: boolean): Promise<void>
  /** Something has changed: a look is due. */
  onChange(): void
  onFault(fault: Fault): void
  onGuestLeft(guest: Guest): void
  /** Takes charge of a promise nobody awaits. */
  own(promise: Promise<unknown>): void
}

/** Manages one device from plugging in to unplugging, and owns the link of its host. */
export class Share {
  readonly #world: ShareWorld
  #device: UsbDevice
  #state: ShareState = 'local'
  #guest: Guest | undefined
  /** First look that shows the result of the latest request. */
  #freshFrom = 0
  #isAsking = false
  #retryAtMs = 0
  #work: Promise<unknown> = Promise.resolve()

  constructor(world: ShareWorld, device: UsbDevice) {
    this.#world = world
    this.#device = device
  }

  get device(): UsbDevice {
    return this.#device
  }

  get state(): ShareState {
    return this.#state
  }

  /** The host that has the device now. */
  get guest(): Guest | undefined {
    return this.#state === 'attached' ? this.#guest : undefined
  }

  /** Link of the host that has the device or is being sent away; it counts the bytes. */
  get link(): HostLink | undefined {
    return this.#guest?.link
  }

  /** Whether a request is running or the kernel's release is awaited. */
  get isUnderWay(): boolean {
    return this.#isAsking || this.#state === 'freeing'
  }

  /** Resolves when all work begun so far is done. */
  async settled(): Promise<void> {
    for (let work: unknown; work !== this.#work; ) {
      work = this.#work
      await this.#work
    }
  }

  /** Handles what a look saw. @param isWanted it is to be shared */
  see(device: UsbDevice, isWanted: boolean, lookNumber: number): void {
    this.#device = device
    if (this.#isAsking || lookNumber < this.#freshFrom) return
    this.#heed(device)
    if (isWanted) this.#bringUp(device)
    else this.#bringDown(device)
  }

  /** The device was pulled. usbip-host forgets the place, so that the next device there is not shared unasked. */
  unplug(): void {
    const wasBound = this.#state !== 'local'
    this.#apply('unplugged')
    if (wasBound) this.#do('usbip-unbind', () => {}, this.#world.remember(this.#busId, false))
  }

  /** A host requests the device. @returns `ok` once the kernel has the link, which then belongs to this share */
  async take(link: HostLink): Promise<OpStatus> {
    if (this.#state !== 'exported' || this.#isAsking) return this.#refusal()
    this.#apply('asked')
    const asked = this.#ask('usbip-attach', link)
    this.#track(asked)
    const fault = await asked
    const state = this.#apply(fault ? 'notTaken' : 'taken')
    if (fault) return fault.details?.reason === 'busy' ? 'busy' : 'device_error'
    if (state !== 'attached') return 'no_device'
    if (link.fd < 0) return this.#lostAtOnce()
    const guest = { link, sinceAt: this.#world.clock.epochMs() }
    this.#guest = guest
    link.onceEnded(() => this.#left(guest))
    this.#world.onChange()
    return 'ok'
  }

  /** Takes the device from its host. @returns the host's address, undefined if there is none */
  sendAway(): string | undefined {
    const { guest } = this
    if (!guest) return undefined
    this.#apply('ended')
    this.#tellToGo()
    return guest.link.address
  }

  /** The link closed while the kernel took it over, so the kernel must be told to release it. */
  #lostAtOnce(): OpStatus {
    this.#retryAtMs = this.#world.clock.monotonicMs()
    this.#apply('ended')
    return 'no_device'
  }

  get #busId(): string {
    return this.#device.record.busId
  }

  /** Applies what the kernel reports. */
  #heed({ driver, usage }: UsbDevice): void {
    if (this.#state === 'failed') return
    if (driver !== HOST_DRIVER) this.#apply('lost')
    else if (usage === 'used') this.#apply('foundUsed')
    else if (usage === 'error') this.#release()
    else if (usage === 'free') this.#apply(this.#state === 'local' ? 'bound' : 'freed')
    if (this.#state === 'freeing' && this.#isRetryDue()) this.#tellToGo()
  }

  #bringUp({ driver, usage }: UsbDevice): void {
    if (this.#state === 'local') this.#bind()
    if (this.#state !== 'failed' || !this.#isRetryDue()) return
    if (driver !== HOST_DRIVER) this.#bind()
    else if (usage === 'free') this.#apply('bound')
    else this.#release()
  }

  #bringDown({ driver }: UsbDevice): void {
    const isDue = this.#state !== 'failed' || this.#isRetryDue()
    if (this.#state === 'local' || !isDue) return
    if (driver === HOST_DRIVER || this.#state !== 'failed') this.#release()
    else this.#apply('lost')
  }

  #bind(): void {
    this.#apply('wanted')
    this.#isAsking = true
    const remembered = this.#world.remember(this.#busId, true)
    this.#do('usbip-bind', (fault) => void this.#apply(fault ? 'refused' : 'bound'), remembered)
  }

  #release(): void {
    this.#apply('letGo')
    this.#do('usbip-unbind', async (fault) => {
      if (!fault) await this.#world.remember(this.#busId, false)
      this.#apply(fault ? 'refused' : 'released')
    })
  }

  #tellToGo(): void {
    this.#retryAtMs = this.#world.clock.monotonicMs() + this.#world.retryMs
    // If the helper cannot end the connection, closing our own copy of the link does.
    this.#do('usbip-detach', () => this.#dropGuest())
  }

  #left(guest: Guest): void {
    if (this.#guest !== guest) return
    this.#dropGuest()
    // The kernel sees the same end and needs a moment; it is told only if that takes too long.
    this.#retryAtMs = this.#world.clock.monotonicMs() + this.#world.retryMs
    this.#apply('ended')
  }

  #dropGuest(): void {
    const guest = this.#guest
    if (!guest) return
    this.#guest = undefined
    this.#world.onGuestLeft(guest)
    guest.link.cut()
    guest.link.close()
  }

  /** @returns the state after it */
  #apply(event: ShareEvent): ShareState {
    const before = this.#state
    this.#state = nextShareState(before, event)
    if (this.#state === before) return before
    if (this.#state === 'failed') this.#retryAtMs = this.#world.clock.monotonicMs() + this.#world.retryMs
    if (this.#state !== 'attached' && this.#state !== 'freeing') this.#dropGuest()
    this.#world.onChange()
    return this.#state
  }

  #refusal(): OpStatus {
    if (['handing', 'attached', 'freeing'].includes(this.#state)) return 'busy'
    return this.#state === 'failed' ? 'device_error' : 'no_device'
  }

  #isRetryDue(): boolean {
    return this.#world.clock.monotonicMs() >= this.#retryAtMs
  }

  /** Sends a request to the helper after `first`, then runs `rest`. */
  #do(verb: UsbipVerb, rest: (fault: Fault | undefined) => Promise<void> | void, first?: Promise<void>): void {
    const done = (async () => {
      await first
      await rest(await this.#ask(verb))
    })()
    this.#track(done)
    this.#world.own(done)
  }

  #track(work: Promise<unknown>): void {
    const before = this.#work
    this.#work = (async () => {
      await before
      await work
    })()
  }

  /** @returns why it failed; undefined if it is done */
  async #ask(verb: UsbipVerb, link?: HostLink): Promise<Fault | undefined> {
    this.#isAsking = true
    try {
      await this.#world.turns.ask(verb, this.#busId, link)
      return undefined
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault
      if (isSoAlready(verb, fault)) return undefined
      this.#world.onFault(fault)
      return fault
    } finally {
      this.#isAsking = false
      this.#freshFrom = this.#world.lookNumber() + 1
      this.#world.onChange()
    }
  }
}

/** Releasing what is not held is no failure. */
function isSoAlready(verb: UsbipVerb, { details }: Fault): boolean {
  const reason = String(details?.reason)
  if (verb === 'usbip-unbind') return ['not_bound', 'no_device', 'no_usbip_host'].includes(reason)
  return verb === 'usbip-detach' && ['not_attached', 'not_bound', 'no_device', 'no_usbip_host'].includes(reason)
}
