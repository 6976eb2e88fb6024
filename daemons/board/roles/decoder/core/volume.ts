/** Volume and mute: one loudness in two views, applied at once, saved a little later. */
import type { Clock } from '#kit/clock.ts'
import type { FieldFault } from '#kit/http/schema.ts'
import type { Log } from '#kit/log.ts'
import { createLateSave, type LateSaveTimes } from '../../../core/late-save.ts'
import { badFields, readSettingText, type Setting, unknownField } from '../../../core/settings/setting.ts'

// The loudness in its two views: `volume`, as on a fader, and `volume_db`.

/** Ends of `volume_db`. The lower one is silence. @source Interface 2, B, Limits */
export const SILENT_DB = -80
export const LOUDEST_DB = 12

/** Top of `volume`. */
const FULL_VOLUME = 100

/**
 * Curve of the fader: fine steps where people listen (0.7 dB a step about 0 dB), coarse ones towards silence.
 * @source docs/decisions/playing-sound.md
 */
const BEND = 1.5

/**
 * The curve: `volume_db = 12 - 92 * (1 - volume / 100) ^ 1.5`, to a hundredth of a dB.
 * @param volume 0..100
 * @returns -80 (silence) .. 12
 */
export function dbOfVolume(volume: number): number {
  const range = LOUDEST_DB - SILENT_DB
  return hundredths(LOUDEST_DB - range * (1 - volume / FULL_VOLUME) ** BEND)
}

/**
 * The inverse, as a whole number. Only silence is 0.
 * @param db -80..12
 * @returns 0..100
 */
export function volumeOfDb(db: number): number {
  if (db <= SILENT_DB) return 0
  const range = LOUDEST_DB - SILENT_DB
  const volume = FULL_VOLUME * (1 - ((LOUDEST_DB - db) / range) ** (1 / BEND))
  return Math.max(1, Math.round(volume))
}

/** Gain of samples: exactly 1 at 0 dB, 0 at silence. */
export function gainOfDb(db: number): number {
  return db <= SILENT_DB ? 0 : 10 ** (db / 20)
}

/** Rounds to a hundredth; never -0. */
function hundredths(value: number): number {
  return Math.round(value * 100) / 100 + 0
}

// Changes in either view: applied at once, saved a little later.

/** As saved. */
export interface VolumeRecord {
  /** -80 (silence) .. 12, to a hundredth. */
  volume_db: number
  mute: boolean
}

/** The answer of `GET /api/volume`. @source Interface 2, B, Volume */
export interface VolumeView extends VolumeRecord {
  /** 0..100, whole: the same loudness on the curve above. */
  volume: number
}

/** A freshly flashed board plays at the sender's level. */
export const firstVolume: VolumeRecord = { volume_db: 0, mute: false }

/** Paths of volume forms, each with its own fields. */
export type VolumePath = 'volume' | 'volume_db' | 'mute'

/** Dependencies. */
interface VolumeDeskParts {
  clock: Clock
  log: Log
  times: LateSaveTimes
  /** As loaded. */
  record: VolumeRecord
  save(record: VolumeRecord): Promise<void>
  /** Takes the gain of samples; ramps by itself. */
  apply(gain: number): void
  onChange(): void
}

const VOLUME: Setting = {
  kind: 'number',
  name: 'volume',
  group: 'Volume',
  default: FULL_VOLUME,
  min: 0,
  max: FULL_VOLUME,
  decimals: 0,
  meaning: 'Loudness as on a fader; 0 is silence.',
}

const VOLUME_DB: Setting = {
  kind: 'number',
  name: 'volume_db',
  group: 'Volume',
  default: 0,
  min: SILENT_DB,
  max: LOUDEST_DB,
  decimals: 2,
  unit: 'dB',
  meaning: 'The same in dB; -80 is silence.',
}

const MUTE: Setting = { kind: 'switch', name: 'mute', group: 'Volume', default: false, meaning: 'Silent for now.' }

