/** Tests of what a machine is seen to have. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readRoleFacts } from '../../io/role-facts.ts'

t.test('reads USB and its host driver from sysfs, and counts serial lines', async (t) => {
  const sysfs = t.testdir()
  const finder = { list: async () => [{}, {}] as never }
  t.same(await readRoleFacts(finder, sysfs), { serialLines: 2, hasUsb: false, hasUsbipHost: false })
  mkdirSync(join(sysfs, 'bus/usb/devices'), { recursive: true })
  t.same(await readRoleFacts(finder, sysfs), { serialLines: 2, hasUsb: true, hasUsbipHost: false })
  mkdirSync(join(sysfs, 'bus/usb/drivers/usbip-host'), { recursive: true })
  t.same(await readRoleFacts(finder, sysfs), { serialLines: 2, hasUsb: true, hasUsbipHost: true })
})
