/** Compiles a device definition, and finds everything that is wrong with it. */
import { Fault } from '../fault.ts'
import { nearestName } from '../text.ts'
import {
  type ArgRule,
  type AttributeRule,
  DEFINITION_LIMITS,
  type DeviceDefinition,
  type DeviceValue,
  type Enums,
} from './definition.ts'
import type { Device, DeviceCommand, DeviceFraming, HeardRule, LoginStep, RefusalRule } from './device.ts'
import { messageBytes } from './device.ts'
import { checkPieces, type Pattern, parsePattern, sentFlaw } from './pattern.ts'
import { filteredBytes, filterFlaw, literalBytes, parseTemplate, type Template, type WireValue } from './template.ts'
import { type ArgRules, expectedArg, readArgs } from './values.ts'

/** What is wrong, and where: `commands.power.send`. */
export interface DefinitionFault {
  path: string
  message: string
}

/** Collects faults while it goes on: an author wants all of them at once. */
interface Faults {
  add(path: string, message: string): void
  /** @returns undefined if `read` threw, which is a fault of this path */
  from<Value>(path: string, read: () => Value): Value | undefined
}

/**
 * @param definition fits its schema, with every default
 * @returns the device, or every fault; wire tests are run on it afterwards
 */
export function compileDevice(definition: DeviceDefinition): { device: Device; faults: DefinitionFault[] } {
  const found: DefinitionFault[] = []
  const faults: Faults = {
    add: (path, message) => void found.push({ path, message }),
    from(path, read) {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        found.push({ path, message: error.message })
        return undefined
      }
    },
  }
  const config: ArgRules = new Map(Object.entries(definition.config ?? {}))
  const attributes = new Map(Object.entries(definition.attributes ?? {}))
  const world: World = { definition, faults, config, attributes, zoneArg: definition.zones?.arg }
  checkEnums(world)
  checkArgs(world, 'config', config)
  checkAttributes(world)
  const commands = new Map(
    Object.entries(definition.commands).map(([name, command]) => [name, compileCommand(world, name, command)]),
  )
  if (commands.size === 0) faults.add('commands', 'there is none, expected at least one')
  const device: Device = {
    definition,
    commands,
    attributes,
    config,
    errors: refusals(world, 'errors', definition.errors ?? []),
    unsolicited: heardRules(world, 'unsolicited', definition.unsolicited ?? []),
    login: compileLogin(world),
    polls: [],
    framing: framingOf(world),
    delimiter: delimiterOf(world),
    checksum: checksumOf(world),
    zoneArg: world.zoneArg,
  }
  if (found.length === 0) probeCommands(world, device)
  return { device: { ...device, polls: compilePolls(world, commands) }, faults: found }
}

/** What all parts of the compiler look at. */
interface World {
  definition: DeviceDefinition
  faults: Faults
  config: ArgRules
  attributes: ReadonlyMap<string, AttributeRule>
  zoneArg: string | undefined
}

// Framing and checksum.

function framingOf({ definition: { framing }, faults }: World): DeviceFraming {
  switch (framing.mode) {
    case 'silence':
      return { mode: 'silence', silenceMs: framing.silence_ms }
    case 'delimiter': {
      const delimiter = faults.from('framing.delimiter', () => literalBytes(framing.delimiter))
      return { mode: 'delimiter', delimiter: delimiter ?? Uint8Array.of(0) }
    }
    case 'length_field': {
      const { form, ...rule } = framing
      return { ...rule, isHex: form === 'hex' }
    }
    case 'length':
      return framing
  }
}

function delimiterOf({ definition: { framing } }: World): Uint8Array {
  if (framing.mode !== 'delimiter') return new Uint8Array(0)
  try {
    return literalBytes(framing.delimiter)
  } catch {
    return new Uint8Array(0) // framingOf has said what is wrong
  }
}

function checksumOf({ definition: { checksum }, faults }: World): Device['checksum'] {
  if (!checksum) return undefined
  const { tail = '', ...rule } = checksum
  return { ...rule, tail: faults.from('checksum.tail', () => literalBytes(tail)) ?? new Uint8Array(0) }
}

// Enums, arguments and attributes.

function checkEnums({ definition, faults }: World): void {
  for (const [name, codes] of Object.entries(definition.enums ?? {})) {
    const kinds = new Set(Object.values(codes).map((code) => typeof code))
    if (kinds.size === 0) faults.add(`enums.${name}`, 'it has no names')
    if (kinds.size > 1) faults.add(`enums.${name}`, 'some codes are numbers and some are texts, expected one kind')
  }
}

