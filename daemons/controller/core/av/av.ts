/** Commands to sound zones: a source by name, volume within its limit, mute, ramps, and all off. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Caller, Refusal } from '../control/gates.ts'
import { type Args, decimalOf, foldedName, type Target } from '../control/reading.ts'
import type { Ack, DriverCommand, DriverHost } from '../drivers/driver.ts'
import { isObject, type Json } from '../json.ts'
import { type Book, groupedBy, type Row } from '../site/book.ts'
import { createVolumeLimits, type VolumeLimits } from './limits.ts'

/** What a sound zone does now, as far as its device has said. */
interface SoundNow {
  /** Undefined if it is not known. */
  volume: number | undefined
  mute: boolean | undefined
  /** The id of the source that plays; null if none does, or one that is in no row. */
  sourceId: number | null
}

interface AvParts {
  book: Book
  host: Pick<DriverHost, 'execute'>
  clock: Clock
  soundOf(zoneId: number): SoundNow
  /** Called when a device has taken a source: devices that do not report what they play are believed. */
  chosen(zoneId: number, sourceId: number | null): void
}

/** A command to carry out, after all gates. */
export interface AvOrder {
  target: Target
  verb: string
  args: Args
  /** Without one, nothing is checked. */
  caller: Caller | undefined
  refusal(target: Target, verb: string): Refusal | undefined
}

/** @returns undefined if the command is nothing of sound: it goes to the driver as it is. @throws Fault `args_invalid` */
export type PerformAv = (order: AvOrder) => Promise<Ack> | undefined

/** A sound zone with its rows. */
interface Sound {
  zone: Row
  device: Row
  av: Row
  /** The lowest max_volume of its output; undefined if there is none. */
  limit: number | undefined
  /** Who sent the command. */
  by: Pick<DriverCommand, 'by'>
}

const HIGHEST = 100
const STEP = 5
/** A ramp takes steps of at least 100 ms, at most so many. */
const RAMP_STEP_MS = 100
const LONGEST_RAMP_MS = 60_000

const UP: ReadonlySet<string> = new Set('up step_up increase volume_up'.split(' '))
const DOWN: ReadonlySet<string> = new Set('down step_down decrease volume_down'.split(' '))
/** Verbs that may make a silent zone sound. */
const STARTS: ReadonlySet<string> = new Set(['route', 'on', 'play'])
/** Verbs and args by which a driver may change how loud it is, in its own way. */
const LOUD = /volume|gain|loud|ramp|fade|db$|(?:^|[^a-z])vol(?:[^a-z]|$)/

export function createAv(parts: AvParts): PerformAv {
  const av = new Av(parts)
  return (order) => av.perform(order)
}

class Av {
  readonly #parts: AvParts
  readonly #limits: VolumeLimits
  readonly #ramps: ReturnType<typeof createRamps>

  constructor(parts: AvParts) {
    this.#parts = parts
    this.#limits = createVolumeLimits(parts.book)
    this.#ramps = createRamps(parts, this.#limits)
  }

