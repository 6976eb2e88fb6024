/** One device that is, or is to be, shared: what is done with it, by its table. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { RootHelper } from '../../../core/machine/ports.ts'
import type { HelperVerb } from '../../../wire/helper-line.ts'
import type { OpStatus } from '../wire/op.ts'
import type { HostLink, UsbDevice } from './ports.ts'

// What is asked of the helper that runs as root, one thing at a time: binding and handing over touch the same driver.

/** Verbs of this role. */
type UsbipVerb = Extract<HelperVerb, `usbip-${string}`>

/** As many wait as devices have something to be done, each device one thing at a time. */
interface HelperTurns {
  /**
   * @param link whose descriptor goes along, as it is when the turn has come
   * @throws Fault of the helper; `usbip_host_gone` where the link has closed meanwhile
   */
  ask(verb: UsbipVerb, busId: string, link?: HostLink): Promise<void>
}

export function createHelperTurns(helper: RootHelper): HelperTurns {
  const inTurn = createSerialTurn()

  async function askNow(verb: UsbipVerb, busId: string, link?: HostLink): Promise<void> {
    if (link && link.fd < 0)
      throw new Fault('usbip_host_gone', `The host ${link.address} went before it had the device.`)
    await helper.ask(verb, [busId], link?.fd)
  }

  return { ask: (verb, busId, link) => inTurn(() => askNow(verb, busId, link)) }
}

// Its life: state x event -> next state.

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
 * - `wanted` it is to be shared, and has its own driver
 * - `bound` usbip-host has it, and no host
 * - `refused` what was asked of the helper did not work
 * - `asked` a host asks for it
 * - `taken` the kernel took the host's connection
 * - `notTaken` it did not
 * - `ended` the host went, or is told to go
 * - `foundUsed` a host has it that nobody here knows of, from a run before
 * - `freed` the kernel has let go of the host
 * - `lost` another driver has it
 * - `letGo` it is to have its own driver again, or usbip-host says it is in error
 * - `released` its own driver has it again
 * - `unplugged` it is not there any more
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

/** A pair that is not listed does not change the state. */
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

/** @returns the state after the event; the same state where the table has no such pair */
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

/** What a share needs of the sharing it is part of. */
export interface ShareWorld {
  clock: Clock
  turns: HelperTurns
  /** Time until what did not work is tried again. */
  retryMs: number
  /** Number of the look that was begun last; what it sees may be older than what was done since. */
  lookNumber(): number
  /** Keeps in mind that a device is with usbip-host by us, or no more. */
  remember(busId: string, isBound: boolean): Promise<void>
  /** Something is otherwise: a look is due. */
  onChange(): void
  onFault(fault: Fault): void
  onGuestLeft(guest: Guest): void
  /** Takes over a promise nobody awaits. */
  own(promise: Promise<unknown>): void
}

/** Owns what becomes of one device between plugging in and unplugging, and the link of its host. */
export class Share {
  readonly #world: ShareWorld
  #device: UsbDevice
  #state: ShareState = 'local'
  #guest: Guest | undefined
  /** Number of the first look that tells how the device is after what was done with it last. */
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

  /** The host that has it now. */
  get guest(): Guest | undefined {
    return this.#state === 'attached' ? this.#guest : undefined
  }

  /** Of the host that has it or is being sent away: what it has carried. */
  get link(): HostLink | undefined {
    return this.#guest?.link
  }

  /** Between two states: something is being done, or is waited for. */
  get isUnderWay(): boolean {
    return this.#isAsking || this.#state === 'freeing'
  }

  /** Resolves when what was begun is done. */
  async settled(): Promise<void> {
    for (let work: unknown; work !== this.#work; ) {
      work = this.#work
      await this.#work
    }
  }

  /** What a look saw of it. @param isWanted it is to be shared */
  see(device: UsbDevice, isWanted: boolean, lookNumber: number): void {
    this.#device = device
    if (this.#isAsking || lookNumber < this.#freshFrom) return
    this.#heed(device)
    if (isWanted) this.#bringUp(device)
    else this.#bringDown(device)
  }

  /** It was pulled. What comes into that socket next is not to be shared unasked, so usbip-host forgets the place. */
  unplug(): void {
    const wasBound = this.#state !== 'local'
    this.#apply('unplugged')
    if (wasBound) this.#do('usbip-unbind', () => {}, this.#world.remember(this.#busId, false))
  }

  /** A host asks for it. @returns `ok` when the kernel has the link, which then belongs to this share */
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

  /** Takes it from its host. @returns the host's address, undefined where there is none */
  sendAway(): string | undefined {
    const { guest } = this
    if (!guest) return undefined
    this.#apply('ended')
    this.#tellToGo()
    return guest.link.address
  }

  /** The server closed the link while the kernel took it, which has to be told. */
  #lostAtOnce(): OpStatus {
    this.#retryAtMs = this.#world.clock.monotonicMs()
    this.#apply('ended')
    return 'no_device'
  }

  get #busId(): string {
    return this.#device.record.busId
  }

  /** What the kernel says may be news. */
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
    // Where the helper cannot end it, ending our own copy of the link does.
    this.#do('usbip-detach', () => this.#dropGuest())
  }

  #left(guest: Guest): void {
    if (this.#guest !== guest) return
    this.#dropGuest()
    // The kernel met the same end, and needs a moment; only if that gets long it is told.
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

  /** Has the helper do something, after `first`, and then does the rest. */
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

  /** @returns why it was not done; undefined where it is so now */
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

/** To let go of what is not held is no failure. */
function isSoAlready(verb: UsbipVerb, { details }: Fault): boolean {
  const reason = String(details?.reason)
  if (verb === 'usbip-unbind') return ['not_bound', 'no_device', 'no_usbip_host'].includes(reason)
  return verb === 'usbip-detach' && ['not_attached', 'not_bound', 'no_device', 'no_usbip_host'].includes(reason)
}
