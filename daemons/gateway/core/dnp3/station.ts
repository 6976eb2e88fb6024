/** The outstation of a line: its points, its clock and indications, and each of its masters, wherever it is. */
import type { Clock, Timer } from '#kit/clock.ts'
import { durationText } from '#kit/pure/text.ts'
import { IIN } from '../../wire/dnp3/application.ts'
import { namesOfIin } from '../../wire/dnp3/describe.ts'
import type { PointKind } from '../../wire/dnp3/objects.ts'
import type { MasterPayload } from '../lines/conditions.ts'
import type { AnsweredCommand } from './commands.ts'
import { EventBuffer, type EventClass, eventClasses, OutstationDatabase, type PointWish } from './database.ts'
import { Outstation, type OutstationSettings } from './outstation.ts'
import { type Dnp3Settings, mastersOf } from './settings.ts'

// The states of a master as its outstation sees it: state x event -> next state.

/**
 * - `unheard` nothing came from it since the line was opened
 * - `present` it speaks
 * - `unconfirming` it speaks, but events that were told unasked were not confirmed
 * - `left` it has closed its TCP connection
 * - `gone` it has said nothing for too long
 */
export type MasterState = 'unheard' | 'present' | 'unconfirming' | 'left' | 'gone'

export type MasterEvent = 'heard' | 'unconfirmed' | 'confirmed' | 'closed' | 'silent' | 'lineClosed'

/** A pair that is not listed does not change the state. */
export const dnp3MasterStateTable: Readonly<Record<MasterState, Partial<Record<MasterEvent, MasterState>>>> = {
  unheard: { heard: 'present', silent: 'gone' },
  present: { unconfirmed: 'unconfirming', closed: 'left', silent: 'gone', lineClosed: 'unheard' },
  unconfirming: { confirmed: 'present', closed: 'left', silent: 'gone', lineClosed: 'unheard' },
  left: { heard: 'present', silent: 'gone', lineClosed: 'unheard' },
  gone: { heard: 'present', lineClosed: 'unheard' },
}

/** A connection over which masters are reached. */
export interface Way {
  /** `line`, or the address of a TCP client. */
  readonly name: string
  send(master: number, fragment: Uint8Array, isUnasked: boolean): void
}

/** The bits that a caller may set. */
export const forcedNames = ['need_time', 'local_control', 'device_trouble', 'config_corrupt'] as const
export type ForcedIin = Partial<Record<(typeof forcedNames)[number], boolean>>
const FORCED: Readonly<Record<(typeof forcedNames)[number], number>> = {
  need_time: IIN.needTime,
  local_control: IIN.localControl,
  device_trouble: IIN.deviceTrouble,
  config_corrupt: IIN.configCorrupt,
}

interface StationParts {
  clock: Clock
  settings: Dnp3Settings
  publish(event: string, payload: unknown): void
}

/** One master. */
interface Master {
  readonly address: number
  readonly outstation: Outstation
  readonly events: EventBuffer
  state: MasterState
  way: Way | undefined
  heardAtMs: number
  silence: Timer | undefined
  /** The codes of what is wrong, as last told. */
  told: string
}

export class Station {
  readonly database: OutstationDatabase
  readonly #parts: StationParts
  readonly #masters: ReadonlyMap<number, Master>
  #forced = 0
  /** The time that a master has set, and when. */
  #time: { epochMs: number; atMs: number } | undefined

