/** Interfaces that USB sharing needs, implemented by io/. */
import type { DeviceRecord, InterfaceRecord, ListedDevice, OpStatus } from '../wire/op.ts'

/** Whether this kernel can share: it has USB, and the driver usbip-host. */
export type Support = 'ready' | 'no_usb' | 'no_usbip_host'

/** A plugged-in device, not a root hub. Texts come from the device, without control characters. */
export interface UsbDevice {
  record: DeviceRecord
  interfaces: readonly InterfaceRecord[]
  maker: string | null
  product: string | null
  serial: string | null
  speedMbit: number | null
  /** Driver of the whole device: `usb` if the machine uses it itself. */
  driver: string | null
  /** State reported by usbip-host; null if it has another driver, or no state right now. */
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
  /** Calls whenever something was plugged in or pulled, if the kernel's events can be received. @returns ends it */
  watch(onChange: () => void): () => void
}

/** The connection of a host. */
export interface HostLink {
  /** The host's address: IPv4 in IPv6 as plain IPv4. */
  readonly address: string
  readonly port: number
  /** Descriptor to pass on; -1 once closed. */
  readonly fd: number
  counts(): { receivedBytes: number; ackedBytes: number }
  /** One handler, called once. */
  onceEnded(handler: () => void): void
  /** Ends it for every holder, the kernel included. */
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

/** Decisions for the server of the first phase. */
export interface HostDesk {
  /** Called before a byte is read. */
  admits(address: string): boolean
  list(): ListedDevice[]
  /** With `ok` the desk owns the link, otherwise the server keeps it. */
  take(busId: string, link: HostLink): Promise<{ status: OpStatus; device?: DeviceRecord }>
  /** Called once for each connection. */
  ended(outcome: OpOutcome, address: string): void
}

/** The server of the first phase. */
export interface HostServer {
  readonly port: number
  close(): void
}

/** @throws Fault `usbip_port_taken` */
export type HostServerOpener = (desk: HostDesk) => HostServer

/** Devices that we bound to usbip-host: they are released even if the daemon ended in between. */
export interface BoundMemory {
  /** Bus ids. */
  load(): Promise<readonly string[]>
  save(busIds: readonly string[]): Promise<void>
}

/** Decides which addresses may connect. */
export interface AllowList {
  allows(address: string): boolean
}
