/** The address of a board that owns its machine: set, proven by a contact, or taken back. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Kept } from './machine-ports.ts'
import { type FixedAddress, isSameAddress, type NetworkRecord } from './network-record.ts'
import { type NetworkEvent, type NetworkState, networkStateTable } from './network-state-table.ts'
import { networkText } from './network-text.ts'

/** How the machine is told. */
export interface NetworkMachine {
  /** @throws Fault `helper_absent`, `helper_refused`, `no_interface` */
  setAddress(address: FixedAddress): Promise<void>
  /** @throws Fault `helper_absent`, `helper_refused`, `no_interface` */
  setDhcp(): Promise<void>
  /** Addresses of the machine itself: a request from one of them proves nothing. */
  ownAddresses(): string[]
}

/** What it needs. */
export interface NetworkCareParts {
  clock: Clock
  log: Log
  file: Kept<NetworkRecord>
  machine: NetworkMachine
  bootId: string
  /** What the settings want, and which save of theirs that is. */
  wanted: { address: FixedAddress | null; saves: number }
  /** Time in which somebody has to reach a new address. */
  confirmMs: number
  /** Between tries to take an address back. */
  retryMs: number
  /** Tries to take an address back before the next start. */
  retries: number
  onChange(): void
}

/** What status and page show. */
export interface NetworkView {
  state: NetworkState
  /** Instant until which somebody has to reach the new address. */
  confirmUntil: number | null
  /** One sentence for people. */
  text: string
}

export interface NetworkCare {
  /** Brings the machine to what the settings want; never rejects. */
  start(): Promise<void>
  /** A request was answered. @param from the address it came from; @param at the address it arrived at */
  contact(from: string, at: string): void
  view(): NetworkView
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
  /** The machine has taken the address: before that, whoever reaches the same one under DHCP has proven nothing. */
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
    if (wanted.address === null) return isSame && state === 'dhcp' ? undefined : this.#setDhcp()
    if (isSame && state === 'static') return
    if (isSame && state === 'fallen_back' && saves === wanted.saves) return
    const isAwaited = isSame && state === 'unconfirmed' && this.#record.bootId === bootId
    return this.#setAddress(wanted.address, (isAwaited ? deadlineMs : null) ?? clock.monotonicMs() + confirmMs)
  }

  contact(from: string, at: string): void {
    const { state, address } = this.#record
    if (state !== 'unconfirmed' || at !== address?.ip || !this.#isTaken || this.#isFallingBack) return
    if (from === at || this.#by.machine.ownAddresses().includes(from)) return
    this.#timer?.cancel()
    this.#by.log.notice('fixed address confirmed', { ...address, from })
    void this.#become('contact', {})
  }

  view(): NetworkView {
    const { clock } = this.#by
    const { state, deadlineMs } = this.#record
    const confirmUntil = deadlineMs === null ? null : Math.round(clock.epochMs() + deadlineMs - clock.monotonicMs())
    return { state, confirmUntil, text: networkText(this.#record) }
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
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

  async #setDhcp(): Promise<void> {
    const { machine, wanted } = this.#by
    try {
      await machine.setDhcp()
      await this.#become('dhcpSet', { address: null, saves: wanted.saves })
    } catch (fault) {
      await this.#refused(fault)
    }
  }

  async #setAddress(address: FixedAddress, deadlineMs: number): Promise<void> {
    const { clock, log, machine, wanted, bootId, confirmMs } = this.#by
    // Kept before it is done: a board that loses its power right after comes back with the deadline.
    await this.#become('addressSet', { address, saves: wanted.saves, bootId, deadlineMs })
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
    const { address } = this.#record
    // Who is answered from now on was answered too late: the address is on its way out.
    this.#isFallingBack = true
    try {
      await machine.setDhcp()
    } catch (fault) {
      this.#isFallingBack = false
      this.#failures++
      log.error('the address cannot be taken back', { ...address, tries: this.#failures, fault })
      if (this.#failures < retries) this.#wait(retryMs)
      return
    }
    log.warning('nobody reached the fixed address, the board asks by DHCP', { ...address })
    await this.#become('expired', {})
  }
}

/** Of a machine that is somebody else's. */
export function foreignNetwork(): NetworkCare {
  const text = 'This daemon does not own the machine: its address and its name are left as they are.'
  return {
    start: async () => {},
    contact() {},
    view: () => ({ state: 'not_owned', confirmUntil: null, text }),
    close() {},
  }
}
