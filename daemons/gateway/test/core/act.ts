/** Does what a route of the API does after checking the body: calls one action of an adapter. */
import type { Adapter, AdapterActions } from '../../core/lines/adapter.ts'
import { requireAction } from '../../core/lines/port-registry.ts'

/** Rejects, rather than throws, if the adapter has no such action. */
export async function act<Name extends keyof AdapterActions>(
  adapter: Pick<Adapter, 'actions' | 'whyNoAction'>,
  name: Name,
  body: object,
  gone?: AbortSignal,
) {
  // Tests also send bodies that the schema would refuse.
  const action = requireAction({ adapter }, name) as (body: object, gone?: AbortSignal) => Promise<unknown>
  return await action(body, gone)
}
