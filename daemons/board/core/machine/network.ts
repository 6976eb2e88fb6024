/** Name and address of a machine owned by the board: set, then confirmed by a contact or taken back. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { parseIpv4, prefixOfMask } from '../../wire/addresses.ts'
import type { BoardSettings } from '../settings/settings.ts'
import type { Kept } from './ports.ts'

// States of the address of a board that owns its machine.

/** Events of the address. */
export type NetworkEvent = 'addressSet' | 'dhcpSet' | 'contact' | 'expired' | 'refused'

export type NetworkState =
  /** The machine belongs to somebody else, who manages its address. */
  | 'not_owned'
  | 'dhcp'
  /** It has a new fixed address, at which nobody has reached it yet. */
  | 'unconfirmed'
  | 'static'
  /** Nobody reached the fixed address, or DHCP gave none, in time: it has the one before, or DHCP, until the settings are saved again. */
  | 'fallen_back'
  /** The machine refused the settings. */
  | 'refused'

/** State, event, next state; pairs not listed leave the state as it is. */
export const networkStateTable: Readonly<Record<NetworkState, Partial<Record<NetworkEvent, NetworkState>>>> = {
  not_owned: {},
  dhcp: { addressSet: 'unconfirmed', expired: 'fallen_back', refused: 'refused' },
  unconfirmed: {
    dhcpSet: 'dhcp',
    contact: 'static',
    expired: 'fallen_back',
    refused: 'refused',
  },
  static: { addressSet: 'unconfirmed', dhcpSet: 'dhcp', refused: 'refused' },
  fallen_back: { addressSet: 'unconfirmed', dhcpSet: 'dhcp', refused: 'refused' },
  refused: { addressSet: 'unconfirmed', dhcpSet: 'dhcp' },
}

// The address record, kept over restarts, and the address that the settings ask for.

/** A static address, as the helper sets it. */
interface FixedAddress {
  ip: string
  prefix: number
  /** Empty: no gateway, in a network without a way out. */
  gw: string
  /** Name servers, with commas between; absent: the gateway. */
  dns?: string
}

/** Contents of the file. */
export interface NetworkRecord {
  state: Exclude<NetworkState, 'not_owned'>
  /** The fixed address that the state refers to; null with DHCP. */
  address: FixedAddress | null
  /**
   * The fixed address at which it was reached before: what it goes back to. Null, or absent in the file of an earlier
   * version: DHCP.
   */
  before?: FixedAddress | null
  /** The save of the settings it comes from: after falling back only a newer one counts. */
  saves: number
  /** Boot of the machine to which `deadlineMs` refers. */
  bootId: string
  /**
   * Deadline for somebody to reach the new address, or for DHCP to give one in place of `before`; on the machine's
   * monotonic clock, null if not waiting.
   */
  deadlineMs: number | null
  /** Error of the machine or the board, for people; empty if all was well. */
  why: string
}

/** Before anything was set: the machine's own configuration is left alone. */
export const untouchedNetwork: NetworkRecord = {
  state: 'dhcp',
  address: null,
  saves: 0,
  bootId: '',
  deadlineMs: null,
  why: '',
}

/** The fixed address in the settings; null for DHCP. Settings are checked already: mask and address fit together. */
export function wantedAddress({ static_ip, ip, mask, gw, dns }: BoardSettings): FixedAddress | null {
  const ones = parseIpv4(mask)
  const prefix = ones === undefined ? undefined : prefixOfMask(ones)
  return static_ip && prefix !== undefined ? { ip, prefix, gw, ...(dns === '' ? {} : { dns }) } : null
}

/** What the next address is taken back for: the present one if it was reached, else the one before. */
function beforeNext({ state, address, before = null }: NetworkRecord): FixedAddress | null {
  return state === 'static' ? address : before
}

function isSameAddress(one: FixedAddress | null, other: FixedAddress | null): boolean {
  if (one === null || other === null) return one === other
  return one.ip === other.ip && one.prefix === other.prefix && one.gw === other.gw && one.dns === other.dns
}

// Sentences about the address.

/** An address as people write it; null is DHCP. */
function addressText(address: FixedAddress | null): string {
  return address === null ? 'DHCP' : `${address.ip}/${address.prefix}`
}

