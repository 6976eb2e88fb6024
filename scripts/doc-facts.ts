/** Facts of the sources that the docs must state: routes, fault codes, settings, state tables. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { TObject } from 'typebox'
import { journalRoutes, kitRoutes, whoMay } from '#kit/http/kit-routes.ts'
import { ledgerRoutes } from '#kit/http/ledger-routes.ts'
import type { Described, Route } from '#kit/http/route.ts'
import { isPathBelow } from '#kit/http/surface.ts'
import { CODES_OF_VARIABLES } from './fault-codes.ts'

/** One route of a daemon. Sockets have the method `WS`. */
export interface RouteFact {
  method: string
  path: string
  who: string
  summary: string
}

/** A fault code and its HTTP status; undefined if no request gets it. */
export interface CodeFact {
  code: string
  status: number | undefined
  /** It has a status in a table, but no source creates it. */
  isListedOnly: boolean
}

/** A state table in a daemon's core or in kit/pure, exported as `...Table`: state, then event, then next state. */
export interface TableFact {
  file: string
  name: string
  table: Record<string, Record<string, string>>
}

/**
 * Routes of one daemon: those made by its factories in `api/`, the endpoints of its surface, and those of every daemon.
 * Sorted by path.
 */
export async function routesOf(root: string, daemon: string): Promise<RouteFact[]> {
  const found = (await describedOf(root, daemon)).map(factOf)
  return found.sort((a, b) => a.path.localeCompare(b.path, 'en') || a.method.localeCompare(b.method, 'en'))
}

/** The same, as made by their factories, sockets included; for a board those of every role. */
export async function describedOf(root: string, daemon: string): Promise<Described[]> {
  const found: Described[] = []
  let prefix: string | undefined
  for (const file of globSync(`daemons/${daemon}/{api,roles/*/api}/*.ts`, { cwd: root }).sort()) {
    const exported: Record<string, unknown> = await import(pathToFileURL(join(root, file)).href)
    for (const [name, value] of Object.entries(exported)) {
      if (Array.isArray(value) && /Description$/.test(name)) {
        found.push(...value)
        prefix = `/${value[0].path.split('/')[1]}`
      }
      // This factory repeats the routes of the other roles.
      if (typeof value !== 'function' || !/Routes?$/.test(name) || name === 'otherRoleRoutes') continue
      // A factory uses its dependencies only when a request comes, so a stand-in that accepts anything will do.
      const made: unknown = value(anything(), anything(), anything(), anything())
      for (const route of [made].flat()) if (isRoute(route)) found.push(route)
    }
  }
  return [...found, ...routesOfAll(prefix)]
}

/** Routes of every daemon, except those replaced by its own surface. */
function routesOfAll(prefix: string | undefined): Route[] {
  const surface = prefix === undefined ? undefined : { prefix }
  const all = [
    ...kitRoutes({ surface } as never),
    ...journalRoutes(anything() as never),
    ...ledgerRoutes(anything() as never),
  ]
  return all.filter(({ path }) => prefix === undefined || !isPathBelow(path, prefix))
}

/** Every fault code of the sources: passed to `Fault` or `faultOf` as text, or listed with a status. */
export function codesOf(root: string): CodeFact[] {
  const statusOf = new Map<string, number>()
  const made = new Set<string>()
  for (const [file, codes] of Object.entries(CODES_OF_VARIABLES))
    if (existsSync(join(root, file))) for (const code of codes) made.add(code)
  for (const text of sourcesOf(root)) {
    for (const [, code] of text.matchAll(/\bFault\(\s*'([a-z][a-z0-9_]*)'/g)) made.add(code ?? '')
    for (const [, code] of text.matchAll(/\bfaultOf\([^'`]*?,\s*'([a-z][a-z0-9_]*)'/g)) made.add(code ?? '')
    for (const [, table] of text.matchAll(STATUS_TABLE))
      for (const [, code, status] of (table ?? '').matchAll(/\b([a-z][a-z0-9_]*): (\d{3}),/g))
        statusOf.set(code ?? '', Number(status))
  }
  const codes = [...new Set([...made, ...statusOf.keys()])].sort()
  return codes.map((code) => ({
    code,
    status: statusOf.get(code),
    isListedOnly: !made.has(code) && !isCodeMade(root, code),
  }))
}

/** A table from code to HTTP status, under its names in kit, in parts of a daemon and in daemons. */
const STATUS_TABLE = /(?:KIT_STATUS|FAULT_STATUS|faultStatus)\b[^=;]*=\s*{([^}]*)}/g

/** Whether the sources create a code: written out, or composed as in `modbus_${flaw}`. */
export function isCodeMade(root: string, code: string): boolean {
  const written = new RegExp(`['"\`]${code}['"\`]|\\b${code}:(?! \\d{3},)`)
  return sourcesOf(root).some((text) => {
    if (written.test(text)) return true
    const begun = [...text.matchAll(/`([a-z]+_)\$\{\w+\}`/g)].map(([, prefix]) => prefix ?? '')
    return begun.some((prefix) => {
      const rest = code.startsWith(prefix) ? code.slice(prefix.length) : ''
      return rest !== '' && new RegExp(`['"]${rest}['"]|\\b${rest}:`).test(text)
    })
  })
}

/** A daemon's settings schema. */
export async function settingsOf(root: string, daemon: string): Promise<TObject> {
  const { config } = await import(pathToFileURL(join(root, `daemons/${daemon}/config.ts`)).href)
  return config
}

/** Every state table of the cores, and of kit's pure part and records. */
export async function stateTables(root: string): Promise<TableFact[]> {
  const found: TableFact[] = []
  for (const file of globSync('{daemons/**/core,kit/pure,kit/records}/**/*.ts', { cwd: root }).sort()) {
    if (!/^export const \w+Table\b/m.test(readFileSync(join(root, file), 'utf8'))) continue
    const exported: Record<string, unknown> = await import(pathToFileURL(join(root, file)).href)
    for (const [name, value] of Object.entries(exported))
      if (/Table$/.test(name) && isTable(value)) found.push({ file, name, table: value })
  }
  return found
}

/** Whether it maps state and event to a state: other tables, such as schemas, contain other things. */
function isTable(value: unknown): value is TableFact['table'] {
  const rows = typeof value === 'object' && value !== null ? Object.values(value) : ['']
  const isRow = (row: unknown) => typeof row === 'object' && row !== null
  return rows.every((row) => isRow(row) && Object.values(row).every((next) => typeof next === 'string'))
}

function sourcesOf(root: string): string[] {
  return globSync('{daemons,kit,native,scripts}/**/*.ts', { cwd: root })
    .filter((file) => !/(^|\/)(node_modules|test)\/|\.test\.ts$/.test(file))
    .map((file) => readFileSync(join(root, file), 'utf8'))
}

function isRoute(value: unknown): value is Route {
  return typeof value === 'object' && value !== null && 'path' in value && 'who' in value
}

function factOf(route: Omit<Described, 'method'> & Partial<Pick<Described, 'method'>>): RouteFact {
  const { method = 'WS', path, summary } = route
  return { method, path, who: whoMay(route), summary }
}

/** Accepts every property, call and comparison, and always returns itself. */
function anything(): unknown {
  const self: unknown = new Proxy(() => undefined, {
    get: (_target, key) => (key === Symbol.toPrimitive ? () => 0 : key === Symbol.iterator ? () => [].values() : self),
    apply: () => self,
  })
  return self
}
