/** One question to the resolver at a time for each name, however many ask. */
import type { LookupAddress, LookupAllOptions } from 'node:dns'

/** Hears the answer, as from `dns.lookup` with `all`. */
export type Answered = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** `dns.lookup` with `all`. */
export type LookupAll = (hostname: string, options: LookupAllOptions, answered: Answered) => void

/**
 * Who asks while the same question is out gets its answer. A resolver out of reach keeps a question for half a minute,
 * Node asks two at a time, and who gives up does not take his question back: with retries every few seconds questions
 * would pile up for as long as the outage lasts, and names that do resolve would wait behind them.
 */
export function createSharedLookup(resolve: LookupAll): LookupAll {
  const asking = new Map<string, Answered[]>()
  return (hostname, options, answered) => {
    const question = JSON.stringify([hostname, options])
    const others = asking.get(question)
    if (others) {
      others.push(answered)
      return
    }
    const waiting = [answered]
    asking.set(question, waiting)
    resolve(hostname, options, (error, addresses) => {
      asking.delete(question)
      for (const tell of waiting) tell(error, addresses)
    })
  }
}
