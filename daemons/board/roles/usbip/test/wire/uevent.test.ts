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

t.test('reads the action, the place and the kind', (t) => {
  t.same(openUevent(Buffer.from(ADDED)), {
    action: 'add',
    devicePath: '/devices/pci0000:00/0000:00:14.0/usb1/1-1',
    subsystem: 'usb',
    deviceType: 'usb_device',
  })
  t.end()
})

t.test('missing parts of a message are empty', (t) => {
  t.same(openUevent(Buffer.from('change@/devices/x\0ACTION')), {
    action: '',
    devicePath: '',
    subsystem: '',
    deviceType: '',
  })
  t.end()
})

t.test('messages of udev, and rubbish, are not taken for messages of the kernel', (t) => {
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
