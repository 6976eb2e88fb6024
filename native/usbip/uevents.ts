/** The kernel's own events of devices that come and go. */
import { addon, type NativeHeld, WATCH } from './addon.ts'

/** Kernel buffer for events while we are busy; the kernel doubles it for its own bookkeeping. */
const BUFFER_BYTES = 65_536
/** Above the kernel's own limit for one message (UEVENT_BUFFER_SIZE is 2048), with its header and some room. */
const LONGEST_MESSAGE = 4096
/** Messages read in one turn of the event loop. */
const MOST_AT_ONCE = 64

/** Callbacks. */
export interface UeventHandlers {
  /** One message: `add@/devices/...`, then `NAME=value` parts, separated by zero bytes. The handler owns it. */
  onMessage(message: Uint8Array): void
  /** Some events were lost: there was no room for all. */
  onLost(): void
  /** The socket failed; no more events come. */
  onFailed(error: Error): void
}

/**
 * Listens to the kernel (group 1 of NETLINK_KOBJECT_UEVENT); messages from other senders are ignored.
 * @source netlink(7); Linux, lib/kobject_uevent.c
 */
export class UeventSocket {
  readonly #held: NativeHeld
  readonly #handlers: UeventHandlers
  readonly #slab = new Uint8Array(LONGEST_MESSAGE)
  #isOpen = true

  /** @throws Error with code, errno and syscall: EPERM, EAFNOSUPPORT if a sandbox blocks netlink */
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
