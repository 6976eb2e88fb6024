/** Reads what tap prints and keeps what a person wants to know: counts, failures with their place, skips, slow tests. */
import { Parser, type Result } from 'tap-parser'

/** One test that failed: where, and what was seen. */
export interface Failure {
  /** Test file, title and assertion, outermost first. */
  path: string[]
  /** Tap's own facts as text: place, difference, stack; may be empty. */
  detail: string
}

/** What tap says of a file in which nothing was asked. */
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

/** A sink for tap's output and the tally it fills; `end` says that there is no more. */
export function createTally(): { tally: Tally; write(text: string): void; end(): void } {
  const tally: Tally = { passed: 0, failed: 0, skipped: [], failures: [], times: [] }
  const root = new Parser()
  watchFiles(root, tally)
  return {
    tally,
    write: (text) => void root.write(text),
    end: () => void root.end(),
  }
}

/**
 * The outermost level: one subtest per file. A file that dies before or after its tests counts as one failed test,
 * and so does a file without any.
 */
function watchFiles(root: Parser, tally: Tally): void {
  let seenBefore = 0
  let failedBefore = 0
  const fail = (path: string, detail: string) => {
    tally.failed += 1
    tally.failures.push({ path: [path], detail })
  }
  root.on('child', (file) => watchTests(file, tally))
  root.on('assert', (result) => {
    const isNew = tally.times.length > seenBefore
    if (!result.ok && tally.failed === failedBefore) fail(result.name, detailOf(result))
    else if (result.ok && !isNew && result.skip && result.skip !== EMPTY)
      tally.skipped.push({ title: result.name, reason: reasonOf(result.skip) })
    else if (result.ok && !isNew) fail(result.name, 'no test in this file')
    seenBefore = tally.times.length
    failedBefore = tally.failed
  })
  root.on('bailout', (reason) => fail('bail out', String(reason)))
}

/** Inside a file: the points at this level are its tests. */
function watchTests(file: Parser, tally: Tally): void {
  let inside: Failure[] = []
  file.on('child', (test) => {
    inside = []
    watchAssertions(test, inside)
  })
  file.on('assert', (result) => {
    const title = result.name
    if (result.skip) {
      tally.skipped.push({ title: `${file.name}: ${title}`, reason: reasonOf(result.skip) })
    } else if (result.ok) {
      tally.passed += 1
    } else {
      tally.failed += 1
      const found = inside.length > 0 ? inside : [{ path: [], detail: detailOf(result) }]
      for (const { path, detail } of found) tally.failures.push({ path: [file.name, title, ...path], detail })
    }
    tally.times.push({ title: `${file.name}: ${title}`, ms: result.time ?? 0 })
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
