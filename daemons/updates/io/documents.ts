/** What all daemons on a shared store know in one piece: who signs in, and the key of publishers. */
import type { RecordStore, Row } from './records.ts'

export const DOCUMENT = 'document'

/** One of them. */
export interface DocumentOptions<Value> {
  name: string
  /** @throws what is wrong with it */
  check(value: unknown): Value
  /** Called with what another daemon saved. */
  onChange(value: Value): void
}

export interface SharedDocument<Value> {
  /** Undefined if nobody has saved it yet. */
  value: Value | undefined
  /** @throws as a keeper */
  save(value: Value): Promise<void>
}

export interface Documents {
  open<Value>(options: DocumentOptions<Value>): SharedDocument<Value>
  /** Takes over what another daemon saved. */
  follow(rows: readonly Row[]): void
}

/** @param rows those that are in the store, others among them */
export function createDocuments(store: RecordStore, rows: readonly Row[]): Documents {
  const known = new Map<string, string>()
  const handlers = new Map<string, (text: string) => void>()

  function follow(more: readonly Row[]): void {
    for (const { key, kind, record } of more) {
      if (kind !== DOCUMENT || record === null) continue
      known.set(key, record)
      handlers.get(key)?.(record)
    }
  }

  follow(rows)
  return {
    follow,
    open({ check, name, onChange }) {
      handlers.set(name, (text) => onChange(check(JSON.parse(text))))
      const text = known.get(name)
      return {
        value: text === undefined ? undefined : check(JSON.parse(text)),
        save: (value) => store.inTurn(() => store.put([{ kind: DOCUMENT, key: name, record: JSON.stringify(value) }])),
      }
    },
  }
}
