/**
 * Which test an error belongs to that nobody caught: takes the place of async-hook-domain in tap. That one follows every
 * promise by hooks, which took a third of the processor's time of a test with many promises. Here each test's context
 * goes along with what it starts, as Node does it for AsyncLocalStorage, at next to no cost.
 */
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

const contexts = new AsyncLocalStorage<Domain>()
let isListening = false

/** The errors of all that is started inside a test, until it ends; then those belong to the test around it. */
export class Domain {
  readonly onerror: (error: unknown, event: string) => void
  readonly #around = contexts.getStore()
  #hasEnded = false

  constructor(onerror: (error: unknown, event: string) => void) {
    this.onerror = onerror
    const resource = executionAsyncResource()
    if (resource instanceof AsyncResource) this.#enterWith(resource)
    else contexts.enterWith(this)
    if (!isListening) process.on('uncaughtExceptionMonitor', passOn)
    isListening = true
  }

  /** Tap makes a domain inside the resource of its test, and runs the test in that resource afterwards. */
  #enterWith(resource: AsyncResource): void {
    const runPlain = resource.runInAsyncScope.bind(resource)
    resource.runInAsyncScope = (call, self, ...args) =>
      runPlain(() => contexts.run(this, () => Reflect.apply(call, self, args)))
  }

  destroy(): void {
    this.#hasEnded = true
  }

  /** The nearest test that has not ended. */
  get living(): Domain | undefined {
    return this.#hasEnded ? this.#around?.living : this
  }
}

function passOn(error: unknown, event: string): void {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return
  const domain = contexts.getStore()?.living
  if (domain === undefined) return
  domain.onerror(error, event)
  // Called next, with the same error: it is told, so the process goes on.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
}
