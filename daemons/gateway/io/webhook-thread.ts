/** The thread that delivers webhooks, from within: what the daemon asks for is done in the order in which it asks. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '#kit/clock.ts'
import { lookupSafely } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { WebhookEvent, WebhookLoss } from '../core/webhooks/book.ts'
import { createWebhookDelivery } from '../core/webhooks/delivery.ts'
import type { WebhookLimits, WebhookRecord } from '../core/webhooks/records.ts'
import { createWebhookSender } from './webhook-sender.ts'

/** What the thread is asked. */
export type WebhookTask =
  | { kind: 'set'; port: string; list: readonly WebhookRecord[] }
  | { kind: 'hand'; events: readonly WebhookEvent[]; losses: readonly WebhookLoss[] }
  | { kind: 'state'; port: string; id: string }
  | { kind: 'test'; port: string; record: WebhookRecord }
  | { kind: 'close' }

/** What it answers to the task of that number, or wants to have logged. */
export type WebhookWord =
  | { kind: 'done'; number: number; value: unknown }
  | { kind: 'failed'; number: number; code: string; message: string }
  | { kind: 'log'; event: string; facts: Record<string, unknown> }

/** What it is started with. */
export interface WebhookThreadData {
  limits: WebhookLimits
}

/** The bus comes first where both want the processor. Linux knows a niceness for each thread, and 0 means this one. */
const NICENESS = 10

/** In memory of its own: what Buffer.from makes lies in a pool, which one event that waits would keep with many that do not. */
function bytesOf(body: string): Uint8Array {
  return new Uint8Array(Buffer.from(body))
}

function serveTasks(): void {
  const { limits } = workerData as WebhookThreadData
  const say = (word: WebhookWord) => parentPort?.postMessage(word)
  const delivery = createWebhookDelivery({
    sender: createWebhookSender({
      lookup: lookupSafely,
      idleMs: limits.idle_ms,
      responseBytes: limits.response_bytes,
      caFile: limits.ca_file,
    }),
    clock: systemClock,
    log: { warning: (event, facts) => say({ kind: 'log', event, facts }) },
    limits,
  })

  function carryOut(task: WebhookTask): unknown {
    switch (task.kind) {
      case 'set':
        return delivery.setWebhooks(task.port, task.list)
      case 'hand':
        for (const { port, event, count, reason } of task.losses) delivery.lose(port, event, { count, reason })
        for (const { port, event, body } of task.events) delivery.deliver({ port, event, body: bytesOf(body) })
        return undefined
      case 'state':
        return delivery.state(task.port, task.id)
      case 'test':
        return delivery.test(task.port, task.record)
      case 'close':
        return delivery.close()
    }
  }

  parentPort?.on('message', async ({ number, task }: { number: number; task: WebhookTask }) => {
    try {
      say({ kind: 'done', number, value: await carryOut(task) })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      say({ kind: 'failed', number, code: error.code, message: error.message })
    }
  })
}

try {
  setPriority(NICENESS)
} catch {
  // Where the system does not allow it, the scheduler shares the processor as it sees fit.
}
serveTasks()
