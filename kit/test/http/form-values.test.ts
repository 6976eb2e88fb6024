/** Tests of http/check.ts, with the check that goes with it. */
import t from 'tap'
import { Type } from 'typebox'
import { createCheck, readForm } from '../../http/check.ts'

const port = Type.Object(
  {
    port: Type.Integer({ minimum: 1, maximum: 4 }),
    enabled: Type.Optional(Type.Boolean()),
    volume_db: Type.Optional(Type.Number({ minimum: -80, maximum: 12 })),
    stop_bits: Type.Optional(Type.Enum([1, 1.5, 2])),
    mute: Type.Optional(Type.Union([Type.Boolean(), Type.Literal('toggle')])),
    tcp_port: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 65_535 }), Type.Null()])),
    label: Type.Optional(Type.String({ maxLength: 8 })),
    password: Type.Optional(Type.String({ maxLength: 8 })),
  },
  { additionalProperties: false },
)
const checkPort = createCheck(port, 'form')
const check = (text: string) => checkPort(readForm(Buffer.from(text), 64))
const valuesOf = (text: string) => ({ ...(check(`port=1&${text}`).value as object) })

t.test('texts are converted to the types of their fields', async (t) => {
  t.same(valuesOf('enabled=1&volume_db=-12.5&stop_bits=1.5&label=7'), {
    port: 1,
    enabled: true,
    volume_db: -12.5,
    stop_bits: 1.5,
    label: '7',
  })
  t.same(check('port=4&label=').faults, [])
})

t.test(
  'a switch takes 1, 0, true, false, on, off, yes, no, and empty for off; one that is absent is absent',
  async (t) => {
    for (const text of ['1', 'true', 'on', 'yes', 'Yes', 'ON'])
      t.match(valuesOf(`enabled=${text}`), { enabled: true }, text)
    for (const text of ['0', 'false', 'off', 'no', 'FALSE', ''])
      t.match(valuesOf(`enabled=${text}`), { enabled: false }, text)
    t.notOk('enabled' in valuesOf('label=x'))
    t.match(check('port=1&enabled=maybe').faults, [
      { field: 'enabled', message: 'is text "maybe", expected 1 or 0 (or true, false, on, off, yes, no)' },
    ])
  },
)

t.test('of several types the one that fits is used', async (t) => {
  t.match(valuesOf('mute=toggle'), { mute: 'toggle' })
  t.match(valuesOf('mute=1'), { mute: true })
  t.match(valuesOf('tcp_port='), { tcp_port: null })
  t.match(valuesOf('tcp_port=4001'), { tcp_port: 4001 })
  for (const text of ['mute=maybe', 'tcp_port=x', 'tcp_port=0', 'stop_bits=3'])
    t.equal(check(`port=1&${text}`).faults.length, 1, text)
})

t.test('only decimal numbers are accepted', async (t) => {
  for (const text of ['01', '0x1', '1e999', ' 1', '1 ', '+1', '1.', '', 'NaN', 'Infinity', '1,0', '١'])
    t.match(check(`port=${encodeURIComponent(text)}`).faults, [{ field: 'port' }], text)
  t.match(valuesOf('volume_db=-0'), { volume_db: 0 })
  t.match(check('port=1.5').faults, [{ field: 'port', message: 'is 1.5, expected a whole number from 1 to 4' }])
})

t.test('all faults are reported at once: wrong, missing, unknown, sent twice', async (t) => {
  const { faults } = check('enabled=perhaps&lable=x&label=a&label=b&constructor=1&volume_db=13')
  t.same(faults.map(({ field }) => field).sort(), ['constructor', 'enabled', 'label', 'lable', 'port', 'volume_db'])
  t.match(faults.find(({ field }) => field === 'lable')?.message, /known here: port, enabled/)
})

t.test('a password is never quoted', async (t) => {
  t.match(check('port=1&password=correct+horse').faults, [{ field: 'password', message: /text with 13 characters/ }])
})

t.test('a body with any names gives its texts', async (t) => {
  const any = createCheck(Type.Record(Type.String(), Type.String({ maxLength: 4 })), 'form')
  const { value, faults } = any(readForm(Buffer.from('sap=&port=5004&__proto__=x'), 8))
  t.same(Object.entries(value as object), [
    ['sap', ''],
    ['port', '5004'],
    ['__proto__', 'x'],
  ])
  t.same(faults, [])
  t.match(any(readForm(Buffer.from('a=12345&a=1&b=12345'), 8)).faults, [{ field: 'a' }, { field: 'b' }])
})
