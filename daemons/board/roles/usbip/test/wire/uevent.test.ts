/** The kernel's messages about devices. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { openUevent } from '../../wire/usb.ts'

const ADDED = [
  'add@/devices/pci0000:00/0000:00:14.0/usb1/1-1',
  'ACTION=add',
  'DEVPATH=/devices/pci0000:00/0000:00:14.0/usb1/1-1',
  'SUBSYSTEM=usb',
  'MAJOR=189',
  'DEVTYPE=usb_device',
  'PRODUCT=403/6001/600',
  'SEQNUM=3200',
  '',
].join('\0')

t.test('reads what came, where, and of which kind', (t) => {
  t.same(openUevent(Buffer.from(ADDED)), {
    action: 'add',
    devicePath: '/devices/pci0000:00/0000:00:14.0/usb1/1-1',
    subsystem: 'usb',
    deviceType: 'usb_device',
  })
  t.end()
})

t.test('what a message does not say is empty', (t) => {
  t.same(openUevent(Buffer.from('change@/devices/x\0ACTION')), {
    action: '',
    devicePath: '',
    subsystem: '',
    deviceType: '',
  })
  t.end()
})

t.test('what udev sends, and rubbish, is none of the kernel', (t) => {
  t.equal(openUevent(Buffer.from('libudev\0\xfe\xed')), undefined)
  t.equal(openUevent(new Uint8Array()), undefined)
  holds(
    t,
    fc.property(fc.uint8Array({ maxLength: 4096 }), (bytes) => void openUevent(bytes)),
  )
  const whole = Buffer.from(ADDED)
  for (let length = 0; length < whole.length; length++) openUevent(whole.subarray(0, length))
  t.end()
})
