/** Reads what tap prints and keeps what a person wants to know: counts, failures with their place, skips, slow tests. */
import { Parser, type Result } from 'tap-parser'

/** One test that failed: where, and what was seen. */
export interface Failure {
  /** Test file, title and assertion, outermost first. */
  path: string[]
  /** Tap's own facts as text: place, difference, stack; may be empty. */
  detail: string
}

/** What tap's parser says of a file that printed nothing. */
const EMPTY = 'no tests found'

/** What was seen so far. A test is one titled test at the top of a file, whatever it asserts inside. */
export interface Tally {
  passed: number
  failed: number
  skipped: { title: string; reason: string }[]
  failures: Failure[]
  /** Every test with its time, in the order they ended. */
  times: { title: string; ms: number }[]
}

/** A tally of nothing. */
export function emptyTally(): Tally {
  return { passed: 0, failed: 0, skipped: [], failures: [], times: [] }
}

/** How a test file's process ended. */
export interface FileEnd {
  code: number | null
  signal: NodeJS.Signals | null
  /** Seconds after which it was ended, if it was. */
  lateS?: number
}

/**
 * A sink for what one test file prints, and the tally it fills. `end` takes how its process ended: a file that dies
 * before or after its tests counts as one failed test, and so does a file without any.
 */
export function createTally(file: string): { tally: Tally; write(text: string): void; end(how: FileEnd): void } {
  const tally = emptyTally()
  const parser = new Parser()
  let skipAll: string | undefined
  watchTests(parser, file, tally)
  parser.on('plan', ({ start, end, comment }) => {
    if (end < start && comment !== '' && comment !== EMPTY) skipAll = comment
  })
  parser.on('bailout', (reason) => fail(tally, [file, 'bail out'], String(reason)))
  return {
    tally,
    write: (text) => void parser.write(text),
    end({ code, signal, lateS }) {
      parser.end()
      const seen = tally.passed + tally.failed + tally.skipped.length
      if (lateS !== undefined) fail(tally, [file], `not done after ${lateS} s`)
      else if (tally.failed > 0) return
      else if (code !== 0) fail(tally, [file], code === null ? `signal: "${signal}"` : `exitCode: ${code}`)
      else if (seen > 0) return
      else if (skipAll === undefined) fail(tally, [file], 'no test in this file')
      else tally.skipped.push({ title: file, reason: skipAll })
    },
  }
}

function fail(tally: Tally, path: string[], detail: string): void {
  tally.failed += 1
  tally.failures.push({ path, detail })
}

/** At the top of a file: the points at this level are its tests. */
function watchTests(parser: Parser, file: string, tally: Tally): void {
  let inside: Failure[] = []
  parser.on('child', (test) => {
    inside = []
    watchAssertions(test, inside)
  })
  parser.on('assert', (result) => {
    const title = result.name
    if (result.skip) {
      tally.skipped.push({ title: `${file}: ${title}`, reason: reasonOf(result.skip) })
    } else if (result.ok) {
      tally.passed += 1
    } else {
      tally.failed += 1
      const found = inside.length > 0 ? inside : [{ path: [], detail: detailOf(result) }]
      for (const { path, detail } of found) tally.failures.push({ path: [file, title, ...path], detail })
    }
    tally.times.push({ title: `${file}: ${title}`, ms: result.time ?? 0 })
    inside = []
  })
}

/** Deeper: only failures matter. */
function watchAssertions(test: Parser, into: Failure[]): void {
  let deeper: Failure[] = []
  test.on('child', (child) => {
    deeper = []
    watchAssertions(child, deeper)
  })
  test.on('assert', (result) => {
    if (!result.ok && !result.skip && !result.todo) {
      const found = deeper.length > 0 ? deeper : [{ path: [], detail: detailOf(result) }]
      for (const { path, detail } of found) into.push({ path: [result.name, ...path], detail })
    }
    deeper = []
  })
}

function reasonOf(skip: string | boolean): string {
  return typeof skip === 'string' && skip !== '' ? skip : 'no reason given'
}

/** The facts that lead to the place; tap adds the source around it, which an editor shows better. */
function detailOf(result: Result): string {
  const facts = (result.diag ?? {}) as Record<string, unknown>
  const lines: string[] = []
  const place = facts.at as { fileName?: string; lineNumber?: number } | undefined
  if (place?.fileName) lines.push(`at ${place.fileName}:${place.lineNumber ?? '?'}`)
  if (typeof facts.diff === 'string') lines.push(facts.diff.trimEnd())
  else if (facts.found !== undefined || facts.wanted !== undefined)
    lines.push(`found:  ${JSON.stringify(facts.found)}`, `wanted: ${JSON.stringify(facts.wanted)}`)
  if (typeof facts.stack === 'string' && facts.diff === undefined) lines.push(facts.stack.trimEnd())
  for (const key of ['code', 'message', 'expired', 'signal', 'exitCode'])
    if (facts[key] !== undefined && facts[key] !== null) lines.push(`${key}: ${JSON.stringify(facts[key])}`)
  return lines.join('\n')
}
