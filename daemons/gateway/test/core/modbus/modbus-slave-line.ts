/** Our own slave units 7 and 8 on a line in memory. */
import { hexOf } from '#kit/pure/bytes.ts'
import type { ModbusSettings } from '../../../core/modbus/settings.ts'
import { createModbusSlave } from '../../../core/modbus/slave.ts'
import type { RegisterBlock } from '../../../core/modbus/slave-registers.ts'
import { frameOf } from '../../wire/modbus-talk.ts'
import { type LineOfOthers, lineOfOthers } from './line-of-others.ts'
import { settingsWith } from './modbus-line.ts'
import { modbusRtu } from './rtu.ts'

const block = (table: RegisterBlock['table'], quantity: number, initial: number | null = 0): RegisterBlock => ({
  table,
  address: 0,
  quantity,
  initial,
})

/**
 * Units 7 and 8 with twenty entries in each table, and with ten holding registers from 100 on that nobody has written.
 */
export function slave(
  settings: Partial<ModbusSettings> = {},
): LineOfOthers & { ask(frame: Uint8Array): Promise<string | null> } {
  const blocks = [
    block('coils', 20),
    block('discrete_inputs', 20, 1),
    block('holding_registers', 20),
    block('input_registers', 20, 500),
    { ...block('holding_registers', 10, null), address: 100 },
  ]
  const own = { mode: 'slave' as const, slave_units: [7, 8], slave_blocks: blocks, local_echo: 'absent' as const }
  const rig = lineOfOthers((context) =>
    createModbusSlave(context, settingsWith({ ...own, ...settings }), modbusRtu, ['Maker', 'Code', '1.2']),
  )
  return {
    ...rig,
    async ask(frame) {
      const before = rig.line.written.length
      rig.say(frame)
      await rig.clock.run(10)
      const [answer, ...more] = rig.line.written.slice(before)
      if (more.length > 0) throw new Error('one request, several answers')
      return answer ? hexOf(answer) : null
    },
  }
}

/** A read of unit 7. */
export const request = (fc: number, address: number, quantity: number) => frameOf({ unitId: 7, fc, address, quantity })
/** The hex of a frame without its checksum. */
export const body = (text: string | null) => text?.split(' ').slice(0, -2).join(' ') ?? null
