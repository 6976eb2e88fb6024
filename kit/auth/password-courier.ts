/** Brings passwords to threads of their own, and their hashes back. */
import type { Argon2Parameters } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import { systemClock, type Timer } from '#kit/clock.ts'
import { startThread } from '#kit/run/thread.ts'

interface Waiter {
  resolve(hash: Buffer): void
  reject(error: Error): void
}

interface Running {
  worker: Worker
  /** Who waits for it, in the order in which they asked. */
  asked: Waiter[]
  /** Ends it while nobody asks. */
  rest: Timer | undefined
}

/** As many as a daemon can be told to hash at once (kit/config/login-keys.ts); more wait for one of them. */
const MOST_THREADS = 16

/** A thread that nobody needs for so long gives its memory back. */
const REST_MS = 60_000

/** The work is done outside of the heap. In MiB, as Node takes it; kit/config/memory-plan.ts counts it. */
export const PASSWORD_HEAP_MIB = { old: 16, young: 2 }

const threads = new Set<Running>()

/**
 * Computes argon2id in a thread below the daemon's own in priority: libuv's are not, and files and names wait for those.
 * @returns as many bytes as `tagLength` says
 */
export function deriveArgon2id(parameters: Argon2Parameters): Promise<Buffer> {
  const thread = leastAsked()
  thread.rest?.cancel()
  // It keeps the process alive while somebody waits for it, and no longer.
  thread.worker.ref()
  return new Promise((resolve, reject) => {
    thread.asked.push({ resolve, reject })
    thread.worker.postMessage(parameters)
  })
}

function leastAsked(): Running {
  let least: Running | undefined
  for (const thread of threads) if (!least || thread.asked.length < least.asked.length) least = thread
  return least && (least.asked.length === 0 || threads.size >= MOST_THREADS) ? least : startPasswordThread()
}

function startPasswordThread(): Running {
  const { old: maxOldGenerationSizeMb, young: maxYoungGenerationSizeMb } = PASSWORD_HEAP_MIB
  const worker = startThread(new URL('./password-thread.ts', import.meta.url), {
    workerData: undefined,
    resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb },
  })
  const thread: Running = { worker, asked: [], rest: undefined }
  threads.add(thread)
  let failure = new Error('the thread that hashes passwords has ended')
  worker.on('message', (hash: Uint8Array) => {
    thread.asked.shift()?.resolve(Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength))
    if (thread.asked.length > 0) return
    worker.unref()
    thread.rest = systemClock.after(REST_MS, () => {
      threads.delete(thread)
      void worker.terminate()
    })
  })
  worker.on('error', (error) => {
    failure = error as Error
  })
  worker.on('exit', () => {
    threads.delete(thread)
    thread.rest?.cancel()
    for (const waiter of thread.asked) waiter.reject(failure)
  })
  return thread
}
