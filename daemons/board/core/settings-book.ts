/** The settings of the board: read at the start, changed whole, kept before anybody is told so. */

import type { Log } from '#kit/log.ts'
import { revisionOf } from '#kit/revision.ts'
import { createTurn } from '#kit/turn.ts'
import type { BoardSettings } from './board-settings.ts'
import type { Kept } from './machine-ports.ts'
import { type Absent, type CheckedSettings, checkSettings, readSettings, type SettingsWorld } from './settings-check.ts'

/** The file: settings as they were saved, and how often. */
export interface SettingsFile {
  settings: unknown
  /** Grows by each save, whatever it changed: somebody has looked at the settings and wants them. */
  saves: number
}

/** What the settings need. */
export interface SettingsBookParts {
  file: Kept<SettingsFile | undefined>
  /** What the board has before anybody has set it up. */
  first: BoardSettings
  world: SettingsWorld
  log: Log
}

/** The settings of one life of the board. */
export interface SettingsBook {
  readonly first: BoardSettings
  /** Those that this life runs by. */
  readonly running: Readonly<BoardSettings>
  /** How often they had been saved when this life began. */
  readonly saves: number
  /** Those that are saved, and count from the next start on. */
  saved(): BoardSettings
  /** Of what is saved: what a change may be made from. */
  revision(): string
  /**
   * Takes a form, whole or of what is to change. One at a time; resolves when the settings are on the disk.
   * @param expected asked with the revision of what is saved, when it is this form's turn
   * @throws what `expected` throws; Fault `bad_fields`, `store_write_failed`; the settings are as before then
   */
  save(
    form: Readonly<Record<string, string>>,
    absent?: Absent,
    expected?: (revision: string) => void,
  ): Promise<CheckedSettings>
}

/** @throws Fault of the file */
export async function openSettingsBook({ file, first, world, log }: SettingsBookParts): Promise<SettingsBook> {
  const found = await file.load()
  const { settings: running, faults } = found ? readSettings(found.settings, first) : { settings: first, faults: [] }
  for (const { field, message } of faults) log.warning('setting not taken over', { setting: field, why: message })
  const saves = found?.saves ?? 0
  let saved = { settings: running, saves }
  const inTurn = createTurn()

  async function saveNow(form: Readonly<Record<string, string>>, absent?: Absent): Promise<CheckedSettings> {
    const checked = checkSettings(form, saved.settings, world, absent)
    const next = { settings: checked.settings, saves: saved.saves + 1 }
    await file.save(next)
    saved = next
    return checked
  }
  return {
    first,
    running,
    saves,
    saved: () => saved.settings,
    revision: () => revisionOf(saved.settings),
    // What stays as it is must be what the save before left.
    save: (form, absent, expected) =>
      inTurn(async () => {
        expected?.(revisionOf(saved.settings))
        return saveNow(form, absent)
      }),
  }
}
