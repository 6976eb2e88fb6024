/** Routes of requests that are sent on a line, by the protocol that takes them: their bodies and answers. */
import { Type } from 'typebox'
import { count, fault, instant, object, orNull, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { SendRecorder } from '#kit/records/records.ts'
import { type PortRegistry, requireAction, requireFace } from '../core/lines/port-registry.ts'
import { SECONDARY_PATTERN } from '../wire/mbus/identity.ts'
import { duration, meterAnswer } from './answers.ts'
import { faultStatus } from './fault-status.ts'
import { portParams } from './port-routes.ts'

interface ActionRouteParts {
  registry: PortRegistry
  recorder: SendRecorder
}

/** Shape of `rest/tx`; wire/raw.ts reads it and names a wrong character by its position. */
const transmitBody = Type.Object(
  {
    data: Type.Optional(Type.String({ maxLength: 16_384, description: 'base64' })),
    hex: Type.Optional(Type.String({ maxLength: 24_576, description: 'pairs of hex digits, separated by spaces' })),
  },
  { additionalProperties: false },
)

const sentAnswer = object({ sent: count })

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

const modbusAnswer = object({
  unitId: count,
  fc: count,
  address: count,
  quantity: count,
  values: Type.Unknown({ description: 'a list; of function 43 the objects by name' }),
})

/** Routes of a raw line and of Modbus. */
export function actionRoutes({ registry, recorder }: ActionRouteParts): Route[] {
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

const deviceValue = Type.Union([text, Type.Number(), Type.Boolean(), Type.Null()])

/** The device on a line, by its definition. */
const equipmentAnswer = object({
  definition: text,
  title: text,
  version: text,
  makers: Type.Array(text),
  sources: Type.Array(Type.Object({ document: text, url: Type.Optional(text) }, { additionalProperties: false })),
  notes: orNull(text),
  zone: orNull(Type.String({ description: 'the argument that names the zone' })),
  commands: Type.Array(
    object({
      name: text,
      title: orNull(text),
      args: Type.Array(
        object({
          name: text,
          title: orNull(text),
          expected: Type.String({ description: 'what it may be, in words' }),
          choices: orNull(Type.Array(text)),
          value: deviceValue,
        }),
      ),
    }),
  ),
  values: Type.Array(
    object({
      name: text,
      zone: orNull(text),
      value: deviceValue,
      unit: orNull(text),
      series: orNull(
        Type.String({ description: 'name of its history in `/points/:name/history`; null: none, as of texts' }),
      ),
      readAt: instant,
      changedAt: instant,
    }),
  ),
})

const commandAnswer = object({ command: text, values: Type.Record(text, deviceValue) })

/** Routes of a device by definition. */
export function equipmentRoutes({ registry, recorder }: ActionRouteParts): Route[] {
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

const readingAnswer = object({
  unitId: count,
  address: orNull(Type.Integer({ minimum: 0, description: 'primary address that was asked' })),
  secondary: orNull(Type.String({ description: 'secondary address of the meter, as it tells it' })),
  meter: orNull(meterAnswer),
  accessNumber: orNull(count),
  status: Type.Array(text, { description: 'what the meter says of itself; empty: all is well' }),
  isEncrypted: Type.Boolean(),
  isComplete: Type.Boolean({ description: 'the meter had no more to tell' }),
  problem: orNull(Type.String({ description: 'why not all of it was read' })),
  records: Type.Array(
    object({
      record: Type.String({ description: 'its name, for points' }),
      quantity: text,
      value: orNull(Type.Union([Type.Number(), text])),
      unit: orNull(text),
      problem: orNull(text),
      function: Type.Enum(['instantaneous', 'maximum', 'minimum', 'error']),
      storage: count,
      tariff: count,
      subunit: count,
      headerHex: Type.String({ description: 'its data and value information as it was sent' }),
      dataHex: text,
    }),
  ),
  restHex: Type.Array(text, { description: 'what only the maker can read, of each telegram that has it' }),
  telegramsHex: Type.Array(text, { description: 'the frames as they came' }),
})

const initAnswer = object({ unitId: count })

/** Routes of M-Bus meters. A read is not journalled, as it changes nothing. */
export function meterRoutes({ registry, recorder }: ActionRouteParts): Route[] {
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

/** One node of an MS/TP ring. */
const ringNode = object({
  mac: count,
  isMaster: Type.Boolean(),
  isPresent: Type.Boolean({ description: 'it was heard within `node_gone_ms`' }),
  next: orNull(Type.Integer({ minimum: 0, description: 'to whom it passed the token last' })),
  frames: count,
  tokens: count,
  lastSeenAt: instant,
})

/** The ring of an MS/TP line. */
const ringAnswer = orNull(
  object({
    mode: Type.Enum(['node', 'listen']),
    mac: orNull(Type.Integer({ minimum: 0, description: 'of this gateway; null in mode listen' })),
    state: Type.String({ description: 'of the master node state machine; `listening` in mode listen' }),
    nextStation: orNull(count),
    isSoleMaster: Type.Boolean(),
    nodes: Type.Array(ringNode),
    order: Type.Array(count, { description: 'the masters in the order of the token' }),
    rotationMs: orNull(object({ last: duration, median: duration, max: duration })),
    tokenLostAt: orNull(instant),
    duplicateAt: orNull(instant),
    turnMs: orNull(object({ last: duration, max: duration })),
    waiting: count,
    fault: orNull(fault),
    realtime: object({ granted: Type.Boolean(), text }),
  }),
)

const bacnetHead = Type.Object(
  {
    network: Type.Optional(text),
    pdu: Type.Optional(text),
    service: Type.Optional(text),
    invokeId: Type.Optional(count),
    to: Type.Optional(text),
    from: Type.Optional(text),
  },
  { additionalProperties: false, description: 'what the data say, where they are a BACnet message' },
)

const mstpAnswer = object({
  sent: Type.Integer({ minimum: 0, description: 'bytes on the line' }),
  frameType: text,
  destination: count,
  source: count,
  waitedMs: Type.Number({ minimum: 0, description: 'for the token' }),
  reply: orNull(
    object({ frameType: text, destination: count, source: count, dataHex: text, bacnet: orNull(bacnetHead) }),
  ),
  tookMs: orNull(duration),
  postponed: Type.Boolean({ description: 'the reply came once the other node had the token' }),
})

/** Routes of an MS/TP line. */
export function mstpRoutes({ registry, recorder }: ActionRouteParts): Route[] {
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