/** One or two sentences for people. */
function networkText({ state, address, before = null, why }: NetworkRecord): string {
  const fixed = address === null ? '' : addressText(address)
  if (state === 'unconfirmed')
    return `The board has the new address ${fixed} and waits to be reached there. Open http://${address?.ip}/; otherwise it goes back to ${addressText(before)}.`
  if (state === 'static')
    return `The board keeps the address ${fixed}, ${address?.gw ? `gateway ${address.gw}` : 'without a gateway'}.`
  if (state === 'dhcp' && before !== null)
    return `The board asks for an address by DHCP. If none comes in time, it goes back to ${addressText(before)}.`
  if (state === 'fallen_back' && address === null)
    return `No address came by DHCP in time, so the board is back at ${addressText(before)}. Look for the DHCP server, and save again.`
  if (state === 'fallen_back' && before !== null)
    return `Nobody reached the board at ${fixed} in time, so it is back at ${addressText(before)}. Check address, mask and gateway, and save again.`
  if (state === 'fallen_back')
    return `Nobody reached the board at ${fixed} in time, so it asks for an address by DHCP. Check address, mask and gateway, and save again.`
  if (state === 'refused')
    return `The machine did not take the network settings: ${why}. They are tried again after the next start.`
  return 'The board asks for its address by DHCP.'
}

// Sets the address, waits for a contact, and takes it back otherwise.

/** Commands to the machine. */
export interface NetworkMachine {
  /** @throws Fault `helper_absent`, `helper_refused`, `no_interface` */
  setAddress(address: FixedAddress): Promise<void>
  /** @throws Fault `helper_absent`, `helper_refused`, `no_interface` */
  setDhcp(): Promise<void>
  /** Whether it has an IPv4 address that routers and switches of the building let through: not one of 169.254. */
  hasAddress(): boolean
  /** Addresses of the machine itself: a request from one of them proves nothing. */
  ownAddresses(): string[]
}

/** Dependencies and settings. */
export interface NetworkCareParts {
  clock: Clock
  log: Log
  file: Kept<NetworkRecord>
  machine: NetworkMachine
  bootId: string
  /** The address that the settings ask for, and the number of their save. */
  wanted: { address: FixedAddress | null; saves: number }
  /** Time within which somebody has to reach a new address. */
  confirmMs: number
  /** Time between tries to take an address back, and between looks whether DHCP gave one. */
  retryMs: number
  /** Tries to take an address back before the next start. */
  retries: number
  onChange(): void
}

/** For status and page. */
export interface NetworkView {
  state: NetworkState
  /** Deadline for somebody to reach the new address. */
  confirmUntil: number | null
  /** One sentence for people. */
  text: string
}

export interface NetworkCare {
  /** Applies the settings to the machine; never rejects. */
  start(): Promise<void>
  /** Call when a request was answered. @param from the address it came from; @param at the address it arrived at */
  contact(from: string, at: string): void
  /** Somebody on the machine vouches for its new address. @returns false if none waits for that */
  confirm(): boolean
  view(): NetworkView
  /** What an address that is set next is taken back for, if nobody reaches it: `10.20.4.11/24`, or `DHCP`. */
  goesBackTo(): string
  close(): void
}

/** @throws Fault of the file */
export async function createNetworkCare(by: NetworkCareParts): Promise<NetworkCare> {
  return new OwnNetwork(by, await by.file.load())
}

class OwnNetwork implements NetworkCare {
  readonly #by: NetworkCareParts
  #record: NetworkRecord
  #timer: Timer | undefined
  #failures = 0
  #isFallingBack = false
  /**
   * Whether the machine has taken the address: before that, a contact at the same address under DHCP proves nothing.
   */
  #isTaken = false
  #isClosed = false

  constructor(by: NetworkCareParts, record: NetworkRecord) {
    this.#by = by
    this.#record = record
  }

  async start(): Promise<void> {
    const { clock, wanted, bootId, confirmMs } = this.#by
    const { state, address, saves, deadlineMs } = this.#record
    const isSame = isSameAddress(address, wanted.address)
    if (isSame && (state === 'static' || (state === 'dhcp' && deadlineMs === null))) return
    if (isSame && state === 'fallen_back' && saves === wanted.saves) return
    const isAwaited = isSame && (state === 'unconfirmed' || state === 'dhcp') && this.#record.bootId === bootId
    const untilMs = (isAwaited ? deadlineMs : null) ?? clock.monotonicMs() + confirmMs
    return wanted.address === null ? this.#setDhcp(untilMs) : this.#setAddress(wanted.address, untilMs)
  }

