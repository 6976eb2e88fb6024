/** The reference of a daemon's settings that comes with it: every key, commented out, with its default. */
import type { TObject } from 'typebox'
import { expectedText, schemaTables } from '#kit/config/load.ts'

/**
 * TOML with every key of the schema as a comment: meaning, allowed values, `key = default`. Lines of at most 100
 * characters.
 */
export function defaultToml(name: string, schema: TObject): string {
  const lines = [`# Every setting of plantroom-${name} with its default. Nobody reads this file, and each upgrade`]
  lines.push(`# replaces it: what is to be different goes into /etc/plantroom/${name}.toml, below the same [table].`)
  lines.push(`# After a change: plantroom check-config ${name} && systemctl restart plantroom-${name}`)
  for (const [table, { properties, description }] of Object.entries(schemaTables(schema))) {
    lines.push('', ...(description ? wrapped(description) : []), `[${table}]`)
    for (const [key, property] of Object.entries(properties)) {
      lines.push('', ...wrapped(property.description ?? ''), ...wrapped(`Allowed: ${expectedText(property)}.`))
      lines.push(`#${key} = ${tomlOf(property.default)}`)
    }
  }
  return `${lines.join('\n')}\n`
}

/** A default as TOML: texts as JSON strings, which are valid TOML; long lists one entry per line. */
function tomlOf(value: unknown): string {
  if (value === undefined || value === null) return '""'
  if (!Array.isArray(value)) return JSON.stringify(value)
  const flat = `[${value.map(tomlOf).join(', ')}]`
  return flat.length <= 80 ? flat : `[\n${value.map((entry) => `#  ${tomlOf(entry)},`).join('\n')}\n#]`
}

/** Comment lines of at most 100 characters. */
function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length + 1 > 100) lines.push(`# ${word}`)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
