/** The small syntax tree that a query string becomes: guards are asked of it, rows are tried against it. */
import type { QueryValue } from './query-value.ts'

/** What a condition asks; `in` is equality too, with any of the values. */
export type Operator =
  | 'in'
  | 'notin'
  | 'like'
  | 'contains'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'between'
  | 'notequal'
  | 'null'

/**
 * One column asked one thing. `in`, `like`, `contains`: any of the values; `notin`, `notequal`: none of them;
 * `between`: two values; `gt`, `gte`, `lt`, `lte`: one; `null`: one boolean.
 */
export interface Condition {
  readonly column: string
  readonly operator: Operator
  readonly values: readonly QueryValue[]
}

/** All conditions hold, and of each group of `either` at least one part. */
export interface Where {
  readonly conditions: readonly Condition[]
  readonly either: readonly (readonly Where[])[]
}

export interface OrderBy {
  readonly column: string
  readonly isDescending: boolean
}

/** A column of the answer, under another name where `alias` is there. */
export interface FieldAsk {
  readonly column: string
  readonly alias?: string
}

/** What `_fields` says; `isPlain` is false where it is anything but names of columns, and then `fault` may say what. */
export interface Fields {
  readonly columns: readonly FieldAsk[]
  readonly isPlain: boolean
  readonly fault?: string
}

/** A whole query. Names of columns are as they were sent: whether there are such columns is not known here. */
export interface Query {
  readonly where: Where
  /** 1..10,000. */
  readonly limit: number
  readonly offset: number
  /** Each column once: a second time it could decide nothing. */
  readonly order: readonly OrderBy[]
  readonly fields: Fields | undefined
  /** True: rows; a text: rows in which this column is not null. */
  readonly count: boolean | string
  readonly isInstance: boolean
}

/** What a query may cost to read. All are settings. */
export interface QueryLimits {
  /** Characters of the raw query string, which is ASCII. */
  readonly queryBytes: number
  readonly conditions: number
  /** How deep `_or` may stand in `_or`. */
  readonly depth: number
  /** Values of one condition. */
  readonly listItems: number
  /** Characters of one pattern of `_like` or `_contains`. */
  readonly patternChars: number
}
