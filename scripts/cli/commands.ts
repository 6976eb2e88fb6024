/** The commands that manage daemons, in the order of the help; bundled separately. */

import { backup } from './backup.ts'
import { banner } from './banner.ts'
import { checkConfig } from './check-config.ts'
import { type Command, ofDaemon } from './command.ts'
import { firmware } from './firmware.ts'
import { label } from './label.ts'
import { logs } from './logs.ts'
import { network } from './network.ts'
import { networkConfirm, networkSet } from './network-set.ts'
import { password } from './password.ts'
import { publish } from './publish.ts'
import { report } from './report.ts'
import { restore } from './restore.ts'
import { slot } from './slot.ts'
import { status } from './status.ts'
import { units } from './units.ts'
import { update } from './update.ts'
import { updatesKeys } from './updates-keys.ts'

export { runAsOwner } from './as-owner.ts'
export { readPassword } from './new-password.ts'

/** All but `demo`, which is not part of the installed package. */
export const commands: readonly Command[] = [
  status,
  logs,
  report,
  network,
  networkSet,
  networkConfirm,
  banner,
  checkConfig,
  password,
  backup,
  restore,
  update,
  units,
  label,
  firmware,
  slot,
  publish,
  updatesKeys,
  ofDaemon(backup, 'updates', 'put the state of the update server into one file; keys of releases are sealed in it'),
  ofDaemon(restore, 'updates', 'put such a file in the place of the state, while the update server is stopped'),
]
