/** Interfaces to the machine, implemented by io/, for settings, restarts, firmware and the network. */
import type { HelperVerb } from '../../wire/helper-line.ts'

/** The program that does for the board what needs root. */
export interface RootHelper {
  /**
   * Requests one action and waits until it is done.
   * @param args words of printable ASCII; the helper checks each again
   * @param fd a descriptor of this process, for `usbip-attach` alone: the helper gets a copy
   * @returns the helper's output, often empty
   * @throws Fault `helper_absent` if nobody answers, `helper_refused` with the helper's code as `reason` in details:
   * busy, no_device, not_bound, is_hub, no_usbip_host, not_attached, no_installer, ... (docs/board.md)
   */
  ask(verb: HelperVerb, args?: readonly string[], fd?: number): Promise<string>
}

// Restarts, files, the lamp, and facts about the machine.

/** Why a board started. */
export type StartReason =
  /** It never started before. */
  | 'first'
  /** The machine lost power, or crashed as a whole. */
  | 'power'
  /** Settings were saved. */
  | 'config'
  /** Somebody requested a reboot, here or on the machine. */
  | 'reboot'
  /** New firmware was installed. */
  | 'ota'
  /** All settings were reset. */
  | 'factory_reset'
  /** Only the daemon was stopped and started, such as by systemctl. */
  | 'service'
  /** Only the daemon ended, without being told to. */
  | 'crash'
  | 'unknown'

/** Reasons for which a board restarts itself. */
export type RestartReason = Extract<StartReason, 'config' | 'reboot' | 'ota' | 'factory_reset'>

/** Restarts the board: the whole machine, or this daemon. */
export interface Rebooter {
  /**
   * Stores the reason for the next start, then restarts after a short delay, so that pending answers go out whole.
   * Resolves when the reason is stored, or cannot be.
   * @throws Fault `store_write_failed` for a factory reset that cannot be stored: nothing is reset, nothing restarts
   */
  reboot(reason: RestartReason): Promise<void>
  /** How long the board will not answer, in whole seconds, for the waiting page. */
  readonly aboutS: number
  /** Whether the whole machine restarts, not only this daemon. */
  readonly isOfMachine: boolean
}

/** A file that is saved whole: what core needs of `kit/store/store.ts`. */
export interface Kept<T> {
  load(): Promise<T>
  /** @throws Fault `store_write_failed` */
  save(value: T): Promise<void>
}

/** The lamp that shows a board in a rack. */
export interface Blinker {
  /** Blinks until `stop`. @returns whether there is a lamp that can blink */
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

/** Facts about the machine; null where unknown. */
export interface MachineFacts {
  addresses: MachineAddress[]
  /** Of the hottest sensor. */
  temperatureC: number | null
  memory: { totalBytes: number; availableBytes: number; processBytes: number }
  /** Mean of 1, 5 and 15 minutes. */
  load: [number, number, number]
  isTimeSynchronised: boolean | null
}

// Firmware updates.

/** Stores images where the next start loads them from. */
export interface Installer {
  /** @throws Fault `ota_not_set_up` if no image could be installed at all */
  refuseUnready(): Promise<void>
  /**
   * Reserves room for one image.
   * @param bytes of the whole image, its head included
   * @throws Fault `image_no_room`
   */
  begin(bytes: number): Promise<ImageSlot>
}

/** Storage for one image being received. The running system does not read from it. */
export interface ImageSlot {
  /** Appends. The buffer may be reused afterwards. @throws Fault `image_no_room`, `image_not_kept` */
  write(bytes: Uint8Array): Promise<void>
  /** Resolves when all of it is on the disk. @throws Fault `image_not_kept` */
  finish(): Promise<void>
  /** Installs the image, once `finish` is done. @throws Fault `image_not_installed` */
  install(): Promise<void>
  /** Removes everything, whatever was done before. Never throws. */
  discard(): Promise<void>
}

/** SHA-256 over what is fed to it. */
export interface Digest {
  feed(bytes: Uint8Array): void
  /** 64 hex digits. Call once. */
  hex(): string
}

/** The keys whose images are accepted. */
export interface FirmwareKeys {
  /**
   * Reads the keys again.
   * @returns a function that checks whether one of the keys signed these bytes
   * @throws Fault `ota_not_set_up` without any key, or when a key cannot be read
   */
  load(): Promise<(signed: Uint8Array, signature: Uint8Array) => boolean>
}

/** The oldest version accepted, as set by installed images. */
export interface FloorBook {
  /** `0.0.0` if none set it. */
  floor(): string
  /** Raises it; a version that is not later changes nothing. @throws Fault `store_write_failed` */
  raise(version: string): Promise<void>
}
