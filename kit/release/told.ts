/**
 * Tells what updates do: writes `told.json` beside the state of updates, which others may read and only its owner may
 * write. Only whoever has the lock (apply.ts) tells.
 */
import { constants } from 'node:fs'
import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Value } from 'typebox/value'
import type { Clock } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import { escapeControls, shortCopy } from '../pure/text.ts'
import { LONGEST_TOLD, MOST_TOLD, toldSchema, type UpdateRun, type UpdateTold } from '../pure/update-told.ts'
import { makeFolder, replaceFile } from '../store/store.ts'
import type { UpdateOutcome } from './switch.ts'

/** The folder of `told.json`. @param state of the updates, which nobody else may look into */
export function toldFolder(state: string): string {
  return `${state}-told`
}

/** Its name in there. */
const TOLD_FILE = 'told.json'

/** Tells one run, from when it has the lock. Errors of the disk are left alone: what is told decides nothing here. */
export interface Teller {
  /** Epoch ms, of no other run. */
  begunAt: number
  /** Adds a line. */
  say(text: string): void
  /** Resolves when all of it is on the disk. @param outcome undefined if there was nothing to settle */
  end(outcome: UpdateOutcome | undefined): Promise<void>
  fail(fault: Error): Promise<void>
}

/** @param task what was asked for */
export async function beginTelling(state: string, task: UpdateRun['task'], clock: Clock): Promise<Teller> {
  const path = join(toldFolder(state), TOLD_FILE)
  const before = await readTold(path)
  const begunAt = Math.max(clock.epochMs(), (before?.run.begunAt ?? 0) + 1)
  const told: UpdateTold = {
    run: { task, begunAt, lines: [], end: null },
    looked: before?.looked ?? null,
    last: before?.last ?? null,
  }
  // One write after the other; one that has yet to begin has all that was said until then.
  let written: Promise<void> = Promise.resolve()
  let isWaiting = false
  const save = () => {
    if (isWaiting) return written
    isWaiting = true
    written = written
      .then(() => {
        isWaiting = false
        return write(state, path, told)
      })
      .catch(() => undefined)
    return written
  }
  const end = async (ended: NonNullable<UpdateRun['end']>) => {
    told.run.end = ended
    const { outcome } = ended
    // A file that was refused at once was no update.
    const isBegun = task === 'handed' ? told.run.lines.length > 0 : task !== 'check'
    if (outcome === 'applied' || outcome === 'rolled_back' || (outcome === 'failed' && isBegun))
      told.last = { at: ended.at, outcome, text: ended.text }
    await save()
  }
  await save()
  return {
    begunAt,
    say(text) {
      told.run.lines = [...told.run.lines, { at: clock.epochMs(), text: copy(text) }].slice(-MOST_TOLD)
      void save()
    },
    async end(outcome) {
      const at = clock.epochMs()
      told.looked = lookedOf(outcome, at) ?? told.looked
      await end({ at, outcome: outcome?.outcome ?? 'settled', text: copy(sentenceOfOutcome(outcome)) })
    },
    async fail(fault) {
      const code = fault instanceof Fault ? fault.code : 'internal'
      const outcome = code === 'update_put_off' ? 'put_off' : 'failed'
      await end({ at: clock.epochMs(), outcome, text: copy(fault.message), code: code.slice(0, 64) })
    },
  }
}

/** @returns undefined if there is none, or none that can be read */
async function readTold(path: string): Promise<UpdateTold | undefined> {
  try {
    const value: unknown = JSON.parse(
      await readFile(path, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NOFOLLOW }),
    )
    return Value.Check(toldSchema, value) ? value : undefined
  } catch {
    return undefined
  }
}

async function write(state: string, path: string, told: UpdateTold): Promise<void> {
  await makeFolder(state)
  await makeFolder(toldFolder(state))
  await chmod(toldFolder(state), 0o755)
  await replaceFile(path, `${JSON.stringify(told)}\n`)
  await chmod(path, 0o644)
}

/** A sentence may quote a board, a server or the name of a file. */
function copy(text: string): string {
  return shortCopy(escapeControls(text), LONGEST_TOLD)
}

function lookedOf(outcome: UpdateOutcome | undefined, at: number): UpdateTold['looked'] | undefined {
  switch (outcome?.outcome) {
    case 'current':
    case 'applied':
      return { at, newest: null }
    case 'available':
      return { at, newest: outcome.version, ...(outcome.window && { window: outcome.window }) }
    case 'bad':
    case 'rolled_back':
      return { at, newest: outcome.version, bad: copy(outcome.reason) }
    default:
      return undefined
  }
}

/** What came of it, as a sentence for log and page. @param outcome undefined if there was nothing to settle */
export function sentenceOfOutcome(outcome: UpdateOutcome | undefined): string {
  if (outcome === undefined) return 'no update was cut off, nothing to do'
  switch (outcome.outcome) {
    case 'current':
      return 'already current, nothing to do'
    case 'available':
      return `${outcome.version} is there, and ${outcome.from} runs: plantroom update --yes applies it`
    case 'bad':
      return `${outcome.version} is there, and is not tried again: ${outcome.reason}`
    case 'applied':
      return `${outcome.version} runs, in the place of ${outcome.from}`
    case 'rolled_back':
      return `${outcome.version} was taken back, and ${outcome.to} runs again: ${outcome.reason}`
  }
}
