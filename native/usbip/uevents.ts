/** The kernel's own messages about devices that come and go. */
import { addon, type NativeHeld, WATCH } from './addon.ts'

/** Room for what waits in the kernel while we are busy; it doubles it for its own book-keeping. */
const BUFFER_BYTES = 65_536
/** The kernel's own bound for one message (UEVENT_BUFFER_SIZE is 2048; with its header and room). */
const LONGEST_MESSAGE = 4096
/** Messages taken in one turn of the loop. */
const MOST_AT_ONCE = 64

/** What is told. */
export interface UeventHandlers {
  /** One message: `add@/devices/...`, then `NAME=value` parts, with zero bytes between. It belongs to the handler. */
  onMessage(message: Uint8Array): void
  /** Some were lost: more came than there was room for. */
  onLost(): void
  /** The socket failed; nothing is told any more. */
  onFailed(error: Error): void
}

/**
 * Listens to the kernel (group 1 of NETLINK_KOBJECT_UEVENT); messages that others send there are passed over.
 * @source netlink(7); Linux, lib/kobject_uevent.c
 */
export class UeventSocket {
  readonly #held: NativeHeld
  readonly #handlers: UeventHandlers
  readonly #slab = new Uint8Array(LONGEST_MESSAGE)
  #isOpen = true

  /** @throws Error with code, errno and syscall: EPERM, EAFNOSUPPORT where a sandbox leaves no netlink */
  constructor(handlers: UeventHandlers) {
    this.#held = addon.uevents(BUFFER_BYTES)
    this.#handlers = handlers
    this.#watch()
  }

  close(): void {
    this.#isOpen = false
    this.#held.close()
  }

  #watch(): void {
    this.#held.watch(WATCH.readable, () => this.#read())
  }

  #read(): void {
    try {
      for (let count = 0; count < MOST_AT_ONCE && this.#isOpen; count++) if (!this.#readOne()) break
      if (this.#isOpen) this.#watch()
    } catch (error) {
      this.close()
      this.#handlers.onFailed(error as Error)
    }
  }

  /** @returns whether there may be more */
  #readOne(): boolean {
    try {
      const length = this.#held.nextUevent(this.#slab)
      if (length !== undefined) this.#handlers.onMessage(this.#slab.slice(0, length))
      return length !== undefined
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOBUFS') throw error
      this.#handlers.onLost()
      return true
    }
  }
}
