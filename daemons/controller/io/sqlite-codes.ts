/** What the codes of SQLite's errors mean. @source SQLite, Result and Error Codes */

/** The kind is the low byte; what stands above tells in detail where it was met. */
const KIND = 0xff

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26])

/** SQLITE_FULL. */
const FULL = 13

/** The file is no database, or a damaged one. @param code as `errcode` of an error; undefined where it has none */
export function isDamaged(code: number | undefined): boolean {
  return DAMAGED.has((code ?? 0) & KIND)
}

/** The disk has no room. @param code as `errcode` of an error; undefined where it has none */
export function isDiskFull(code: number | undefined): boolean {
  return ((code ?? 0) & KIND) === FULL
}
