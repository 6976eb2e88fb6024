/** Device definitions as an administrator edits them: checked as text, kept as files of this machine, and put in use. */
import type { ArgRule } from '#kit/pure/device/definition.ts'
import type { Device } from '#kit/pure/device/device.ts'
import { Fault } from '#kit/pure/fault.ts'
import { placeOf, placesInJson } from '#kit/pure/json-places.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { revisionOf } from '#kit/revision.ts'
import type { Book } from '../site/book.ts'
import { driverNameOf } from './driver.ts'

/** The files of this machine: those of the package, and its own, which go before. */
export interface DefinitionFiles {
  names(): string[]
  /** Those of this machine, the ones that cannot be read too. */
  ownNames(): string[]
  source(name: string): { text: string; isOwn: boolean } | undefined
  /** Compiles a definition and runs its wire tests. @throws Fault `definition_invalid` */
  load(text: string): Device
  /** Keeps an own one. @throws Fault `definition_not_kept` */
  write(name: string, text: string): Promise<void>
  remove(name: string): Promise<void>
  /** Its file has changed. */
  forget(name: string): void
}

interface DefinitionParts {
  files: DefinitionFiles
  book: Pick<Book, 'rows'>
  /** Drives a device anew. */
  reopen(deviceId: number): void
  /** Most definitions of the machine's own. */
  most: number
}

/** A definition in the list. */
export interface DefinitionLine {
  readonly name: string
  readonly title: string | null
  readonly version: string | null
  readonly own: boolean
  /** Why it cannot be used; null if it can. */
  readonly flaw: string | null
  readonly devices: readonly { readonly id: number; readonly name: string }[]
}

/** One fault, where it stands in the text. */
export interface PlacedFault {
  readonly path: string
  readonly message: string
  readonly line: number
  readonly column: number
}

/** An argument as a console asks for it. */
export interface ArgView {
  readonly name: string
  readonly type: ArgRule['type']
  readonly minimum: number | null
  readonly maximum: number | null
  readonly choices: readonly string[] | null
}

/** What is known of a text. */
export interface DefinitionCheck {
  readonly name: string | null
  readonly title: string | null
  readonly faults: readonly PlacedFault[]
  /** Wire tests that hold; null if it did not come to them. */
  readonly tests: number | null
  readonly commands: readonly {
    readonly name: string
    readonly title: string | null
    readonly args: readonly ArgView[]
  }[]
}

/** As the editor opens it. */
export interface OpenDefinition {
  readonly name: string
  readonly text: string
  readonly own: boolean
  /** Of the text; a save that began with another is refused. */
  readonly revision: string
  readonly devices: DefinitionLine['devices']
}

/** Definitions of this machine, for an administrator. */
export interface UiDefinitions {
  list(): readonly DefinitionLine[]
  open(name: string): OpenDefinition | undefined
  check(text: string): DefinitionCheck
  /**
   * Keeps a text as an own definition, and drives the devices that use it by it.
   * @param revision of what the editor began with; null for a new one
   * @throws Fault `definition_invalid`, `definition_changed`, `definition_not_kept`
   */
  save(text: string, revision: string | null): Promise<OpenDefinition>
  /** Forgets an own one; that of the package of the same name comes back. @throws Fault `definition_unknown` */
  remove(name: string): Promise<void>
}

