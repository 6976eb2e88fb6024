/** The name of a machine that the board owns. */
import type { Log } from '#kit/log.ts'

/** What it needs. */
export interface MachineNameParts {
  log: Log
  /** As the machine says it now, without a domain. */
  present: string
  wanted: string
  /** @throws Fault `helper_absent`, `helper_refused` */
  setName(name: string): Promise<unknown>
}

/** Gives the machine its name where it has another; never rejects. @returns what went wrong, for people; else undefined */
export async function keepMachineName({
  log,
  present,
  wanted,
  setName,
}: MachineNameParts): Promise<string | undefined> {
  if (present.toLowerCase() === wanted.toLowerCase()) return undefined
  try {
    await setName(wanted)
    log.notice('the machine has its name', { name: wanted, before: present })
    return undefined
  } catch (fault) {
    log.error('the machine does not take its name', { name: wanted, fault })
    return `The machine is still called ${present}: ${fault instanceof Error ? fault.message : String(fault)}.`
  }
}
