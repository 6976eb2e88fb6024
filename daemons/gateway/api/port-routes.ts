/** Routes of ports: their settings, and requests that are sent on a line. */
import { Type } from 'typebox'
import { createReaders, fieldsFault } from '#kit/http/check.ts'
import { ifMatch, type Reply, type Route, route, withRevision } from '#kit/http/route.ts'
import type { LineSettings } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import { lineSettings, stopBitsFault } from '#kit/pure/line.ts'
import type { Recorder, SendRecorder } from '#kit/records/records.ts'
import { unitStatesOf } from '../core/lines/adapter.ts'
import type { EventHub } from '../core/lines/events.ts'
import type { Port } from '../core/lines/port.ts'
import { type PortRegistry, type PortView, requireAction, requireFace } from '../core/lines/port-registry.ts'
import { portRevision } from '../core/lines/ports.ts'
import { seesPort } from '../core/people/keys.ts'
import { protocols, settingsFaults, settingsOfProtocol } from '../core/protocols.ts'
import { SECONDARY_PATTERN } from '../wire/mbus/identity.ts'
import {
  commandAnswer,
  equipmentAnswer,
  eventsAnswer,
  initAnswer,
  modbusAnswer,
  mstpAnswer,
  portShape,
  readingAnswer,
  ringAnswer,
  sentAnswer,
} from './answers.ts'
import { faultStatus } from './fault-status.ts'

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

// Body of `rest/request`. core/modbus/master.ts checks which fields belong to which function.

const word = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description }))

/** One Modbus request. Functions 1 to 6, 15, 16, 22, 23 and 43 (with MEI type 14). */
export const modbusRequestBody = Type.Object(
  {
    unitId: Type.Integer({ minimum: 0, maximum: 255, description: '1..247; 0 is a broadcast, for writes alone' }),
    fc: Type.Integer({ minimum: 1, maximum: 127, description: 'function: 1-6, 15, 16, 22, 23, 43' }),
    address: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: 'first coil or register, counted from 0; of 43 the first object',
    }),
    quantity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2000,
        description: 'coils or registers; may be left out for 5, 6, 15, 16, 22; of 43 the read device id code 1..4',
      }),
    ),
    values: Type.Optional(
      Type.Array(Type.Union([Type.Integer({ minimum: 0, maximum: 65_535 }), Type.Boolean()]), {
        minItems: 1,
        maxItems: 1968,
        description: 'what 5, 6, 15, 16 and 23 write: 0, 1, true or false per coil, 0..65535 per register',
      }),
    ),
    and_mask: word('of 22: bits kept'),
    or_mask: word('of 22: bits set where and_mask does not keep them'),
    write_address: word('of 23: first register written'),
  },
  { additionalProperties: false },
)

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

// Routes that act on a bus: raw transmit and Modbus request.

/** Shape of `rest/tx`; wire/raw.ts reads it and names a wrong character by its position. */
const transmitBody = Type.Object(
  {
    data: Type.Optional(Type.String({ maxLength: 16_384, description: 'base64' })),
    hex: Type.Optional(Type.String({ maxLength: 24_576, description: 'pairs of hex digits, separated by spaces' })),
  },
  { additionalProperties: false },
)

export function actionRoutes({ registry, recorder }: { registry: PortRegistry; recorder: SendRecorder }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/tx',
      who: 'admin',
      reply: sentAnswer,
      summary: 'Raw transmit: bytes to the line as they are',
      params: portParams,
      body: transmitBody,
      async handle(ask) {
        const { path } = ask.params
        const tell = (detail: unknown) => recorder.sent(ask, 'bytes sent', path, detail)
        const answer = await orTold(requireAction(registry.require(path), 'tx')(ask.body), tell)
        await tell(answer)
        return answer
      },
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/request',
      who: 'admin',
      reply: modbusAnswer,
      summary: 'Modbus RTU request: one transaction on the bus',
      params: portParams,
      body: modbusRequestBody,
      async handle(ask) {
        const { path } = ask.params
        const tell = async (detail: unknown) => {
          if (isWrite(ask.body)) await recorder.sent(ask, 'modbus write', path, detail)
        }
        const told = (failed: object) => tell({ ...ask.body, ...failed })
        const request = requireAction(registry.require(path), 'request')
        const answer = await orTold(request(ask.body, ask.signal), told)
        await tell(ask.body)
        return answer
      },
    }),
  ]
}

/** Shape of `rest/command`; the definition of the device says which commands and arguments there are. */
const commandBody = Type.Object(
  {
    command: Type.String({ minLength: 1, maxLength: 64, description: 'a command of the definition' }),
    args: Type.Optional(
      Type.Record(
        Type.String({ maxLength: 64 }),
        Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Boolean()]),
        {
          maxProperties: 12,
          description: 'its arguments by name',
        },
      ),
    ),
    zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'address of the zone it is for' })),
  },
  { additionalProperties: false },
)

