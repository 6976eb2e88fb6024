/** What the rules of settings, restarts and the network need of the machine, as interfaces that io/ implements. */

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

/** Reasons that a board itself has to begin anew. */
export type RestartReason = Extract<StartReason, 'config' | 'reboot' | 'ota' | 'factory_reset'>

/** How the board begins anew: the whole machine, or this daemon. */
export interface Rebooter {
  /**
   * Keeps the reason for the next start, and begins anew soon after: answers under way go out whole. Resolves when the
   * reason is kept, or cannot be.
   * @throws Fault `store_write_failed` for a factory reset that cannot be kept: nothing is forgotten, nothing restarts
   */
  reboot(reason: RestartReason): Promise<void>
  /** How long nobody answers, in whole seconds, for the page that waits. */
  readonly aboutS: number
  /** Whether the whole machine restarts, and not this daemon alone. */
  readonly isOfMachine: boolean
}

/** A file that is saved whole: what core needs of `kit/store.ts`. */
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
export interface MachineAddress {
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