function checkArgs({ definition, faults }: World, path: string, rules: ArgRules): void {
  for (const [name, rule] of rules) {
    const at = `${path}.${name}`
    if ('min' in rule && rule.min > rule.max) faults.add(at, `min ${rule.min} is above max ${rule.max}`)
    if (rule.type === 'boolean') checkSwitch(faults, at, rule)
    if (rule.type === 'enum') checkEnumName(definition.enums, faults, `${at}.of`, rule.of)
    if (rule.type === 'text' && rule.secret && path !== 'config')
      faults.add(`${at}.secret`, 'only a text of config may be secret')
    const { default: value } = rule
    if (value !== undefined && rule.type !== 'enum')
      faults.from(`${at}.default`, () => readArgs(new Map([[name, rule]]), { [name]: value }, definition.enums))
    if (rule.type === 'enum' && value !== undefined && !Object.hasOwn(definition.enums?.[rule.of] ?? {}, String(value)))
      faults.add(`${at}.default`, `it is not ${expectedArg(rule, definition.enums)}`)
  }
}

function checkSwitch(faults: Faults, path: string, { on, off }: { on: string | number; off: string | number }): void {
  if (on === off) faults.add(path, 'on and off are the same')
  if (typeof on !== typeof off) faults.add(path, 'one of on and off is a number and one a text, expected one kind')
}

function checkEnumName(enums: Enums | undefined, faults: Faults, path: string, name: string): void {
  if (!Object.hasOwn(enums ?? {}, name))
    faults.add(path, `there is no enum ${JSON.stringify(name)}${nearest(name, Object.keys(enums ?? {}))}`)
}

function nearest(name: string, known: readonly string[]): string {
  const near = nearestName(name, known)
  return near ? `, the nearest is ${near}` : ''
}

function checkAttributes({ definition, faults, attributes, zoneArg }: World): void {
  for (const [name, rule] of attributes) {
    if (rule.type === 'boolean') checkSwitch(faults, `attributes.${name}`, rule)
    if (rule.type === 'enum') checkEnumName(definition.enums, faults, `attributes.${name}.of`, rule.of)
    if (name === zoneArg) faults.add(`attributes.${name}`, 'it has the name of zones.arg, which is the zone itself')
  }
}

// Commands.

function compileCommand(world: World, name: string, command: DeviceDefinition['commands'][string]): DeviceCommand {
  const { faults, definition } = world
  const path = `commands.${name}`
  const args: ArgRules = new Map(Object.entries(command.args ?? {}))
  checkArgs(world, `${path}.args`, args)
  const send = faults.from(`${path}.send`, () => parseTemplate(command.send)) ?? []
  checkNames(world, `${path}.send`, send, args)
  for (const arg of args.keys())
    if (!send.some((part) => 'name' in part && part.name === arg))
      faults.add(`${path}.args.${arg}`, 'send does not use it')
  checkTerminator(faults, path, send, args)
  const known = new Set([...args.keys(), ...[...world.config.keys()].map((key) => `$${key}`)])
  const reply = heardRules(world, `${path}.reply`, command.reply ?? [], known)
  const errors = refusals(world, `${path}.errors`, command.errors ?? [], known)
  if (reply.length === 0 && errors.length > 0)
    faults.add(`${path}.errors`, 'no answer is awaited, so none can be a refusal: add reply')
  const sets = Object.entries(command.sets ?? {}).map(([attribute, from]) => {
    checkSet(world, `${path}.sets.${attribute}`, attribute, 'arg' in from ? args.get(from.arg) : from.value)
    return [attribute, from] as const
  })
  return { name, args, send, reply, errors, sets, replyMs: command.reply_ms ?? definition.timing.reply_ms }
}

/** Names in a template, and filters that fit what they get. */
function checkNames({ config, definition, faults }: World, path: string, template: Template, args: ArgRules): void {
  for (const part of template) {
    if ('bytes' in part) continue
    const rule = part.name.startsWith('$') ? config.get(part.name.slice(1)) : args.get(part.name)
    if (!rule) {
      const known = [...args.keys(), ...[...config.keys()].map((key) => `$${key}`)]
      faults.add(path, `there is no value ${part.name}${nearest(part.name, known)}`)
      continue
    }
    if (rule.type === 'text' && rule.secret) faults.add(path, `${part.name} is secret, and may stand in login only`)
    const flaw = filterFlaw(part.filters, wireKind(rule, definition.enums))
    if (flaw) faults.add(path, `${part.name}: ${flaw}`)
  }
}

