/** The generated parts of the docs, between markers: routes, settings, memory, state tables. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { referenceOf } from '#kit/config/load.ts'
import { type DeviceDefinition, deviceDefinition } from '#kit/pure/device/definition.ts'
import { type RouteFact, routesOf, settingsOf, stateTables, type TableFact } from './doc-facts.ts'
import { memorySum, memoryTable } from './memory-facts.ts'

/** `<!-- generated: routes gateway -->` up to `<!-- end -->`. */
const PART = /(<!-- generated: (\w+)(?: ([\w-]+))? -->\n)([\s\S]*?)(<!-- end -->)/g

/** Files whose generated parts differ from the sources; `write` updates them. */
export async function staleParts(root: string, { write = false } = {}): Promise<string[]> {
  const stale: string[] = []
  for (const file of globSync('{docs/*.md,README.md}', { cwd: root }).sort()) {
    const text = readFileSync(join(root, file), 'utf8')
    const fresh = await withParts(root, text)
    if (fresh === text) continue
    stale.push(file)
    if (write) writeFileSync(join(root, file), fresh)
  }
  return [...stale, ...staleSchema(root, write)]
}

/** The published schema of device definitions. */
const SCHEMA = 'docs/device-definition.schema.json'

function staleSchema(root: string, write: boolean): string[] {
  if (!existsSync(join(root, DEFINITIONS))) return []
  const said = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Device definition',
    ...deviceDefinition,
  }
  const fresh = `${JSON.stringify(said, null, 1)}\n`
  const path = join(root, SCHEMA)
  if (existsSync(path) && readFileSync(path, 'utf8') === fresh) return []
  if (write) writeFileSync(path, fresh)
  return [SCHEMA]
}

async function withParts(root: string, text: string): Promise<string> {
  let fresh = text
  for (const [whole, head, kind, name, , foot] of text.matchAll(PART)) {
    const made = await partOf(root, kind ?? '', name ?? '')
    fresh = fresh.replace(whole, () => `${head}\n${made.trimEnd()}\n\n${foot}`)
  }
  return fresh
}

async function partOf(root: string, kind: string, name: string): Promise<string> {
  if (kind === 'routes') return routeTable(await routesOf(root, name))
  if (kind === 'settings') return referenceOf(await settingsOf(root, name))
  if (kind === 'devices') return deviceTable(root)
  if (kind === 'memory') return memoryTable(await memorySum(root, name))
  if (kind === 'lifecycles') return (await stateTables(root)).map(stateTable).join('\n')
  throw new Error(`no part of the docs is called '${kind}'`)
}

/** The device definitions of the package. */
const DEFINITIONS = 'kit/device/definitions'

/** One row per definition, with its first source. */
function deviceTable(root: string): string {
  const rows = globSync(`${DEFINITIONS}/*.json`, { cwd: root })
    .sort()
    .map((file) => {
      const { name, title, sources, transports }: DeviceDefinition = JSON.parse(readFileSync(join(root, file), 'utf8'))
      const ways = transports.map((way) => ('port' in way ? `${way.kind} ${way.port}` : `serial ${way.baud}`))
      return `| \`${name}\` | ${title} | ${ways.join(', ')} | ${sources[0]?.document ?? ''} |`
    })
  return ['| name | device | reached by | by this document |', '|---|---|---|---|', ...rows].join('\n')
}

function routeTable(routes: RouteFact[]): string {
  const rows = routes.map(({ method, path, who, summary }) => `| ${method} | \`${path}\` | ${who} | ${summary} |`)
  return ['| method | path | who | what it does |', '|---|---|---|---|', ...rows].join('\n')
}

/** One row per state, one column per event; an empty cell leaves the state as it is. */
function stateTable({ file, name, table }: TableFact): string {
  const events = [...new Set(Object.values(table).flatMap((row) => Object.keys(row)))]
  const rows = Object.entries(table).map(
    ([state, row]) => `| **${state}** | ${events.map((event) => row[event] ?? '').join(' | ')} |`,
  )
  const head = [`| state | ${events.join(' | ')} |`, `|---|${events.map(() => '---|').join('')}`]
  const unit = file.replace(/^daemons\//, '').replace(/\/(core|pure|records)\/.*$/, '')
  const words = name
    .replace(/Table$/, '')
    .replace(/[A-Z]/g, ' $&')
    .toLowerCase()
  return [`## ${unit} ${words}`, '', `From \`${file}\` (\`${name}\`).`, '', ...head, ...rows, ''].join('\n')
}
