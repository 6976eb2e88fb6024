/** What a route of the API does once its body is checked: asks an adapter for one action. */
import { type Adapter, type AdapterActions, requireAction } from '../../core/lines/adapter.ts'

/** Rejects, and does not throw, where the adapter has no such action. */
export async function act<Name extends keyof AdapterActions>(
  adapter: Pick<Adapter, 'actions' | 'whyNoAction'>,
  name: Name,
  body: object,
  gone?: AbortSignal,
) {
  // Tests send bodies that a schema would not let by, too.
  const action = requireAction({ adapter }, name) as (body: object, gone?: AbortSignal) => Promise<unknown>
  return await action(body, gone)
}
