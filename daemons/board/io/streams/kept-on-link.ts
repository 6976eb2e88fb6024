/** Something that is open on a network interface, and opened anew when the interface or its address is another. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { areSameLinks, type Link } from '#kit/net/mdns/links.ts'

/** What is open. */
export interface Open {
  close(): void
}

/** What it is made of. */
export interface KeptOnLinkOptions<Thing extends Open> {
  clock: Clock
  log: Log
  /** What is said in the log where it cannot be opened. */
  trouble: string
  /** How often is looked. */
  recheckMs: number
  link(): Link | undefined
  /** @throws the system's error; it is tried again at the next look */
  open(link: Link): Promise<Thing>
  /** It is open, for the first time or anew. */
  onOpen(thing: Thing, link: Link): void
}

/** Until it is stopped. Whatever does not work is logged once for each link, and tried again. */
export class KeptOnLink<Thing extends Open> {
  readonly #options: KeptOnLinkOptions<Thing>
  #timer: Timer | undefined
  #thing: Thing | undefined
  #link: Link | undefined
  #told: Link | undefined
  #turn: Promise<void> = Promise.resolve()

  constructor(options: KeptOnLinkOptions<Thing>) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#timer ??= this.#options.clock.every(this.#options.recheckMs, () => void this.#look())
    await this.#look()
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#turn
    this.#close()
  }

  /** Undefined while there is no interface, or it could not be opened. */
  get thing(): Thing | undefined {
    return this.#thing
  }

  /** It does not work any more: opened anew at the next look. */
  broken(): void {
    this.#close()
  }

  #look(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#renew())
    return this.#turn
  }

  async #renew(): Promise<void> {
    const { link: linkNow, log, onOpen, open, trouble } = this.#options
    const link = linkNow()
    const isSame = areSameLinks(this.#link ? [this.#link] : [], link ? [link] : [])
    if (!this.#timer || (isSame && this.#thing)) return
    this.#close()
    if (!link) return
    try {
      this.#thing = await open(link)
      this.#link = link
      this.#told = undefined
      onOpen(this.#thing, link)
    } catch (fault) {
      if (!areSameLinks(this.#told ? [this.#told] : [], [link]))
        log.warning(trouble, { interface: link.name, address: link.address, fault })
      this.#told = link
    }
  }

  #close(): void {
    this.#thing?.close()
    this.#thing = undefined
    this.#link = undefined
  }
}
