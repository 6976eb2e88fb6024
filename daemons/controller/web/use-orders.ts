/** What a hand asks of one zone: sent one at a time, the last of what moves meanwhile, and what came of it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { sendLatest } from '#kit/web/latest.ts'
import type { ZoneView } from '../core/zone-view.ts'
import { api } from './api.ts'
import { commandSentence } from './command-words.ts'

/** One thing that is asked. */
export interface Order {
  verb: string
  /** Goes out as the argument of the verb's own name. */
  value?: number | boolean
}

/** The orders of a tile. */
export interface Orders {
  /** What the hand asked for last, as long as it counts more than what is told. */
  held: Order | null
  /** Why the last one was not carried out; null where it was, and when whoever pressed has read it. */
  fault: string | null
  /** An order whose zone does not tell what it does: `60 %`, or empty. */
  sent: Order | null
  give(order: Order): void
}

/** So long after the answer the hand still counts: a device tells its new level a moment later. */
const SETTLE_MS = 1500
/** So long a refusal is told; on a tablet on a wall that of yesterday would look like one of now. */
const FAULT_MS = 120_000

/** They live as long as the tile of their zone. */
export function useOrders({ id }: Pick<ZoneView, 'id'>): Orders {
  const [held, setHeld] = useState<Order | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [sent, setSent] = useState<Order | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])

  const refuse = (thrown: unknown): void => {
    clearTimeout(timer.current)
    setHeld(null)
    setFault(commandSentence(thrown))
    timer.current = setTimeout(() => setFault(null), FAULT_MS)
  }
  const send = async (order: Order): Promise<void> => {
    await api.command(id, order.verb, order.value === undefined ? {} : { [order.verb]: order.value })
    setSent(order)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setHeld(null), SETTLE_MS)
  }
  // Made once: it knows what is under way.
  const [queue] = useState(() => sendLatest(send, refuse))
  return {
    held,
    fault,
    sent,
    give(order) {
      clearTimeout(timer.current)
      setFault(null)
      setHeld(order)
      // A stop waits behind nothing.
      if (order.verb === 'stop') void send(order).catch(refuse)
      else queue(order)
    },
  }
}
