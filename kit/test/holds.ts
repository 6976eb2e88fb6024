/** Property tests as assertions: a property that fails is a failed assertion with its counterexample. */
import fc from 'fast-check'
import type { Test } from 'tap'

/** Asserts a property. */
export function holds<Case>(t: Test, law: fc.IProperty<Case>, parameters?: fc.Parameters<Case>): void {
  t.doesNotThrow(() => fc.assert(law, parameters))
}

/** Asserts an asynchronous property. */
export async function holdsLater<Case>(
  t: Test,
  law: fc.IAsyncProperty<Case>,
  parameters?: fc.Parameters<Case>,
): Promise<void> {
  await t.resolves(fc.assert(law, parameters))
}
