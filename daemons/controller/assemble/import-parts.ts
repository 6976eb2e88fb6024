/** What imports of site files are given, at the daemon's start and on the command line. */
import type { Clock } from '#kit/clock.ts'
import type { ControllerConfig } from '../config.ts'
import { limitsOf } from '../core/limit.ts'
import { parseRoleRules } from '../core/role-rules.ts'
import { hashPassword } from '../io/people-secrets.ts'
import type { ImportParts } from '../io/site-import.ts'

export function importParts(config: Pick<ControllerConfig, 'site' | 'store'>, clock: Clock): ImportParts {
  return { clock, limits: limitsOf(config.site), store: limitsOf(config.store), hashPassword, ruleFault }
}

/** One line is read by itself: which line it is, the check of the file says. */
function ruleFault(line: string): string | undefined {
  return parseRoleRules(line).faults[0]?.replace(/^line 1: /, '')
}
