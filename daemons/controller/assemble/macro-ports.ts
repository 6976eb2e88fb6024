/** What macros are given of the building: commands, attributes, what zones do, and rows that their runs are kept in. */
import { Fault } from '#kit/fault.ts'
import { createAccounts, isLive } from '../core/accounts.ts'
import { createClosing } from '../core/closing.ts'
import type { Dispatcher } from '../core/control/dispatcher.ts'
import type { Target } from '../core/control/target.ts'
import type { LiveState } from '../core/live-book.ts'
import { attributeRow, readAttribute, secretsOf } from '../core/macros/book-attributes.ts'
import type { MacroPorts, RunKeeper } from '../core/macros/ports.ts'
import type { Json } from '../core/row.ts'
import type { Changed, House } from './house.ts'

/** What the macros of a house act through. */
export interface MacroNeeds {
  dispatcher: Dispatcher
  live: LiveState
  changed: Changed
}

export function macroPorts(house: House, { dispatcher, live, changed }: MacroNeeds): MacroPorts {
  const { context, records, site } = house
  const { clock, log } = context
  const accounts = createAccounts(site.book)
  const isClosing = createClosing(site.book, clock, site.waitingOf)

  /** @throws Fault `macro_target` where it is not there, or may be several */
  function targetOf(named: Readonly<Record<string, unknown>>): Target {
    const resolved = dispatcher.resolve(named)
    if ('fault' in resolved) throw new Fault('macro_target', resolved.sentence)
    return resolved.target
  }

  return {
    clock,
    chance: Math.random,
    refusal(session, named, verb) {
      const resolved = dispatcher.resolve(named)
      // Whoever is not told what there is, is not told that this is not there.
      if ('fault' in resolved) return 'scope_denied'
      return dispatcher.checkTarget({ session, by: 'macro' }, resolved.target, verb)
    },
    sessionNow({ userId }) {
      const user = accounts.withId(userId)
      const isOver = user === undefined || !isLive(user, clock.epochMs()) || isClosing(userId)
      return isOver ? null : accounts.sessionOf(user)
    },
    dispatch: ({ target, verb, args, caller }) =>
      dispatcher.dispatch(targetOf(target), verb, args, caller === null ? undefined : { session: caller, by: 'macro' }),
    attributes: attributesOf(house, changed),
    live: {
      read(named, field) {
        const resolved = dispatcher.resolve(named)
        if ('fault' in resolved) return undefined
        return liveField(live, resolved.target, field)
      },
      onChange: (listener) => live.onChange(() => listener()),
    },
    // Whom it goes to, and how, is for people to set up; until then whoever reads the journal learns of it.
    async notify({ text, macroId, runId, userId }) {
      records.journal.record({
        ...{ who: 'plantroom', from: 'macro', what: 'notice of a macro', target: `macro ${macroId}` },
        detail: { text, runId, userId },
      })
      // Its text may hold what the caller gave: that goes to whom it is for, not into the log.
      log.notice('macro_notice', { macro: macroId, run: runId })
    },
    keeper: runKeeper(house),
    secrets: secretsOf(site.book),
  }
}

/** Rows of macro_run. */
export function runKeeper({ context, site }: House): RunKeeper {
  const { book, keeper } = site
  return {
    begin: async (run) => (await keeper.add('macro_run', run)).id,
    async end(id, end) {
      try {
        await keeper.change('macro_run', id, { ...end, trace: end.trace as unknown as Json })
      } catch (fault) {
        context.log.error('macro_run_not_kept', { run: id, fault })
      }
    },
    unended: async () => book.rows('macro_run').flatMap(({ id, ended_at }) => (ended_at === null ? [id] : [])),
  }
}

function attributesOf({ context, site }: House, changed: Changed): MacroPorts['attributes'] {
  const { book, keeper } = site
  return {
    read: (ref) => readAttribute(book, ref),
    async set(ref, value) {
      const row = attributeRow(book, ref)
      if (row === undefined) throw new Fault('macro_not_there', `there is no attribute ${ref.name} there`)
      const at = context.clock.epochMs()
      const columns = { value: textOf(value), previous_value: row.value ?? null, changed_at: at }
      const kept = keeper.change('attribute', row.id, columns)
      changed.tell()
      await kept
      await keeper.add('attribute_history', { attribute_id: row.id, value: columns.value, at })
    },
    onChange: (listener) => changed.onChange(listener),
  }
}

/** Attributes hold text. */
function textOf(value: Json): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value)
}

function liveField(live: LiveState, { zone, device }: Target, field: string): Json {
  if (zone) {
    const values = live.zone(zone.id)
    return Object.hasOwn(values, field) ? (values[field] ?? null) : null
  }
  const { state, ipAddress, lastSeenAt, error } = live.device(device?.id ?? 0)
  const values = new Map<string, Json>(Object.entries({ state, ip_address: ipAddress, last_seen: lastSeenAt, error }))
  return values.get(field) ?? null
}
