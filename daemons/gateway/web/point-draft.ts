/** Fields of a new point that another page has found, as they stand in the address of its form. */
import type { Values } from '#kit/web/form.ts'
import type { PointDefinition } from '../core/points/definition.ts'

const FIELDS = ['unitId', 'fc', 'address', 'type', 'wordOrder', 'byteOrder', 'bit', 'length', 'scale'] as const

/** What is null or left out keeps its default. */
type PointDraft = Partial<Pick<PointDefinition, (typeof FIELDS)[number]>>

/** As a word of the address: `unitId=1&fc=4&address=0`. */
export function wordOfDraft(draft: PointDraft): string {
  const query = new URLSearchParams()
  for (const name of FIELDS) {
    const value = draft[name]
    if (value !== undefined && value !== null) query.set(name, String(value))
  }
  return query.toString()
}

/** The fields of the form that the word gives; all others are left out. */
export function draftOfWord(word: string): Values {
  const query = new URLSearchParams(word)
  return Object.fromEntries(FIELDS.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? '']] : [])))
}
