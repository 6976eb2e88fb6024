/** What is kept of the address over restarts, and what the settings want of it. */
import { parseIpv4, prefixOfMask } from '../wire/ipv4.ts'
import type { BoardSettings } from './board-settings.ts'
import type { NetworkState } from './network-state-table.ts'

/** A fixed address as the machine is told. */
export interface FixedAddress {
  ip: string
  prefix: number
  /** Empty: none, in a network without a way out. */
  gw: string
}

/** The file. */
export interface NetworkRecord {
  state: Exclude<NetworkState, 'not_owned'>
  /** The fixed address that the state is about; null with DHCP. */
  address: FixedAddress | null
  /** Which save of the settings it comes from: after a fall-back only a new one counts. */
  saves: number
  /** Life of the machine in which `deadlineMs` counts. */
  bootId: string
  /** Until when somebody has to reach the new address, on the machine's monotonic clock; null when nothing is awaited. */
  deadlineMs: number | null
  /** What the machine or the board had to say, for people; empty where nothing was amiss. */
  why: string
}

/** Before anything was set: whatever the machine was installed with is left alone. */
export const untouchedNetwork: NetworkRecord = {
  state: 'dhcp',
  address: null,
  saves: 0,
  bootId: '',
  deadlineMs: null,
  why: '',
}

/** The fixed address that settings want; null for DHCP. They were checked: mask and address fit together. */
export function wantedAddress({ static_ip, ip, mask, gw }: BoardSettings): FixedAddress | null {
  const ones = parseIpv4(mask)
  const prefix = ones === undefined ? undefined : prefixOfMask(ones)
  return static_ip && prefix !== undefined ? { ip, prefix, gw } : null
}

export function isSameAddress(one: FixedAddress | null, other: FixedAddress | null): boolean {
  if (one === null || other === null) return one === other
  return one.ip === other.ip && one.prefix === other.prefix && one.gw === other.gw
}
