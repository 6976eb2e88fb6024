/** A compiled device definition: what is sent for a command, and what an answer means. */
import { joinBytes } from '../bytes.ts'
import { Fault } from '../fault.ts'
import { type ContentFraming, createCutter } from '../frames.ts'
import { counted, nearestName } from '../text.ts'
import { type Checksum, checksumBytes, withoutChecksum } from './checksum.ts'
import { type AttributeRule, DEFINITION_LIMITS, type DeviceDefinition, type DeviceValue } from './definition.ts'
import { type Captured, matchPattern, type Pattern } from './pattern.ts'
import { encodeTemplate, type Template, type WireValue } from './template.ts'
import { type ArgRules, attributeValue, type ReadArg, readArgs } from './values.ts'

/** A message of the device, and the attributes that have a fixed value with it. */
export interface HeardRule {
  pattern: Pattern
  set: ReadonlyMap<string, DeviceValue>
}

export interface RefusalRule {
  pattern: Pattern
  says: string
}

export interface DeviceCommand {
  name: string
  args: ArgRules
  send: Template
  /** Its answers; none if none is awaited. */
  reply: readonly HeardRule[]
  errors: readonly RefusalRule[]
  sets: readonly (readonly [attribute: string, from: { arg: string } | { value: DeviceValue }])[]
  replyMs: number
}

export interface LoginCase {
  pattern: Pattern
  leadsTo: 'next' | 'ready' | 'fail'
  says: string
}

export interface LoginStep {
  digest: { name: string; of: Template } | undefined
  send: Template | undefined
  expect: readonly LoginCase[]
}

/** How messages of the device end. */
export type DeviceFraming = ContentFraming | { mode: 'silence'; silenceMs: number }

export interface DevicePoll {
  command: DeviceCommand
  args: Readonly<Record<string, DeviceValue>>
  everyMs: number
  isEachZone: boolean
}

export interface Device {
  definition: DeviceDefinition
  commands: ReadonlyMap<string, DeviceCommand>
  attributes: ReadonlyMap<string, AttributeRule>
  config: ArgRules
  errors: readonly RefusalRule[]
  unsolicited: readonly HeardRule[]
  login: readonly LoginStep[]
  polls: readonly DevicePoll[]
  framing: DeviceFraming
  /** What a frame ends with and no pattern sees. */
  delimiter: Uint8Array
  checksum: (Checksum & { tail: Uint8Array }) | undefined
  /** The argument that names the zone, if there are zones. */
  zoneArg: string | undefined
}

/** A digest of bytes; the machine provides it. */
export type Digest = (kind: 'md5', bytes: Uint8Array) => Uint8Array

// Sending.

/** @throws Fault `command_unknown` with the nearest */
export function commandOf({ commands, definition }: Device, name: string): DeviceCommand {
  const command = commands.get(name)
  if (command) return command
  const near = nearestName(name, [...commands.keys()])
  const hint = near ? `the nearest is ${near}` : `it knows ${[...commands.keys()].slice(0, 16).join(', ')}`
  throw new Fault(
    'command_unknown',
    `${definition.name} knows no command ${JSON.stringify(name.slice(0, 64))}; ${hint}`,
  )
}