  perform(order: AvOrder): Promise<Ack> | undefined {
    const { zone, device } = order.target
    const sound = this.#soundAt(order.target, order)
    if (sound) return this.#performOn(sound, order)
    refuseElevatedStream(this.#parts.book, order)
    if (zone) {
      if (this.#limits.ofZone(zone) !== undefined) refuseUnknown(order, `zone ${zone.id}`)
    } else if (device && isLimited(this.#parts.book, device)) refuseUnknown(order, `device ${device.id}`)
    return undefined
  }

  #soundAt({ zone, device }: Target, { caller }: AvOrder): Sound | undefined {
    const rows = zone ? this.#parts.book.rows('av_zone').filter(({ zone_id }) => zone_id === zone.id) : []
    const [av] = rows
    if (!zone || !device || !av) return undefined
    const by = caller === undefined ? {} : { by: caller.session.userId }
    return { zone, device, av, by, limit: this.#limits.ofZone(zone) }
  }

  #performOn(sound: Sound, order: AvOrder): Promise<Ack> | undefined {
    const { book } = this.#parts
    const { args } = order
    const verb = foldedName(order.verb)
    if (verb !== 'all_off') this.#ramps.cancel(sound.zone.id)
    if (verb === 'source' || verb === 'select') {
      const source = sourceOf(book, args)
      return source === null ? this.#stop(sound) : this.#select(sound, checkedSource(book, source, order))
    }
    if (verb === 'route' && isLimitedTo(order))
      return this.#select(sound, checkedSource(book, routedSource(book, args), order))
    if (verb === 'off' || verb === 'stop') return this.#stop(sound)
    if (verb === 'mute' || verb === 'unmute') return this.#mute(sound, verb, args)
    if (verb === 'all_off') return this.#allOff(sound, order)
    if (verb === 'volume') return this.#volume(sound, volumeOf(sound, args.volume ?? null), args)
    if (UP.has(verb)) return this.#volume(sound, 'up', args)
    if (DOWN.has(verb)) return this.#volume(sound, 'down', args)
    if (verb === 'ramp')
      return this.#ramps.start(sound, rampOf(sound, args), (next) => this.#send(sound, 'volume', { volume: next }))
    refuseLoud(verb, args, sound.limit !== undefined && `zone ${sound.zone.id}`)
    if (STARTS.has(verb)) return this.#start(sound, { verb: order.verb, args })
    return undefined
  }

  #send({ zone, device, by }: Sound, verb: string, args: DriverCommand['args']): Promise<Ack> {
    return this.#parts.host.execute(device.id, { zone, verb, args, ...by })
  }

  /**
   * Sends what makes a zone sound. A device that may be louder than the limit is turned down before, in the same turn:
   * a stop that is asked for meanwhile comes behind both.
   * @param first the volume of a zone that was silent
   */
  #start(sound: Sound, command: Pick<DriverCommand, 'verb' | 'args'>, first?: number): Promise<Ack> {
    const { zone, device, by, limit = HIGHEST } = sound
    const { volume } = this.#parts.soundOf(zone.id)
    const isTooLoud = sound.limit !== undefined && (volume === undefined || volume > limit)
    const wanted = first ?? (isTooLoud ? limit : undefined)
    if (wanted === undefined) return this.#send(sound, command.verb, command.args)
    const lead = { verb: 'volume', args: { volume: Math.max(0, Math.min(wanted, limit)) } }
    return this.#parts.host.execute(device.id, { zone, ...command, ...by, lead })
  }

  async #select(sound: Sound, source: Row): Promise<Ack> {
    const { default_volume: first } = sound.av
    const isFirst = this.#parts.soundOf(sound.zone.id).sourceId === null
    const stream = isObject(source.stream) ? source.stream : {}
    const place = { input: source.input ?? null, output: sound.av.output ?? null }
    const given = Object.entries({ ...place, ...stream }).filter(([, value]) => value !== null)
    const route = { verb: 'route', args: Object.fromEntries(given) }
    await this.#start(sound, route, isFirst && typeof first === 'number' ? first : undefined)
    this.#parts.chosen(sound.zone.id, source.id)
    return { answer: { source_id: source.id } }
  }

  async #stop(sound: Sound): Promise<Ack> {
    const ack = await this.#send(sound, 'stop', {})
    this.#parts.chosen(sound.zone.id, null)
    return ack
  }

  async #mute(sound: Sound, verb: string, args: Args): Promise<Ack> {
    const isMuted = verb === 'unmute' ? false : muteOf(args, this.#parts.soundOf(sound.zone.id).mute)
    const command = { verb: 'mute', args: { mute: isMuted } }
    return isMuted ? this.#send(sound, command.verb, command.args) : this.#start(sound, command)
  }

  #volume(sound: Sound, wish: number | 'up' | 'down', args: Args): Promise<Ack> {
    if (typeof wish === 'number') return this.#send(sound, 'volume', { volume: wish })
    const { volume: now } = this.#parts.soundOf(sound.zone.id)
    if (now === undefined) throw new Fault('driver_failed', `zone ${sound.zone.id} has not said its volume yet`)
    const next = now + (wish === 'up' ? stepOf(args) : -stepOf(args))
    return this.#send(sound, 'volume', { volume: Math.max(0, Math.min(next, sound.limit ?? HIGHEST)) })
  }

  /** Zones that the caller may not command are left alone, and not named. */
  async #allOff({ zone }: Sound, order: AvOrder): Promise<Ack> {
    const { args, refusal, caller } = order
    const { book } = this.#parts
    const sounds = zonesFrom(book, zone, args).flatMap((each) => {
      const device = typeof each.device_id === 'number' ? book.row('device', each.device_id) : undefined
      const target = device ? { zone: each, device } : { zone: each }
      const isOpen = device?.enabled !== false && (caller === undefined || refusal(target, 'stop') === undefined)
      return isOpen ? (this.#soundAt(target, order) ?? []) : []
    })
    const off: number[] = []
    const failed: { zone_id: number; error: string }[] = []
    const one = async (sound: Sound) => {
      this.#ramps.cancel(sound.zone.id)
      try {
        await this.#stop(sound)
        off.push(sound.zone.id)
      } catch (fault) {
        failed.push({ zone_id: sound.zone.id, error: (fault as Error).message })
      }
    }
    await Promise.all(sounds.map(one))
    if (off.length === 0 && failed[0]) throw new Fault('driver_failed', failed[0].error)
    return { answer: { off: off.toSorted((a, b) => a - b), failed } }
  }
}