  contact(from: string, at: string): void {
    if (!this.#isWaiting() || at !== this.#record.address?.ip) return
    if (from === at || this.#by.machine.ownAddresses().includes(from)) return
    this.#confirmed(from)
  }

  confirm(): boolean {
    if (!this.#isWaiting()) return false
    this.#confirmed('this machine')
    return true
  }

  view(): NetworkView {
    const { clock } = this.#by
    const { state, deadlineMs } = this.#record
    const confirmUntil = deadlineMs === null ? null : Math.round(clock.epochMs() + deadlineMs - clock.monotonicMs())
    return { state, confirmUntil, text: networkText(this.#record) }
  }

  goesBackTo(): string {
    return addressText(beforeNext(this.#record))
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #isWaiting(): boolean {
    return this.#record.state === 'unconfirmed' && this.#isTaken && !this.#isFallingBack
  }

  #confirmed(from: string): void {
    this.#timer?.cancel()
    this.#by.log.notice('fixed address confirmed', { ...this.#record.address, from })
    void this.#become('contact', {})
  }

  async #become(event: NetworkEvent, change: Partial<NetworkRecord>): Promise<void> {
    const next = networkStateTable[this.#record.state][event] ?? this.#record.state
    if (next === 'not_owned') return
    this.#record = { ...this.#record, deadlineMs: null, why: '', ...change, state: next }
    this.#by.onChange()
    try {
      await this.#by.file.save(this.#record)
    } catch (fault) {
      this.#by.log.error('the state of the network is not kept', { state: next, fault })
    }
  }

  async #setDhcp(untilMs: number): Promise<void> {
    const { machine, wanted, bootId } = this.#by
    const before = beforeNext(this.#record)
    const deadlineMs = before === null ? null : untilMs
    // Saved before it is done, as with an address. From DHCP there is nothing to go back to.
    await this.#become('dhcpSet', { address: null, before, saves: wanted.saves, bootId, deadlineMs })
    try {
      await machine.setDhcp()
    } catch (fault) {
      return this.#refused(fault)
    }
    if (deadlineMs !== null) this.#lookForLease(deadlineMs)
  }

  /** The first look is not at once: the machine may still have the address from before. */
  #lookForLease(deadlineMs: number): void {
    const { clock, log, machine, retryMs } = this.#by
    if (this.#isClosed) return
    this.#timer = clock.after(retryMs, () => {
      if (!machine.hasAddress())
        return clock.monotonicMs() < deadlineMs ? this.#lookForLease(deadlineMs) : void this.#fallBack()
      log.notice('DHCP gave an address')
      void this.#become('dhcpSet', { before: null })
    })
  }

  async #setAddress(address: FixedAddress, deadlineMs: number): Promise<void> {
    const { clock, log, machine, wanted, bootId, confirmMs } = this.#by
    // Saved before it is done: a board that loses power right after comes back with the deadline.
    await this.#become('addressSet', {
      address,
      before: beforeNext(this.#record),
      saves: wanted.saves,
      bootId,
      deadlineMs,
    })
    try {
      await machine.setAddress(address)
    } catch (fault) {
      return this.#refused(fault)
    }
    this.#isTaken = true
    log.notice('fixed address set, to be reached or taken back', { ...address, withinMs: confirmMs })
    this.#wait(deadlineMs - clock.monotonicMs())
  }

  async #refused(fault: unknown): Promise<void> {
    const { log, wanted } = this.#by
    log.error('the machine does not take the network settings', { fault })
    await this.#become('refused', { saves: wanted.saves, why: fault instanceof Error ? fault.message : String(fault) })
  }

  #wait(ms: number): void {
    if (this.#isClosed) return
    this.#timer = this.#by.clock.after(Math.max(0, ms), () => void this.#fallBack())
  }

  async #fallBack(): Promise<void> {
    const { log, machine, retries, retryMs } = this.#by
    const { address, before = null } = this.#record
    // A contact from now on is too late: the address is being removed.
    this.#isFallingBack = true
    try {
      if (before === null) await machine.setDhcp()
      else await machine.setAddress(before)
    } catch (fault) {
      this.#isFallingBack = false
      this.#failures++
      log.error('the address cannot be taken back', { ...address, tries: this.#failures, fault })
      if (this.#failures < retries) this.#wait(retryMs)
      return
    }
    const what = address === null ? 'no address came by DHCP' : 'nobody reached the fixed address'
    log.warning(`${what}, it is taken back`, { ...address, for: addressText(before) })
    await this.#become('expired', {})
  }
}

/** For a machine that the board does not own. */
export function foreignNetwork(): NetworkCare {
  const text = 'This daemon does not own the machine: its address and its name are left as they are.'
  return {
    start: async () => {},
    contact() {},
    confirm: () => false,
    view: () => ({ state: 'not_owned', confirmUntil: null, text }),
    goesBackTo: () => '',
    close() {},
  }
}

// The name of the machine.

/** What it needs. */
interface MachineNameParts {
  log: Log
  /** The machine's present name, without a domain. */
  present: string
  wanted: string
  /** @throws Fault `helper_absent`, `helper_refused` */
  setName(name: string): Promise<unknown>
}

/** Sets the machine's name if it differs; never rejects. @returns what went wrong, for people; else undefined */
export async function keepMachineName({
  log,
  present,
  wanted,
  setName,
}: MachineNameParts): Promise<string | undefined> {
  if (present.toLowerCase() === wanted.toLowerCase()) return undefined
  try {
    await setName(wanted)
    log.notice('the machine has its name', { name: wanted, before: present })
    return undefined
  } catch (fault) {
    log.error('the machine does not take its name', { name: wanted, fault })
    return `The machine is still called ${present}: ${fault instanceof Error ? fault.message : String(fault)}.`
  }
}
