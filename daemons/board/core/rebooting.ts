/** The reboot port: the whole machine where the board owns it, this daemon where it does not. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Rebooter, RestartReason } from './machine-ports.ts'

/** What a reboot needs. */
export interface RebootingParts {
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
      // Settings that were saved are to count: what can begin anew does.
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