  constructor(parts: StationParts) {
    this.#parts = parts
    const { settings } = parts
    const addresses = mastersOf(settings)
    const { classes, events_per_class: most, points: sizes } = settings
    const buffers = addresses.map(() => new EventBuffer({ most, sizes, classes }))
    this.database = new OutstationDatabase({ sizes, buffers })
    this.#masters = new Map(
      addresses.map((address, at) => [address, this.#masterOf(address, buffers[at] as EventBuffer)]),
    )
  }

  /** The line is open. @param way by which masters are told of events before they have said anything */
  open(way: Way | undefined): void {
    this.#time = undefined
    for (const master of this.#masters.values()) {
      master.heardAtMs = this.#parts.clock.monotonicMs()
      this.#watch(master)
      if (way) this.#reach(master, way)
    }
  }

  /** The line is closed, and all connections with it. */
  close(): void {
    for (const master of this.#masters.values()) {
      master.silence?.cancel()
      master.silence = undefined
      master.way = undefined
      master.outstation.lost()
      this.#move(master, 'lineClosed')
    }
  }

  /** A master has said something: it is answered, and told of events, where it spoke last. */
  heard(address: number, way: Way): void {
    const master = this.#masters.get(address)
    if (!master) return
    master.heardAtMs = this.#parts.clock.monotonicMs()
    if (!master.silence) this.#watch(master)
    if (master.way !== way) this.#reach(master, way)
    this.#move(master, 'heard')
  }

  take(address: number, fragment: Uint8Array, isBroadcast: boolean): void {
    const master = this.#masters.get(address)
    master?.outstation.receive(fragment, isBroadcast)
    // What was confirmed makes room, and a freeze makes events for all.
    this.#tellTroubles()
  }

  /** A connection is closed. */
  gone(way: Way): void {
    for (const master of this.#masters.values()) {
      if (master.way !== way) continue
      master.way = undefined
      master.outstation.lost()
      this.#move(master, 'closed')
    }
  }

  /** @returns whether that made an event. @throws Fault `dnp3_unknown_point` */
  setPoint(kind: PointKind, index: number, wish: Omit<PointWish, 'timeMs'> & { timeMs?: number }): boolean {
    const isEvent = this.database.set(kind, index, { ...wish, timeMs: wish.timeMs ?? this.epochMs() })
    if (!isEvent) return false
    for (const { outstation } of this.#masters.values()) outstation.changed()
    this.#tellTroubles()
    return true
  }

  force(bits: ForcedIin): void {
    for (const name of forcedNames) {
      if (bits[name] === true) this.#forced |= FORCED[name]
      if (bits[name] === false) this.#forced &= ~FORCED[name]
    }
  }

  /** Indications that are the same for each master. */
  iin(): number {
    const { clock, settings } = this.#parts
    const isOld = !this.#time || clock.monotonicMs() - this.#time.atMs > settings.time_valid_ms
    return this.#forced | (settings.time_source === 'master' && isOld ? IIN.needTime : 0)
  }

  epochMs(): number {
    const { clock, settings } = this.#parts
    if (settings.time_source === 'own' || !this.#time) return clock.epochMs()
    return this.#time.epochMs + Math.round(clock.monotonicMs() - this.#time.atMs)
  }

  /** How things are, for people. */
  view() {
    const { settings } = this.#parts
    return {
      address: settings.address,
      timeMs: this.epochMs(),
      indications: namesOfIin(this.iin()),
      points: settings.points,
      masters: [...this.#masters.values()].map(({ address, events, outstation, state, way }) => ({
        address,
        state,
        via: way?.name ?? null,
        indications: namesOfIin(outstation.iin()),
        waiting: Object.fromEntries(eventClasses.map((one) => [`class${one}`, events.count(one)])) as Record<
          `class${EventClass}`,
          number
        >,
        isOverflown: events.isOverflown,
        assigned: events.assigned,
        unsolicited: outstation.enabled,
      })),
    }
  }

  #masterOf(address: number, events: EventBuffer): Master {
    const { clock, publish, settings } = this.#parts
    const outstation: Outstation = new Outstation({
      clock,
      events,
      settings: settingsOf(settings),
      database: this.database,
      facts: {
        iin: () => this.iin(),
        epochMs: () => this.epochMs(),
        setTime: (epochMs) => this.#setTime(address, epochMs),
      },
      send: (fragment, isUnasked) => master.way?.send(address, fragment, isUnasked),
      onCommand: (command) => publish('control', controlOf(address, command)),
      onRestart: (kind) =>
        publish('control', { masterAddress: address, kind: `${kind}_restart`, status: settings.restart_answer }),
      onTold: (isConfirmed) => this.#move(master, isConfirmed ? 'confirmed' : 'unconfirmed'),
    })
    const master: Master = {
      ...{ address, outstation, events, state: 'unheard', way: undefined },
      ...{ heardAtMs: 0, silence: undefined, told: '' },
    }
    return master
  }