/** Fields by path. @source Interface 2, B, Endpoints */
const VOLUME_FIELDS: Readonly<Record<VolumePath, readonly Setting[]>> = {
  volume: [VOLUME, MUTE],
  volume_db: [VOLUME_DB, MUTE],
  mute: [MUTE],
}

export class VolumeDesk {
  #record: VolumeRecord
  readonly #parts: VolumeDeskParts
  readonly #late: ReturnType<typeof createLateSave>

  constructor(parts: VolumeDeskParts) {
    this.#parts = parts
    this.#record = parts.record
    this.#late = createLateSave(parts.clock, parts.times, {
      save: () => parts.save(this.#record),
      failed: (fault) => parts.log.warning('volume not saved', { fault }),
    })
  }

  get view(): VolumeView {
    const { volume_db, mute } = this.#record
    return { volume: volumeOfDb(volume_db), volume_db, mute }
  }

  /** Present gain of samples. */
  get gain(): number {
    return this.#record.mute ? 0 : gainOfDb(this.#record.volume_db)
  }

  /**
   * Applies a form at once.
   * @param given texts by name
   * @throws Fault `bad_fields` with everything that is wrong
   */
  change(path: VolumePath, given: Readonly<Record<string, string>>): VolumeView {
    const record = this.#read(path, given)
    const isSame = record.volume_db === this.#record.volume_db && record.mute === this.#record.mute
    this.#record = record
    if (isSame) return this.view
    this.#parts.apply(this.gain)
    this.#late.changed()
    this.#parts.onChange()
    return this.view
  }

  /** Saves what is not saved yet. */
  close(): Promise<void> {
    return this.#late.close()
  }

  #read(path: VolumePath, given: Readonly<Record<string, string>>): VolumeRecord {
    const fields = VOLUME_FIELDS[path]
    const known = fields.map(({ name }) => name)
    const faults: FieldFault[] = Object.keys(given)
      .filter((name) => !known.includes(name))
      .map((name) => unknownField(name, known))
    const record = { ...this.#record }
    for (const setting of fields) {
      const text = given[setting.name]
      if (text === undefined) continue
      const fault = this.#take(record, setting, text)
      if (fault !== undefined) faults.push({ field: setting.name, message: fault })
    }
    if (faults.length === 0 && known.every((name) => given[name] === undefined))
      faults.push({ field: path, message: MISSING[path] })
    if (faults.length > 0) throw badFields(faults)
    return record
  }

  /** @returns why a text is invalid */
  #take(record: VolumeRecord, setting: Setting, text: string): string | undefined {
    if (setting === MUTE) {
      const mute = text.trim().toLowerCase() === 'toggle' ? !this.#record.mute : readMute(text)
      if (mute === undefined) return `${JSON.stringify(text.slice(0, 32))} is none of 1, 0 and toggle.`
      record.mute = mute
      return undefined
    }
    const { value, fault } = readSettingText(setting, text)
    if (fault !== undefined) return fault
    if (setting === VOLUME_DB) record.volume_db = hundredths(value as number)
    // Posting back the displayed value must change nothing: each time would cost a hundredth of a dB.
    else if (value !== this.view.volume) record.volume_db = dbOfVolume(value as number)
    return undefined
  }
}

const MISSING: Readonly<Record<VolumePath, string>> = {
  volume: 'Nothing is sent. Send volume (0 to 100), mute (1, 0 or toggle), or both.',
  volume_db: 'Nothing is sent. Send volume_db (-80 to 12), mute (1, 0 or toggle), or both.',
  mute: 'Nothing is sent. Send 1, 0 or toggle.',
}

/** An empty text is not a valid answer here, unlike for a box that is not ticked. */
function readMute(text: string): boolean | undefined {
  if (text.trim() === '') return undefined
  return readSettingText(MUTE, text).value as boolean | undefined
}
