/** Macros, traffic and definitions of a fake building: the real ones, over its rows. */
import { setImmediate } from 'node:timers/promises'
import { loadDefinition } from '#kit/device/load.ts'
import { shippedSets } from '#kit/test/device/shipped-sets.ts'
import type { UiParts } from '../api/ui-routes.ts'
import { createDefinitionDesk, type DefinitionFiles } from '../core/drivers/definitions.ts'
import type { Traffic } from '../core/drivers/traffic.ts'
import { createMacroDesk } from '../core/macros/desk.ts'
import { MACRO_LIMITS } from '../core/macros/values.ts'
import type { Book } from '../core/site/book.ts'

/** What they keep between calls. */
export interface FakeDesks {
  traffic: Traffic
  /** Own definitions, by name. */
  definitions: Map<string, string>
}

/** What an administrator does with macros, traffic and definitions. */
export function desksOf(house: FakeDesks, book: Book): Pick<UiParts, 'macros' | 'traffic' | 'definitions'> {
  return {
    macros: macrosOf(book),
    traffic: { look: (device, after) => house.traffic.look(device, after), lane: () => undefined },
    definitions: createDefinitionDesk({ files: filesOf(house), book, reopen: () => {}, most: 2 }),
  }
}

/** Those of the package, and those that a test has kept. */
export function filesOf({ definitions }: FakeDesks): DefinitionFiles {
  const shipped = shippedSets()
  return {
    ownNames: () => [...definitions.keys()],
    names: () => [...new Set([...shipped.names(), ...definitions.keys()])].sort(),
    source(name) {
      const own = definitions.get(name)
      if (own !== undefined) return { text: own, isOwn: true }
      const of = shipped.source(name)
      return of && { text: of.text, isOwn: false }
    },
    load: (text) => loadDefinition(new TextEncoder().encode(text)),
    async write(name, text) {
      // Like a disk, it lets others in meanwhile.
      await setImmediate()
      definitions.set(name, text)
    },
    remove: async (name) => void definitions.delete(name),
    forget() {},
  }
}

/** The real desk over the rows of the house; nothing runs there. */
function macrosOf(book: Book): UiParts['macros'] {
  const freeFrom = (table: string) => Math.max(0, ...book.rows(table).map(({ id }) => id)) + 1
  return createMacroDesk({
    site: () => ({ book, waiting: [], freeId: freeFrom }),
    ...{ limits: MACRO_LIMITS, mostRuns: 100, nowMs: () => 0, liveField: () => null, living: () => [] },
    knownVerbs: () => [{ name: 'level', label: null, schema: { properties: { level: {} } } }],
  })
}
