/** What can be done with the webhooks of all ports: list, create, change, delete, test. */
import { Fault } from '#kit/fault.ts'
import {
  addWebhook,
  changeWebhook,
  type NewWebhook,
  removeWebhook,
  requireWebhook,
  type WebhookChange,
  type WebhookRecord,
  type WebhookRules,
} from './webhook-list.ts'
import type { WebhookKeeper } from './webhook-ports.ts'
import type { WebhookPublisher, WebhookTest } from './webhook-publisher.ts'
import type { WebhookState } from './webhook-queue.ts'

/** A webhook as a reader sees it. The secret is never shown; headers are, to administrators only. */
export interface WebhookEntry extends Omit<WebhookRecord, 'secret'>, WebhookState {
  hasSecret: boolean
}

/** What the book needs. */
export interface WebhookBookParts {
  keeper: WebhookKeeper
  delivery: WebhookPublisher
  rules: WebhookRules
  /** A new unique text each time. */
  newId(): string
}

/** Every operation throws Fault `unknown_port` where the port is not configured. */
export interface WebhookBook {
  list(port: string): Promise<WebhookEntry[]>
  /** @throws Fault `bad_fields`, `too_many_webhooks`, `store_write_failed` */
  create(port: string, body: NewWebhook): Promise<WebhookEntry>
  /** @throws Fault `unknown_webhook`, `bad_fields`, `store_write_failed` */
  change(port: string, id: string, change: WebhookChange): Promise<WebhookEntry>
  /** @throws Fault `unknown_webhook`, `store_write_failed` */
  remove(port: string, id: string): Promise<void>
  /** @throws Fault `unknown_webhook`, `webhook_test_busy` */
  test(port: string, id: string): Promise<WebhookTest>
}

export function createWebhookBook({ keeper, delivery, rules, newId }: WebhookBookParts): WebhookBook {
  async function entryOf(port: string, record: WebhookRecord): Promise<WebhookEntry> {
    const { id, url, events, headers, enabled, secret } = record
    return { id, url, events, headers, enabled, hasSecret: secret !== null, ...(await delivery.state(port, id)) }
  }

  /** Deliveries follow only once the list is safe: what was refused never sends. */
  async function applied(port: string, apply: (list: readonly WebhookRecord[]) => WebhookRecord[]): Promise<void> {
    await keeper.change(port, apply)
    await delivery.setWebhooks(port, keeper.list(port))
  }

  const shown = (port: string, id: string) => entryOf(port, requireWebhook(keeper.list(port), id))

  return {
    list: async (port) => await Promise.all(keeper.list(port).map((record) => entryOf(port, record))),
    async create(port, body) {
      const id = newId()
      await applied(port, (list) => {
        refuseBeyondTotal(delivery.size(), rules)
        return addWebhook(list, body, rules, id)
      })
      return await shown(port, id)
    },
    async change(port, id, change) {
      await applied(port, (list) => changeWebhook(list, id, change, rules))
      return await shown(port, id)
    },
    remove: (port, id) => applied(port, (list) => removeWebhook(list, id)),
    test: async (port, id) => await delivery.test(port, requireWebhook(keeper.list(port), id)),
  }
}

/** Each webhook may have a connection of its own, so that none waits for another: their number is the bound. */
function refuseBeyondTotal(size: number, { limits }: WebhookRules): void {
  if (size >= limits.total)
    throw new Fault('too_many_webhooks', `There are ${size} webhooks; webhooks.total allows ${limits.total}.`)
}
