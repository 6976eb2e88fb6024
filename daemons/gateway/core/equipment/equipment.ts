/** The protocol equipment: a device with a protocol of its own on a line, spoken to by its definition. */
import { type Static, Type } from 'typebox'
import type { Timer } from '#kit/clock.ts'
import type { Line } from '#kit/line/line.ts'
import type { AttributeRule, DeviceDefinition, DeviceValue } from '#kit/pure/device/definition.ts'
import { createDeviceCutter, type Device, type DeviceReport, type Digest, readConfig } from '#kit/pure/device/device.ts'
import { DeviceSession } from '#kit/pure/device/session.ts'
import { expectedArg } from '#kit/pure/device/values.ts'
import { Fault } from '#kit/pure/fault.ts'
import { sendWithin, wireUs } from '#kit/pure/line.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import { LINK_TYPES } from '../../wire/pcap.ts'
import type { Adapter, AdapterContext, Protocol, RecordedFace } from '../lines/adapter.ts'
import { framePayload } from '../lines/events.ts'
import type { Framer, SilenceFramerMaker } from '../lines/ports.ts'

// Settings of the protocol.

/** The most values that are kept of one line. */
export const MOST_VALUES = 128
/** The most zones of one line. */
export const MOST_ZONES = 16

const equipmentSettings = Type.Object(
  {
    definition: Type.String({
      default: '',
      pattern: '^([a-z0-9][a-z0-9-]{0,62})?$',
      description: 'name of the device definition, such as samsung-mdc',
    }),
    config: Type.Record(
      Type.String({ maxLength: 64 }),
      Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Boolean()]),
      {
        default: {},
        maxProperties: 12,
        description: 'settings of the definition, such as the id of a display; none that is secret',
      },
    ),
    zones: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      default: [],
      maxItems: MOST_ZONES,
      description: 'addresses that are polled, of a device with several zones',
    }),
    poll_ms: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 86_400_000,
      description: 'interval of all polls, ms; 0 takes those of the definition',
    }),
    hold_ms: Type.Integer({
      default: 3000,
      minimum: 100,
      maximum: 600_000,
      description: 'how much later than its time an answer may still come; nothing is sent meanwhile, ms',
    }),
    queue: Type.Integer({
      default: 16,
      minimum: 1,
      maximum: 256,
      description: 'commands waiting before the next is refused',
    }),
    send_limit_ms: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 600_000,
      description: 'how long the driver may take to take a message beyond twice its time on the wire, ms',
    }),
  },
  { additionalProperties: false },
)

export type EquipmentSettings = Static<typeof equipmentSettings>

/** The name of a history: that of the value, and its zone. */
const SERIES = /^([a-z][a-z0-9_]*)(?: \(([^\p{C}]*)\))?$/u
/** As long as a name of a point. */
const MOST_SERIES_CHARACTERS = 64

/** What the adapter needs beside the line. */
export interface EquipmentWorld {
  silenceFramer: SilenceFramerMaker
  /** @throws Fault `definition_unknown`, `definition_invalid` */
  definitionOf(name: string): Device
  digest: Digest
  /** Waits between attempts to sign in to a device. */
  retry: BackoffLimits
}

/** Body of `rest/command`. */
export interface EquipmentCommand {
  command: string
  args?: Readonly<Record<string, unknown>>
  zone?: string
}

/** One command, as people see it. */
interface CommandView {
  name: string
  title: string | null
  args: { name: string; title: string | null; expected: string; choices: string[] | null; value: DeviceValue }[]
}

/** One value of the device. Instants are epoch milliseconds. */
interface ValueView {
  name: string
  zone: string | null
  value: DeviceValue
  unit: string | null
  /** The name of its history; null where none is kept, as of texts. */
  series: string | null
  readAt: number
  changedAt: number
}

/** What a line with a device by definition shows. */
export interface EquipmentFace {
  view(): {
    definition: string
    title: string
    version: string
    makers: readonly string[]
    sources: DeviceDefinition['sources']
    notes: string | null
    zone: string | null
    commands: CommandView[]
    values: ValueView[]
  }
}

