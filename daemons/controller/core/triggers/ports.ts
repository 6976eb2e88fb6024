/** What triggers need from the rest of the controller. */
import type { Json } from '../json.ts'

/** The values of attributes, as everybody reads them. */
export interface AttributeFeed {
  /** Undefined if there is no such attribute. */
  read(id: number): { readonly value: string | null; readonly isSecret: boolean } | undefined
  /**
   * @param listener called after values may have changed; `chain` counts the runs that led to it, 0 for all else
   * @returns ends the subscription
   */
  onChange(listener: (id: number, chain: number) => void): () => void
}

/** What happens at devices. */
export interface DeviceFeed {
  /**
   * @param listener gets the device, the name of the event (`online`, `offline`), and what else is known of it
   * @returns ends the subscription
   */
  onEvent(listener: (deviceId: number, event: string, facts: Readonly<Record<string, Json>>) => void): () => void
}
