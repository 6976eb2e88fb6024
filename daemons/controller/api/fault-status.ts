/** The status of each fault of the controller that an answer may tell. */
import { UI_FAULT_STATUS } from './ui-gate.ts'

export const faultStatus: Readonly<Record<string, number>> = {
  ...UI_FAULT_STATUS,
  audit_read_failed: 500,
}
