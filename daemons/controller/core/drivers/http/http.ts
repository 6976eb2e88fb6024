/** Driver for devices with an HTTP interface: its row says what is asked for each verb, and what answers mean. */
import { Fault } from '#kit/pure/fault.ts'
import { foldedName } from '../../control/reading.ts'
import type { Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import {
  type DeviceAnswer,
  type DeviceRequest,
  type Driver,
  type DriverContext,
  type Place,
  tcpPlaceOf,
  unknownVerb,
} from '../driver.ts'
import { createReporter, type Feedback, readFeedback } from '../feedback.ts'
import {
  addressOf,
  choiceIn,
  columnOf,
  entriesOf,
  fieldsOf,
  flawIn,
  hasPolls,
  inside,
  integerIn,
  itemsOf,
  type Placed,
  refuse,
  textIn,
} from '../row-config.ts'
import {
  type Encode,
  fill,
  inAscii,
  inHeader,
  inPath,
  inQuery,
  inXml,
  namesAddress,
  readJsonTemplate,
  readTemplate,
  type Scope,
  type Template,
} from '../template.ts'

const PORT = 80
const CONFIG_KEYS = ['auth', 'headers', 'commands', 'polls', 'feedback']
const CALL_KEYS = ['method', 'path', 'headers', 'json', 'form', 'xml', 'text', 'success', 'feedback']
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

interface Call {
  /** Uses the address: one request for each zone. */
  isOfZone: boolean
  request(scope: Scope): Omit<DeviceRequest, keyof Place>
  isSuccess(status: number): boolean
  feedback: readonly Feedback[]
}

interface Plan {
  auth: 'none' | 'basic' | 'bearer'
  commands: ReadonlyMap<string, Call>
  polls: readonly Call[]
}

export function createHttpDriver(): Driver {
  return {
    name: 'http',
    reads: (device) => ({ transport: ['host', 'port'], config: CONFIG_KEYS, polls: hasPolls(device) }),
    flaw: (device) => flawIn(() => [tcpPlaceOf(device, PORT), planOf(device)]),
    async open(device, zones, context) {
      const place = tcpPlaceOf(device, PORT)
      const plan = planOf(device)
      const ask = createAsk({ device, place, plan, context })
      // One poll that is refused keeps no other from being asked.
      const refusedPoll = (error: Fault) => {
        if (error.code !== 'device_refused' && error.code !== 'driver_value') throw error
        context.log(`a poll failed: ${error.message}`)
      }
      return {
        async execute({ zone, verb, args }, signal) {
          const call = plan.commands.get(foldedName(verb))
          if (!call) throw unknownVerb(device, verb, plan.commands.keys())
          const address = zone && addressOf(zone) !== '' ? addressOf(zone) : addressOf(device)
          await ask(call, { address, args }, zone ? [zone] : zones, signal)
          return {}
        },
        ...(plan.polls.length > 0 && {
          async poll(signal) {
            for (const call of plan.polls)
              for (const some of call.isOfZone ? zones.map((zone) => [zone]) : [zones]) {
                const [first = device] = call.isOfZone ? some : []
                await ask(call, { address: addressOf(first), args: {} }, some, signal).catch(refusedPoll)
              }
          },
        }),
        async close() {},
      }
    },
  }
}

interface AskParts {
  device: Row
  place: Place
  plan: Plan
  context: DriverContext
}

type Ask = (
  call: Call,
  scope: { address: string; args: Readonly<Record<string, Json>> },
  zones: readonly Row[],
  signal: AbortSignal,
) => Promise<void>

/** Asks and reports what the answer says. A device that cannot be reached is lost; one that refuses is not. */
function createAsk({ device, place, plan, context }: AskParts): Ask {
  const own: Scope['own'] = (column) =>
    column === 'username' ? ((device.username as string | null) ?? null) : context.secret(column)

  async function answerOf(request: DeviceRequest, signal: AbortSignal): Promise<DeviceAnswer> {
    try {
      return await context.request(request, signal)
    } catch (error) {
      const { code, message } = error as Fault
      if (code === 'device_unreachable' || code === 'device_cut_off') context.online(false, message)
      throw error
    }
  }

  return async (call, scope, zones, signal) => {
    const request = call.request({ ...scope, own })
    const headers = { ...authHeaders(plan.auth, own), ...request.headers }
    const { status, body } = await answerOf({ ...place, ...request, headers }, signal)
    context.online(true)
    if (!call.isSuccess(status)) throw new Fault('device_refused', `it answers ${status}`)
    createReporter(call.feedback, zones, context)(new TextDecoder().decode(body))
  }
}

function authHeaders(auth: Plan['auth'], own: Scope['own']): Record<string, string> {
  if (auth === 'bearer') return { authorization: `Bearer ${own('api_key') ?? ''}` }
  if (auth === 'none') return {}
  const bytes = new TextEncoder().encode(`${own('username') ?? ''}:${own('password') ?? ''}`)
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` }
}

// The row.

/** @throws Fault `driver_config` */
function planOf(device: Row): Plan {
  const config = columnOf(device, 'config')
  const common = inside(config, 'headers')
  const always = readFeedback(inside(config, 'feedback'))
  const call = (placed: Placed) => callOf(placed, common, always)
  return {
    auth: choiceIn(inside(config, 'auth'), ['none', 'basic', 'bearer'], 'none'),
    commands: new Map(entriesOf(inside(config, 'commands')).map(([verb, placed]) => [foldedName(verb), call(placed)])),
    polls: itemsOf(inside(config, 'polls')).map(call),
  }
}

/** @param always feedback that every answer is searched for */
function callOf(placed: Placed, common: Placed, always: readonly Feedback[]): Call {
  fieldsOf(placed, CALL_KEYS)
  const path = readPath(inside(placed, 'path'))
  const body = readBody(placed)
  const method = choiceIn(inside(placed, 'method'), METHODS, body ? 'POST' : 'GET')
  const headers = [...readHeaders(common), ...readHeaders(inside(placed, 'headers'))]
  const success = itemsOf(inside(placed, 'success')).map((item) => integerIn(item, [100, 599]))
  return {
    isOfZone: path.isOfZone || body?.isOfZone === true,
    isSuccess: (status) => (success.length > 0 ? success.includes(status) : status >= 200 && status < 300),
    feedback: [...always, ...readFeedback(inside(placed, 'feedback'))],
    request(scope) {
      const content = body?.fill(scope)
      return {
        method,
        path: path.fill(scope),
        headers: {
          ...(content !== undefined && { 'content-type': body?.type ?? '' }),
          ...Object.fromEntries(headers.map(([name, value]) => [name, fill(value, scope, inHeader)])),
        },
        ...(content !== undefined && { body: new TextEncoder().encode(content) }),
      }
    },
  }
}

interface Part {
  isOfZone: boolean
  fill(scope: Scope): string
}

/** A value before the `?` is one segment of the path, a value behind it one of the query. */
function readPath(placed: Placed): Part {
  const text = textIn(placed)
  if (!/^\/[\x21-\x7e]*$/.test(text) || text.includes('#'))
    refuse(placed, 'has to begin with / and to have no blank, no # and no character beyond ASCII')
  const query = text.includes('?') ? text.indexOf('?') : text.length
  const parts: [Template, Encode][] = [
    [readTemplate({ ...placed, value: text.slice(0, query) }), inPath],
    [query < text.length ? readTemplate({ ...placed, value: text.slice(query) }) : [], inQuery],
  ]
  return {
    isOfZone: parts.some(([template]) => namesAddress(template)),
    fill: (scope) => parts.map(([template, encode]) => fill(template, scope, encode)).join(''),
  }
}

/** Names of headers that the connection itself decides. */
const NOT_OURS = ['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'expect', 'te', 'trailer']

function readHeaders(placed: Placed): [string, Template][] {
  return entriesOf(placed).map(([name, entry]) => {
    if (!/^[\w!#$%&'*+.^`|~-]{1,64}$/.test(name)) refuse(entry, 'is not the name of a header')
    if (NOT_OURS.includes(name.toLowerCase())) refuse(entry, 'is a header that follows from the rest')
    const template = readTemplate(entry)
    if (template.some((part) => typeof part === 'string' && !/^[\x20-\x7e]*$/.test(part)))
      refuse(entry, 'has a character that no header may have')
    return [name.toLowerCase(), template]
  })
}

