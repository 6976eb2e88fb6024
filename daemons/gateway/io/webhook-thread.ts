/** The code of the webhook thread: carries out the daemon's tasks in the order in which they come. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '#kit/clock.ts'
import { lookupSafely } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { PausedTarget } from '../core/lines/conditions.ts'
import type { WebhookEvent, WebhookLoss } from '../core/webhooks/book.ts'
import { createWebhookDelivery } from '../core/webhooks/delivery.ts'
import type { WebhookLimits, WebhookRecord } from '../core/webhooks/records.ts'
import { createWebhookSender } from './webhook-sender.ts'

/** The tasks of the thread. */
export type WebhookTask =
  | { kind: 'set'; port: string; list: readonly WebhookRecord[] }
  | { kind: 'hand'; events: readonly WebhookEvent[]; losses: readonly WebhookLoss[] }
  | { kind: 'state'; port: string; id: string }
  | { kind: 'test'; port: string; record: WebhookRecord }
  | { kind: 'close' }

/** The result of the task with that number, a log entry, or that a target is paused. */
export type WebhookWord =
  | { kind: 'done'; number: number; value: unknown }
  | { kind: 'failed'; number: number; code: string; message: string }
  | { kind: 'log'; event: string; facts: Record<string, unknown> }
  | { kind: 'paused'; port: string; id: string; pause: PausedTarget | null }

/** What the thread gets at its start. */
export interface WebhookThreadData {
  limits: WebhookLimits
}

/** Lower priority than the bus where both need the processor. On Linux each thread has a niceness; 0 means this one. */
const NICENESS = 10

/** Copies the body out of Buffer's shared pool, where one queued event would keep the memory of many that are gone. */
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
    onPaused: (port, id, pause) => say({ kind: 'paused', port, id, pause }),
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
  // If the system does not allow it, the scheduler shares the processor as it sees fit.
}
serveTasks()
