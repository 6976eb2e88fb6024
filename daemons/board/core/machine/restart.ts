/** Why the board started, the record for its next start, and how it restarts. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Kept, Rebooter, RestartReason, StartReason } from './ports.ts'

// Reason of the start: the record of the previous run, compared with the machine as it is now.

/** Record that one run of the board leaves for the next. */
export interface StartRecord {
  /** Boot id of the machine; empty if unknown. */
  bootId: string
  startedAt: number
  reason: StartReason
  /** Why the board restarted itself; null if it did not. */
  intent: RestartReason | null
  /** Whether it was stopped in an orderly way. */
  isStopped: boolean
}

/**
 * Why the board started.
 * @param before record of the previous run; undefined at the first start
 */
export function reasonOfStart(before: StartRecord | undefined, bootId: string): StartReason {
  if (before === undefined) return 'first'
  if (before.intent !== null) return before.intent
  if (bootId === '' || before.bootId === '') return before.isStopped ? 'service' : 'unknown'
  if (before.bootId !== bootId) return before.isStopped ? 'reboot' : 'power'
  return before.isStopped ? 'service' : 'crash'
}

// The record of starts: read once, saved for the next run.

/** Dependencies. */
interface StartBookParts {
  clock: Clock
  file: Kept<StartRecord | undefined>
  bootId: string
  /** Resets all settings; runs before anything else is read, and again if it was interrupted. */
  forget(): Promise<void>
}

/** The record of one run. */
export interface StartBook {
  /** This start. */
  readonly started: Readonly<StartRecord>
  /** Saves why the board is about to restart. @throws Fault `store_write_failed` */
  intend(reason: RestartReason): Promise<void>
  /** Saves that the board was told to stop. @throws Fault `store_write_failed` */
  stopped(): Promise<void>
}

/**
 * Opens the record, and finishes a requested reset: the request is a single file, so after a power cut either all
 * settings are reset or none.
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
      // A later request does not replace a requested reset.
      await keep({ intent: intent === 'factory_reset' ? intent : reason })
    } catch (fault) {
      // The caller learns that the reset failed: a later save must not bring it about.
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

// Restarting.

/** Dependencies. */
interface RebootingParts {
  clock: Clock
  log: Log
  /** Whether the board owns the machine. */
  ownsMachine: boolean
  /** Delay before the restart, so that the page gets its answer. */
  afterMs: number
  /** Resolves when nothing is running that a restart would leave half done; nothing of that kind starts afterwards. */
  settle(): Promise<void>
  /** Saves the reason. */
  intend(reason: RestartReason): Promise<void>
  /** Reboots the machine. @throws Fault `helper_absent`, `helper_refused` */
  rebootMachine(): Promise<unknown>
  /** Restarts as the same process, after pending answers have gone out. */
  restartSelf(reason: RestartReason): void
  /** Time until the machine, or this daemon, answers again. */
  about: { machineS: number; selfS: number }
}

export function createRebooter(by: RebootingParts): Rebooter {
  const { clock, log } = by
  let isAsked = false

  async function now(reason: RestartReason): Promise<void> {
    await by.settle()
    if (!by.ownsMachine) return by.restartSelf(reason)
    try {
      log.notice('rebooting the machine', { reason })
      await by.rebootMachine()
    } catch (fault) {
      // Saved settings must take effect now: restart at least the daemon.
      log.error('the machine did not reboot, the daemon begins anew instead', { reason, fault })
      by.restartSelf(reason)
    }
  }
  return {
    isOfMachine: by.ownsMachine,
    aboutS: by.ownsMachine ? by.about.machineS : by.about.selfS,
    async reboot(reason) {
      try {
        await by.intend(reason)
      } catch (fault) {
        // Without its stored reason a reset would not happen.
        if (reason === 'factory_reset') throw fault
        log.warning('the reason of the restart is not kept', { reason, fault })
      }
      if (isAsked) return
      isAsked = true
      clock.after(by.afterMs, () => void now(reason))
    },
  }
}
