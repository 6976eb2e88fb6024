/** Who else sends to a group, looked for while the sender that is wanted is silent: a join of one source hides all others. */
import { Fault } from '#kit/fault.ts'
import type { Receiver, ReceiverOpener, Tuning } from './ports.ts'

/** Never played, so that its time is of no matter. */
const UNHEARD = {
  sync: 'arrival',
  encoding: 'L24',
  channels: 0,
  payloadType: null,
  mediaOffset: 0,
  linkMs: 10,
} as const

export class StrangerWatch {
  readonly #opener: ReceiverOpener
  #receiver: Receiver | null = null

  constructor(opener: ReceiverOpener) {
    this.#opener = opener
  }

  /** @returns the address of somebody else who sends there; null while nobody is heard */
  look({ paths, roomMs }: Pick<Tuning, 'paths' | 'roomMs'>, wanted: string): string | null {
    const [path] = paths
    if (path === undefined) return null
    try {
      this.#receiver ??= this.#opener.open({ ...UNHEARD, roomMs, paths: [{ ...path, source: null }] })
    } catch (fault) {
      // One that cannot be opened tells of nobody; the receiver that is wanted says why.
      if (fault instanceof Fault) return null
      throw fault
    }
    const sender = this.#receiver.stats().paths[0]?.sender ?? null
    return sender === wanted ? null : sender
  }

  rest(): void {
    this.#receiver?.close()
    this.#receiver = null
  }
}
