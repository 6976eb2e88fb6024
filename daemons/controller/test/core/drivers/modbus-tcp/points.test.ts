/** Addresses of zones, and which points are one read. */
import t from 'tap'
import { groupsOf, pointsOf } from '../../../../core/drivers/modbus-tcp/points.ts'
import type { Row } from '../../../../core/site/book.ts'

const zone = (address: string, type = '', id = 1) => ({ id, address, type }) as unknown as Row

t.test('an address is a value of a unit, with type, order and scale', async (t) => {
  t.match(pointsOf(zone('3/holding/100/float32/cdab*0.1')), [
    {
      ...{ unit: 3, table: 'holding', address: 100, count: 2, scale: 0.1, field: 'value', isWritable: true },
      format: { type: 'float32', order: 'cdab' },
    },
  ])
  t.match(pointsOf(zone('on=3/coil/7  temperature=3/input/4/int16*0.1')), [
    { field: 'on', table: 'coil', count: 1, format: undefined, isWritable: true },
    { field: 'temperature', table: 'input', isWritable: false },
  ])
})

const fields: [string, string, string][] = [
  ['1/coil/0', 'dimmer', 'on'],
  ['1/holding/0', 'dimmer', 'level'],
  ['1/holding/0', 'thermostat', 'setpoint'],
  ['1/input/0', 'thermostat', 'temperature'],
  ['1/holding/0', 'blind', 'position'],
  ['1/holding/0', 'meter', 'value'],
]
for (const [address, type, field] of fields)
  t.test(`${address} of a zone of type ${type} is its ${field}`, async (t) => {
    t.equal(pointsOf(zone(address, type))[0]?.field, field)
  })

t.test('an address that is none is refused with the form', async (t) => {
  const wrong: [string, RegExp][] = [
    ['', /is empty, expected UNIT\/TABLE\/ADDRESS/],
    ['7', /has "7", expected/],
    ['1/register/0', /expected/],
    ['256/coil/0', /expected/],
    ['1/coil/65536', /expected/],
    ['1/coil/0/uint16', /has no type/],
    ['1/holding/0/int8', /has a type that is none of int16/],
    ['1/holding/0/int16/acbd', /has an order that is none of abcd/],
    ['1/holding/0*0', /has a scale that is no number, or 0/],
    ['1/holding/0*1e3', /scale/],
    ['1/holding/65535/uint32', /beyond address 65535/],
    ['1/coil/0 1/coil/1', /two values for one field/],
  ]
  for (const [address, message] of wrong) t.throws(() => pointsOf(zone(address)), { code: 'driver_config', message })
})

t.test('neighbours of a unit and a table are one read, up to what one read may ask for', async (t) => {
  const at = (address: string) => pointsOf(zone(`v=${address}`))
  const said = (addresses: string[], gap: number) =>
    groupsOf(addresses.flatMap(at), gap).map(
      ({ unit, table, address, count, points }) => `${unit} ${table} ${address}+${count}: ${points.length}`,
    )
  const some = [
    '1/holding/10',
    '1/holding/0/float32',
    '1/holding/2',
    '1/input/3',
    '2/holding/3',
    '1/coil/0',
    '1/coil/9',
  ]
  t.strictSame(said(some, 8), ['1 coil 0+10: 2', '1 input 3+1: 1', '1 holding 0+11: 3', '2 holding 3+1: 1'])
  t.strictSame(said(some, 0), [
    '1 coil 0+1: 1',
    '1 coil 9+1: 1',
    '1 input 3+1: 1',
    '1 holding 0+3: 2',
    '1 holding 10+1: 1',
    '2 holding 3+1: 1',
  ])
  t.strictSame(said(['1/holding/0', '1/holding/100', '1/holding/124/uint32'], 100), [
    '1 holding 0+101: 2',
    '1 holding 124+2: 1',
  ])
  t.strictSame(said(['1/holding/0/uint32', '1/holding/1', '1/holding/0'], 0), ['1 holding 0+2: 3'])
})
