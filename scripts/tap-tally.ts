/** Parses tap's output into what a person wants to know: counts, failures with their place, skips, slow tests. */
import { Parser, type Result } from 'tap-parser'

/** One failed test: where, and what was seen. */
export interface Failure {
  /** Test file, title and assertion, outermost first. */
  path: string[]
  /** Tap's diagnostics as text: place, difference, stack; may be empty. */
  detail: string
}

/** What tap's parser reports for a file that printed nothing. */
const EMPTY = 'no tests found'

/** Results so far. A test is one titled test at the top of a file, whatever it asserts inside. */
export interface Tally {
  passed: number
  failed: number
  skipped: { title: string; reason: string }[]
  failures: Failure[]
  /** Every test with its duration, in the order they ended. */
  times: { title: string; ms: number }[]
  /** Files that shared a process, with their ms. */
  files: Record<string, number>
}

/** An empty tally. */
export function emptyTally(): Tally {
  return { passed: 0, failed: 0, skipped: [], failures: [], times: [], files: {} }
}

/** How a test file's process ended. */
export interface FileEnd {
  code: number | null
  signal: NodeJS.Signals | null
  /** Seconds after which it was killed, if it was. */
  lateS?: number
}

/**
 * A sink for the output of a process that runs `files`, and the tally it fills. `end` takes how the process ended: a
 * file that dies before or after its tests counts as one failed test, and so does a file without any. With several
 * files each is one test at the top, under its name (tests-together.ts).
 */
export function createTally(files: readonly string[]): {
  tally: Tally
  write(text: string): void
  end(how: FileEnd): void
} {
  const tally = emptyTally()
  const parser = new Parser()
  const [first = ''] = files
  const ends = new Map<string, () => void>()
  const unheard = new Set<string>()
  if (files.length === 1) ends.set(first, watchFile(parser, first, tally))
  else watchFiles({ parser, files, unheard, ends, tally })
  parser.on('bailout', (reason) => fail(tally, [first, 'bail out'], String(reason)))
  return {
    tally,
    write: (text) => void parser.write(text),
    end({ code, signal, lateS }) {
      parser.end()
      const how = code === null ? `signal: "${signal}"` : `exitCode: ${code}`
      if (lateS !== undefined) fail(tally, [first], `not done after ${lateS} s`)
      else if (tally.failed === 0 && code !== 0) fail(tally, [first], how)
      for (const file of unheard) fail(tally, [file], `not run: the process that it shares with others ended, ${how}`)
      if (tally.failed === 0 || files.length > 1) for (const [file, endFile] of ends) if (!unheard.has(file)) endFile()
    },
  }
}

interface Watched {
  parser: Parser
  files: readonly string[]
  /** Files that have not ended. */
  unheard: Set<string>
  /** What to do for each file at the end. */
  ends: Map<string, () => void>
  tally: Tally
}

/** Each top-level test point is a file. */
function watchFiles({ parser, files, unheard, ends, tally }: Watched): void {
  for (const file of files) unheard.add(file)
  let failedBefore = 0
  parser.on('child', (child) => {
    if (unheard.has(child.name)) ends.set(child.name, watchFile(child, child.name, tally))
  })
  parser.on('assert', (result) => {
    const isFile = unheard.delete(result.name)
    // Failures inside a test are counted there; this is an unreadable file, or a test point of tap's own.
    if (!result.ok && (!isFile || tally.failed === failedBefore)) fail(tally, [result.name], detailOf(result))
    failedBefore = tally.failed
    tally.files[result.name] = result.time ?? 0
  })
}

/** @returns a function to call at the end: a file without any test has failed, unless it said why it has none */
function watchFile(parser: Parser, file: string, tally: Tally): () => void {
  let skipAll: string | undefined
  let seen = 0
  watchTests(parser, file, tally)
  parser.on('assert', () => {
    seen += 1
  })
  parser.on('plan', ({ start, end, comment }) => {
    if (end < start && comment !== '' && comment !== EMPTY) skipAll = comment
  })
  return () => {
    if (seen > 0) return
    if (skipAll === undefined) fail(tally, [file], 'no test in this file')
    else tally.skipped.push({ title: file, reason: skipAll })
  }
}

function fail(tally: Tally, path: string[], detail: string): void {
  tally.failed += 1
  tally.failures.push({ path, detail })
}

/** Top level of a file: the test points here are its tests. */
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

/** Deeper levels: only failures matter. */
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

/** Most lines of one failure: a difference of lists of thousands is clear from the first lines. */
const MOST_LINES = 60

/** Diagnostics that lead to the place; tap adds the source around it, which an editor shows better. */
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
  const all = lines.join('\n').split('\n')
  const more = all.length - MOST_LINES
  return more > 0 ? [...all.slice(0, MOST_LINES), `... and ${more} more lines`].join('\n') : all.join('\n')
}
