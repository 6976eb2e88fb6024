/** Calls that were refused because nobody is signed in any more: they wait over the page until somebody is again. */
import { type Signal, signal } from '@preact/signals'

/** Who waits, and whether anybody has to be asked. */
export interface Renewal {
  /** True while the daemon refuses what was good before: the dialog over the page asks again. */
  readonly isSignedOut: Signal<boolean>
  /** Resolves when somebody signed in; brings the dialog up. */
  wait(): Promise<void>
  /** Somebody signed in: what waited goes on. */
  done(): void
  /** The page is left: what waited is dropped with the page it belonged to. */
  drop(): void
}

/** One for the life of a page. */
export function createRenewal(): Renewal {
  const isSignedOut = signal(false)
  let waiting: (() => void)[] = []

  function end(): (() => void)[] {
    isSignedOut.value = false
    const ready = waiting
    waiting = []
    return ready
  }

  return {
    isSignedOut,
    wait() {
      isSignedOut.value = true
      return new Promise((resolve) => {
        waiting.push(resolve)
      })
    },
    done() {
      for (const go of end()) go()
    },
    drop: () => void end(),
  }
}
