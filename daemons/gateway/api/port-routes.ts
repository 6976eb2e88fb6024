/** Routes of ports: what is known of them, their settings, and opening and closing them. */
import { Type } from 'typebox'
import { createReaders, fieldsFault } from '#kit/http/check.ts'
import { ifMatch, type Reply, type Route, route, withRevision } from '#kit/http/route.ts'
import type { LineSettings } from '#kit/line/line.ts'
import { lineSettings, stopBitsFault } from '#kit/pure/line.ts'
import type { Recorder } from '#kit/records/records.ts'
import { unitStatesOf } from '../core/lines/adapter.ts'
import type { EventHub } from '../core/lines/events.ts'
import type { Port } from '../core/lines/port.ts'
import type { PortRegistry, PortView } from '../core/lines/port-registry.ts'
import { portRevision } from '../core/lines/ports.ts'
import { seesPort } from '../core/people/keys.ts'
import { protocols, settingsFaults, settingsOfProtocol } from '../core/protocols.ts'
import { eventsAnswer, portShape } from './answers.ts'

// Bodies and answers of the port routes.

/** `:path` of every port route: the device path, percent-encoded. */
export const portParams = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 4096, description: 'device path' }),
})

/** Body of PUT. `settings` is checked against the protocol's own keys. */
const portBody = Type.Object(
  {
    protocol: Type.Enum([...protocols]),
    line: lineSettings,
    settings: Type.Record(Type.String(), Type.Unknown(), { default: {}, description: 'keys of the protocol' }),
  },
  { additionalProperties: false },
)

/** Checks `settings` against the protocol's keys and fills its defaults. Each throws Fault `bad_fields`. */
const readSettings = createReaders(settingsOfProtocol, 'settings.', settingsFaults)

/**
 * A line stored by an older version may have what is refused here: its driver took 2 stop bits for 1.5.
 * @throws Fault `bad_fields`
 */
function refuseStopBits({ data_bits, stop_bits }: LineSettings): void {
  const message = stopBitsFault(data_bits, stop_bits)
  if (message !== undefined) throw fieldsFault([{ field: 'line.stop_bits', message }])
}

/**
 * A port as every answer shows it: the device that was found, its settings, its state.
 * Unknown is null, never 0. Instants are epoch milliseconds.
 */
export function portAnswer({ path, found, record, port }: PortView) {
  const life = port?.life()
  return {
    path,
    byId: found?.byId ?? null,
    maker: found?.maker ?? null,
    product: found?.product ?? null,
    serialNumber: found?.serialNumber ?? null,
    found: found !== null,
    configured: record !== null,
    state: life?.state ?? null,
    stateSince: life?.stateSince ?? null,
    fault: life?.fault ?? null,
    nextTryAt: life?.nextTryAt ?? null,
    enabled: record?.enabled ?? false,
    protocol: record?.protocol ?? null,
    line: record?.line ?? null,
    settings: record?.settings ?? null,
    revision: record && portRevision(record),
    counters: port ? { ...port.counters(), driver: port.driverCounts() } : null,
    errorsLastHour: port?.errorsLastHour() ?? null,
    units: port ? unitsOf(port) : null,
    unsupported: life?.unsupported ?? [],
    webhooks: record?.webhooks.length ?? 0,
  }
}

/**
 * How many units were asked and how many are in which state; null if the protocol has no units. A unit that is not
 * counted in any state has not answered yet or is being tried again.
 */
function unitsOf({ adapter }: Port) {
  const states = unitStatesOf(adapter)?.states()
  if (!states) return null
  const { well = 0, slow = 0, noisy = 0, silent = 0, failing = 0, probing = 0 } = states
  return { total: well + slow + noisy + silent + failing + probing, well, slow, noisy, silent }
}

interface PortRouteParts {
  registry: PortRegistry
  hub: EventHub
  recorder: Recorder
  /** The events kept per port: the most that `frames` returns. */
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
