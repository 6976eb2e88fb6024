/** What sharing a device needs of the world, as interfaces that io/ implements. */
import type { DeviceRecord, InterfaceRecord, ListedDevice, OpStatus } from '../wire/op.ts'

/** Whether this kernel can share: it has USB, and the driver usbip-host. */
export type Support = 'ready' | 'no_usb' | 'no_usbip_host'

/** A device that is plugged in, no root hub. Texts come from the device, without control characters. */
export interface UsbDevice {
  record: DeviceRecord
  interfaces: readonly InterfaceRecord[]
  maker: string | null
  product: string | null
  serial: string | null
  speedMbit: number | null
  /** Driver of the whole device: `usb` for one that the machine uses itself. */
  driver: string | null
  /** What usbip-host says of it; null where it has another driver, or says nothing right now. */
  usage: 'free' | 'used' | 'error' | null
  /** What this machine itself would lose: its network, or a disk that is mounted. */
  carries: 'network' | 'disk' | null
}

/** What is plugged in right now. */
export interface UsbLook {
  support: Support
  devices: readonly UsbDevice[]
}

/** The USB of this machine. */
export interface UsbBus {
  look(): Promise<UsbLook>
  /** Calls whenever something was plugged in or pulled, as far as the kernel can be heard. @returns what ends it */
  watch(onChange: () => void): () => void
}

/** The connection of a host. */
export interface HostLink {
  /** Of the host: IPv4 in IPv6 as the IPv4 it stands for. */
  readonly address: string
  readonly port: number
  /** Descriptor to hand on; -1 once closed. */
  readonly fd: number
  counts(): { receivedBytes: number; ackedBytes: number }
  /** One handler, told once. */
  onceEnded(handler: () => void): void
  /** Ends it for everybody who holds it, the kernel too. */
  cut(): void
  close(): void
}

/** How the first phase of a connection ended. */
export type OpOutcome =
  | 'not_allowed'
  | 'too_many'
  | 'too_slow'
  | 'not_understood'
  | 'went_away'
  | 'listed'
  | 'imported'
  | 'import_refused'

/** What the server of the first phase asks. */
export interface HostDesk {
  /** Asked before a byte is read. */
  admits(address: string): boolean
  list(): ListedDevice[]
  /** With `ok` the link belongs to the desk, else to the server still. */
  take(busId: string, link: HostLink): Promise<{ status: OpStatus; device?: DeviceRecord }>
  /** Told once of each connection. */
  ended(outcome: OpOutcome, address: string): void
}

/** The server of the first phase. */
export interface HostServer {
  readonly port: number
  close(): void
}

/** @throws Fault `usbip_port_taken` */
export type HostServerOpener = (desk: HostDesk) => HostServer

/** Devices that were given to usbip-host by us: they are given back, whatever ends the daemon in between. */
export interface BoundMemory {
  /** Bus ids. */
  load(): Promise<readonly string[]>
  save(busIds: readonly string[]): Promise<void>
}

/** Who may connect. */
export interface AllowList {
  allows(address: string): boolean
}
