/** Messages to devices behind a socket, in ASCII or in bytes, as their rows say, and what is heard of them. */
import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import { foldedName } from '../../control/reading.ts'
import type { Row } from '../../site/book.ts'
import {
  type Connection,
  type DriverContext,
  type DriverSession,
  type Framing,
  type Sender,
  tcpPlaceOf,
  unknownVerb,
} from '../driver.ts'
import { createReporter, type Feedback, readFeedback, readPattern } from '../feedback.ts'
import {
  addressOf,
  choiceIn,
  columnOf,
  entriesOf,
  fieldsOf,
  inside,
  integerIn,
  itemsOf,
  type Placed,
  refuse,
  textIn,
} from '../row-config.ts'
import { fill, inAscii, inHex, namesAddress, readTemplate, type Scope, type Template } from '../template.ts'

export const MESSAGE_KEYS = ['form', 'framing', 'commands', 'polls', 'feedback']
const CALL_KEYS = ['ascii', 'hex', 'ok', 'refused', 'feedback']

/** Longest message that is sent: such devices have small buffers. */
const LONGEST_MESSAGE = 8192

/** Longest part of what a device says that a sentence quotes. */
const LONGEST_SAID = 64

interface Call {
  isOfZone: boolean
  bytes(scope: Scope): Uint8Array
  /** The device answers this message; else it is done when it is sent. */
  isAsked: boolean
  isOk(text: string): boolean
  isRefused(text: string): boolean
  feedback: readonly Feedback[]
}

interface Messages {
  /** How what the device says is read: as characters, or as hex digits in capitals. */
  form: 'ascii' | 'hex'
  framing: Framing
  commands: ReadonlyMap<string, Call>
  polls: readonly Call[]
  feedback: readonly Feedback[]
}

/** Whether the row says what is sent, so that the device takes no plain lines. */
export function hasMessages(device: Row): boolean {
  const config = columnOf(device, 'config')
  return ['commands', 'polls', 'feedback'].some((key) => inside(config, key).value !== undefined)
}

interface OpenParts {
  device: Row
  zones: readonly Row[]
  context: DriverContext
  kind: 'tcp' | 'udp'
}

/** A device that is only told, and never asked or heard, is connected to when there is something to send. */
export async function openMessages({ device, zones, context, kind }: OpenParts): Promise<DriverSession> {
  const messages = readMessages(device)
  const { commands, polls, feedback, framing, form } = messages
  const isHeard = feedback.length > 0 || [...commands.values(), ...polls].some(({ isAsked }) => isAsked)
  const textOf = form === 'hex' ? hexText : asciiText
  const heard = createReporter(feedback, zones, context)
  const place = { kind, ...tcpPlaceOf(device), framing }
  const hear = (frame: Uint8Array) => {
    context.online(true)
    return heard(textOf(frame))
  }
  const connection = kind === 'udp' || isHeard ? await context.connect(place, hear) : undefined
  if (connection && kind === 'tcp') context.online(true)
  const sender = connection ?? context.sender(place)
  const own: Scope['own'] = (column) =>
    column === 'username' ? ((device.username as string | null) ?? null) : context.secret(column)

  async function perform(call: Call, scope: Omit<Scope, 'own'>, some: readonly Row[], signal: AbortSignal) {
    const bytes = call.bytes({ ...scope, own })
    if (!connection || !call.isAsked) return sendOrLose(sender, bytes, context, signal)
    const text = await answerOf({ call, connection, some, context, textOf }, bytes, signal)
    heard(text)
  }

  return {
    async execute({ zone, verb, args }, signal) {
      const call = commands.get(foldedName(verb))
      if (!call) throw unknownVerb(device, verb, commands.keys())
      const address = (zone && addressOf(zone)) || addressOf(device)
      await perform(call, { address, args }, zone ? [zone] : zones, signal)
      return {}
    },
    ...(polls.length > 0 && {
      async poll(signal) {
        for (const call of polls)
          for (const row of call.isOfZone ? zones : [device])
            await perform(call, { address: addressOf(row), args: {} }, row === device ? zones : [row], signal)
      },
    }),
    async close() {},
  }
}

interface AnswerParts {
  call: Call
  connection: Connection
  /** The zones that the answer may be about. */
  some: readonly Row[]
  context: DriverContext
  textOf(frame: Uint8Array): string
}

/** @throws Fault `device_refused` */
async function answerOf(parts: AnswerParts, bytes: Uint8Array, signal: AbortSignal): Promise<string> {
  const { call, connection, some, context, textOf } = parts
  const tell = createReporter(call.feedback, some, context)
  const isAnswer = (frame: Uint8Array) => {
    const text = textOf(frame)
    return call.isRefused(text) || call.isOk(text) || tell(text)
  }
  const text = textOf(await connection.ask(bytes, isAnswer, signal))
  context.online(true)
  if (call.isRefused(text)) throw new Fault('device_refused', `it says ${plainText(text.trim(), LONGEST_SAID)}`)
  tell(text)
  return text
}