  #reach(master: Master, way: Way): void {
    if (master.way) master.outstation.lost()
    master.way = way
    master.outstation.connected()
  }

  #setTime(masterAddress: number, epochMs: number): void {
    const { clock, publish, settings } = this.#parts
    const differenceMs = epochMs - this.epochMs()
    this.#forced &= ~IIN.needTime
    this.#time = { epochMs, atMs: clock.monotonicMs() }
    publish('time', { masterAddress, epochMs, differenceMs, isFollowed: settings.time_source === 'master' })
  }

  /** Looks whether a master is still there, once it might have been silent for too long. */
  #watch(master: Master): void {
    const { clock, settings } = this.#parts
    if (settings.master_timeout_ms === 0) return
    const look = () => {
      const leftMs = master.heardAtMs + settings.master_timeout_ms - clock.monotonicMs()
      master.silence = leftMs > 0 ? clock.after(leftMs, look) : undefined
      if (!master.silence) this.#move(master, 'silent')
    }
    master.silence?.cancel()
    master.silence = clock.after(settings.master_timeout_ms, look)
  }

  #move(master: Master, event: MasterEvent): void {
    const previous = master.state
    master.state = dnp3MasterStateTable[previous][event] ?? previous
    const codes = this.#troubles(master)
    if (master.state !== previous || master.told !== codes.map(({ code }) => code).join(' '))
      this.#tell(master, previous, codes)
  }

  #tellTroubles(): void {
    for (const master of this.#masters.values()) {
      const troubles = this.#troubles(master)
      if (master.told !== troubles.map(({ code }) => code).join(' ')) this.#tell(master, master.state, troubles)
    }
  }

  #tell(master: Master, previous: MasterState, troubles: MasterPayload['troubles']): void {
    master.told = troubles.map(({ code }) => code).join(' ')
    const { address: masterAddress, state, way } = master
    const payload: MasterPayload = { masterAddress, state, previous, via: way?.name ?? null, troubles }
    this.#parts.publish('master', payload)
  }

  #troubles({ address, events, state }: Master): MasterPayload['troubles'] {
    const { settings } = this.#parts
    const troubles: { code: string; message: string }[] = []
    if (state === 'gone')
      troubles.push({
        code: 'dnp3_master_gone',
        message: `Master ${address} has sent nothing for ${durationText(settings.master_timeout_ms)}: look at its cable or network, and at its address.`,
      })
    if (state === 'unconfirming')
      troubles.push({
        code: 'dnp3_unconfirmed',
        message: `Master ${address} did not confirm events that were told unasked, ${settings.unsolicited_retries + 1} times. They are kept and told again.`,
      })
    if (events.isOverflown)
      troubles.push({
        code: 'dnp3_overflow',
        message: `Events for master ${address} were lost: more than ${settings.events_per_class} of a class waited for it to read them.`,
      })
    return troubles
  }
}

/** Payload of `control`: a master commands, and was answered with `status`. */
function controlOf(masterAddress: number, command: AnsweredCommand): object {
  return { masterAddress, ...command }
}

function settingsOf(settings: Dnp3Settings): OutstationSettings {
  return {
    fragmentBytes: settings.fragment_bytes,
    confirmTimeoutMs: settings.confirm_timeout_ms,
    unsolicitedRetries: settings.unsolicited_retries,
    unsolicitedDelayMs: settings.unsolicited_delay_ms,
    unsolicitedPauseMs: settings.unsolicited_pause_ms,
    isUnsolicitedAllowed: settings.unsolicited,
    selectTimeoutMs: settings.select_timeout_ms,
    commandAnswer: settings.command_answer,
    restartAnswer: settings.restart_answer,
    restartDelayMs: settings.restart_delay_ms,
  }
}