export function createDefinitionDesk(parts: DefinitionParts): UiDefinitions {
  const { files } = parts
  const inTurn = createSerialTurn()
  const factsOf = createFacts(files)

  function open(name: string): OpenDefinition | undefined {
    const source = files.source(name)
    if (source === undefined) return undefined
    const { text, isOwn } = source
    return { name, text, own: isOwn, revision: revisionOf(text), devices: devicesBy(parts.book, name) }
  }

  function put(name: string): void {
    files.forget(name)
    for (const { id } of devicesBy(parts.book, name)) parts.reopen(id)
  }

  return {
    list() {
      const own = new Set(files.ownNames())
      return factsOf(files.names()).map((facts) => ({
        ...facts,
        ...{ own: own.has(facts.name), devices: devicesBy(parts.book, facts.name) },
      }))
    },
    open,
    check: (text) => checked(files, text),
    async save(text, revision) {
      const { name } = files.load(text).definition
      return inTurn(async () => {
        if ((open(name)?.revision ?? null) !== revision)
          throw new Fault('definition_changed', changedSentence(name, revision === null))
        const own = files.ownNames()
        if (!own.includes(name) && own.length >= parts.most)
          throw new Fault(
            'definition_not_kept',
            `There are ${own.length} own definitions already (drivers.own_definitions).`,
          )
        await files.write(name, text)
        put(name)
        return open(name) as OpenDefinition
      })
    },
    remove: (name) =>
      inTurn(async () => {
        if (!files.ownNames().includes(name))
          throw new Fault('definition_unknown', `There is no own definition ${name}.`)
        await files.remove(name)
        put(name)
      }),
  }
}

function changedSentence(name: string, isNew: boolean): string {
  if (isNew) return `There is a definition ${name} already. Open it to change it, or give this one another name.`
  return `Somebody else has changed ${name} meanwhile, or its name is another now. Open it again to see it.`
}

function devicesBy(book: DefinitionParts['book'], name: string): { id: number; name: string }[] {
  return book
    .rows('device')
    .filter((row) => row.command_set === name && driverNameOf(row) === 'command_set')
    .map((row) => ({ id: row.id, name: String(row.name) }))
}

type Facts = Pick<DefinitionLine, 'name' | 'title' | 'version' | 'flaw'>

/** @returns what files say of themselves; wire tests run again only for a text that is another since the last call */
function createFacts(files: DefinitionFiles): (names: readonly string[]) => Facts[] {
  let known = new Map<string, Facts>()

  function read(name: string, text: string): Facts {
    const { title, version } = files.load(text).definition
    return { name, title, version, flaw: null }
  }

  return (names) => {
    const before = known
    known = new Map()
    return names.map((name) =>
      orFlaw(name, () => {
        const text = files.source(name)?.text ?? ''
        const key = `${name} ${revisionOf(text)}`
        const facts = before.get(key) ?? orFlaw(name, () => read(name, text))
        known.set(key, facts)
        return facts
      }),
    )
  }
}

function orFlaw(name: string, read: () => Facts): Facts {
  try {
    return read()
  } catch (fault) {
    return { name, title: null, version: null, flaw: (fault as Error).message }
  }
}

// Checking a text: every fault with its place.

function checked(files: DefinitionFiles, text: string): DefinitionCheck {
  try {
    const { definition, commands } = files.load(text)
    return {
      ...{ name: definition.name, title: definition.title, faults: [], tests: definition.tests.length },
      commands: [...commands.values()].map(({ name, args }) => ({
        ...{ name, title: definition.commands[name]?.title ?? null },
        args: [...args].map(([arg, rule]) => argView(arg, rule, definition.enums)),
      })),
    }
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'definition_invalid') throw thrown
    const said = (thrown.details?.faults ?? []) as readonly { path: string; message: string }[]
    const place = placesInJson(text)
    const faults = said.map(({ path, message }) => {
      const at = path === '' ? syntaxPlace(text, message) : undefined
      return { path, message, ...(at ?? place(path)) }
    })
    return {
      name: null,
      title: null,
      faults: faults.toSorted((one, other) => one.line - other.line),
      tests: null,
      commands: [],
    }
  }
}

/** V8 says where the text stops being JSON: `... at position 12 (line 1 column 13)`. */
function syntaxPlace(text: string, message: string) {
  const [, offset] = /at position (\d+)/.exec(message) ?? []
  if (offset !== undefined) return placeOf(text, Number(offset))
  return /end of JSON/.test(message) ? placeOf(text, text.length) : undefined
}

function argView(name: string, rule: ArgRule, enums: Device['definition']['enums']): ArgView {
  const bounds = 'min' in rule ? { minimum: rule.min, maximum: rule.max } : { minimum: null, maximum: null }
  const choices = rule.type === 'enum' ? Object.keys(enums?.[rule.of] ?? {}) : null
  return { name, type: rule.type, ...bounds, choices }
}
