/** What a unit of ours answers: the clauses of the standard, function by function. */
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import { openIdentification, sealed } from '../../../wire/modbus-request.ts'
import { frameOf } from '../../wire/modbus-talk.ts'
import { body, request, slave } from './modbus-slave-line.ts'

t.test('6.1 to 6.4 reads are answered from the four tables', async (t) => {
  const { ask, adapter } = slave()
  adapter.faces?.registers?.write({ unitId: 7, table: 'coils', address: 0 }, [1, 0, 1])
  adapter.faces?.registers?.write({ unitId: 7, table: 'holding_registers', address: 2 }, [0x1234])
  t.equal(body(await ask(request(1, 0, 10))), '07 01 02 05 00')
  t.equal(body(await ask(request(2, 0, 3))), '07 02 01 07')
  t.equal(body(await ask(request(3, 1, 2))), '07 03 04 00 00 12 34')
  t.equal(body(await ask(request(4, 19, 1))), '07 04 02 01 F4')
})

t.test(
  '6.5, 6.6, 6.11, 6.12, 6.16, 6.17 writes are carried out, answered and published as control events',
  async (t) => {
    const { ask, events, adapter } = slave()
    const coil = frameOf({ unitId: 7, fc: 5, address: 3, quantity: 1, values: [1] })
    t.equal(await ask(coil), hexOf(coil))
    const register = frameOf({ unitId: 7, fc: 6, address: 4, quantity: 1, values: [0x12] })
    t.equal(await ask(register), hexOf(register))
    t.equal(
      body(await ask(frameOf({ unitId: 7, fc: 15, address: 8, quantity: 3, values: [1, 1, 0] }))),
      '07 0F 00 08 00 03',
    )
    t.equal(
      body(await ask(frameOf({ unitId: 7, fc: 16, address: 10, quantity: 2, values: [9, 8] }))),
      '07 10 00 0A 00 02',
    )
    const mask = { unitId: 7, fc: 22, address: 4, quantity: 1, andMask: 0xf2, orMask: 0x25 }
    t.equal(body(await ask(frameOf(mask))), '07 16 00 04 00 F2 00 25')
    const both = { unitId: 7, fc: 23, address: 9, quantity: 3, writeAddress: 11, values: [77] }
    t.equal(body(await ask(frameOf(both))), '07 17 06 00 00 00 09 00 4D', 'written first, then read')
    t.strictSame(
      events.map(({ payload }) => payload),
      [
        { unitId: 7, fc: 5, table: 'coils', address: 3, values: [1] },
        { unitId: 7, fc: 6, table: 'holding_registers', address: 4, values: [0x12] },
        { unitId: 7, fc: 15, table: 'coils', address: 8, values: [1, 1, 0] },
        { unitId: 7, fc: 16, table: 'holding_registers', address: 10, values: [9, 8] },
        { unitId: 7, fc: 22, table: 'holding_registers', address: 4, values: [0x17] },
        { unitId: 7, fc: 23, table: 'holding_registers', address: 11, values: [77] },
      ],
    )
    t.ok(events.every(({ event }) => event === 'control'))
    t.strictSame(
      adapter.faces?.registers?.read({ unitId: 8, table: 'coils', address: 3, quantity: 1 }).values,
      [0],
      'unit 8 has its own',
    )
  },
)

t.test('6.21 identification gives vendor, product code and revision, as a stream or one by one', async (t) => {
  const { say, line, clock } = slave()
  const ask = async (address: number, quantity: number) => {
    say(frameOf({ unitId: 7, fc: 43, address, quantity }))
    await clock.run(10)
    return line.written.at(-1) as Uint8Array
  }
  const basic = openIdentification(await ask(0, 1))
  t.strictSame(
    basic.objects.map(({ name, value }) => [name, value]),
    [
      ['VendorName', 'Maker'],
      ['ProductCode', 'Code'],
      ['MajorMinorRevision', '1.2'],
    ],
  )
  t.equal(basic.nextObjectId, null)
  t.equal(openIdentification(await ask(1, 3)).objects.length, 2, 'a higher level is answered with what there is')
  t.equal(openIdentification(await ask(99, 1)).objects.length, 3, 'from an unknown object it begins again')
  t.match(openIdentification(await ask(2, 4)).objects, [{ id: 2, value: '1.2' }])
  t.equal(hexOf(await ask(3, 4)).slice(0, 8), '07 AB 02')
  t.equal(hexOf(await ask(0, 5)).slice(0, 8), '07 AB 03')
})

const refused: [string, Uint8Array, number][] = [
  ['function 8', sealed([7, 8, 0, 0, 1, 2]), 1],
  ['function 100', sealed([7, 100]), 1],
  ['MEI type 13', sealed([7, 43, 13, 1, 2, 3, 4, 5]), 1],
  ['a read beyond its block', request(3, 19, 2), 2],
  ['a read of no block', request(4, 20, 1), 2],
  ['a write beyond its block', frameOf({ unitId: 7, fc: 16, address: 19, quantity: 2, values: [1, 2] }), 2],
  ['one coil beyond its block', frameOf({ unitId: 7, fc: 5, address: 20, quantity: 1, values: [1] }), 2],
  ['a mask beyond its block', frameOf({ unitId: 7, fc: 22, address: 20, quantity: 1, andMask: 1, orMask: 1 }), 2],
  [
    '23 whose write is beyond',
    frameOf({ unitId: 7, fc: 23, address: 0, quantity: 1, writeAddress: 20, values: [1] }),
    2,
  ],
  ['no register', request(3, 0, 0), 3],
  ['126 registers', request(3, 0, 126), 3],
  ['2001 coils, and beyond its block', request(1, 19, 2001), 3],
  ['a coil that is neither on nor off', sealed([7, 5, 0, 0, 1, 2]), 3],
  ['a byte count that contradicts its quantity', sealed([7, 16, 0, 0, 0, 2, 2, 0, 1]), 3],
  ['16 with no register', sealed([7, 16, 0, 0, 0, 0, 0]), 3],
  ['23 that reads none', sealed([7, 23, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 1]), 3],
  ['a register that was never written', request(3, 100, 1), 4],
  [
    'a mask on what was never written',
    frameOf({ unitId: 7, fc: 22, address: 100, quantity: 1, andMask: 0, orMask: 1 }),
    4,
  ],
]
for (const [what, frame, code] of refused)
  t.test(`6, 7 ${what} is exception ${code} and changes nothing`, async (t) => {
    const { ask, count, events } = slave()
    t.equal(body(await ask(frame)), hexOf(Uint8Array.of(7, (frame[1] ?? 0) | 0x80, code)))
    t.equal(count('exceptionAnswers'), 1)
    t.strictSame(events, [])
  })

t.test('6.17 function 23 reads the registers that it writes, though they were never written before', async (t) => {
  const { ask } = slave()
  const over = (address: number) =>
    frameOf({ unitId: 7, fc: 23, address, quantity: 2, writeAddress: 100, values: [1, 2] })
  t.equal(body(await ask(over(101))), '07 97 04', 'one of them stays unknown: nothing is written')
  t.equal(body(await ask(request(3, 100, 1))), '07 83 04')
  t.equal(body(await ask(over(100))), '07 17 04 00 01 00 02')
})

t.test('without a block every address is exception 2', async (t) => {
  const { ask } = slave({ slave_blocks: [] })
  for (const fc of [1, 2, 3, 4]) t.equal(body(await ask(request(fc, 0, 1))), `07 8${fc} 02`)
})
