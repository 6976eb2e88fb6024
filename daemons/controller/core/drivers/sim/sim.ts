/** Simulated devices: their zones do as they are told, with delays and failures set in device.config. */
import { wait } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { foldedName } from '../../control/reading.ts'
import { boundedCopy, type Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import type { Ack, Driver, DriverCommand, DriverContext, DriverSession } from '../driver.ts'

/** The settings in device.config. */
interface Behaviour {
  /** How long a command takes. */
  delayMs: number
  /** How long opening takes. */
  openDelayMs: number
  /** Verbs that fail; `true` for all of them. */
  fails: boolean | readonly Json[]
  /** No command ever ends, not even when aborted. */
  hangs: boolean
  /** It cannot be opened. */
  isAbsent: boolean
  /** With each poll one value of each zone changes: the next of COUNTED becomes the number of changes so far. */
  counts: boolean
}

/** Keys of device.config. */
const BEHAVIOUR_KEYS = ['delay_ms', 'open_delay_ms', 'fail', 'hang', 'absent', 'counts'] as const

type Values = Readonly<Record<string, Json>>

/** Most devices whose zones are remembered; more than one building has. */
const MOST_DEVICES = 20_000
/** Most values of one zone: callers may invent verbs forever. */
const MOST_VALUES = 64
/** Most characters of one value, including names in it. */
const LONGEST_VALUE = 4096

/** The initial state of a zone, by type. */
const AT_FIRST: ReadonlyMap<string, Values> = new Map<string, Values>([
  ['thermostat', { state: 'idle', setpoint: 21, mode: 'auto' }],
  ['climate', { state: 'idle', setpoint: 21, mode: 'auto' }],
  ['hvac', { state: 'idle', setpoint: 21, mode: 'auto' }],
  ['shade', { state: 'closed', position: 0 }],
  ['blind', { state: 'closed', position: 0 }],
  ['door', { state: 'closed' }],
  ['lock', { state: 'locked' }],
  ['audio', { state: 'stopped', volume: 30, mute: false }],
  ['av', { state: 'stopped', volume: 30, mute: false }],
])
const LIGHT_AT_FIRST: Values = { state: 'off', on: false, level: 0 }

/** The effect of verbs without a value. */
const STATE_OF: ReadonlyMap<string, Values> = new Map<string, Values>([
  ['on', { state: 'on', on: true, level: 100 }],
  ['off', { state: 'off', on: false, level: 0 }],
  ['open', { state: 'open', position: 100 }],
  ['close', { state: 'closed', position: 0 }],
  ['lock', { state: 'locked' }],
  ['unlock', { state: 'unlocked' }],
])

/** Other verbs with a known effect. */
const OWN_VERBS: ReadonlySet<string> = new Set(['toggle', 'level'])

/** Values that a counting device changes in turn. `value` is the time of the change, in epoch ms. */
const COUNTED = ['level', 'temperature', 'humidity', 'position', 'volume'] as const

/**
 * Remembers the state of zones for its lifetime, as real devices do while nobody is connected. Zones that a device no
 * longer has are forgotten when it is opened again.
 * @param mostDevices beyond this, the device that was opened longest ago is forgotten
 */
export function createSimDriver(mostDevices = MOST_DEVICES): Driver {
  const keptOf = new Map<number, Map<number, Values>>()

  /** The state of a device's zones when it is opened. */
  function opened(device: Row, zones: readonly Row[], context: DriverContext): Map<number, Values> {
    const before = keptOf.get(device.id)
    const first = (zone: Row) => before?.get(zone.id) ?? withLast(zone, context)
    const kept = new Map(zones.map((zone) => [zone.id, first(zone)]))
    keptOf.delete(device.id)
    keptOf.set(device.id, kept)
    const [oldest] = keptOf.keys()
    if (keptOf.size > mostDevices && oldest !== undefined) keptOf.delete(oldest)
    return kept
  }

  return {
    name: 'sim',
    reads: () => ({ transport: [], config: BEHAVIOUR_KEYS, polls: true }),
    async open(device, zones, context) {
      const behaviour = behaviourOf(device)
      if (behaviour.openDelayMs > 0) await wait(context.clock, behaviour.openDelayMs)
      if (behaviour.isAbsent) throw new Fault('sim_absent', `the simulated device ${device.id} is set to be absent`)
      context.online(true)
      const kept = opened(device, zones, context)
      for (const [zoneId, values] of kept) context.report({ zoneId }, values)
      const Session = behaviour.counts ? CountingSession : SimSession
      return new Session({ device, zones, context, behaviour, kept })
    },
  }
}

interface SimParts {
  device: Row
  zones: readonly Row[]
  context: DriverContext
  behaviour: Behaviour
  /** What its zones do, by id. */
  kept: Map<number, Values>
}

class SimSession implements DriverSession {
  protected readonly parts: SimParts

  constructor(parts: SimParts) {
    this.parts = parts
  }

  async execute(command: DriverCommand, signal: AbortSignal): Promise<Ack> {
    const { device, zones, context, behaviour } = this.parts
    await delayed(behaviour, context, signal)
    if (isAmong(behaviour.fails, command.verb))
      throw new Fault('sim_failed', `the simulated device ${device.id} is set to fail`)
    // A command to the whole device applies to all its zones.
    for (const zone of command.zone ? [command.zone] : zones) this.#apply(zone, command)
    return {}
  }

  async close(): Promise<void> {}

  #apply({ id, type }: Row, command: DriverCommand): void {
    const { context, kept } = this.parts
    const before = kept.get(id) ?? {}
    const values = type === 'audio' || type === 'av' ? withSound(before, command) : withEffect(before, command)
    kept.set(id, values)
    context.report({ zoneId: id }, values)
  }
}