// Args of the verbs.

/** @returns null for none. @throws Fault `args_invalid` */
function sourceOf(book: Book, args: Args): Row | null {
  const said = args.source_id ?? args.source ?? args.select ?? args.input ?? args.value ?? null
  if (said === null || said === '' || said === 'off' || said === 'none') return null
  const id = typeof said === 'number' ? said : undefined
  const found = id === undefined ? book.named('av_source', String(said)) : [book.row('av_source', id) ?? []].flat()
  const [source, other] = found as readonly Row[]
  if (source === undefined) throw new Fault('args_invalid', 'there is no source of that name or id')
  if (other !== undefined) throw new Fault('args_invalid', 'several sources have that name: give its source_id')
  return source
}

/** Whether the command is for somebody without elevation, and so for the sources that he may select. */
function isLimitedTo({ caller }: AvOrder): boolean {
  return caller !== undefined && !caller.session.isElevated
}

/**
 * A route says a stream or an input by its address, and the output of a matrix besides, which may be that of another
 * zone. Without elevation it selects the source that has this address. @throws Fault `args_invalid`
 */
function routedSource(book: Book, { mcast = null, port = null, input = null }: Args): Row {
  const isMeant = ({ stream, input: own }: Row) => {
    if (mcast === null) return input !== null && typeof own === 'string' && own !== '' && String(input) === own
    return isObject(stream) && stream.mcast === mcast && (port === null || stream.port === port)
  }
  const source = book.rows('av_source').find(isMeant)
  if (source === undefined)
    throw new Fault('args_invalid', 'no source has this stream or input: select one by its name')
  return source
}

/** @throws Fault `not_authorized` for a stream that only elevated sessions may select, where a zone has no row of its own */
function refuseElevatedStream(book: Book, order: AvOrder): void {
  if (!isLimitedTo(order) || foldedName(order.verb) !== 'route') return
  const said = new Set(Object.values(order.args).map((value) => String(value).trim()))
  for (const source of book.rows('av_source'))
    if (isObject(source.stream) && said.has(String(source.stream.mcast))) checkedSource(book, source, order)
}

/** A source on an elevated device is heard by elevated sessions alone. @throws Fault `not_authorized` */
function checkedSource(book: Book, source: Row, order: AvOrder): Row {
  const device = typeof source.device_id === 'number' ? book.row('device', source.device_id) : undefined
  if (isLimitedTo(order) && device?.elevated === true)
    throw new Fault('not_authorized', 'the source is on an elevated device', {
      details: { reason: 'elevation_denied', target: `device ${device.id}` },
    })
  if (device?.enabled === false) throw new Fault('device_disabled', `device ${device.id} of the source is disabled`)
  return source
}

function muteOf(args: Args, now: boolean | undefined): boolean {
  const said = args.mute ?? args.value ?? true
  if (said === 'toggle') return now !== true
  if (typeof said === 'boolean') return said
  if (said === 1 || said === 'on' || said === 'true') return true
  if (said === 0 || said === 'off' || said === 'false') return false
  throw new Fault('args_invalid', 'mute has to be true, false or "toggle"')
}

function volumeOf({ zone, limit = HIGHEST }: Pick<Sound, 'zone' | 'limit'>, said: Json): number | 'up' | 'down' {
  if (said === 'up' || said === 'down') return said
  const volume = decimalOf(said)
  if (volume === undefined) throw new Fault('args_invalid', 'volume has to be a number from 0, "up" or "down"')
  if (volume < 0 || volume > limit)
    throw new Fault('args_invalid', `volume ${volume} is not from 0 to ${limit}, the most of zone ${zone.id}`)
  return volume
}

function stepOf(args: Args): number {
  const step = decimalOf(args.step ?? args.value ?? STEP)
  if (step === undefined || step < 0 || step > HIGHEST)
    throw new Fault('args_invalid', `step has to be a number from 0 to ${HIGHEST}`)
  return step
}

interface RampWish {
  to: number
  durationMs: number
}