/** A device that cannot be reached is lost. */
export async function sendOrLose(
  sender: Sender,
  bytes: Uint8Array,
  context: Pick<DriverContext, 'online'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await sender.send(bytes, signal)
  } catch (error) {
    if (!signal.aborted) context.online(false, (error as Error).message)
    throw error
  }
}

function asciiText(frame: Uint8Array): string {
  return new TextDecoder('latin1').decode(frame)
}

function hexText(frame: Uint8Array): string {
  return Array.from(frame, (byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join('')
}

// The row.

/** @throws Fault `driver_config` */
export function readMessages(device: Row): Messages {
  const config = columnOf(device, 'config')
  const framing = inside(config, 'framing')
  const end = inside(framing, 'end').value
  const call = (placed: Placed) => callOf(placed, typeof end === 'string' ? end.trim() : '')
  return {
    form: choiceIn(inside(config, 'form'), ['ascii', 'hex'], 'ascii'),
    framing: readFraming(framing),
    commands: new Map(entriesOf(inside(config, 'commands')).map(([verb, placed]) => [foldedName(verb), call(placed)])),
    polls: itemsOf(inside(config, 'polls')).map(call),
    feedback: readFeedback(inside(config, 'feedback')),
  }
}

/** By the line feed if nothing is said. */
function readFraming(placed: Placed): Framing {
  if (placed.value === undefined) return { mode: 'delimiter', delimiter: Uint8Array.of(10) }
  const [only, other] = Object.keys(fieldsOf(placed, ['end', 'end_hex', 'length', 'silence_ms']))
  const inner = inside(placed, only ?? '')
  if (other !== undefined) refuse(placed, `has ${only} and ${other}, expected one of them`)
  if (only === 'end') return { mode: 'delimiter', delimiter: asciiBytes(textIn(inner), inner) }
  if (only === 'end_hex') return { mode: 'delimiter', delimiter: hexBytes(textIn(inner), inner) }
  if (only === 'length') return { mode: 'length', length: integerIn(inner, [1, 65_536]) }
  if (only === 'silence_ms') return { mode: 'silence', silenceMs: integerIn(inner, [1, 10_000]) }
  return refuse(placed, 'needs one of end, end_hex, length, silence_ms')
}

/** @param end what ends a message: no value may have it */
function callOf(placed: Placed, end: string): Call {
  fieldsOf(placed, CALL_KEYS)
  const [ascii, hex] = [inside(placed, 'ascii'), inside(placed, 'hex')]
  if ((ascii.value === undefined) === (hex.value === undefined)) refuse(placed, 'needs one of ascii and hex')
  const content = ascii.value === undefined ? hex : ascii
  const template = readTemplate(content)
  checkLiterals(template, content, ascii.value === undefined)
  const [ok, refused] = [patternIn(inside(placed, 'ok')), patternIn(inside(placed, 'refused'))]
  const feedback = readFeedback(inside(placed, 'feedback'))
  return {
    isOfZone: namesAddress(template),
    isAsked: ok !== undefined || refused !== undefined || feedback.length > 0,
    isOk: (text) => ok?.(text) === true,
    isRefused: (text) => refused?.(text) === true,
    feedback,
    bytes(scope) {
      const bytes =
        ascii.value === undefined
          ? hexBytes(fill(template, scope, inHex), content)
          : asciiBytes(
              fill(template, scope, (value, slot) => withoutEnd(inAscii(value, slot), end, slot.name)),
              content,
            )
      if (bytes.length > LONGEST_MESSAGE)
        throw new Fault('driver_value', `the message has ${bytes.length} bytes, at most ${LONGEST_MESSAGE} are sent`)
      return bytes
    },
  }
}

function withoutEnd(value: string, end: string, name: string): string {
  if (end !== '' && value.includes(end)) throw new Fault('driver_value', `${name} has what ends a message`)
  return value
}

function patternIn(placed: Placed): ((text: string) => boolean) | undefined {
  if (placed.value === undefined) return undefined
  const { read } = readPattern(placed)
  return (text) => read(text) !== undefined
}

function checkLiterals(template: Template, placed: Placed, isHex: boolean): void {
  for (const part of template) {
    if (typeof part !== 'string') continue
    if (isHex) hexBytes(part, placed)
    else asciiBytes(part, placed)
  }
}

function asciiBytes(text: string, placed: Placed): Uint8Array {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what devices frame messages with
  if (!/^[\x00-\x7f]*$/.test(text)) refuse(placed, 'has a character beyond ASCII: write it as hex')
  return new TextEncoder().encode(text)
}

function hexBytes(text: string, placed: Placed): Uint8Array {
  const digits = text.replace(/\s/g, '')
  if (!/^(?:[0-9a-f]{2})*$/i.test(digits)) refuse(placed, 'is not made of bytes in hex, two digits each')
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
