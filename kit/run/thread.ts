/** A thread of a daemon from a file of its own, which the bundle of the daemon carries as text. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * @param file `new URL('./<name>-thread.ts', import.meta.url)`, to the letter: scripts/bundle-threads.ts puts the text of
 * the bundled thread in its place, since a daemon is one file
 */
export function startThread(file: URL | string, options: Pick<WorkerOptions, 'workerData' | 'resourceLimits'>): Worker {
  // No flags and no variables of the daemon but what V8 shares anyway.
  return new Worker(file, { ...options, eval: typeof file === 'string', execArgv: [], env: {} })
}
