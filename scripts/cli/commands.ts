/** The commands that look after daemons, in the order in which help lists them: a bundle of its own. */
import { backup } from './backup.ts'
import { checkConfig } from './check-config.ts'
import type { Command } from './command.ts'
import { firmware } from './firmware.ts'
import { password } from './password.ts'
import { restore } from './restore.ts'
import { status } from './status.ts'

export { runAsOwner } from './as-owner.ts'
export { readPassword } from './new-password.ts'

/** All but `demo`, which is no part of the installed package. */
export const commands: readonly Command[] = [status, checkConfig, password, backup, restore, firmware]
