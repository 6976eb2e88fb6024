/** What the rules of webhooks need of the world: one HTTP exchange, a place for lists, a log. */
import type { WebhookRecord } from './webhook-list.ts'

/** One POST to one target. */
export interface WebhookRequest {
  url: string
  /** Configured headers; those of the interface document are added by the sender. */
  headers: Readonly<Record<string, string>>
  secret: string | null
  /** Device path. */
  port: string
  event: string
  /** The exact bytes to send and to sign; shared between targets, never changed. */
  body: Uint8Array
  /** Take a connection of its own, not one that was kept: a kept one may have died unnoticed. */
  isFresh: boolean
}

/** What a target answered. */
export interface WebhookAnswer {
  /** Status of the answer, 200..599. */
  status: number
  /** Resolves when the rest of the answer was read and thrown away, or was cut off; never rejects. */
  done: Promise<void>
}

/** Sends one POST, follows nothing, tries once. */
export interface WebhookSender {
  /**
   * Resolves with the head of the answer. When `signal` aborts, the connection is closed.
   * @throws Fault `webhook_unreachable`, `bad_target`
   */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer>
  /** Closes the connections that are kept. */
  close(): void
}

/** Where the lists of webhooks are kept: the port records. */
export interface WebhookKeeper {
  /** @throws Fault `unknown_port` */
  list(port: string): readonly WebhookRecord[]
  /**
   * Changes the list of one port; changes run one after another. Resolves when the new list is safe.
   * @throws Fault `unknown_port`, `store_write_failed`, and what `apply` throws; the list is then as it was
   */
  change(port: string, apply: (list: readonly WebhookRecord[]) => WebhookRecord[]): Promise<void>
}

/** The part of a log that is used here: event name and facts. */
export interface WebhookLog {
  warning(event: string, facts: Record<string, unknown>): void
}
