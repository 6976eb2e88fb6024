/** The record of starts: read once, kept for the next life. */
import type { Clock } from '#kit/clock.ts'
import type { Kept, RestartReason } from './machine-ports.ts'
import { reasonOfStart, type StartRecord } from './start-record.ts'

/** What the record needs. */
export interface StartBookParts {
  clock: Clock
  file: Kept<StartRecord | undefined>
  bootId: string
  /** Forgets everything that was set; done before anything else is read, and again where it was cut off. */
  forget(): Promise<void>
}

/** The record of one life. */
export interface StartBook {
  /** This start. */
  readonly started: Readonly<StartRecord>
  /** Keeps why the board is about to begin anew. @throws Fault `store_write_failed` */
  intend(reason: RestartReason): Promise<void>
  /** Keeps that the board was told to stop. @throws Fault `store_write_failed` */
  stopped(): Promise<void>
}

/**
 * Opens the record, and finishes a reset that was asked for: the wish for it is one file, so a power cut leaves all
 * settings or none.
 * @throws Fault `store_write_failed`
 */
export async function openStartBook({ clock, file, bootId, forget }: StartBookParts): Promise<StartBook> {
  const before = await file.load()
  if (before?.intent === 'factory_reset') await forget()
  const startedAt = clock.epochMs()
  let record: StartRecord = {
    bootId,
    startedAt,
    reason: reasonOfStart(before, bootId),
    intent: null,
    isStopped: false,
  }
  const started = record
  await file.save(record)

  function keep(change: Partial<StartRecord>): Promise<void> {
    record = { ...record, ...change }
    return file.save(record)
  }
  async function intend(reason: RestartReason): Promise<void> {
    const { intent } = record
    try {
      // A reset that was asked for is not forgotten for a later wish.
      await keep({ intent: intent === 'factory_reset' ? intent : reason })
    } catch (fault) {
      // Whoever asked for a reset is told that there is none: a later save must not bring it.
      if (reason === 'factory_reset') record = { ...record, intent }
      throw fault
    }
  }
  return {
    started,
    intend,
    stopped: () => keep({ isStopped: true }),
  }
}
