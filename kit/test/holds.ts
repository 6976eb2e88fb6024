/** Property tests as assertions: a law that fails is a failed assertion with its counterexample. */
import fc from 'fast-check'
import type { Test } from 'tap'

/** Asserts that the law holds for every case tried. */
export function holds<Case>(t: Test, law: fc.IProperty<Case>, parameters?: fc.Parameters<Case>): void {
  t.doesNotThrow(() => fc.assert(law, parameters))
}

/** The same for a law that takes time. */
export async function holdsLater<Case>(
  t: Test,
  law: fc.IAsyncProperty<Case>,
  parameters?: fc.Parameters<Case>,
): Promise<void> {
  await t.resolves(fc.assert(law, parameters))
}
