/** A fake ptp4l: what it would report about a master whose time is known exactly. */
import type { Clock } from '#kit/clock.ts'
import type { PtpListener, PtpProgram } from '../../../core/ptp/clock.ts'
import type { AudioClock } from '../../../core/ptp/ptp.ts'
import { noise } from './noise.ts'

export const OWN = '02-00-00-FF-FE-00-00-01'
export const OTHER = '00-1D-C1-FF-FE-12-34-56'
export const THIRD = '00-1D-C1-FF-FE-65-43-21'

/** A master on the wire. */
export interface FakeMaster {
  id: string
  /** Its rate relative to the board's CLOCK_MONOTONIC. */
  ppb: number
  /** Its time minus the board's time of day when it appears. */
  aheadNs: number
  /** Standard deviation of the measurements. */
  noiseNs: number
  /** Seconds ahead of UTC, as for a clock on TAI. */
  utcOffsetS: number
}

/** At CLOCK_MONOTONIC `atNs`, its time was `differenceNs` ahead. */
type RunningMaster = FakeMaster & { atNs: bigint; differenceNs: bigint }

const GOOD: FakeMaster = { id: OTHER, ppb: 0, aheadNs: 0, noiseNs: 2000, utcOffsetS: 0 }
const SYNC_MS = 125
const POLL_MS = 100
const SECOND_NS = 1_000_000_000n

export class FakePtp4l implements PtpProgram {
  isStopped = false
  readonly #audio
  readonly #random
  #listener: PtpListener | undefined
  #master: RunningMaster | undefined
  #sync = { ingressNs: 0n, offsetNs: 0n }
  #isPolled = false
  #isSilent = false

  constructor(clock: Clock, audio: AudioClock, seed: number) {
    this.#audio = audio
    this.#random = noise(seed)
    clock.every(SYNC_MS, () => this.#hearSync())
    clock.every(POLL_MS, () => this.#tellTime())
  }

  start(listener: PtpListener): void {
    this.#listener = listener
  }

  async stop(): Promise<void> {
    this.isStopped = true
  }

  get listener(): PtpListener {
    if (!this.#listener) throw new Error('it was not started')
    return this.#listener
  }

  /** It answers, and receives no master. */
  hearNobody(): void {
    this.#become(undefined, 'LISTENING')
  }

  becomeMaster(): void {
    this.#become(undefined, 'MASTER')
  }

  /** Another clock wins; omitted values are those of a good one. */
  hear(given: Partial<FakeMaster> = {}): void {
    const { monotonicNs: atNs, realtimeNs } = this.#audio.read()
    const full = { ...GOOD, ...given }
    const differenceNs = realtimeNs - atNs + BigInt(full.aheadNs) + BigInt(full.utcOffsetS) * SECOND_NS
    this.#become({ ...full, atNs, differenceNs }, 'UNCALIBRATED')
  }

  /** The master's Syncs stop; the last is repeated. */
  silence(): void {
    this.#isSilent = true
  }

  stopPolling(): void {
    this.#isPolled = false
  }

  stepMaster(byNs: bigint): void {
    if (this.#master) this.#master.differenceNs += byNs
  }

  /** Changes the master's rate from now on. */
  speedMaster(ppb: number): void {
    if (!this.#master) return
    const { monotonicNs: atNs } = this.#audio.read()
    this.#master = { ...this.#master, ppb, differenceNs: this.masterNs() - atNs, atNs }
  }

  masterNs(): bigint {
    if (!this.#master) throw new Error('there is no master')
    const { monotonicNs } = this.#audio.read()
    const { atNs, differenceNs, ppb } = this.#master
    return monotonicNs + differenceNs + ((monotonicNs - atNs) * BigInt(ppb)) / SECOND_NS
  }

  #become(master: RunningMaster | undefined, state: string): void {
    this.#master = master
    this.#isPolled = true
    this.#isSilent = false
    const grandmaster = master?.id ?? OWN
    const isPtpTimescale = (master?.utcOffsetS ?? 0) > 0
    const { listener } = this
    listener.answer({ kind: 'default', clock: OWN, priority1: 128, domain: 0 })
    listener.answer({ kind: 'port', state })
    listener.answer({ kind: 'parent', grandmaster, priority1: 100, priority2: 128, clockClass: 248 })
    listener.answer({ kind: 'time_properties', isPtpTimescale })
    listener.answer({ kind: 'grandmaster_settings', utcOffsetS: master?.utcOffsetS || 37 })
    listener.answer({ kind: 'current', stepsRemoved: 1, pathDelayNs: 3157 })
  }

  /** A master on TAI is compared in UTC. @source linuxptp clock.c, clock_utc_correct */
  #hearSync(): void {
    if (!this.#master || this.#isSilent) return
    const { realtimeNs } = this.#audio.read()
    const utcNs = this.masterNs() - BigInt(this.#master.utcOffsetS) * SECOND_NS
    const offNs = BigInt(Math.round(this.#random.normal() * this.#master.noiseNs))
    this.#sync = { ingressNs: realtimeNs, offsetNs: realtimeNs - utcNs + offNs }
  }

  #tellTime(): void {
    if (!this.#isPolled) return
    const grandmaster = this.#master?.id ?? OWN
    const isGrandmasterElsewhere = this.#master !== undefined
    this.listener.answer({ kind: 'time_status', ...this.#sync, isGrandmasterElsewhere, grandmaster })
  }
}
