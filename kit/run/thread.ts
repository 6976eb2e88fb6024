/** Starts a thread of a daemon from its own file, which the daemon's bundle contains as text. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * @param file `new URL('./<name>-thread.ts', import.meta.url)`, written exactly so: scripts/bundle-threads.ts replaces
 * it by the text of the bundled thread, since a daemon is one file
 */
export function startThread(file: URL | string, options: Pick<WorkerOptions, 'workerData' | 'resourceLimits'>): Worker {
  const { NODE_COMPILE_CACHE: cache } = process.env
  const isBundled = typeof file === 'string'
  // Without the daemon's flags and variables, except what V8 shares anyway. Text has no place of its own: it looks for
  // addons where its daemon does. A thread of the sources finds them without their types, as its process does.
  return new Worker(file, {
    ...options,
    eval: isBundled,
    execArgv: [],
    env: { THREAD_OF: import.meta.url, ...(!isBundled && cache !== undefined && { NODE_COMPILE_CACHE: cache }) },
  })
}
