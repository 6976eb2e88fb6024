/**
 * Applies an update once, in a process of its own, so that it can be killed. Arguments: the machine's folder, the server's
 * address, and `sick` where the new release is not to be well. Prints what came of it, as JSON.
 */

import { Fault } from '../../pure/fault.ts'
import { applyUpdate } from '../../release/apply.ts'
import type { Health } from '../../release/switch.ts'
import { machineAt } from './update-stage.ts'

const [folder = '', url = '', how = ''] = process.argv.slice(2)
const sick = { health: async (): Promise<Health> => ({ state: 'dead', why: 'gateway ended', upMs: null }) }

async function main(): Promise<void> {
  try {
    const outcome = await applyUpdate(machineAt(folder, url).parts({ hooks: how === 'sick' ? sick : {} }))
    process.stdout.write(JSON.stringify(outcome))
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    process.stdout.write(JSON.stringify({ fault: fault.code, message: fault.message, ...fault.details }))
  }
}

void main()