function rampOf(sound: Sound, args: Args): RampWish {
  const to = volumeOf(sound, args.volume ?? args.to ?? args.value ?? null)
  const durationMs = decimalOf(args.duration_ms ?? 1000)
  if (typeof to !== 'number') throw new Fault('args_invalid', 'a ramp has to say its volume as a number')
  if (durationMs === undefined || durationMs < 0 || durationMs > LONGEST_RAMP_MS)
    throw new Fault('args_invalid', `duration_ms has to be from 0 to ${LONGEST_RAMP_MS}`)
  return { to, durationMs }
}

/** What a driver may understand as volume is refused where there is a limit: its numbers are not ours. */
function refuseLoud(verb: string, args: Args, limited: string | false): void {
  if (limited === false) return
  const names = [
    verb,
    ...Object.keys(args)
      .map(foldedName)
      .filter((name) => name !== 'volume'),
  ]
  const loud = names.find((name) => LOUD.test(name))
  if (loud !== undefined)
    throw new Fault('args_invalid', `${limited} has a max_volume: ${JSON.stringify(loud)} is not taken, use volume`)
}

function isLimited(book: Book, device: Row): boolean {
  const zones = new Set(book.rows('zone').flatMap((zone) => (zone.device_id === device.id ? [zone.id] : [])))
  return book
    .rows('av_zone')
    .some((av) => typeof av.max_volume === 'number' && (av.device_id === device.id || zones.has(Number(av.zone_id))))
}

/**
 * A device as a whole keeps the limits of its zones, and a zone without a row those of its output; the gates have
 * compared `volume` with them.
 */
function refuseUnknown({ verb: said, args }: AvOrder, limited: string): void {
  const verb = foldedName(said)
  const isWord = verb === 'volume' && decimalOf(args.volume ?? null) === undefined
  if (UP.has(verb) || isWord) throw new Fault('args_invalid', `${limited} has a max_volume: command its sound zone`)
  refuseLoud(verb === 'volume' ? '' : verb, args, limited)
}

// All off: the zones of a group with its subgroups, or of the site.

function zonesFrom(book: Book, { zone_group_id: group }: Row, args: Args): readonly Row[] {
  const reach = args.reach ?? args.value ?? (typeof group === 'number' ? 'group' : 'site')
  if (reach !== 'group' && reach !== 'site') throw new Fault('args_invalid', 'reach has to be "group" or "site"')
  const zones = book.rows('zone')
  if (reach === 'site') return zones
  if (typeof group !== 'number') throw new Fault('args_invalid', 'the zone is in no group: reach has to be "site"')
  const below = groupedBy(book.rows('zone_group'), 'parent_id')
  const groups = new Set([group])
  // Iterating over a set also visits what is added during the loop.
  for (const id of groups) for (const { id: inner } of below.get(id) ?? []) groups.add(inner)
  return zones.filter(({ zone_group_id: id }) => typeof id === 'number' && groups.has(id))
}

// Ramps: one for each zone, ended by the next command to it.

function createRamps({ clock, soundOf }: AvParts, limits: VolumeLimits) {
  /** Also while the device takes a step: a ramp that is not in here any more sends nothing further. */
  const running = new Map<number, { timer?: Timer }>()

  function cancel(zoneId: number): void {
    running.get(zoneId)?.timer?.cancel()
    running.delete(zoneId)
  }

  /** Resolves when the device has taken the first step. */
  async function start({ zone }: Sound, wish: RampWish, send: (volume: number) => Promise<Ack>): Promise<Ack> {
    const from = soundOf(zone.id).volume
    const steps = from === undefined ? 1 : Math.max(1, Math.floor(wish.durationMs / RAMP_STEP_MS))
    const at = (step: number) => (from === undefined ? wish.to : from + ((wish.to - from) * step) / steps)
    const ramp: { timer?: Timer } = {}
    const end = () => running.get(zone.id) === ramp && running.delete(zone.id)
    const go = async (step: number): Promise<Ack> => {
      try {
        // The limit may have changed since the ramp began.
        const ack = await send(Math.round(Math.min(at(step), limits.ofZone(zone) ?? HIGHEST) * 10) / 10)
        if (step === steps) end()
        else if (running.get(zone.id) === ramp)
          ramp.timer = clock.after(RAMP_STEP_MS, () => void go(step + 1).catch(() => {}))
        return ack
      } catch (refused) {
        // A device that refuses a step ends the ramp; the first refusal is the answer.
        end()
        throw refused
      }
    }
    running.set(zone.id, ramp)
    return go(1)
  }

  return { cancel, start }
}
