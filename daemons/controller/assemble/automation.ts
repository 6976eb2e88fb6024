/** Combines what the building does by itself: schedules, triggers, and the runs that they start. */

import { faultOf } from '#kit/pure/fault.ts'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { limitsOf } from '../core/keys.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import type { LiveValues } from '../core/live/live-values.ts'
import type { MacroEngine } from '../core/macros/engine.ts'
import { HouseRuns } from '../core/macros/house-runs.ts'
import type { MacroBook } from '../core/macros/plan.ts'
import { Schedules } from '../core/schedules/schedules.ts'
import { holdsSecret, NAME_RULES } from '../core/secrets.ts'
import type { Book } from '../core/site/book.ts'
import type { AttributeFeed } from '../core/triggers/ports.ts'
import { createDeviceFeed, Triggers } from '../core/triggers/triggers.ts'
import type { House } from './house.ts'

/** Schedules and triggers of a building. */
export interface Automation {
  schedules: Pick<Schedules, 'list'>
  triggers: Pick<Triggers, 'list' | 'hook' | 'called'>
  /** Call this when rows of the site have changed. */
  refresh(): void
}

/** Tells triggers which attributes have changed, and how many runs led to it. */
export interface AttributeChanges {
  /** Whatever changes during `change` was set by a run with this chain. */
  within<Result>(chain: number, change: () => Result): Result
  onChange: AttributeFeed['onChange']
}

/** @param values tell their listeners before `set` returns, so it is known what led to a change */
export function createAttributeChanges(values: Pick<LiveValues, 'onChange'>): AttributeChanges {
  let chainNow = 0
  return {
    within(chain, change) {
      const before = chainNow
      chainNow = chain
      try {
        return change()
      } finally {
        chainNow = before
      }
    },
    onChange: (listener) =>
      values.onChange(({ attributeId }) => {
        if (attributeId !== undefined) listener(attributeId, chainNow)
      }),
  }
}

interface AutomationNeeds {
  book: MacroBook
  engine: MacroEngine
  live: LiveBook
  attributes: AttributeChanges
}

export function openAutomation(house: House, { book, engine, live, attributes }: AutomationNeeds): Automation {
  const { audit, context, site } = house
  const { clock, config, parts } = context
  const limits = limitsOf(config.macros)
  const runs = new HouseRuns({ book, engine, audit, clock, limits })
  const schedules = openSchedules(house, runs)
  const triggers = new Triggers({
    ...{
      book: site.book,
      clock,
      runs,
      attributes: attributeFeed(site.book, attributes),
      devices: createDeviceFeed(live),
    },
    limits: { ...limitsOf(config.triggers), longestMs: limits.longestMs },
  })
  parts.add({
    name: 'schedules and triggers',
    start() {
      triggers.start()
      schedules.start()
    },
    stop() {
      schedules.stop()
      triggers.stop()
      runs.stop()
    },
  })
  const refresh = () => {
    triggers.refresh()
    schedules.refresh()
  }
  return { schedules, triggers, refresh }
}

function openSchedules({ context, site }: House, runs: HouseRuns): Schedules {
  const { clock, config, log } = context
  const at = (ms: number) => new Date(ms).toISOString()
  return new Schedules({
    ...{ book: site.book, clock, limits: limitsOf(config.schedules) },
    run: (row, dueMs) => runs.start({ kind: 'schedule', row, event: { due: at(dueMs) }, chain: 0 }),
    missed(row, dueMs) {
      log.notice('schedule_missed', { schedule: row.id, due: at(dueMs) })
      runs.refuse({ kind: 'schedule', row, event: {}, chain: 0 }, `its time of ${at(dueMs)} was missed`, 'missed')
    },
    keep(id, lastAt) {
      // It runs again after a restart then, if that is soon; the disk has its own alarm.
      site.keeper.change('schedule', id, { last_at: lastAt }).catch((error) => {
        log.error('schedule_not_kept', { schedule: id, fault: faultOf(error, 'store_write_failed', 'not written') })
      })
    },
  })
}

function attributeFeed(book: Book, { onChange }: AttributeChanges): AttributeFeed {
  return {
    onChange,
    read(id) {
      const row = book.row('attribute', id)
      if (row === undefined) return undefined
      const value = typeof row.value === 'string' ? row.value : null
      const isSecret = row.secure === true || isSensitiveName(String(row.name)) || holdsSecret(NAME_RULES, value)
      return { value, isSecret }
    },
  }
}
