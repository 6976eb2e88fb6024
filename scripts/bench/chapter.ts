/** One run of a benchmark as a chapter of its file in docs/bench. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { dirname } from 'node:path'

/** Results and conditions of a run. */
export interface Run {
  /** Heads of the table's columns. */
  heads: readonly string[]
  rows: readonly string[]
  rounds: number
  /** Load of the machine before the run. */
  load: number
  /** Conditions of the run. */
  note: string | undefined
}

/** @returns a chapter with today's date */
export function chapterOf({ heads, rows, rounds, load, note }: Run): string {
  const [cpu] = cpus()
  return [
    `## ${new Date().toISOString().slice(0, 10)}`,
    '',
    `${cpus().length} x ${cpu?.model ?? process.arch}, Linux ${release()}, Node ${process.version}; median of ${rounds} rounds.`,
    `Load of the machine before the run ${load.toFixed(1)}${note ? `; ${note}` : ''}.`,
    '',
    tableRow(heads),
    `|${'---|'.repeat(heads.length)}`,
    ...rows,
    '',
  ].join('\n')
}

/** Adds a chapter at the end of its file, below `head`, which may have changed since. */
export function recordChapter(file: string, head: string, chapter: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const chapters = before.slice(Math.max(0, before.indexOf('## ')))
  writeFileSync(file, [head, ...(chapters ? [`${chapters.trimEnd()}\n`] : []), chapter].join('\n'))
}

/** One row of a table. */
export function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

/** The word after an option of the command line. */
export function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name)
  return at > 0 ? process.argv[at + 1] : undefined
}
