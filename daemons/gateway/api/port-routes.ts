/** Routes of ports: found, set up, opened, closed, forgotten, and the frames last seen. */
import { Type } from 'typebox'
import { ifMatch, withRevision } from '#kit/http/if-match.ts'
import { type Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import type { EventHub } from '../core/event-hub.ts'
import { seesPort } from '../core/key-fence.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { eventsAnswer, portShape } from './answers.ts'
import { portAnswer, portBody, portParams, readSettings, refuseStopBits } from './port-body.ts'

export interface PortRouteParts {
  registry: PortRegistry
  hub: EventHub
  recorder: Recorder
  /** Events kept per port, the most that `frames` gives. */
  history: number
}

export function portRoutes(parts: PortRouteParts): Route[] {
  return [...readRoutes(parts), ...changeRoutes(parts), ...switchRoutes(parts)]
}

function readRoutes({ registry, hub, history }: PortRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports',
      who: 'user',
      reply: Type.Array(portShape),
      summary: 'Every line found on this machine or configured',
      handle: async ({ caller }) =>
        (await registry.list()).filter(({ path }) => seesPort(caller ?? {}, path)).map(portAnswer),
    }),
    route({
      method: 'GET',
      path: '/api/ports/:path',
      who: 'user',
      reply: portShape,
      summary: 'One line: settings, state, counters, what its driver cannot do',
      params: portParams,
      handle: async ({ params }) => portReply(registry, params.path),
    }),
    route({
      method: 'GET',
      path: '/api/ports/:path/frames',
      who: 'user',
      reply: eventsAnswer,
      summary: 'The newest events of a port, oldest first',
      params: portParams,
      query: Type.Object(
        { limit: Type.Integer({ default: 200, minimum: 1, maximum: history, description: 'events at most' }) },
        { additionalProperties: false },
      ),
      handle: ({ params, query }) => {
        registry.require(params.path)
        return hub.recent(params.path, query.limit)
      },
    }),
  ]
}

async function portReply(registry: PortRegistry, path: string): Promise<Reply> {
  const answer = portAnswer(await registry.view(path))
  return withRevision(answer, answer.revision)
}

function changeRoutes({ registry, recorder }: PortRouteParts): Route[] {
  return [
    route({
      method: 'PUT',
      path: '/api/ports/:path',
      who: 'admin',
      reply: portShape,
      summary: 'Set up a line; applied at once and saved',
      takesIfMatch: true,
      params: portParams,
      body: portBody,
      async handle(ask) {
        const { path } = ask.params
        const { protocol, line } = ask.body
        refuseStopBits(line)
        const settings = readSettings[protocol](ask.body.settings)
        const wanted = { protocol, line, settings: settings as Record<string, unknown> }
        await registry.put(path, wanted, ifMatch(ask))
        await recorder.changed(ask, 'port set up', path, { protocol, line, settings })
        return portReply(registry, path)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/ports/:path',
      who: 'admin',
      status: 204,
      summary: 'Close a line and forget its settings and webhooks',
      params: portParams,
      async handle(ask) {
        await registry.remove(ask.params.path)
        await recorder.changed(ask, 'port removed', ask.params.path)
      },
    }),
  ]
}

function switchRoutes({ registry, recorder }: PortRouteParts): Route[] {
  return (['open', 'close'] as const).map((act) =>
    route({
      method: 'POST',
      path: `/api/ports/:path/${act}`,
      who: 'admin',
      reply: portShape,
      summary: act === 'open' ? 'Open a line, now and after every start' : 'Close a line and leave it closed',
      params: portParams,
      async handle(ask) {
        await registry.setEnabled(ask.params.path, act === 'open')
        await recorder.changed(ask, act === 'open' ? 'port opened' : 'port closed', ask.params.path)
        return portAnswer(await registry.view(ask.params.path))
      },
    }),
  )
}