interface Body extends Part {
  type: string
}

/** At most one of the four kinds, which decides how values are encoded. */
function readBody(placed: Placed): Body | undefined {
  const kinds = (['json', 'form', 'xml', 'text'] as const).filter((kind) => inside(placed, kind).value !== undefined)
  const [kind] = kinds
  if (kind === undefined) return undefined
  if (kinds.length > 1) refuse(placed, `has ${kinds.join(' and ')}, expected one of them`)
  const content = inside(placed, kind)
  if (kind === 'json') {
    const template = readJsonTemplate(content)
    const isOfZone = /\$\{\s*address/.test(JSON.stringify(content.value))
    return { type: 'application/json', isOfZone, fill: (scope) => JSON.stringify(template(scope)) }
  }
  if (kind === 'form') return readForm(content)
  const template = readTemplate(content)
  const [type, encode] = kind === 'xml' ? ['application/xml', inXml] : ['text/plain; charset=utf-8', inAscii]
  return { type, isOfZone: namesAddress(template), fill: (scope) => fill(template, scope, encode) }
}

function readForm(placed: Placed): Body {
  const fields = entriesOf(placed).map(([name, entry]) => [name, readTemplate(entry)] as const)
  const text = (template: Template, scope: Scope) =>
    encodeURIComponent(fill(template, scope, (value) => value.toWellFormed()))
  return {
    type: 'application/x-www-form-urlencoded',
    isOfZone: fields.some(([, template]) => namesAddress(template)),
    fill: (scope) => fields.map(([name, template]) => `${encodeURIComponent(name)}=${text(template, scope)}`).join('&'),
  }
}