function wireKind(rule: ArgRule, enums: Enums | undefined): 'number' | 'text' {
  if (rule.type === 'integer' || rule.type === 'number') return 'number'
  if (rule.type === 'boolean') return typeof rule.on === 'number' ? 'number' : 'text'
  if (rule.type === 'enum')
    return Object.values(enums?.[rule.of] ?? {}).some((code) => typeof code === 'number') ? 'number' : 'text'
  return 'text'
}

/** A text with the sign that ends a message could bring a second command. */
function checkTerminator(faults: Faults, path: string, send: Template, args: ArgRules): void {
  const last = send.at(-1)
  if (!last || !('bytes' in last)) return
  const sign = String.fromCharCode(last.bytes.at(-1) ?? 0)
  if (sign < ' ' || sign > '~') return
  for (const [name, rule] of args)
    if (rule.type === 'text' && !rule.except?.includes(sign))
      faults.add(
        `${path}.args.${name}`,
        `it may hold ${JSON.stringify(sign)}, which ends the message: put that into except`,
      )
}

/** @param from the rule of the argument that it comes from, or a value; undefined if there is no such argument */
function checkSet(world: World, path: string, attribute: string, from: ArgRule | DeviceValue | undefined): void {
  const { attributes, definition, faults } = world
  const rule = attributes.get(attribute)
  if (!rule) {
    faults.add(path, `there is no attribute ${attribute}${nearest(attribute, [...attributes.keys()])}`)
    return
  }
  if (from === undefined) faults.add(path, 'the command has no such argument')
  else if (from !== null && typeof from === 'object') {
    const kind = from.type === 'integer' ? 'number' : from.type
    if (kind !== rule.type) faults.add(path, `the argument is ${kind}, and the attribute ${rule.type}`)
    else if (rule.type === 'enum' && from.type === 'enum')
      for (const name of Object.keys(definition.enums?.[from.of] ?? {}))
        if (!Object.hasOwn(definition.enums?.[rule.of] ?? {}, name))
          faults.add(path, `the attribute has no ${name}, which the argument has`)
  } else {
    const flaw = constantFlaw(rule, from, definition.enums)
    if (flaw) faults.add(path, flaw)
  }
}

function constantFlaw(rule: AttributeRule, value: DeviceValue, enums: Enums | undefined): string | undefined {
  const expected = rule.type === 'enum' || rule.type === 'text' ? 'string' : rule.type
  if (typeof value !== expected) return `it is ${JSON.stringify(value)}, expected a ${rule.type}`
  if (rule.type !== 'enum' || Object.hasOwn(enums?.[rule.of] ?? {}, String(value))) return undefined
  return `the enum ${rule.of} has no ${JSON.stringify(value)}${nearest(String(value), Object.keys(enums?.[rule.of] ?? {}))}`
}

// Messages of the device.

function compilePattern({ faults }: World, path: string, text: string): Pattern | undefined {
  return faults.from(path, () => {
    const pattern = parsePattern(text)
    checkPieces(pattern, DEFINITION_LIMITS.pieces)
    return pattern
  })
}

function heardRules(
  world: World,
  path: string,
  rules: NonNullable<DeviceDefinition['unsolicited']>,
  known: ReadonlySet<string> = new Set(),
): HeardRule[] {
  return rules.flatMap(({ match, set = {} }, index) => {
    const at = `${path}[${index}]`
    const pattern = compilePattern(world, `${at}.match`, match)
    for (const [attribute, value] of Object.entries(set)) checkSet(world, `${at}.set.${attribute}`, attribute, value)
    if (!pattern) return []
    const flaw = sentFlaw(pattern, known)
    if (flaw) world.faults.add(`${at}.match`, flaw)
    for (const name of pattern.names)
      if (!world.attributes.has(name) && name !== world.zoneArg)
        world.faults.add(`${at}.match`, `there is no attribute ${name}${nearest(name, [...world.attributes.keys()])}`)
    return [{ pattern, set: new Map(Object.entries(set)) }]
  })
}

function refusals(
  world: World,
  path: string,
  rules: NonNullable<DeviceDefinition['errors']>,
  known: ReadonlySet<string> = new Set(),
): RefusalRule[] {
  return rules.flatMap(({ match, says }, index) => {
    const pattern = compilePattern(world, `${path}[${index}].match`, match)
    if (!pattern) return []
    const flaw = sentFlaw(pattern, known)
    if (flaw) world.faults.add(`${path}[${index}].match`, flaw)
    return [{ pattern, says }]
  })
}

