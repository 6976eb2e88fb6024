/** Places on the bus. */
import t from 'tap'
import { compareBusIds, isBehindHub, isBusId } from '../../wire/usb.ts'

t.test('distinguishes a device from a root hub, an interface and a path', (t) => {
  for (const text of ['1-1', '12-1.4', '1-1.2.3.4.5.6.7', '3-14']) t.ok(isBusId(text), text)
  for (const text of ['', 'usb1', '1-1:1.0', '1', '0-1', '1-1.', '1-1..2', '1-01', ' 1-1', '1-1\n', '../1-1'])
    t.notOk(isBusId(text), text)
  t.end()
})

t.test('orders hub by hub, and by number', (t) => {
  const sorted = ['1-1', '1-1.1', '1-1.2', '1-1.10', '1-2', '1-10', '2-1', '10-1']
  t.same([...sorted].reverse().sort(compareBusIds), sorted)
  t.end()
})

t.test('knows what is plugged in below a hub', (t) => {
  t.ok(isBehindHub('1-1.2', '1-1'))
  t.ok(isBehindHub('1-1.2.3', '1-1'))
  t.notOk(isBehindHub('1-1', '1-1'))
  t.notOk(isBehindHub('1-10', '1-1'))
  t.end()
})
