/**
 * Starts and asks the thread that delivers webhooks. On the main thread, deliveries would hold up the bus: eight
 * targets of a busy line mean some thousand requests a second.
 */
import type { Worker } from 'node:worker_threads'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { startThread } from '#kit/run/thread.ts'
import type { PausedTarget } from '../core/lines/conditions.ts'
import type { WebhookCourier } from '../core/webhooks/book.ts'
import type { WebhookState } from '../core/webhooks/queue.ts'
import { WEBHOOK_HEAP_MIB, type WebhookLimits, type WebhookRecord } from '../core/webhooks/records.ts'
import { checkAuthorities } from './webhook-sender.ts'
import type { WebhookTask, WebhookThreadData, WebhookWord } from './webhook-thread.ts'

export interface WebhookCourierParts {
  clock: Clock
  log: Pick<Log, 'warning' | 'error'>
  /** A target is paused, or null: it takes events again. */
  onPaused?: (port: string, id: string, pause: PausedTarget | null) => void
  limits: WebhookLimits
}

const HEAP = { maxOldGenerationSizeMb: WEBHOOK_HEAP_MIB.old, maxYoungGenerationSizeMb: WEBHOOK_HEAP_MIB.young }

/** The wait before a restart after the thread has ended by itself, which is a fault of the program. */
const RESTART_MS = 1000

const THREAD_ENDED = 'webhook_thread_ended'

interface Running {
  worker: Worker
  asked: Map<number, PromiseWithResolvers<unknown>>
}

/** The thread starts with the first webhook, since most lines have none. @throws Fault `ca_file_unreadable` */
export function createWebhookCourier(parts: WebhookCourierParts): WebhookCourier {
  const { clock, limits } = parts
  checkAuthorities(limits.ca_file)
  const lists = new Map<string, readonly WebhookRecord[]>()
  let running: Running | undefined
  let lastNumber = 0
  let isClosed = false

  function restart(): void {
    running = undefined
    clock.after(RESTART_MS, () => {
      if (!isClosed && lists.size > 0) current()
    })
  }

  /** A thread knows the webhooks before anything else: what is handed in while there was none is for them. */
  function current(): Running {
    if (running) return running
    running = startCourierThread(parts, restart)
    for (const [port, list] of lists) post(running, { kind: 'set', port, list }).catch(() => {})
    return running
  }

  function ask(task: WebhookTask): Promise<unknown> {
    return post(current(), task)
  }

  function post({ worker, asked }: Running, task: WebhookTask): Promise<unknown> {
    const waiter = Promise.withResolvers<unknown>()
    const number = ++lastNumber
    asked.set(number, waiter)
    worker.ref()
    worker.postMessage({ number, task })
    return waiter.promise
  }

  return {
    async setWebhooks(port, list) {
      if (list.length > 0) lists.set(port, list)
      else lists.delete(port)
      // Where the thread ends meanwhile, the next one begins with these.
      await ask({ kind: 'set', port, list }).catch((fault) => {
        if (fault.code !== THREAD_ENDED) throw fault
      })
    },
    hand: async (batch) => void (await ask({ kind: 'hand', ...batch })),
    state: async (port, id) => (await ask({ kind: 'state', port, id })) as WebhookState,
    test: async (port, record) =>
      (await ask({ kind: 'test', port, record })) as Awaited<ReturnType<WebhookCourier['test']>>,
    async close() {
      isClosed = true
      if (!running) return
      const { worker } = running
      await ask({ kind: 'close' }).catch(() => {})
      await worker.terminate()
    },
  }
}

/** @param onEnd called when it has ended, by itself or not; all waiting callers have been told by then */
function startCourierThread({ limits, log, onPaused }: WebhookCourierParts, onEnd: () => void): Running {
  const workerData: WebhookThreadData = { limits }
  const worker = startThread(new URL('./webhook-thread.ts', import.meta.url), { workerData, resourceLimits: HEAP })
  const asked: Running['asked'] = new Map()
  worker.on('message', (word: WebhookWord) => {
    if (word.kind === 'log') {
      log.warning(word.event, word.facts)
      return
    }
    if (word.kind === 'paused') {
      onPaused?.(word.port, word.id, word.pause)
      return
    }
    const waiter = asked.get(word.number)
    asked.delete(word.number)
    if (word.kind === 'done') waiter?.resolve(word.value)
    else waiter?.reject(new Fault(word.code, word.message))
    // The thread keeps the process alive only while a caller waits for it.
    if (asked.size === 0) worker.unref()
  })
  worker.on('error', (error) => log.error('webhook_thread_failed', { error }))
  worker.on('exit', () => {
    const ended = new Fault(THREAD_ENDED, 'the thread that delivers webhooks has ended; it is started anew')
    for (const waiter of asked.values()) waiter.reject(ended)
    onEnd()
  })
  worker.unref()
  return { worker, asked }
}
