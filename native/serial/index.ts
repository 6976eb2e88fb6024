/** TypeScript interface of the serial addon: a serialport binding, and pseudo terminals. */

export type { CallError } from './addon.ts'
export { type IcounterCounts, MODEM, PlantroomBinding, type PlantroomOpenOptions, PlantroomPort } from './binding.ts'
export { openPty, type Pty } from './pty.ts'