/** The settings of one device. @throws Fault `command_args` */
export function readConfig(
  { config, definition }: Device,
  given: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, ReadArg> {
  return readArgs(config, given, definition.enums)
}

/** The values that a template may name: arguments, and settings behind a `$`. */
export function wireValues(
  args: ReadonlyMap<string, ReadArg>,
  config: ReadonlyMap<string, ReadArg>,
): Map<string, WireValue> {
  const values = new Map<string, WireValue>()
  for (const [name, { wire }] of args) values.set(name, wire)
  for (const [name, { wire }] of config) values.set(`$${name}`, wire)
  return values
}

/** @throws Fault `command_args` if a value does not fit, or the message is too long */
export function messageBytes(
  { checksum }: Device,
  template: Template,
  values: ReadonlyMap<string, WireValue>,
): Uint8Array {
  const body = encodeTemplate(template, values)
  const message = checksum ? joinBytes([body, checksumBytes(checksum, body), checksum.tail]) : body
  if (message.length > DEFINITION_LIMITS.messageBytes)
    throw new Fault(
      'command_args',
      `the message has ${counted(message.length, 'byte')}, at most ${DEFINITION_LIMITS.messageBytes} are sent`,
    )
  return message
}

// Hearing.

/** A function that cuts what the device says; with silence as its framing, or datagrams, each piece is a frame. */
export function createDeviceCutter({
  framing,
}: Device): (bytes: Uint8Array) => { bytes: Uint8Array; isCut: boolean }[] {
  if (framing.mode === 'silence') return (bytes) => [{ bytes, isCut: false }]
  return createCutter(framing, DEFINITION_LIMITS.messageBytes).feed
}

/** A frame without its delimiter and checksum: what patterns match. @throws Fault `reply_checksum` */
export function contentOf({ delimiter, checksum }: Device, frame: Uint8Array): Uint8Array {
  const content = withoutEnd(frame, delimiter)
  return checksum ? withoutChecksum(checksum, withoutEnd(content, checksum.tail)) : content
}

function withoutEnd(frame: Uint8Array, end: Uint8Array): Uint8Array {
  const from = frame.length - end.length
  const ends = from >= 0 && end.every((byte, at) => frame[from + at] === byte)
  return ends ? frame.subarray(0, from) : frame
}

/** Attributes and their values, and the zone that they are of. */
export interface DeviceReport {
  values: Readonly<Record<string, DeviceValue>>
  zone: string | undefined
}

/** What an answer to a command means. */
export type Answer = ({ isDone: true } & DeviceReport) | { isDone: false; says: string }

/** @returns undefined if the message answers something else */
export function answerOf(
  device: Device,
  command: DeviceCommand,
  content: Uint8Array,
  sent: { args: ReadonlyMap<string, ReadArg>; values: ReadonlyMap<string, WireValue> },
): Answer | undefined {
  for (const rule of command.reply) {
    const found = matchPattern(rule.pattern, content, sent.values)
    if (!found) continue
    const report = reportOf(device, rule, found)
    const values = { ...setBy(command, sent.args), ...report.values }
    return { isDone: true, values, zone: report.zone ?? zoneOfArgs(device, sent.args) }
  }
  for (const { pattern, says } of [...command.errors, ...device.errors])
    if (matchPattern(pattern, content, sent.values)) return { isDone: false, says }
  return undefined
}

/** What holds once a command that has no answer was sent. */
export function reportWhenSent(
  device: Device,
  command: DeviceCommand,
  args: ReadonlyMap<string, ReadArg>,
): DeviceReport {
  return { values: setBy(command, args), zone: zoneOfArgs(device, args) }
}

/** What the device says by itself. @returns undefined if the definition does not know it */
export function unsolicitedReport(device: Device, content: Uint8Array): DeviceReport | undefined {
  for (const rule of device.unsolicited) {
    const found = matchPattern(rule.pattern, content)
    if (found) return reportOf(device, rule, found)
  }
  return undefined
}

function reportOf(device: Device, { set }: HeardRule, found: ReadonlyMap<string, Captured>): DeviceReport {
  const values: Record<string, DeviceValue> = Object.fromEntries(set)
  for (const [name, captured] of found) {
    const rule = device.attributes.get(name)
    if (rule) values[name] = attributeValue(rule, captured, device.definition.enums)
  }
  const zone = device.zoneArg === undefined ? undefined : found.get(device.zoneArg)
  return { values, zone: zone && zoneText(zone.number ?? zone.text) }
}

function setBy({ sets }: DeviceCommand, args: ReadonlyMap<string, ReadArg>): Record<string, DeviceValue> {
  return Object.fromEntries(
    sets.map(([attribute, from]) => [attribute, 'arg' in from ? (args.get(from.arg)?.value ?? null) : from.value]),
  )
}

function zoneOfArgs({ zoneArg }: Device, args: ReadonlyMap<string, ReadArg>): string | undefined {
  const zone = zoneArg === undefined ? undefined : args.get(zoneArg)
  return zone && zoneText(zone.value)
}

/** The address of a zone as it is compared: `01` and 1 are the same. */
export function zoneText(address: unknown): string {
  const text = String(address).trim()
  return /^\d{1,15}$/.test(text) ? String(Number(text)) : text
}

// The login of a new connection.

/** What follows: messages to send, and whether the login goes on. */
export interface LoginAdvance {
  sends: readonly Uint8Array[]
  state: 'waiting' | 'ready' | 'failed'
  /** Why it failed. */
  says: string
}

export interface LoginRun {
  begin(): LoginAdvance
  /** @returns undefined if the message has nothing to do with the login */
  hear(content: Uint8Array): LoginAdvance | undefined
}

/** @param config of the device, by name, with its secrets. @throws Fault `command_args` while it runs */
export function createLoginRun(device: Device, config: ReadonlyMap<string, ReadArg>, digest: Digest): LoginRun {
  const values = wireValues(new Map(), config)
  let at = -1

  function next(): LoginAdvance {
    const sends: Uint8Array[] = []
    for (;;) {
      const step = device.login[++at]
      if (!step) return { sends, state: 'ready', says: '' }
      if (step.digest) values.set(step.digest.name, hexLower(digest('md5', encodeTemplate(step.digest.of, values))))
      if (step.send) sends.push(messageBytes(device, step.send, values))
      if (step.expect.length > 0) return { sends, state: 'waiting', says: '' }
    }
  }

  return {
    begin: next,
    hear(content) {
      for (const { pattern, leadsTo, says } of device.login[at]?.expect ?? []) {
        const found = matchPattern(pattern, content, values)
        if (!found) continue
        for (const [name, { text }] of found) values.set(name, text)
        if (leadsTo === 'next') return next()
        return { sends: [], state: leadsTo === 'ready' ? 'ready' : 'failed', says }
      }
      return undefined
    },
  }
}

function hexLower(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
