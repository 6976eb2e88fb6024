/** TypeScript interface of the serial addon: a serialport binding, and pseudo terminals. */

export { type CallError, enterRealtime } from './addon.ts'
export { type IcounterCounts, MODEM, PlantroomBinding, PlantroomPort } from './binding.ts'
export type { PlantroomOpenOptions } from './options.ts'
export { openPty, type Pty } from './pty.ts'
