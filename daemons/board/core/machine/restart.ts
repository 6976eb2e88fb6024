/** Why the board started, what is kept for its next start, and how it restarts. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Kept, Rebooter, RestartReason, StartReason } from './ports.ts'

// Why it started: what the life before left behind, against the machine as it is now.

/** What one life of the board leaves to the next. */
export interface StartRecord {
  /** Of the machine's life, new at each boot; empty where the machine does not tell. */
  bootId: string
  startedAt: number
  reason: StartReason
  /** Why the board restarted itself; null where it did not. */
  intent: RestartReason | null
  /** Whether it was stopped rather than cut off. */
  isStopped: boolean
}

/**
 * Why the board started.
 * @param before what the life before left; undefined at the first start
 */
export function reasonOfStart(before: StartRecord | undefined, bootId: string): StartReason {
  if (before === undefined) return 'first'
  if (before.intent !== null) return before.intent
  if (bootId === '' || before.bootId === '') return before.isStopped ? 'service' : 'unknown'
  if (before.bootId !== bootId) return before.isStopped ? 'reboot' : 'power'
  return before.isStopped ? 'service' : 'crash'
}

// The record of starts: read once, kept for the next life.

/** What the record needs. */
interface StartBookParts {
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
  /** Keeps why the board is about to restart. @throws Fault `store_write_failed` */
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

// Beginning anew.

/** What a reboot needs. */
interface RebootingParts {
  clock: Clock
  log: Log
  /** Whether the machine is the board's own. */
  ownsMachine: boolean
  /** Time between the answer and the end, so that the page hears the answer. */
  afterMs: number
  /** Resolves when nothing is under way that a restart would leave half done; nothing of that kind begins afterwards. */
  settle(): Promise<void>
  /** Keeps the reason. */
  intend(reason: RestartReason): Promise<void>
  /** Asks the machine for it. @throws Fault `helper_absent`, `helper_refused` */
  rebootMachine(): Promise<unknown>
  /** Begins anew as the same process, after answers under way have gone out. */
  restartSelf(reason: RestartReason): void
  /** Time that the machine takes, and this daemon, until it answers again. */
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
      // Saved settings take effect now: what can restart does.
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
        // A reset is its reason, and nothing without it.
        if (reason === 'factory_reset') throw fault
        log.warning('the reason of the restart is not kept', { reason, fault })
      }
      if (isAsked) return
      isAsked = true
      clock.after(by.afterMs, () => void now(reason))
    },
  }
}