/** Routes of a device by definition. */
export function equipmentRoutes({ registry, recorder }: { registry: PortRegistry; recorder: SendRecorder }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/equipment',
      who: 'user',
      reply: equipmentAnswer,
      summary: 'The device on a line: its definition, commands and values',
      params: portParams,
      handle: ({ params }) => requireFace(registry.require(params.path), 'equipment').view(),
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/command',
      who: 'admin',
      reply: commandAnswer,
      summary: 'Send a command of the definition, and return the values of its answer',
      params: portParams,
      body: commandBody,
      async handle(ask) {
        const { path } = ask.params
        const tell = (detail: object) => recorder.sent(ask, 'command sent', path, { ...ask.body, ...detail })
        const acting = requireAction(registry.require(path), 'command')(ask.body, ask.signal)
        const answer = await orTold(acting, tell)
        await tell({})
        return answer
      },
    }),
  ]
}

/** A meter by its primary or its secondary address; core/mbus/mbus.ts checks that it is one of the two. */
const meterBody = Type.Object(
  {
    address: Type.Optional(Type.Integer({ minimum: 0, maximum: 255, description: 'primary address, 0 to 250' })),
    secondary: Type.Optional(
      Type.String({
        pattern: SECONDARY_PATTERN,
        description: 'identification number on the meter, 8 digits, or with manufacturer, version and medium 16',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Routes of M-Bus meters. A read is not journalled, as it changes nothing. */
export function meterRoutes({ registry, recorder }: { registry: PortRegistry; recorder: SendRecorder }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/read',
      who: 'admin',
      reply: readingAnswer,
      summary: 'Read an M-Bus meter: all telegrams, decoded to records',
      params: portParams,
      body: meterBody,
      handle: (ask) => requireAction(registry.require(ask.params.path), 'read')(ask.body, ask.signal),
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/init',
      who: 'admin',
      reply: initAnswer,
      summary: 'Reset the link of an M-Bus meter; at address 255 of all, which do not answer',
      params: portParams,
      body: meterBody,
      async handle(ask) {
        const { path } = ask.params
        const tell = (detail: object) => recorder.sent(ask, 'meter reset', path, { ...ask.body, ...detail })
        const answer = await orTold(requireAction(registry.require(path), 'init')(ask.body, ask.signal), tell)
        await tell({})
        return answer
      },
    }),
  ]
}

/** Body of `rest/send`: the parts of a frame, or a whole frame. wire/mstp/frame.ts reads it. */
const mstpBody = Type.Object(
  {
    frameType: Type.Optional(
      Type.String({ maxLength: 64, description: 'such as BACNET_DATA_EXPECTING_REPLY, or PROPRIETARY_128 to 255' }),
    ),
    destination: Type.Optional(Type.Integer({ minimum: 0, maximum: 255, description: '255 is everybody' })),
    source: Type.Optional(Type.Integer({ minimum: 0, maximum: 254, description: 'the mac of this port if omitted' })),
    dataHex: Type.Optional(
      Type.String({ maxLength: 8192, description: 'pairs of hex digits, with spaces between all or none' }),
    ),
    frameHex: Type.Optional(
      Type.String({ maxLength: 8192, description: 'the whole frame, from its preamble to its checksum' }),
    ),
  },
  { additionalProperties: false },
)

/** Routes of an MS/TP line. */
export function mstpRoutes({ registry, recorder }: { registry: PortRegistry; recorder: SendRecorder }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/ring',
      who: 'user',
      reply: ringAnswer,
      summary: 'The ring of an MS/TP line: its nodes, who passes the token to whom, how long a turn is',
      params: portParams,
      handle: ({ params }) => requireFace(registry.require(params.path), 'ring').view(),
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/send',
      who: 'admin',
      reply: mstpAnswer,
      summary: 'Send a BACnet MS/TP frame with the next token, and return the reply where one is expected',
      params: portParams,
      body: mstpBody,
      async handle(ask) {
        const { path } = ask.params
        const tell = (detail: object) => recorder.sent(ask, 'frame sent', path, { ...ask.body, ...detail })
        const send = requireAction(registry.require(path), 'send')
        const answer = await orTold(send(ask.body, ask.signal), tell)
        await tell({})
        return answer
      },
    }),
  ]
}

/** A failed request, above all one that timed out, may still have reached the device: journal it, then throw on. */
async function orTold(acting: Promise<unknown>, tell: (failed: { error: string }) => Promise<void>): Promise<unknown> {
  try {
    return await acting
  } catch (error) {
    if (error instanceof Fault && mayBeOut(error)) await tell({ error: error.code })
    throw error
  }
}

/** When a port is closed meanwhile the answer is 409, whether or not the bytes were on their way. */
function mayBeOut({ code, details }: Fault): boolean {
  return (faultStatus[code] ?? 0) >= 500 || details?.mayBeOut === true
}

/** Reads are not journalled: there are thousands of them and they change nothing. */
function isWrite(body: { fc: number }): boolean {
  return [5, 6, 15, 16, 22, 23].includes(body.fc)
}
