/** What the board's rules need of the world, as interfaces that io/ implements. */
import type { HelperVerb } from '../wire/helper-line.ts'

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

/** Where a board may answer. */
export interface PeerPlace {
  /** An IP address. */
  address: string
  port: number
}

/** Asks other boards whether they are there. */
export interface PeerAsker {
  /**
   * Asks one, as anybody might. Bounded in time and in what is read.
   * @param id full name of the board
   * @returns whether that very board answered, whatever it answered; never throws
   */
  ask(place: PeerPlace, id: string): Promise<boolean>
}
