/** Tests of how the equipment of a machine is detected. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readRoleFacts } from '../../io/sound.ts'

t.test('reads USB and its host driver from sysfs, and counts serial lines', async (t) => {
  const sysfs = t.testdir()
  const finder = { list: async () => [{}, {}] as never }
  t.match(await readRoleFacts(finder, { sysfs }), { serialLines: 2, hasUsb: false, hasUsbipHost: false })
  mkdirSync(join(sysfs, 'bus/usb/devices'), { recursive: true })
  t.match(await readRoleFacts(finder, { sysfs }), { serialLines: 2, hasUsb: true, hasUsbipHost: false })
  mkdirSync(join(sysfs, 'bus/usb/drivers/usbip-host'), { recursive: true })
  t.match(await readRoleFacts(finder, { sysfs }), { serialLines: 2, hasUsb: true, hasUsbipHost: true })
})

t.test('finds what sound needs by its files, and counts the cards that play and record', async (t) => {
  const finder = { list: async () => [] }
  const libraries = t.testdir({
    'libgstreamer-1.0.so.0': '',
    'libasound.so.2': '',
    'gstreamer-1.0': { 'libgstaudioconvert.so': '', 'libgstlevel.so': '' },
    asound: { cards: ' 0 [A              ]: USB-Audio - A\n', pcm: '00-00: A : A : playback 1\n' },
  })
  const look = () => readRoleFacts(finder, { sysfs: libraries, libraries, asound: join(libraries, 'asound') })
  t.match(await look(), { hasSound: true, playing: 1, recording: 0 })
  writeFileSync(join(libraries, 'asound/pcm'), '00-00: A : A : playback 1 : capture 1\n')
  t.match(await look(), { playing: 1, recording: 1 })
  rmSync(join(libraries, 'gstreamer-1.0/libgstlevel.so'))
  t.match(await look(), { hasSound: false })
})
