/** Tests of core/macros/perform.ts. */
import t from 'tap'
import { attributeRow, readAttribute, secretsOf } from '../../../core/macros/perform.ts'
import { bookOf } from '../site/book-of.ts'

const book = bookOf({
  device: [{ id: 1, name: 'Rack' }],
  zone: [
    { id: 1, name: 'Hall', device_id: 1 },
    { id: 2, name: 'Yard', device_id: 1 },
    { id: 3, name: 'Yard', device_id: null },
  ],
  attribute: [
    { id: 1, name: 'mode', system_target: 'controller', target_id: null, value: 'day', secure: false },
    { id: 2, name: 'mode', system_target: 'zone', target_id: 1, value: 'night', secure: false },
    { id: 3, name: 'mode', system_target: 'device', target_id: 1, value: 'auto', secure: false },
    { id: 4, name: 'note', system_target: 'zone', target_id: 1, value: 'x', secure: true },
    { id: 5, name: 'door_pin', system_target: 'zone', target_id: 1, value: '1234', secure: false },
    { id: 6, name: 'setup', system_target: 'zone', target_id: 1, value: '{"wifi":{"password":"x"}}', secure: false },
    { id: 7, name: 'setup', system_target: 'zone', target_id: 2, value: '{"wifi":{"ssid":"x"}}', secure: false },
    { id: 8, name: 'empty', system_target: 'zone', target_id: 1, value: null, secure: false },
  ],
})

t.test('an attribute is found on its zone, its device or the controller, and nowhere else', async (t) => {
  const idOf = (name: string, target = {}) => attributeRow(book, { name, target })?.id
  t.equal(idOf('mode'), 1)
  t.equal(idOf('mode', { zone_id: 1 }), 2)
  t.equal(idOf('mode', { zone: 'Hall' }), 2)
  t.equal(idOf('mode', { device: 'Rack' }), 3)
  t.equal(idOf('mode', { zone_id: 2 }), undefined)
  t.equal(idOf('Mode'), undefined)
  t.equal(idOf('mode', { zone_id: 9 }), undefined)
  t.equal(idOf('mode', { zone: 'Yard' }), undefined, 'of two with the same name neither is found')
})

t.test('an attribute is secure by its flag, its name, or a secret inside', async (t) => {
  const read = (name: string, zone_id = 1) => readAttribute(book, { name, target: { zone_id } })
  t.same(read('mode'), { value: 'night', isSecure: false })
  t.same(read('note'), { value: 'x', isSecure: true })
  t.same(read('door_pin'), { value: '1234', isSecure: true })
  t.equal(read('setup')?.isSecure, true)
  t.equal(read('setup', 2)?.isSecure, false)
  t.same(read('empty'), { value: null, isSecure: false })
  t.equal(read('nothing'), undefined)
})

t.test('a name is secret if any attribute with it is, or on its own', async (t) => {
  const { isSecretAttribute } = secretsOf(book)
  t.same(['mode', 'note', 'api_key', 'nothing'].map(isSecretAttribute), [false, true, true, false])
})