/** A busy device: thousands of these show how much a building can do at once. */
class CountingSession extends SimSession {
  #count = 0

  async poll(): Promise<void> {
    const { zones, context } = this.parts
    const name = COUNTED[this.#count % COUNTED.length] ?? 'level'
    this.#count++
    for (const { id } of zones) context.report({ zoneId: id }, { [name]: this.#count, value: context.clock.epochMs() })
  }
}

/** A zone as it was when the daemon ended, as far as attributes know: a real device does not change with the daemon. */
function withLast({ id, type }: Row, context: DriverContext): Values {
  let values = AT_FIRST.get(String(type)) ?? LIGHT_AT_FIRST
  for (const [name, first] of Object.entries(values)) {
    const last = context.lastOf?.(id, name)
    if (last === undefined || typeof last !== typeof first || last === 'unknown') continue
    values = { ...values, [name]: last, ...(name === 'level' ? effectOf(levelOf(last), values) : {}) }
  }
  return values
}

function levelOf(level: Json): DriverCommand {
  return { verb: 'level', args: { level } }
}

/** @throws Fault `sim_failed` for a value that is too large, or one value too many */
function withEffect(before: Values, command: DriverCommand): Values {
  const effect = boundedCopy(effectOf(command, before), LONGEST_VALUE)
  if (effect === undefined)
    throw new Fault('sim_failed', `a simulated zone takes values of ${LONGEST_VALUE} characters`)
  const values: Values = { ...before, ...(effect as Values) }
  if (Object.keys(values).length > MOST_VALUES)
    throw new Fault('sim_failed', `a simulated zone keeps ${MOST_VALUES} values, and has as many`)
  return values
}

/** A sound zone says which stream it plays, as boards do. */
function withSound(before: Values, command: DriverCommand): Values {
  const { mcast = null, port = null, input = null } = command.args
  const verb = foldedName(command.verb)
  if (verb === 'stop') return { ...before, state: 'stopped', mcast: '', port: null, source: null }
  if (verb !== 'route') return withEffect(before, command)
  const place = boundedCopy({ mcast, port, source: input }, LONGEST_VALUE)
  if (place === undefined) throw new Fault('sim_failed', `a simulated zone takes values of ${LONGEST_VALUE} characters`)
  return { ...before, ...(place as Values), state: 'playing' }
}

/** A value given with `on` decides: {"on": false} is off. */
function effectOf({ verb: said, args }: DriverCommand, before: Values): Values {
  const name = foldedName(said)
  const verb = STATE_OF.has(name) || OWN_VERBS.has(name) ? name : said
  const value = Object.entries(args).find(([key]) => foldedName(key) === name)?.[1]
  if (verb === 'toggle') return STATE_OF.get(before.on === true ? 'off' : 'on') ?? {}
  if (verb === 'level' && typeof value === 'number')
    return { level: value, on: value > 0, state: value > 0 ? 'on' : 'off' }
  const named = STATE_OF.get(verb === 'on' && value === false ? 'off' : verb)
  if (named) return named
  return value === undefined ? { state: verb } : { [verb]: value }
}

function isAmong(fails: Behaviour['fails'], verb: string): boolean {
  if (typeof fails === 'boolean') return fails
  return fails.some((one) => typeof one === 'string' && foldedName(one) === foldedName(verb))
}

async function delayed({ delayMs, hangs }: Behaviour, { clock }: DriverContext, signal: AbortSignal): Promise<void> {
  if (hangs) await new Promise(() => {})
  if (delayMs === 0) return
  await new Promise<void>((resolve, reject) => {
    const stopped = () => {
      timer.cancel()
      reject(signal.reason)
    }
    const timer = clock.after(delayMs, () => {
      signal.removeEventListener('abort', stopped)
      resolve()
    })
    signal.addEventListener('abort', stopped, { once: true })
  })
}

function behaviourOf({ config }: Row): Behaviour {
  const asked = (config ?? {}) as Readonly<Record<string, Json>>
  const ms = (value: Json | undefined) => (typeof value === 'number' && value > 0 ? Math.min(value, 60_000) : 0)
  return {
    delayMs: ms(asked.delay_ms),
    openDelayMs: ms(asked.open_delay_ms),
    fails: Array.isArray(asked.fail) ? asked.fail : asked.fail === true,
    hangs: asked.hang === true,
    isAbsent: asked.absent === true,
    counts: asked.counts === true,
  }
}