// The login: its steps see the settings, and what earlier steps found.

function compileLogin(world: World): LoginStep[] {
  const { config, definition, faults } = world
  const known = new Set([...config.keys()].map((key) => `$${key}`))
  const checkKnown = (path: string, template: Template) => {
    for (const part of template)
      if ('name' in part && !known.has(part.name))
        faults.add(path, `there is no value ${part.name}${nearest(part.name, [...known])}`)
  }
  return (definition.login ?? []).map((step, index) => {
    const path = `login[${index}]`
    const { digest } = step
    const of = digest && (faults.from(`${path}.digest.of`, () => parseTemplate(digest.of)) ?? [])
    if (of) checkKnown(`${path}.digest.of`, of)
    if (digest) known.add(digest.name)
    const sent = step.send
    const send = sent === undefined ? undefined : (faults.from(`${path}.send`, () => parseTemplate(sent)) ?? [])
    if (send) checkKnown(`${path}.send`, send)
    if (!send && !step.expect) faults.add(path, 'it sends nothing and expects nothing')
    const expect = (step.expect ?? []).flatMap(({ match, leads_to: leadsTo, says = '' }, at) => {
      const pattern = compilePattern(world, `${path}.expect[${at}].match`, match)
      if (leadsTo === 'fail' && says === '')
        faults.add(`${path}.expect[${at}]`, 'it fails and does not say why: add says')
      return pattern ? [{ pattern, leadsTo, says }] : []
    })
    for (const { pattern } of expect) for (const name of pattern.names) known.add(name)
    return { digest: digest && of ? { name: digest.name, of } : undefined, send, expect }
  })
}

// Polls.

function compilePolls(
  { definition, faults, zoneArg }: World,
  commands: ReadonlyMap<string, DeviceCommand>,
): Device['polls'] {
  return (definition.polls ?? []).flatMap(
    ({ command: name, args = {}, every_ms: everyMs, each_zone: isEachZone = false }, index) => {
      const path = `polls[${index}]`
      const command = commands.get(name)
      if (!command) {
        faults.add(`${path}.command`, `there is no command ${name}${nearest(name, [...commands.keys()])}`)
        return []
      }
      if (isEachZone && (zoneArg === undefined || !command.args.has(zoneArg)))
        faults.add(`${path}.each_zone`, `the command ${name} has no argument for a zone`)
      if (!isEachZone) faults.from(`${path}.args`, () => readArgs(command.args, args, definition.enums))
      if (command.reply.length === 0) faults.add(`${path}.command`, `no answer to ${name} is awaited`)
      return [{ command, args, everyMs, isEachZone }]
    },
  )
}

// Probes: each command is written with the ends of every argument, so that no filter is found unfit in use.

function probeCommands({ config, definition, faults }: World, device: Device): void {
  const settings = [...config].map(([name, rule]) => [`$${name}`, samplesOf(rule, definition.enums)] as const)
  for (const command of device.commands.values()) {
    const args = [...command.args].map(([name, rule]) => [name, samplesOf(rule, definition.enums)] as const)
    const all = [...args, ...settings]
    const first = new Map(all.map(([name, samples]) => [name, samples[0] ?? '']))
    const path = `commands.${command.name}.send`
    for (const [name, samples] of all)
      for (const sample of samples) {
        const values = new Map(first).set(name, sample)
        if (faults.from(path, () => probe(device, command, values)) === undefined) return
      }
    if (faults.from(path, () => probe(device, command, first)) === undefined) return
  }
}

function probe(device: Device, command: DeviceCommand, values: ReadonlyMap<string, WireValue>): Uint8Array {
  for (const { pattern } of [...command.reply, ...command.errors])
    for (const { name, filters } of pattern.sent) filteredBytes(values.get(name) ?? '', filters)
  return messageBytes(device, command.send, values)
}

/** The ends of what an argument may be. */
function samplesOf(rule: ArgRule, enums: Enums | undefined): WireValue[] {
  switch (rule.type) {
    case 'integer':
    case 'number':
      return [rule.min, rule.max]
    case 'boolean':
      return [rule.on, rule.off]
    case 'enum':
      return Object.values(enums?.[rule.of] ?? {})
    case 'text':
      return ['', 'M'.repeat(rule.max_length)]
  }
}
