/** The values our units serve. */
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { holds } from '#kit/test/holds.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { slaveSettingsFaults } from '../../../core/modbus/settings.ts'
import { type RegisterBlock, RegisterMap } from '../../../core/modbus/slave-registers.ts'

const block = (
  address: number,
  quantity: number,
  table: RegisterBlock['table'] = 'holding_registers',
): RegisterBlock => ({
  table,
  address,
  quantity,
  initial: null,
})

t.test('adjacent blocks are read and written as one', async (t) => {
  const clock = fakeClock()
  const map = new RegisterMap([block(10, 2), { ...block(12, 2), initial: 5 }], clock)
  t.strictSame(map.read('holding_registers', 10, 4), [null, null, 5, 5])
  t.equal(map.writtenAt('holding_registers', 10, 4), null, 'a start value is not a write')
  clock.advance(1000)
  t.equal(map.write('holding_registers', 11, [1, 2]), true)
  t.strictSame(map.read('holding_registers', 10, 4), [null, 1, 2, 5])
  t.equal(map.writtenAt('holding_registers', 10, 4), clock.epochMs())
  t.equal(map.writtenAt('holding_registers', 13, 1), null)
  map.write('holding_registers', 11, [null])
  t.strictSame(map.read('holding_registers', 11, 1), [null], 'a value can be taken back')
})

t.test('a range that is not wholly served is neither read nor written', async (t) => {
  const map = new RegisterMap([block(0, 2), block(3, 2), block(0, 9, 'coils')], fakeClock())
  t.equal(map.read('holding_registers', 0, 4), undefined)
  t.equal(map.write('holding_registers', 1, [7, 7, 7]), false)
  t.strictSame(map.read('holding_registers', 0, 2), [null, null])
  t.equal(map.read('input_registers', 0, 1), undefined)
  t.equal(map.read('holding_registers', 65_535, 2), undefined)
})

t.test('a map behaves like a plain list, whatever is written', async (t) => {
  const write = fc.record({
    address: fc.nat(30),
    values: fc.array(fc.option(fc.nat(65_535)), { minLength: 1, maxLength: 9 }),
  })
  const law = fc.property(fc.array(write), (writes) => {
    const map = new RegisterMap([block(0, 12), block(12, 10)], fakeClock())
    const list: (number | null)[] = new Array(22).fill(null)
    for (const { address, values } of writes) {
      const fits = address + values.length <= 22
      t.equal(map.write('holding_registers', address, values), fits)
      if (fits) list.splice(address, values.length, ...values)
    }
    t.strictSame(map.read('holding_registers', 0, 22), list)
  })
  holds(t, law)
})

t.test('impossible blocks are named, with what is wrong', async (t) => {
  const faults = (slave_blocks: RegisterBlock[], slave_units = [1]) =>
    slaveSettingsFaults({ slave_units, slave_blocks, slave_values_max: 65_536 })
  t.strictSame(faults([block(0, 10), block(10, 10), block(0, 10, 'coils')]), [])
  t.match(faults([block(0, 10), block(9, 1)]), [
    { field: 'slave_blocks[1]', message: 'overlaps slave_blocks[0], which has holding_registers 0 to 9' },
  ])
  t.match(faults([block(65_530, 7)]), [{ field: 'slave_blocks[0]', message: /the last is 65536; 65535 is the end/ }])
  t.strictSame(faults([block(65_530, 6)]), [])
  t.match(faults([{ ...block(0, 1, 'coils'), initial: 2 }]), [{ message: /initial 2; coils hold 0 or 1/ }])
  t.match(faults([block(0, 65_536)], [1, 2]), [
    { field: 'slave_blocks', message: 'serve 131072 values over 2 units; slave_values_max allows 65536' },
  ])
})

t.test('units with many blocks of one value, or one block of many, take the memory their row says', async (t) => {
  const units = 247
  const blocks = 64
  const settings = { 'ports.max': 1, 'ports.slave_values': units * blocks }
  const { allBytes } = rowOf(memoryPlan().rows, 'coils and registers', settings)
  const clock = fakeClock()
  for (const served of [Array.from({ length: blocks }, (_, at) => block(2 * at, 1)), [block(0, blocks)]]) {
    const bytes = await heapBytesOf(() => {
      const made = served.map((one) => ({ ...one }))
      const maps = Array.from({ length: units }, () => new RegisterMap(made, clock))
      for (const map of maps) for (const { address } of made) map.write('holding_registers', address, [1])
      return maps
    })
    t.ok(bytes < allBytes, `${bytes} of ${allBytes} bytes in ${served.length} blocks`)
  }
})
