/** What the machine is called. */
import { hostname } from 'node:os'

/** Its name without a domain. */
export function machineName(): string {
  return hostname().split('.')[0] ?? ''
}