declare module '../lines/adapter.ts' {
  interface AdapterActions {
    command?(
      body: EquipmentCommand,
      signal: AbortSignal,
    ): Promise<{ command: string; values: Readonly<Record<string, DeviceValue>> }>
  }
  interface AdapterFaces {
    equipment?: EquipmentFace
  }
}

export const equipmentProtocol: Protocol<EquipmentWorld> = {
  settings: equipmentSettings,
  linkType: LINK_TYPES.equipment,
  faults(settings) {
    const { definition } = settings as EquipmentSettings
    return definition === ''
      ? [{ field: 'definition', message: 'is missing, expected the name of a device definition' }]
      : []
  },
  make: ({ settings }, context, world) => new EquipmentAdapter(context, settings as EquipmentSettings, world),
}

/** One device on one line. `settings` have every default filled in. */
export class EquipmentAdapter implements Adapter {
  readonly actions = { command: (body: EquipmentCommand, signal: AbortSignal) => this.#command(body, signal) }
  readonly faces = {
    equipment: { view: () => this.#view() },
    recorded: { list: () => this.#recorded(), about: (name: string) => this.#about(name) } satisfies RecordedFace,
  }
  readonly #context: AdapterContext
  readonly #settings: EquipmentSettings
  readonly #world: EquipmentWorld
  readonly #backoff: Backoff
  readonly #values = new Map<string, ValueView>()
  readonly #counts = { rxFrames: 0, txFrames: 0, cutFrames: 0, sendTimeouts: 0, valuesLeftOut: 0, sessions: 0 }
  #sessionCounts: Record<string, number> = {}
  /** The definition with the settings of this device, or why there is none. */
  readonly #found: { device: Device; config: ReturnType<typeof readConfig> } | Fault
  #line: Line | undefined
  #framer: Pick<Framer, 'feed' | 'close'> | undefined
  #session: DeviceSession | undefined
  #retry: Timer | undefined
  /** Why the device cannot be spoken with, though its line is open. */
  #fault: Fault | undefined

  constructor(context: AdapterContext, settings: EquipmentSettings, world: EquipmentWorld) {
    this.#context = context
    this.#settings = settings
    this.#world = world
    this.#backoff = new Backoff(world.retry)
    this.#found = foundOf(settings, world)
  }

  attach(line: Line): void {
    this.#line = line
    if (this.#found instanceof Fault) return
    const framer = createFramer(this.#found.device, this.#world.silenceFramer, {
      settle: () => line.settle(),
      frame: (bytes, atUs, isCut) => this.#heard(bytes, atUs, isCut),
    })
    this.#framer = framer
    line.onBytes((bytes, atUs) => {
      if (framer === this.#framer) framer.feed(bytes, atUs)
    })
    this.#open(line)
  }

  detach(fault?: Fault): void {
    const { port } = this.#context
    this.#line = undefined
    this.#retry?.cancel()
    this.#framer?.close()
    this.#framer = undefined
    this.#end(fault ?? new Fault('line_closed', `${port} was closed.`))
    this.#fault = undefined
  }

  fault(): Fault | undefined {
    return this.#found instanceof Fault ? this.#found : this.#fault
  }

  whyNoAction(action: string): string {
    return `${this.#context.port} speaks equipment, which has rest/command and no rest/${action}.`
  }

  counters(): Record<string, number> {
    const now = this.#session?.counters() ?? {}
    const sums = Object.entries({ ...this.#sessionCounts, ...now }).map(([name]) => [
      name,
      (this.#sessionCounts[name] ?? 0) + (now[name] ?? 0),
    ])
    return { ...this.#counts, ...Object.fromEntries(sums) }
  }

  // The session: opened with the line, and again after a login that failed.

  #open(line: Line): void {
    const { clock } = this.#context
    if (this.#found instanceof Fault) return
    const { poll_ms: pollMs, hold_ms: holdMs, queue, zones } = this.#settings
    const session = new DeviceSession({
      ...this.#found,
      ...{ clock, zones, queue, digest: this.#world.digest },
      pollMs: pollMs === 0 ? undefined : pollMs,
      whenLate: { holdMs },
      hooks: {
        send: (bytes) => this.#send(line, bytes),
        report: (report) => this.#report(report),
        answered: (fault) => this.#judge(fault),
        ended: (fault) => this.#openLater(line, fault),
      },
    })
    this.#session = session
    this.#counts.sessions++
    session.open().then(
      () => this.#backoff.reset(),
      () => {}, // `ended` has told why
    )
  }

  #openLater(line: Line, fault: Fault): void {
    this.#judge(fault)
    this.#end(fault)
    if (this.#line !== line) return
    this.#retry = this.#context.clock.after(this.#backoff.next(), () => this.#open(line))
  }

  #end(fault: Fault): void {
    const session = this.#session
    if (!session) return
    this.#sessionCounts = this.#sumOf(session)
    this.#session = undefined
    session.close(fault)
  }

  #sumOf(session: DeviceSession): Record<string, number> {
    const entries = Object.entries(session.counters())
    return Object.fromEntries(entries.map(([name, count]) => [name, count + (this.#sessionCounts[name] ?? 0)]))
  }

  /** Told once when the device falls silent, not with every poll. */
  #judge(fault: Fault | undefined): void {
    if (fault && this.#fault?.code !== fault.code) {
      const { code, message } = fault
      this.#context.publish('error', { code, message })
    }
    this.#fault = fault
  }

  // Bytes.

  #heard(bytes: Uint8Array, atUs: number, isCut: boolean): void {
    this.#counts.rxFrames++
    if (isCut) this.#counts.cutFrames++
    const seen = { direction: 'rx', frame: bytes, atUs } as const
    this.#context.publish('frame', () => framePayload(seen, { decoded: null }), bytes.length)
    if (!isCut) this.#session?.hear(bytes)
  }

  /** @throws Fault `send_timeout`, `line_write_failed`, `line_closed` */
  #send(line: Line, bytes: Uint8Array): Promise<void> {
    const { clock, lineSettings, port } = this.#context
    const limitMs = Math.round((2 * wireUs(lineSettings, bytes.length)) / 1000 + this.#settings.send_limit_ms)
    const late = (waitedMs: number) => {
      this.#counts.sendTimeouts++
      const sentence = `The driver of ${port} did not take ${bytes.length} bytes within ${durationText(waitedMs)}; flow control may hold the line. What waited was thrown away.`
      return new Fault('send_timeout', sentence, { details: { waitedMs } })
    }
    return sendWithin({ clock, line, limitMs, late }, async () => {
      await line.write(bytes)
      this.#counts.txFrames++
      const seen = { direction: 'tx', frame: bytes, atUs: clock.monotonicMs() * 1000 } as const
      this.#context.publish('frame', () => framePayload(seen, { decoded: null }), bytes.length)
    })
  }

  // Commands and values.

  async #command({ command, args = {}, zone }: EquipmentCommand, signal: AbortSignal) {
    if (this.#found instanceof Fault) throw this.#found
    if (!this.#line) throw this.#context.whyNotOpen()
    const session = this.#session
    if (!session) throw this.#fault ?? new Fault('device_not_connected', 'the device is signed in to again in a moment')
    const values = await session.command(command, args, { zone, signal })
    return { command, values }
  }

  #report(report: DeviceReport): void {
    const { clock, publish } = this.#context
    const zone = report.zone ?? null
    const readAt = clock.epochMs()
    for (const [name, value] of Object.entries(report.values)) {
      const key = `${zone ?? ''} ${name}`
      const before = this.#values.get(key)
      if (!before && this.#values.size >= MOST_VALUES) {
        this.#counts.valuesLeftOut++
        continue
      }
      const isNews = before?.value !== value
      const unit = this.#unitOf(name)
      const series = this.#seriesOf(name, zone)
      const told = { name, zone, value, unit, series }
      this.#values.set(key, { ...told, readAt, changedAt: isNews ? readAt : before.changedAt })
      if (isNews) publish('value', { ...told, previous: before?.value ?? null, readAt })
    }
  }

  #ruleOf(name: string): AttributeRule | undefined {
    return this.#found instanceof Fault ? undefined : this.#found.device.attributes.get(name)
  }

  #unitOf(name: string): string | null {
    const rule = this.#ruleOf(name)
    return rule?.type === 'number' ? (rule.unit ?? null) : null
  }

  // History: of what is a number or a switch.

  /** A device may name a zone as it likes; one whose name no address of a page could carry has no history. */
  #seriesOf(name: string, zone: string | null): string | null {
    const type = this.#ruleOf(name)?.type
    if (type !== 'number' && type !== 'boolean') return null
    const series = zone === null ? name : `${name} (${zone})`
    return SERIES.test(series) && series.length <= MOST_SERIES_CHARACTERS ? series : null
  }

  /** What a silent device said last is not what is so now. */
  #recorded(): ReturnType<RecordedFace['list']> {
    const quality = this.#line && !this.#fault ? 'good' : 'stale'
    return [...this.#values.values()].flatMap(({ series, value }) =>
      series === null ? [] : [{ name: series, value, quality } as const],
    )
  }

  #about(series: string): ReturnType<RecordedFace['about']> {
    const [, name = '', zone = null] = SERIES.exec(series) ?? []
    return this.#seriesOf(name, zone) === null ? undefined : { unit: this.#unitOf(name) }
  }

  #view(): ReturnType<EquipmentFace['view']> {
    if (this.#found instanceof Fault) throw this.#found
    const { device } = this.#found
    const { name, title, version, makers, sources, notes = null } = device.definition
    const commands = [...device.commands.values()].map((command) => commandView(device, command.name))
    const values = [...this.#values.values()]
    return { definition: name, title, version, makers, sources, notes, zone: device.zoneArg ?? null, commands, values }
  }
}

function commandView({ commands, definition: { commands: written, enums } }: Device, name: string): CommandView {
  const args = [...(commands.get(name)?.args ?? [])].map(([arg, rule]) => ({
    name: arg,
    title: rule.title ?? null,
    expected: expectedArg(rule, enums),
    choices:
      rule.type === 'enum' ? Object.keys(enums?.[rule.of] ?? {}) : rule.type === 'boolean' ? ['true', 'false'] : null,
    value: rule.default ?? null,
  }))
  return { name, title: written[name]?.title ?? null, args }
}

/** A secret of a device has no place in the settings of a line, which everybody who may read the port sees. */
function foundOf(
  { config, definition }: EquipmentSettings,
  { definitionOf }: EquipmentWorld,
): { device: Device; config: ReturnType<typeof readConfig> } | Fault {
  try {
    const device = definitionOf(definition)
    for (const [name, rule] of device.config)
      if (rule.type === 'text' && rule.secret && Object.hasOwn(config, name))
        throw new Fault(
          'command_args',
          `settings.config: ${name} is secret, and settings of a line are not; leave it out`,
        )
    return { device, config: readConfig(device, config) }
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

interface FramerHooks {
  settle(): void
  frame(bytes: Uint8Array, atUs: number, isCut: boolean): void
}

function createFramer(
  device: Device,
  silenceFramer: SilenceFramerMaker,
  hooks: FramerHooks,
): Pick<Framer, 'feed' | 'close'> {
  const { framing } = device
  if (framing.mode === 'silence') {
    const framer = silenceFramer({ silenceMs: framing.silenceMs, maxFrameBytes: 1024, settle: hooks.settle })
    framer.onFrame(hooks.frame)
    return framer
  }
  const cut = createDeviceCutter(device)
  return {
    feed(bytes, atUs) {
      for (const frame of cut(bytes)) hooks.frame(frame.bytes, atUs, frame.isCut)
    },
    close() {},
  }
}
