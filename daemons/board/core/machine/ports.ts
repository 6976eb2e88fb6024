/** What the rules of settings, restarts, firmware and the network need of the machine, as interfaces that io/ implements. */
import type { HelperVerb } from '../../wire/helper-line.ts'

/** The program that does for the board what needs root. */
export interface RootHelper {
  /**
   * Asks for one thing and waits until it is done.
   * @param args words of printable ASCII; the helper checks each again
   * @param fd a descriptor of this process, for `usbip-attach` alone: the helper gets a copy
   * @returns what the helper has to say, often nothing
   * @throws Fault `helper_absent` where nobody answers, `helper_refused` with the helper's code as `reason` in details:
   * busy, no_device, not_bound, is_hub, no_usbip_host, not_attached, no_installer, ... (docs/board.md)
   */
  ask(verb: HelperVerb, args?: readonly string[], fd?: number): Promise<string>
}

// Restarts, files, the lamp, what the machine says of itself.

/** Why a board started. */
export type StartReason =
  /** Never before. */
  | 'first'
  /** The machine had no power, or fell over as a whole. */
  | 'power'
  /** Settings were saved. */
  | 'config'
  /** Somebody asked for it, here or on the machine. */
  | 'reboot'
  /** New firmware was installed. */
  | 'ota'
  /** All settings were reset. */
  | 'factory_reset'
  /** The daemon alone was stopped and started, such as by systemctl. */
  | 'service'
  /** The daemon alone ended without being told to. */
  | 'crash'
  | 'unknown'

/** Why a board restarts by itself. */
export type RestartReason = Extract<StartReason, 'config' | 'reboot' | 'ota' | 'factory_reset'>

/** Restarts the board: the whole machine, or this daemon. */
export interface Rebooter {
  /**
   * Stores the reason for the next start, then restarts after a short delay, so that answers under way go out whole.
   * Resolves when the reason is stored, or cannot be.
   * @throws Fault `store_write_failed` for a factory reset that cannot be kept: nothing is forgotten, nothing restarts
   */
  reboot(reason: RestartReason): Promise<void>
  /** How long nobody answers, in whole seconds, for the page that waits. */
  readonly aboutS: number
  /** Whether the whole machine restarts, and not this daemon alone. */
  readonly isOfMachine: boolean
}

/** A file that is saved whole: what core needs of `kit/store/store.ts`. */
export interface Kept<T> {
  load(): Promise<T>
  /** @throws Fault `store_write_failed` */
  save(value: T): Promise<void>
}

/** The lamp by which a board is found in a rack. */
export interface Blinker {
  /** Blinks until `stop`. @returns whether there is a lamp that does */
  start(): Promise<boolean>
  stop(): Promise<void>
}

/** One address of the machine that others can reach. */
interface MachineAddress {
  interface: string
  address: string
  /** Bits of the network. */
  prefix: number
  family: 'IPv4' | 'IPv6'
}

/** What the machine says of itself; what it does not know is null. */
export interface MachineFacts {
  addresses: MachineAddress[]
  /** The hottest of its sensors. */
  temperatureC: number | null
  memory: { totalBytes: number; availableBytes: number; processBytes: number }
  /** Mean of 1, 5 and 15 minutes. */
  load: [number, number, number]
  isTimeSynchronised: boolean | null
}

// Firmware updates.

/** Puts images where the next start takes them from. */
export interface Installer {
  /** @throws Fault `ota_not_set_up` where no image could be installed at all */
  refuseUnready(): Promise<void>
  /**
   * Makes room for one image.
   * @param bytes of the whole image, its head included
   * @throws Fault `image_no_room`
   */
  begin(bytes: number): Promise<ImageSlot>
}

/** The place of one image that is being received. The running system does not read from it. */
export interface ImageSlot {
  /** Writes behind what was written. The buffer may be used again afterwards. @throws Fault `image_no_room`, `image_not_kept` */
  write(bytes: Uint8Array): Promise<void>
  /** Resolves when all of it is on the disk. @throws Fault `image_not_kept` */
  finish(): Promise<void>
  /** Hands the image over, once `finish` is done. @throws Fault `image_not_installed` */
  install(): Promise<void>
  /** Leaves nothing behind, whatever was done before. Never throws. */
  discard(): Promise<void>
}

/** SHA-256 over what is fed to it. */
export interface Digest {
  feed(bytes: Uint8Array): void
  /** 64 hex digits. To be called once. */
  hex(): string
}

/** The keys whose images are taken. */
export interface FirmwareKeys {
  /**
   * Reads them anew.
   * @returns tells whether one of them signed these bytes
   * @throws Fault `ota_not_set_up` where there is none, or one cannot be read
   */
  load(): Promise<(signed: Uint8Array, signature: Uint8Array) => boolean>
}

/** The oldest version that is taken, as far as installed images said so. */
export interface FloorBook {
  /** `0.0.0` where none did. */
  floor(): string
  /** Raises it; a version that is not later changes nothing. @throws Fault `store_write_failed` */
  raise(version: string): Promise<void>
}
